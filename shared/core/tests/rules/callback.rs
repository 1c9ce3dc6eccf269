//! What holds of every life of a callback delivery (AIP 1.0 §17.2, §17.3).

use std::collections::BTreeSet;

use aip_core::{
    Machine as _,
    action::Held,
    callback::{
        self, CallbackRecord, Delivery, Outcome, Phase, Rejection, Step, Trigger, VerifiedOperator, VerifiedTarget,
        again, delivery_id, open, step, view,
    },
};
use aip_types::{
    Callback, CallbackDeliveryStatus, MessageId, Millis, Principal, PrincipalId, PrincipalKind, ProfileId, limits,
};
use proptest::{collection::vec, prelude::*};
use serde_json::json;

use crate::laws::{Which, which};

const MADE: Millis = Millis(1_000);
const TARGET: &str = "https://hooks.example/secret-path";

fn target(text: &str) -> Callback {
    Callback::new(ProfileId::new("aip.native.http.v1"), text.to_owned())
}

fn delivery() -> Delivery {
    Delivery {
        tenant: "acme".to_owned(),
        target: VerifiedTarget(target(TARGET)),
        message_id: MessageId::new("msg_1"),
        message_type: "aip.core.v1.action_result".to_owned(),
        payload: Held::Inline(json!({"governed": "output"})),
        payload_hash: "p".to_owned(),
        terminal: true,
        terminal_only: true,
        max_attempts: 3,
        timeout_ms: 100,
        retry_backoff_ms: vec![10, 20],
        sign_payload: true,
        action_id: None,
        session_id: None,
        correlation_id: None,
        at: MADE,
    }
}

fn opened() -> CallbackRecord {
    open(delivery()).unwrap().record
}

fn lease(fence: u64) -> Trigger {
    Trigger::Lease { fence, worker: "one".to_owned() }
}

fn ended(fence: u64, outcome: Outcome) -> Trigger {
    Trigger::Ended { fence, outcome }
}

fn failed(permanent: bool) -> Outcome {
    Outcome::Failed { reason: "status 503".to_owned(), permanent }
}

fn operator() -> VerifiedOperator {
    VerifiedOperator(Principal::new(PrincipalId::new("human:operator"), PrincipalKind::Human))
}

fn retry(message: &str) -> Trigger {
    Trigger::Retry { message: MessageId::new(message), by: operator() }
}

fn dropped(message: &str) -> Trigger {
    Trigger::Drop { message: MessageId::new(message), by: operator() }
}

fn after(record: &CallbackRecord, triggers: impl IntoIterator<Item = (Trigger, u64)>) -> CallbackRecord {
    triggers
        .into_iter()
        .fold(record.clone(), |record, (trigger, at)| step(&record, trigger, Millis(at)).unwrap().record)
}

fn refused(record: &CallbackRecord, trigger: Trigger, at: u64) -> Rejection {
    step(record, trigger, Millis(at)).unwrap_err()
}

#[derive(Clone, Copy, Debug)]
enum What {
    Lease(bool),
    Ended { delivered: bool, permanent: bool },
    LeaseOver,
    Retry(u8),
    Drop(u8),
}

/// Triggers of processes whose clocks disagree, in any order, with any fence.
fn moves() -> impl Strategy<Value = Vec<(What, Which, u64)>> {
    let what = prop_oneof![
        8 => any::<bool>().prop_map(What::Lease),
        6 => (prop::bool::weighted(0.1), prop::bool::weighted(0.2))
            .prop_map(|(delivered, permanent)| What::Ended { delivered, permanent }),
        4 => Just(What::LeaseOver),
        3 => any::<u8>().prop_map(What::Retry),
        1 => (0..40_u8).prop_map(What::Drop),
    ];
    let fence = which();
    vec((what, fence, prop_oneof![900..2_000_u64, 2_000..40_000_u64]), 0..96)
}

struct Life {
    first: Step,
    history: Vec<(Trigger, Millis)>,
    steps: Vec<(CallbackRecord, Trigger, Millis, Step)>,
    refusals: Vec<Rejection>,
}

impl Life {
    fn records(&self) -> impl Iterator<Item = &CallbackRecord> {
        std::iter::once(&self.first.record).chain(self.steps.iter().map(|(_, _, _, step)| &step.record))
    }
}

