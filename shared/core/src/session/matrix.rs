//! The matrix of the machine, printed for people and compared in CI: every state against every trigger.

use aip_types::{
    ActionId, ErrorCode, MessageId, Millis, Principal, PrincipalId, PrincipalKind, SessionId, SessionState,
};
use alloc::{
    string::{String, ToString},
    vec,
    vec::Vec,
};

use super::{
    ActiveAction, Closing, Opening, PresentedToken, SessionRecord, Stage, Terms, TokenHash, Trigger, VerifiedRequester,
    open,
};
use crate::matrix::{Table, page};

const EXPIRES: Millis = Millis(1_000);

/// Renders `docs/states/session.md`.
#[must_use]
pub fn matrix() -> String {
    let tables = vec![
        Table { title: "Without an action in progress", columns: columns(&[], None), rows: rows() },
        Table { title: "Action `act_1` is queued", columns: columns(&[Stage::Queued], None), rows: rows() },
        Table { title: "Action `act_1` is processed", columns: columns(&[Stage::Processing], None), rows: rows() },
        Table {
            title: "Action `act_1` is processed, `act_2` streams",
            columns: columns(&[Stage::Processing, Stage::Streaming], None),
            rows: rows(),
        },
        Table {
            title: "Closing, while action `act_1` is processed",
            columns: columns(&[Stage::Processing], Some(SessionState::Cancelled)),
            rows: rows(),
        },
    ];
    page(
        "The session machine",
        "Its time ends at 1,000; the second resume token is the one that works. `new` is never stored. An ended session \
         has no action.",
        &["active"],
        &tables,
    )
}

fn requester(id: &str, delegated: bool) -> VerifiedRequester {
    VerifiedRequester { principal: principal(id), delegated }
}

fn principal(id: &str) -> Principal {
    Principal::new(PrincipalId::new(id), PrincipalKind::Service)
}

fn rows() -> Vec<(&'static str, Trigger, Millis)> {
    let action = |number: u32| ActionId::new(alloc::format!("act_{number}"));
    let admit = |number, at_once| Trigger::Admit { action: action(number), at_once };
    let moved = |step, stage| Trigger::Moved { action: action(1), step, stage };
    let resume = |by, token: Option<&str>| Trigger::Resume {
        message: MessageId::new("msg_2"),
        by,
        presented: token.map(PresentedToken::read),
        replacement: Some(TokenHash::of("3.c")),
    };
    let (initiator, delegate) = (|| requester("service:initiator", false), || requester("agent:delegate", true));
    let close = |by| Trigger::Close { message: MessageId::new("msg_3"), by };
    let (before, after) = (Millis(500), EXPIRES);
    vec![
        ("admit `act_1`", admit(1, false), before),
        ("admit `act_9`", admit(9, false), before),
        ("admit `act_9`, a plain read", admit(9, true), before),
        ("admit `act_9`, after its time", admit(9, false), after),
        ("`act_1` starts", moved(2, Stage::Processing), before),
        ("`act_1` streams", moved(2, Stage::Streaming), before),
        ("`act_1` waits for a person", moved(2, Stage::WaitingForHuman), before),
        ("an older word about `act_1`", moved(1, Stage::Queued), before),
        ("`act_1` is over", Trigger::Over { action: action(1) }, before),
        ("resume, token 2", resume(initiator(), Some("2.b")), before),
        ("resume, token 1", resume(initiator(), Some("1.a")), before),
        ("resume, unknown token", resume(initiator(), Some("2.x")), before),
        ("resume, no token, initiator", resume(initiator(), None), before),
        ("resume, no token, delegate", resume(delegate(), None), before),
        ("resume, token 2, somebody else", resume(requester("service:other", false), Some("2.b")), before),
        ("close", close(initiator()), before),
        ("close, somebody else", close(requester("service:other", false)), before),
        ("its time, too early", Trigger::ExpireDue, before),
        ("its time", Trigger::ExpireDue, after),
        ("fail", Trigger::Fail { code: ErrorCode::PolicyDenied }, before),
        ("settle", Trigger::Settle, before),
    ]
}

fn columns(stages: &[Stage], closing: Option<SessionState>) -> Vec<SessionRecord> {
    SessionState::ALL.iter().filter_map(|&state| column(state, stages, closing)).collect()
}

fn column(state: SessionState, stages: &[Stage], closing: Option<SessionState>) -> Option<SessionRecord> {
    let step = open(Opening {
        id: SessionId::new("sess_1"),
        tenant: "acme".to_string(),
        initiator: principal("service:initiator"),
        peer: principal("system:fleet"),
        handshake: MessageId::new("msg_1"),
        handshake_hash: "hash".to_string(),
        correlation_id: None,
        terms: Terms::default(),
        expires_at: EXPIRES,
        idle_ms: 2_000,
        token: Some(TokenHash::of("2.b")),
        at: Millis(0),
    });
    let mut record = step.ok()?.record;
    record.generation = 2;
    record.state = state;
    let open = super::record::is_open(state);
    if open {
        let actions = (1_u32..).zip(stages);
        record.actions = actions
            .map(|(number, &stage)| (ActionId::new(alloc::format!("act_{number}")), ActiveAction { stage, step: 1 }))
            .collect();
        record.closing = closing.map(|to| Closing { to, request: None, code: None, at: Millis(100) });
    }
    // An action takes a session out of `active`, and an ended one has none.
    let has_action = open && !matches!(state, SessionState::New | SessionState::Active);
    (has_action || stages.is_empty()).then_some(record)
}
