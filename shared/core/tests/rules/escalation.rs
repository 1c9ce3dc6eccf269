//! Escalations: asked, answered once, and never an approval (AIP 1.0 §12.7).

use aip_core::escalation::{
    EscalationRecord, Phase, Raised, Rejection, Resolve, Step, Trigger, VerifiedAnswer, matrix, raise, resolution, step,
};
use aip_types::{
    ActionId, CorrelationId, Escalation, EscalationDecision, EscalationKind, EscalationResolution,
    EscalationResolutionStatus as Status, Millis, Principal, PrincipalId, PrincipalKind, Timestamp, limits,
};
use proptest::{collection::vec, prelude::*, sample::select};
use serde_json::{Value, json};

const EXPIRES: Millis = Millis(5_000);
const NOW: Millis = Millis(2_000);

fn human(name: &str) -> Principal {
    Principal::new(PrincipalId::new(name), PrincipalKind::Human)
}

fn raised(kind: EscalationKind, form: Option<Value>) -> Raised {
    let mut request = Escalation::new(kind, "Please look.".to_owned(), human("agent"));
    request.form = form;
    Raised {
        id: CorrelationId::new("corr_1"),
        tenant: "acme".to_owned(),
        action_id: Some(ActionId::new("act_1")),
        session_id: None,
        request,
        at: Millis(1_000),
        deadline: Some(EXPIRES),
    }
}

fn open(kind: EscalationKind) -> EscalationRecord {
    raise(raised(kind, None)).unwrap().record
}

fn with_form() -> EscalationRecord {
    raise(raised(EscalationKind::Input, Some(json!({"type": "object"})))).unwrap().record
}

fn answer(name: &str, status: Status, result: Option<Value>) -> Resolve {
    let mut claimed = EscalationResolution::new(status, human(name), Timestamp::from_millis(NOW));
    let answer = if result.is_some() { VerifiedAnswer::Valid } else { VerifiedAnswer::Unchecked };
    claimed.result = result;
    Resolve { claimed, resolver: human(name), visible: true, may_resolve: true, answer }
}

fn send(record: &EscalationRecord, resolve: Resolve) -> Result<Step, Rejection> {
    step(record, Trigger::Resolve(Box::new(resolve)), NOW)
}

fn refusal(record: &EscalationRecord, resolve: Resolve) -> Rejection {
    send(record, resolve).unwrap_err()
}

#[test]
fn a_person_answers_once() {
    let record = open(EscalationKind::Handoff);
    assert_eq!((record.due(), resolution(&record)), (Some(EXPIRES), None));
    let step = send(&record, answer("ann", Status::HandoffCompleted, None)).unwrap();
    assert_eq!((step.record.phase.clone(), step.event, step.record.due()), (Phase::Resolved {}, "resolved", None));
    assert_eq!(resolution(&step.record).unwrap().status, Status::HandoffCompleted);
    let mut again = answer("ann", Status::HandoffCompleted, None);
    again.claimed.resolved_at = Timestamp::from_millis(Millis(2_500));
    assert_eq!(refusal(&step.record, again), Rejection::Repeated);
    assert_eq!(refusal(&step.record, answer("ann", Status::Rejected, None)), Rejection::NotOpen);
    assert_eq!(refusal(&step.record, answer("bob", Status::HandoffCompleted, None)), Rejection::NotOpen);
}

#[test]
fn an_answer_is_by_its_authenticated_sender() {
    let record = open(EscalationKind::Handoff);
    let mut posing = answer("ann", Status::Rejected, None);
    posing.resolver = human("mallory");
    assert_eq!(refusal(&record, posing), Rejection::ResolverMismatch);
    let mut hidden = answer("ann", Status::Rejected, None);
    hidden.visible = false;
    assert_eq!(refusal(&record, hidden), Rejection::NotFound);
    let mut without = answer("ann", Status::Rejected, None);
    without.may_resolve = false;
    assert_eq!(refusal(&record, without), Rejection::NotAuthorised);
}

#[test]
fn who_asks_may_cancel_and_not_answer() {
    let record = open(EscalationKind::PolicyException);
    for status in [Status::Approved, Status::Rejected, Status::Modified, Status::HandoffCompleted] {
        assert_eq!(refusal(&record, answer("agent", status, None)), Rejection::NotAuthorised);
    }
    assert_eq!(send(&record, answer("agent", Status::Cancelled, None)).unwrap().record.phase, Phase::Resolved {});
}

#[test]
fn only_allowed_decisions_are_taken_and_time_is_nobodys_to_decide() {
    let mut asks = raised(EscalationKind::Approval, None);
    asks.request.allowed_decisions = vec![EscalationDecision::Reject];
    let record = raise(asks).unwrap().record;
    assert_eq!(refusal(&record, answer("ann", Status::Approved, None)), Rejection::DecisionRefused);
    assert_eq!(refusal(&record, answer("ann", Status::Cancelled, None)), Rejection::DecisionRefused);
    assert!(send(&record, answer("ann", Status::Rejected, None)).is_ok());
    let open = open(EscalationKind::Approval);
    assert_eq!(refusal(&open, answer("ann", Status::Expired, None)), Rejection::DecisionRefused);
}