fn live(moves: &[(What, Which, u64)]) -> Life {
    let first = open(delivery()).unwrap();
    let mut record = first.record.clone();
    let mut life = Life { first, history: Vec::new(), steps: Vec::new(), refusals: Vec::new() };
    for (what, which, at) in moves {
        let fence = which.of(record.fence);
        let trigger = match what {
            What::Lease(one) => Trigger::Lease { fence, worker: if *one { "one" } else { "two" }.to_owned() },
            What::Ended { delivered: true, .. } => ended(fence, Outcome::Delivered),
            What::Ended { permanent, .. } => ended(fence, failed(*permanent)),
            What::LeaseOver => Trigger::LeaseOver { fence },
            What::Retry(number) => retry(&format!("msg_r{number}")),
            What::Drop(number) => dropped(&format!("msg_d{number}")),
        };
        life.history.push((trigger.clone(), Millis(*at)));
        match step(&record, trigger.clone(), Millis(*at)) {
            Ok(step) => {
                let before = std::mem::replace(&mut record, step.record.clone());
                life.steps.push((before, trigger, Millis(*at), step));
            }
            Err(why) => life.refusals.push(why),
        }
    }
    life
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]

    #[test]
    fn the_laws_of_every_machine_hold(moves in moves()) {
        let life = live(&moves);
        let evidence = |record: &CallbackRecord| (record.chain.step, record.chain.updated_at);
        crate::laws::hold(life.first, evidence, life.history)?;
    }

    #[test]
    fn a_round_has_no_more_attempts_than_the_policy(moves in moves()) {
        let life = live(&moves);
        let begun = |life: &Life| life.steps.iter().filter(|(_, trigger, ..)| matches!(trigger, Trigger::Lease { .. })).count();
        let last = life.records().last().unwrap();
        prop_assert_eq!(usize::try_from(last.attempts).unwrap(), begun(&life));
        for record in life.records() {
            prop_assert!(record.attempts - record.attempts_before <= record.policy.max_attempts);
            prop_assert!(record.attempts <= record.policy.max_attempts * (1 + record.retries));
            prop_assert!(record.retries <= limits::CALLBACK_RETRIES_MAX);
            prop_assert!(record.attempts_last.len() <= limits::CALLBACK_ATTEMPTS_LEN_MAX);
        }
    }

    #[test]
    fn fences_only_grow_and_no_other_fence_ends_an_attempt(moves in moves()) {
        for (before, trigger, _, step) in live(&moves).steps {
            prop_assert!(step.record.fence >= before.fence);
            match trigger {
                Trigger::Lease { fence, .. } => prop_assert!(fence > before.fence && step.record.fence == fence),
                Trigger::Ended { fence, .. } | Trigger::LeaseOver { fence } => {
                    prop_assert!(matches!(&before.phase, Phase::Running(lease) if lease.fence == fence));
                }
                Trigger::Retry { .. } | Trigger::Drop { .. } => prop_assert!(!matches!(before.phase, Phase::Running(_))),
            }
        }
    }

    /// AIP 1.0 §17.2: ids, key, payload and policy are the same over all attempts and rounds.
    #[test]
    fn what_is_sent_never_changes(moves in moves()) {
        let life = live(&moves);
        for record in life.records() {
            prop_assert_eq!(&record.policy, &life.first.record.policy);
            prop_assert_eq!(&record.payload_hash, "p");
            prop_assert_eq!(record.payload.is_some(), !record.is_terminal());
        }
    }

    #[test]
    fn nothing_begins_before_it_is_due_and_no_lease_is_lost_before_its_end(moves in moves()) {
        for (before, trigger, at, _) in live(&moves).steps {
            let timed = matches!(trigger, Trigger::Lease { .. } | Trigger::LeaseOver { .. });
            prop_assert!(!timed || before.due().is_some_and(|due| at >= due));
        }
    }

    #[test]
    fn what_is_open_waits_for_a_time_and_a_stored_record_lives_on(moves in moves()) {
        for record in live(&moves).records() {
            let open = matches!(record.phase, Phase::Pending { .. } | Phase::Running(_));
            prop_assert_eq!(record.due().is_some(), open);
            prop_assert_eq!(record.completed_at.is_some(), !open);
            let text = serde_json::to_string(record).unwrap();
            prop_assert_eq!(&serde_json::from_str::<CallbackRecord>(&text).unwrap(), record);
            let view = view(record);
            prop_assert_eq!(view.status.as_str(), record.phase.name());
            prop_assert_eq!(view.leased_by.is_some(), view.status == CallbackDeliveryStatus::Running);
        }
    }

    #[test]
    fn evidence_shows_neither_target_nor_payload(moves in moves()) {
        for (_, _, _, step) in live(&moves).steps {
            let evidence = serde_json::to_string(&(&step.events, &step.receipts)).unwrap();
            prop_assert!(!evidence.contains("secret-path") && !evidence.contains("governed"));
        }
    }
}

