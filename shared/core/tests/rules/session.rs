//! What holds of every life of a session (AIP 1.0 §10.3–§10.5), and what a handshake agrees (§10.1, §10.2, §23.3).

use std::collections::BTreeSet;

use aip_core::session::{
    self, ApprovedRedirect, Boundary, Negotiated, Offer, Opening, Place, PresentedToken, Rejection, SessionRecord,
    Stage, Step, Terms, TokenHash, Trigger, VerifiedRequester, follows, negotiate, open, step, view,
};
use aip_types::{
    ActionId, CapabilityId, ErrorCode, Handshake, MessageId, Millis, Principal, PrincipalId, PrincipalKind, ProfileId,
    SessionId, SessionState, limits,
};
use proptest::{collection::vec, prelude::*, sample::select};
use serde_json::json;

const OPENED: Millis = Millis(1_000);
const EXPIRES: Millis = Millis(5_000);
const IDLE_MS: u64 = 1_500;

fn principal(id: &str) -> Principal {
    Principal::new(PrincipalId::new(id), PrincipalKind::Service)
}

fn by(id: &str, delegated: bool) -> VerifiedRequester {
    VerifiedRequester { principal: principal(id), delegated }
}

fn initiator() -> VerifiedRequester {
    by("service:initiator", false)
}

fn text(generation: u32) -> String {
    session::token(generation, [7; 32])
}

fn opening() -> Opening {
    Opening {
        id: SessionId::new("sess_1"),
        tenant: "acme".to_owned(),
        initiator: principal("service:initiator"),
        peer: principal("system:fleet"),
        handshake: MessageId::new("msg_0"),
        handshake_hash: "h".to_owned(),
        correlation_id: None,
        terms: Terms::default(),
        expires_at: EXPIRES,
        idle_ms: IDLE_MS,
        token: Some(TokenHash::of(&text(1))),
        at: OPENED,
    }
}

fn opened() -> SessionRecord {
    open(opening()).unwrap().record
}

fn id(number: usize) -> ActionId {
    ActionId::new(format!("act_{number}"))
}

fn admit(number: usize) -> Trigger {
    Trigger::Admit { action: id(number), at_once: false }
}

fn moved(number: usize, step: u32, stage: Stage) -> Trigger {
    Trigger::Moved { action: id(number), step, stage }
}

fn over(number: usize) -> Trigger {
    Trigger::Over { action: id(number) }
}

fn resume(message: &str, by: VerifiedRequester, presented: Option<&str>, replacement: u32) -> Trigger {
    Trigger::Resume {
        message: MessageId::new(message),
        by,
        presented: presented.map(PresentedToken::read),
        replacement: Some(TokenHash::of(&text(replacement))),
    }
}

fn close(message: &str) -> Trigger {
    Trigger::Close { message: MessageId::new(message), by: initiator() }
}

/// Applies triggers that all must be applied.
fn after(record: &SessionRecord, triggers: impl IntoIterator<Item = Trigger>) -> SessionRecord {
    triggers.into_iter().fold(record.clone(), |record, trigger| step(&record, trigger, Millis(1_100)).unwrap().record)
}

fn refused(record: &SessionRecord, trigger: Trigger, at: u64) -> Rejection {
    step(record, trigger, Millis(at)).unwrap_err()
}

fn any_trigger() -> impl Strategy<Value = Trigger> {
    let action = || 0..6_usize;
    let stage = select(vec![Stage::WaitingForHuman, Stage::Queued, Stage::Processing, Stage::Streaming]);
    let requester = prop_oneof![
        6 => Just(initiator()),
        1 => Just(by("system:fleet", false)),
        1 => Just(by("agent:other", false)),
        1 => Just(by("agent:delegate", true)),
    ];
    let message = |kind: &'static str| (0..30_u32).prop_map(move |number| MessageId::new(format!("{kind}_{number}")));
    let token = prop::option::weighted(0.8, 0..6_u32);
    prop_oneof![
        8 => (action(), any::<bool>()).prop_map(|(number, at_once)| Trigger::Admit { action: id(number), at_once }),
        10 => (action(), 0..9_u32, stage).prop_map(|(number, step, stage)| moved(number, step, stage)),
        6 => action().prop_map(over),
        6 => (message("msg_r"), requester.clone(), token, prop::option::weighted(0.9, 0..6_u32)).prop_map(
            |(message, by, presented, replacement)| Trigger::Resume {
                message,
                by,
                presented: presented.map(|generation| PresentedToken::read(&text(generation))),
                replacement: replacement.map(|generation| TokenHash::of(&text(generation))),
            }
        ),
        1 => (message("msg_c"), requester).prop_map(|(message, by)| Trigger::Close { message, by }),
        3 => Just(Trigger::ExpireDue),
        1 => Just(Trigger::Fail { code: ErrorCode::PolicyDenied }),
        1 => Just(Trigger::Settle),
    ]
}