#[test]
fn a_result_satisfies_its_form() {
    let record = with_form();
    let result = || Some(json!({"size": 3}));
    assert!(send(&record, answer("ann", Status::Modified, result())).is_ok());
    assert!(send(&record, answer("ann", Status::Rejected, None)).is_ok());
    assert_eq!(refusal(&record, answer("ann", Status::Modified, None)), Rejection::AnswerInvalid);
    for verdict in [VerifiedAnswer::Invalid, VerifiedAnswer::Unchecked] {
        for status in [Status::Modified, Status::Rejected] {
            let wrong = Resolve { answer: verdict, ..answer("ann", status, result()) };
            assert_eq!(refusal(&record, wrong), Rejection::AnswerInvalid);
        }
    }
    assert_eq!(refusal(&open(EscalationKind::Input), answer("ann", Status::Approved, None)), Rejection::AnswerInvalid);
    assert!(send(&open(EscalationKind::PolicyException), answer("ann", Status::Approved, None)).is_ok());
}

#[test]
fn it_expires_by_the_timer_and_ends_with_its_action() {
    let record = open(EscalationKind::Input);
    assert_eq!(step(&record, Trigger::Due, Millis(4_999)).unwrap_err(), Rejection::NotDue);
    let expired = step(&record, Trigger::Due, EXPIRES).unwrap().record;
    assert_eq!(resolution(&expired).unwrap().status, Status::Expired);
    let withdrawn = step(&record, Trigger::ActionEnded, NOW).unwrap().record;
    assert_eq!(resolution(&withdrawn).unwrap().status, Status::Cancelled);
    let late = Trigger::Resolve(Box::new(answer("ann", Status::Rejected, None)));
    assert_eq!(step(&record, late, EXPIRES).unwrap_err(), Rejection::Expired);
}

#[test]
fn an_escalation_is_refused_one_past_its_bounds() {
    let sized = |bytes: usize| {
        let mut asks = raised(EscalationKind::Handoff, None);
        asks.request.reason = "x".repeat(bytes);
        asks
    };
    let most = limits::ESCALATION_BYTES_MAX - serde_json::to_vec(&sized(0).request).unwrap().len();
    assert!(raise(sized(most)).is_ok());
    assert_eq!(raise(sized(most + 1)).unwrap_err(), Rejection::TooLarge);
    let record = open(EscalationKind::Handoff);
    let sized = |bytes: usize| answer("ann", Status::Modified, Some(json!("x".repeat(bytes))));
    let most = limits::ESCALATION_ANSWER_BYTES_MAX - serde_json::to_vec(&sized(0).claimed).unwrap().len();
    assert!(send(&record, sized(most)).is_ok());
    assert_eq!(refusal(&record, sized(most + 1)), Rejection::TooLarge);
    let mut long = raised(EscalationKind::Handoff, None);
    long.request.timeout_ms = Some(u64::MAX);
    long.deadline = None;
    assert_eq!(raise(long).unwrap().record.expires_at, Millis(1_000).plus(limits::ESCALATION_TTL_MS_MAX));
}

/// Whatever an escalation is answered with, no receipt and no event says that something was approved.
#[test]
fn an_answer_is_never_an_approval() {
    for kind in EscalationKind::ALL {
        for status in Status::ALL {
            let Ok(step) = send(&open(*kind), answer("ann", *status, Some(json!({"decision": "approved"})))) else {
                continue;
            };
            assert!(step.receipts.is_empty());
            assert!(step.events.iter().all(|event| event.kind == "aip.escalation.resolved"));
        }
    }
}

fn trigger() -> impl Strategy<Value = Trigger> {
    let resolve = (select(&["ann", "bob", "agent"][..]), select(Status::ALL), any::<bool>(), any::<[bool; 3]>());
    let resolve = resolve.prop_map(|(name, status, result, [visible, may_resolve, posing])| {
        let mut resolve = answer(name, status, result.then(|| json!({})));
        resolve.visible = visible;
        resolve.may_resolve = may_resolve;
        if posing {
            resolve.resolver = human("mallory");
        }
        Trigger::Resolve(Box::new(resolve))
    });
    prop_oneof![8 => resolve, 1 => Just(Trigger::Due), 1 => Just(Trigger::ActionEnded)]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]

    #[test]
    fn the_laws_of_every_machine_hold(
        kind in select(EscalationKind::ALL),
        history in vec((trigger(), (1_000..6_000_u64).prop_map(Millis)), 0..24),
    ) {
        let first = raise(raised(kind, None)).unwrap();
        let last = crate::laws::hold(first, |record| (record.chain.step, record.chain.updated_at), history)?;
        prop_assert_eq!(resolution(&last).is_some(), last.phase.is_terminal());
        prop_assert_eq!(last.answer.is_some(), last.phase == (Phase::Resolved {}));
        let text = serde_json::to_string(&last).unwrap();
        prop_assert_eq!(serde_json::from_str::<EscalationRecord>(&text).unwrap(), last);
    }
}

/// The whole table is printed for people in `docs/states/escalation.md`; that file is compared by `cargo xtask tidy`.
#[test]
fn the_matrix_has_no_empty_cell() {
    let matrix = matrix();
    let rows: Vec<&str> = matrix.lines().filter(|line| line.starts_with("| ")).collect();
    assert_eq!(rows.len(), 18);
    assert!(rows.iter().all(|row| row.split('|').count() == 7 && !row.contains("|  |")), "{matrix}");
}