#[test]
fn random_lives_reach_every_phase_and_every_refusal() {
    use proptest::{strategy::ValueTree as _, test_runner::TestRunner};
    let mut runner = TestRunner::deterministic();
    let (mut phases, mut refusals) = (BTreeSet::new(), BTreeSet::new());
    for _ in 0..500 {
        let life = live(&moves().new_tree(&mut runner).unwrap().current());
        phases.extend(life.records().map(|record| record.phase.name()));
        refusals.extend(life.refusals.iter().map(|why| why.name()));
    }
    assert_eq!(phases.into_iter().collect::<Vec<_>>(), ["dead_lettered", "delivered", "failed", "pending", "running"]);
    let all = ["lease_held", "not_admitted", "not_due", "repeated", "stale_fence", "terminal"];
    assert_eq!(refusals.into_iter().collect::<Vec<_>>(), all);
}

#[test]
fn the_id_of_a_delivery_is_its_own() {
    let id = delivery_id("acme", &MessageId::new("msg_1"), &target("a"));
    assert!(id.starts_with("cb_") && id.len() == 67 && id.len() <= limits::RECORD_ID_BYTES_MAX);
    assert_eq!(opened().policy.delivery_id, delivery_id("acme", &MessageId::new("msg_1"), &target(TARGET)));
    for other in [
        delivery_id("acm", &MessageId::new("emsg_1"), &target("a")),
        delivery_id("acme", &MessageId::new("msg_2"), &target("a")),
        delivery_id("acme", &MessageId::new("msg_1"), &target("b")),
        delivery_id("acme", &MessageId::new("msg_1"), &Callback::new(ProfileId::new("p"), "a".to_owned())),
    ] {
        assert_ne!(id, other);
    }
}

#[test]
fn a_delivery_made_again_is_a_repeat_or_a_conflict() {
    assert_eq!([again(&opened(), "p"), again(&opened(), "q")], [Rejection::Repeated, Rejection::Conflict]);
}

#[test]
fn the_wait_follows_the_list_and_then_its_last_value() {
    let mut delivery = delivery();
    delivery.max_attempts = 5;
    let mut record = open(delivery).unwrap().record;
    let (mut at, mut waits) = (MADE.0, Vec::new());
    for fence in 1..5 {
        record = after(&record, [(lease(fence), at), (ended(fence, failed(false)), at)]);
        waits.push(record.due().unwrap().0 - at);
        at = record.due().unwrap().0;
    }
    assert_eq!(waits, [10, 20, 20, 20]);
    assert_eq!(refused(&record, lease(5), at - 1), Rejection::NotDue);
}

#[test]
fn a_lost_lease_counts_as_an_attempt_and_its_late_answer_is_stale() {
    let record = after(&opened(), [(lease(7), 1_000)]);
    assert_eq!(record.due(), Some(Millis(1_000 + 100 + limits::LEASE_MS)));
    assert_eq!(refused(&record, lease(8), 20_000), Rejection::LeaseHeld);
    assert_eq!(refused(&record, Trigger::LeaseOver { fence: 7 }, 11_099), Rejection::NotDue);
    assert_eq!(refused(&record, Trigger::LeaseOver { fence: 6 }, 11_100), Rejection::StaleFence);
    let record = after(&record, [(Trigger::LeaseOver { fence: 7 }, 11_100)]);
    assert_eq!((record.phase.name(), record.attempts), ("pending", 1));
    assert_eq!(refused(&record, ended(7, Outcome::Delivered), 11_101), Rejection::StaleFence);
    assert_eq!(refused(&record, lease(7), 20_000), Rejection::StaleFence);
}

fn exhausted() -> CallbackRecord {
    let failures = (1..=3).flat_map(|fence| {
        let at = 1_000 + fence * 100;
        [(lease(fence), at), (ended(fence, failed(false)), at)]
    });
    after(&opened(), failures)
}

#[test]
fn a_refusal_for_good_fails_it_and_attempts_used_up_dead_letter_it() {
    let record = after(&opened(), [(lease(1), 1_000), (ended(1, failed(true)), 1_001)]);
    assert_eq!((view(&record).status, record.is_terminal()), (CallbackDeliveryStatus::Failed, false));
    let view = view(&exhausted());
    assert_eq!((view.status, view.attempts.len()), (CallbackDeliveryStatus::DeadLettered, 3));
    assert_eq!(
        (view.last_error.as_deref(), view.dead_letter_reason.as_deref()),
        (Some("status 503"), Some("status 503"))
    );
}