fn history() -> impl Strategy<Value = Vec<(Trigger, Millis)>> {
    let at = prop_oneof![6 => 900..2_400_u64, 1 => 2_400..6_000_u64].prop_map(Millis);
    vec((any_trigger(), at), 0..64)
}

/// Every step that a history takes, with the record before it.
fn steps(history: &[(Trigger, Millis)]) -> Vec<(SessionRecord, Trigger, Step)> {
    let mut record = opened();
    let mut steps = Vec::new();
    for (trigger, at) in history {
        let before = record.clone();
        let Ok(step) = step(&record, trigger.clone(), *at) else { continue };
        record = step.record.clone();
        steps.push((before, trigger.clone(), step));
    }
    steps
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]

    #[test]
    fn the_laws_of_every_machine_hold(history in history()) {
        let evidence = |record: &SessionRecord| (record.chain.step, record.chain.updated_at);
        crate::laws::hold(open(opening()).unwrap(), evidence, history)?;
    }

    #[test]
    fn a_session_takes_the_edges_of_the_specification_and_no_other(history in history()) {
        prop_assert!(follows(SessionState::New, opened().state));
        for (before, _, step) in steps(&history) {
            let (from, to) = (before.state, step.record.state);
            prop_assert!(from == to || follows(from, to), "{from} → {to}");
        }
    }

    /// AIP 1.0 §11.8: an end is not reported before the last action is over.
    #[test]
    fn a_session_ends_without_an_action_and_only_when_its_end_was_wanted(history in history()) {
        for (_, _, step) in steps(&history) {
            let record = step.record;
            let ended = matches!(record.state.as_str(), "completed" | "cancelled" | "failed" | "settled");
            prop_assert!(!ended || (record.actions.is_empty() && record.closing.is_some() && record.token.is_none()));
            prop_assert!(record.actions.len() <= limits::SESSION_ACTIONS_LEN_MAX);
        }
    }

    #[test]
    fn nothing_begins_in_a_session_whose_end_is_wanted(history in history()) {
        for (before, trigger, _) in steps(&history) {
            let begins = matches!(trigger, Trigger::Admit { .. } | Trigger::Resume { .. });
            prop_assert!(!begins || before.closing.is_none());
        }
    }

    /// The service issues a fresh token each time; whoever presents what, no token is taken twice.
    #[test]
    fn a_token_works_once(presented in vec((any::<bool>(), 0..12_u32), 1..24)) {
        let (mut record, mut taken, mut issued) = (opened(), BTreeSet::new(), 1);
        for (number, (current, guess)) in presented.into_iter().enumerate() {
            let generation = if current { issued } else { guess };
            let trigger = resume(&format!("msg_{number}x"), initiator(), Some(&text(generation)), issued + 1);
            match step(&record, trigger, Millis(1_100)) {
                Ok(step) => {
                    prop_assert_eq!(generation, issued);
                    prop_assert!(taken.insert(generation));
                    record = step.record;
                    issued += 1;
                }
                Err(why) => {
                    let used = (1..issued).contains(&generation);
                    prop_assert_eq!(why, if used { Rejection::TokenUsed } else { Rejection::TokenInvalid });
                }
            }
        }
    }

    #[test]
    fn an_action_counts_from_its_admission_to_its_end(history in history()) {
        for (before, trigger, step) in steps(&history) {
            let admitted = i64::from(matches!(trigger, Trigger::Admit { .. }));
            let change = admitted - i64::from(matches!(trigger, Trigger::Over { .. }));
            let count = |record: &SessionRecord| i64::try_from(record.actions.len()).unwrap();
            prop_assert_eq!(count(&step.record), count(&before) + change);
            prop_assert_eq!(view(&step.record).active_action_count, u64::try_from(count(&step.record)).unwrap());
        }
    }

    #[test]
    fn neither_record_nor_evidence_shows_a_token(history in history()) {
        for (_, _, step) in steps(&history) {
            let shown = format!("{:?} {}", step, serde_json::to_string(&step.record).unwrap());
            prop_assert!((0..6).all(|generation| !shown.contains(&text(generation))));
            let evidence = serde_json::to_string(&(&step.events, &step.receipts)).unwrap();
            prop_assert!(step.record.token.is_none_or(|hash| !evidence.contains(json!(hash).as_str().unwrap())));
        }
    }

    #[test]
    fn a_stored_record_lives_on(history in history()) {
        for (_, _, step) in steps(&history) {
            let text = serde_json::to_string(&step.record).unwrap();
            prop_assert_eq!(&serde_json::from_str::<SessionRecord>(&text).unwrap(), &step.record);
            let waits = step.record.closing.is_some() || step.record.due().is_some();
            prop_assert!(waits, "nothing would ever end it");
        }
    }

    /// AIP 1.0 §10.2, §23.3: nothing is agreed that one side did not offer.
    #[test]
    fn only_what_both_sides_have_is_agreed(asked in vec(0..6_u8, 0..6), offered in vec(0..6_u8, 0..6)) {
        let mut handshake = handshake();
        handshake.profiles = asked.iter().map(|number| ProfileId::new(format!("p{number}"))).collect();
        handshake.requested_capabilities = asked.iter().map(|number| CapabilityId::new(format!("c{number}"))).collect();
        let mut offer = offer();
        offer.profiles = offered.iter().map(|number| ProfileId::new(format!("p{number}"))).collect();
        offer.visible = offered.iter().map(|number| CapabilityId::new(format!("c{number}"))).collect();
        match negotiate(&handshake, &offer) {
            Negotiated::Accepted { profiles, capabilities } => {
                prop_assert!(!profiles.is_empty());
                prop_assert!(profiles.iter().all(|one| handshake.profiles.contains(one) && offer.profiles.contains(one)));
                let asked = &handshake.requested_capabilities;
                prop_assert!(capabilities.iter().all(|one| asked.contains(one) && offer.visible.contains(one)));
            }
            Negotiated::Rejected(code) => {
                prop_assert_eq!(code, ErrorCode::SessionNoCommonProfile);
                prop_assert!(asked.iter().all(|number| !offered.contains(number)));
            }
            Negotiated::Redirect { .. } => prop_assert!(false, "nobody asked for a redirect"),
        }
    }
}

