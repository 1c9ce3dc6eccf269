//! The matrix of the machine, printed for people and compared in CI: every phase against every trigger.

use aip_types::{
    CorrelationId, Escalation, EscalationDecision, EscalationKind, EscalationResolution,
    EscalationResolutionStatus as Status, Millis, Principal, PrincipalId, PrincipalKind, Timestamp,
};
use alloc::{
    boxed::Box,
    string::{String, ToString as _},
    vec,
    vec::Vec,
};
use serde_json::json;

use super::record::{EscalationRecord, Phase, Raised};
use super::{Resolve, Trigger, VerifiedAnswer, raise};
use crate::matrix::{Table, page};

const EXPIRES: Millis = Millis(1_000);

/// Renders `docs/states/escalation.md`.
#[must_use]
pub fn matrix() -> String {
    let phases = [Phase::Open {}, Phase::Resolved {}, Phase::Expired {}, Phase::Withdrawn {}];
    let table = Table {
        title: "An input with a form",
        columns: phases.into_iter().filter_map(record).collect(),
        rows: triggers(),
    };
    page(
        "The escalation machine",
        "The agent asks; it allows `modify`, `reject` and `cancel`, and expires at 1,000. In `resolved`, ann has answered.",
        &["open"],
        &[table],
    )
}

fn person(name: &str) -> Principal {
    Principal::new(PrincipalId::new(name), PrincipalKind::Human)
}

fn claim(name: &str, status: Status, size: Option<u64>) -> EscalationResolution {
    let mut claimed = EscalationResolution::new(status, person(name), Timestamp::from_millis(Millis(500)));
    claimed.result = size.map(|size| json!({"size": size}));
    claimed
}

fn resolve(name: &str, status: Status, size: Option<u64>) -> Resolve {
    let claimed = claim(name, status, size);
    let answer = if size.is_some() { VerifiedAnswer::Valid } else { VerifiedAnswer::Unchecked };
    Resolve { resolver: claimed.resolved_by.clone(), claimed, visible: true, may_resolve: true, answer }
}

fn triggers() -> Vec<(&'static str, Trigger, Millis)> {
    let (before, after) = (Millis(500), EXPIRES);
    let sent = |resolve| Trigger::Resolve(Box::new(resolve));
    let says = |name, status, size| sent(resolve(name, status, size));
    let mut wrong = resolve("ann", Status::Modified, Some(1));
    wrong.answer = VerifiedAnswer::Invalid;
    let mut hidden = resolve("bob", Status::Modified, Some(1));
    hidden.visible = false;
    let mut posing = resolve("bob", Status::Modified, Some(1));
    posing.resolver = person("mallory");
    let mut without = resolve("bob", Status::Modified, Some(1));
    without.may_resolve = false;
    vec![
        ("ann answers", says("ann", Status::Modified, Some(3)), before),
        ("ann answers something else", says("ann", Status::Modified, Some(4)), before),
        ("bob answers", says("bob", Status::Modified, Some(3)), before),
        ("bob answers, too late", says("bob", Status::Modified, Some(3)), after),
        ("bob answers nothing", says("bob", Status::Modified, None), before),
        ("bob answers what the form refuses", sent(wrong), before),
        ("bob rejects", says("bob", Status::Rejected, None), before),
        ("bob takes over, which is not allowed", says("bob", Status::HandoffCompleted, Some(3)), before),
        ("bob says that it has expired", says("bob", Status::Expired, None), before),
        ("bob answers what he may not see", sent(hidden), before),
        ("mallory answers as bob", sent(posing), before),
        ("bob answers without the right", sent(without), before),
        ("the agent answers itself", says("agent", Status::Modified, Some(3)), before),
        ("the agent cancels", says("agent", Status::Cancelled, None), before),
        ("due, too early", Trigger::Due, before),
        ("due", Trigger::Due, after),
        ("the action has ended", Trigger::ActionEnded, before),
    ]
}

fn record(phase: Phase) -> Option<EscalationRecord> {
    let mut request = Escalation::new(EscalationKind::Input, "Which size?".to_string(), person("agent"));
    request.form = Some(json!({"type": "object"}));
    request.allowed_decisions =
        vec![EscalationDecision::Modify, EscalationDecision::Reject, EscalationDecision::Cancel];
    let raised = Raised {
        id: CorrelationId::new("corr_1"),
        tenant: "acme".to_string(),
        action_id: None,
        session_id: None,
        request,
        at: Millis(0),
        deadline: Some(EXPIRES),
    };
    let mut record = raise(raised).ok()?.record;
    record.answer = (phase == Phase::Resolved {}).then(|| claim("ann", Status::Modified, Some(3)));
    record.phase = phase;
    Some(record)
}