#[test]
fn an_operators_retry_begins_one_round_however_often_it_arrives() {
    let record = after(&exhausted(), [(retry("msg_r1"), 2_000)]);
    assert_eq!((record.due(), record.retries), (Some(Millis(2_000)), 1));
    assert_eq!(refused(&record, retry("msg_r1"), 2_000), Rejection::Repeated);
    assert_eq!(refused(&record, retry("msg_r2"), 2_000), Rejection::NotAdmitted);
    let record = after(&record, [(lease(9), 2_000), (ended(9, failed(true)), 2_001)]);
    assert_eq!(refused(&record, retry("msg_r1"), 2_002), Rejection::Repeated, "a late copy begins no round");
    let record = after(&record, [(retry("msg_r2"), 2_002), (lease(10), 2_002), (ended(10, Outcome::Delivered), 2_003)]);
    assert_eq!((record.phase.name(), record.attempts, record.is_terminal()), ("delivered", 5, true));
}

#[test]
fn operators_retry_as_often_as_the_bound_and_no_more() {
    let mut record = exhausted();
    for round in 0..limits::CALLBACK_RETRIES_MAX {
        let (fence, at) = (u64::from(round) + 10, 2_000);
        record = after(
            &record,
            [(retry(&format!("msg_{round}")), at), (lease(fence), at), (ended(fence, failed(true)), at)],
        );
    }
    assert_eq!(refused(&record, retry("msg_0"), 2_000), Rejection::Repeated, "every retry is remembered");
    assert_eq!(refused(&record, retry("msg_x"), 2_000), Rejection::RetriesExhausted);
}

#[test]
fn a_drop_is_final_and_waits_for_a_running_attempt() {
    let running = after(&opened(), [(lease(1), 1_000)]);
    assert_eq!(refused(&running, dropped("msg_d"), 1_001), Rejection::LeaseHeld);
    for record in [opened(), exhausted()] {
        let record = after(&record, [(dropped("msg_d"), 2_000)]);
        assert!(record.is_terminal() && record.payload.is_none());
        assert_eq!(view(&record).dead_letter_reason.as_deref(), Some("dropped by an operator"));
        assert_eq!(refused(&record, dropped("msg_d"), 2_000), Rejection::Repeated);
        assert_eq!(refused(&record, retry("msg_r"), 2_000), Rejection::Terminal);
    }
}

#[test]
fn a_long_reason_is_cut_between_characters() {
    let reason = "ü".repeat(limits::REASON_BYTES_MAX);
    let outcome = Outcome::Failed { reason, permanent: false };
    let record = after(&opened(), [(lease(1), 1_000), (ended(1, outcome), 1_000)]);
    assert_eq!(view(&record).last_error.map(|text| text.len()), Some(limits::REASON_BYTES_MAX));
}

#[test]
fn every_part_of_a_policy_is_bounded() {
    let with = |change: fn(&mut Delivery)| {
        let mut delivery = delivery();
        change(&mut delivery);
        open(delivery).map(|_| ())
    };
    let admitted: [fn(&mut Delivery); 5] = [
        |delivery| delivery.max_attempts = limits::CALLBACK_ATTEMPTS_MAX,
        |delivery| delivery.timeout_ms = limits::CALLBACK_TIMEOUT_MS_MAX,
        |delivery| delivery.retry_backoff_ms = vec![limits::BACKOFF_MS_MAX; limits::CALLBACK_BACKOFF_LEN_MAX],
        |delivery| delivery.retry_backoff_ms.clear(),
        |delivery| (delivery.terminal_only, delivery.terminal) = (false, false),
    ];
    assert!(admitted.into_iter().all(|change| with(change).is_ok()));
    let refused: [fn(&mut Delivery); 7] = [
        |delivery| delivery.max_attempts = 0,
        |delivery| delivery.max_attempts = limits::CALLBACK_ATTEMPTS_MAX + 1,
        |delivery| delivery.timeout_ms = 0,
        |delivery| delivery.timeout_ms = limits::CALLBACK_TIMEOUT_MS_MAX + 1,
        |delivery| delivery.retry_backoff_ms = vec![limits::BACKOFF_MS_MAX + 1],
        |delivery| delivery.retry_backoff_ms = vec![1; limits::CALLBACK_BACKOFF_LEN_MAX + 1],
        |delivery| delivery.target.0.target = "x".repeat(limits::CALLBACK_TARGET_BYTES_MAX),
    ];
    assert!(refused.into_iter().all(|change| with(change) == Err(Rejection::PolicyInvalid)));
    assert_eq!(with(|delivery| delivery.terminal = false), Err(Rejection::NotTerminal));
}

#[test]
fn every_phase_answers_every_trigger() {
    let page = callback::matrix();
    let rows = page.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| trigger")).count();
    assert_eq!(rows, 3 * 12);
    assert!(page.contains("  delivered --> [*]\n") && page.contains("  running --> dead_lettered: dead_lettered\n"));
}