#[test]
fn random_lives_reach_every_state_and_every_refusal() {
    use proptest::{strategy::ValueTree as _, test_runner::TestRunner};
    let mut runner = TestRunner::deterministic();
    let (mut states, mut refusals) = (BTreeSet::new(), BTreeSet::new());
    for _ in 0..1_000 {
        let mut record = opened();
        for (trigger, at) in history().new_tree(&mut runner).unwrap().current() {
            match step(&record, trigger, at) {
                Ok(step) => record = step.record,
                Err(why) => _ = refusals.insert(why.name()),
            }
            states.insert(record.state);
        }
    }
    let stored: Vec<_> = SessionState::ALL.iter().copied().filter(|state| *state != SessionState::New).collect();
    assert_eq!(states.into_iter().collect::<Vec<_>>(), stored);
    let all = [
        "action_unknown",
        "closing",
        "ended",
        "expired",
        "not_admitted",
        "not_due",
        "not_owner",
        "repeated",
        "terminal",
        "token_invalid",
        "token_used",
    ];
    assert_eq!(refusals.into_iter().collect::<Vec<_>>(), all);
}

#[test]
fn the_state_shows_the_liveliest_action_where_an_edge_leads_there() {
    let record = after(&opened(), [admit(1)]);
    assert_eq!(record.state, SessionState::Queued);
    let record = after(&record, [moved(1, 2, Stage::Processing)]);
    assert_eq!(record.state, SessionState::Processing);
    let record = after(&record, [admit(2), moved(1, 3, Stage::WaitingForHuman)]);
    assert_eq!(record.state, SessionState::Processing, "another is queued, and no edge leads back to queued");
    let record = after(&record, [over(2), moved(1, 4, Stage::WaitingForHuman)]);
    assert_eq!(record.state, SessionState::WaitingForHuman);
    let record = after(&record, [moved(1, 5, Stage::Processing), moved(1, 6, Stage::Streaming)]);
    assert_eq!(record.state, SessionState::Streaming);
    let record = after(&record, [over(1)]);
    assert_eq!(record.state, SessionState::Streaming, "between two actions it stays as it is");
    assert_eq!(view(&record).active_action_count, 0);
}

#[test]
fn a_plain_read_takes_a_session_straight_to_processing() {
    let record = after(&opened(), [Trigger::Admit { action: id(1), at_once: true }]);
    assert_eq!(record.state, SessionState::Processing);
}

#[test]
fn a_close_waits_for_the_last_action() {
    let record = after(&opened(), [admit(1), admit(2), close("msg_c")]);
    assert_eq!((record.state, record.due()), (SessionState::Queued, None));
    assert_eq!(refused(&record, admit(3), 1_100), Rejection::Closing);
    assert_eq!(refused(&record, admit(1), 1_100), Rejection::Repeated);
    assert_eq!(refused(&record, close("msg_c"), 1_100), Rejection::Repeated);
    assert_eq!(refused(&record, close("msg_d"), 1_100), Rejection::Closing);
    let record = after(&record, [over(1), over(2)]);
    assert_eq!(record.state, SessionState::Cancelled);
    assert_eq!(refused(&record, close("msg_c"), 1_100), Rejection::Repeated);
    assert_eq!(refused(&record, resume("msg_r", initiator(), Some(&text(1)), 2), 1_100), Rejection::Ended);
    assert_eq!(after(&record, [Trigger::Settle]).state, SessionState::Settled);
}

#[test]
fn an_idle_session_that_did_work_completes_and_one_that_did_none_is_cancelled() {
    let idle = opened();
    assert_eq!(idle.due(), Some(OPENED.plus(IDLE_MS)));
    assert_eq!(refused(&idle, Trigger::ExpireDue, 2_499), Rejection::NotDue);
    assert_eq!(step(&idle, Trigger::ExpireDue, Millis(2_500)).unwrap().record.state, SessionState::Cancelled);
    let worked = after(&idle, [Trigger::Admit { action: id(1), at_once: true }]);
    assert_eq!(worked.due(), Some(EXPIRES), "an action keeps it from being idle");
    let worked = after(&worked, [over(1)]);
    assert_eq!(step(&worked, Trigger::ExpireDue, Millis(2_600)).unwrap().record.state, SessionState::Completed);
}

#[test]
fn a_session_whose_time_ends_over_an_action_is_cancelled_after_it() {
    let record = after(&opened(), [admit(1), moved(1, 2, Stage::Processing)]);
    assert_eq!(refused(&record, admit(2), EXPIRES.0), Rejection::Expired);
    let record = step(&record, Trigger::ExpireDue, EXPIRES).unwrap().record;
    assert_eq!(record.state, SessionState::Processing);
    assert_eq!(after(&record, [over(1)]).state, SessionState::Cancelled);
}

#[test]
fn a_failed_session_fails_where_the_specification_has_the_edge() {
    let fail = || Trigger::Fail { code: ErrorCode::PolicyDenied };
    assert_eq!(after(&opened(), [fail()]).state, SessionState::Cancelled);
    let record = after(&opened(), [admit(1), fail(), over(1)]);
    assert_eq!(
        (record.state, record.closing.unwrap().code.as_deref()),
        (SessionState::Failed, Some("aip.policy.denied"))
    );
}

#[test]
fn an_older_word_about_an_action_is_ignored() {
    let record = after(&opened(), [admit(1), moved(1, 3, Stage::Streaming)]);
    assert_eq!(refused(&record, moved(1, 3, Stage::Queued), 1_100), Rejection::Repeated);
    assert_eq!(refused(&record, moved(1, 2, Stage::Queued), 1_100), Rejection::Repeated);
    assert_eq!(refused(&record, moved(2, 2, Stage::Queued), 1_100), Rejection::ActionUnknown);
    let record = after(&record, [over(1)]);
    assert_eq!(refused(&record, moved(1, 9, Stage::Queued), 1_100), Rejection::Repeated);
    assert_eq!(refused(&record, admit(1), 1_100), Rejection::Repeated, "a late admission brings no action back");
}

#[test]
fn a_session_takes_as_many_actions_as_its_bound_and_none_more() {
    let record = after(&opened(), (0..limits::SESSION_ACTIONS_LEN_MAX).map(admit));
    assert_eq!(refused(&record, admit(limits::SESSION_ACTIONS_LEN_MAX), 1_100), Rejection::ActionsFull);
    let record = after(&record, (0..limits::SESSION_ACTIONS_LEN_MAX).map(over));
    assert_eq!(record.ended.len(), limits::SESSION_ENDED_LEN_MAX);
}

#[test]
fn a_used_token_is_told_from_an_unknown_one_and_a_repeated_request_from_both() {
    let record = after(&opened(), [resume("msg_r", initiator(), Some(&text(1)), 2)]);
    assert_eq!(refused(&record, resume("msg_r", initiator(), Some(&text(1)), 3), 1_100), Rejection::Repeated);
    assert_eq!(refused(&record, resume("msg_s", initiator(), Some(&text(1)), 3), 1_100), Rejection::TokenUsed);
    for unknown in ["", "2.", "2.ff", "7.ff", "0.ff", "not a token"] {
        assert_eq!(refused(&record, resume("msg_s", initiator(), Some(unknown), 3), 1_100), Rejection::TokenInvalid);
    }
    assert_eq!(after(&record, [resume("msg_s", initiator(), Some(&text(2)), 3)]).generation, 3);
}

#[test]
fn only_the_initiator_resumes_without_the_token() {
    let record = opened();
    let delegate = || by("agent:delegate", true);
    assert_eq!(refused(&record, resume("msg_r", delegate(), None, 2), 1_100), Rejection::TokenInvalid);
    assert_eq!(refused(&record, resume("msg_r", by("agent:x", false), Some(&text(1)), 2), 1_100), Rejection::NotOwner);
    let record = after(&record, [resume("msg_r", initiator(), None, 2)]);
    assert_eq!(refused(&record, resume("msg_s", delegate(), Some(&text(1)), 3), 1_100), Rejection::TokenUsed);
    assert_eq!(after(&record, [resume("msg_s", delegate(), Some(&text(2)), 3)]).generation, 3);
}

#[test]
fn terms_and_times_are_bounded() {
    let with = |change: fn(&mut Opening)| {
        let mut opening = opening();
        change(&mut opening);
        open(opening).map(|step| step.record.state)
    };
    assert_eq!(with(|opening| opening.expires_at = OPENED.plus(limits::SESSION_TTL_MS_MAX)), Ok(SessionState::Active));
    for change in [
        (|opening| opening.expires_at = OPENED.plus(limits::SESSION_TTL_MS_MAX + 1)) as fn(&mut Opening),
        |opening| opening.expires_at = OPENED,
        |opening| opening.idle_ms = 0,
        |opening| opening.terms.billing = Some(json!("x".repeat(limits::SESSION_TERMS_BYTES_MAX))),
    ] {
        assert_eq!(with(change), Err(Rejection::TermsInvalid));
    }
}

fn handshake() -> Handshake {
    Handshake::new(principal("service:initiator"), "work".to_owned(), vec![ProfileId::new("aip.native.http.v1")])
}

fn offer() -> Offer {
    Offer {
        caller: principal("service:initiator"),
        profiles: BTreeSet::from([ProfileId::new("aip.native.http.v1"), ProfileId::new("aip.native.nats.v1")]),
        visible: BTreeSet::new(),
        compliance: BTreeSet::from(["gdpr".to_owned()]),
        boundary: Boundary::Tls,
        place: Place::Here,
    }
}

#[test]
fn a_client_that_is_not_the_caller_is_rejected() {
    let mut handshake = handshake();
    handshake.client = principal("service:other");
    assert_eq!(negotiate(&handshake, &offer()), Negotiated::Rejected(ErrorCode::ActorMismatch));
}

#[test]
fn every_required_regime_must_be_met() {
    let mut handshake = handshake();
    handshake.compliance_required = vec!["gdpr".to_owned()];
    assert!(matches!(negotiate(&handshake, &offer()), Negotiated::Accepted { .. }));
    handshake.compliance_required.push("hipaa".to_owned());
    assert_eq!(negotiate(&handshake, &offer()), Negotiated::Rejected(ErrorCode::SessionComplianceUnmet));
}

#[test]
fn a_redirect_leads_to_no_weaker_boundary() {
    let to = |boundary| {
        let mut offer = offer();
        offer.place = Place::Elsewhere(ApprovedRedirect { target: "https://b.example".to_owned(), boundary });
        negotiate(&handshake(), &offer)
    };
    let redirect = Negotiated::Redirect { target: "https://b.example".to_owned() };
    assert_eq!([to(Boundary::Tls), to(Boundary::Mutual)], [redirect.clone(), redirect]);
    assert_eq!(to(Boundary::Plaintext), Negotiated::Rejected(ErrorCode::SessionRedirectRefused));
    let mut offer = offer();
    offer.place = Place::Nowhere;
    assert_eq!(negotiate(&handshake(), &offer), Negotiated::Rejected(ErrorCode::SessionRedirectRefused));
}

#[test]
fn every_state_answers_every_trigger() {
    let page = session::matrix();
    let rows = page.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| trigger")).count();
    assert_eq!(rows, 5 * 21);
    assert!(page.contains("  processing --> waiting_for_human: waiting_for_human\n") && !page.contains("  new -->"));
}
