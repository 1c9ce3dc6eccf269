//! What holds of every life of an action (AIP 1.0 §11.5, §13.6, §18.2, §19.2; `design.md` §2, §4).

use std::collections::BTreeSet;

use aip_core::action::{
    self, ActionRecord, Grant, Held, Phase, Reconciled, Rejection, Settled, Trigger, lifecycle, matrix, step,
};
use aip_types::{ActionLifecycleState, CorrelationId, ErrorCode, Millis, ProtocolError, ReceiptChain, limits};
use proptest::prelude::*;
use serde_json::json;

use crate::{
    fixtures::{ACCEPTED, DEADLINE, Kind, record},
    histories::{Life, life},
};

fn is_unknown(record: &ActionRecord) -> bool {
    matches!(record.phase, Phase::OutcomeUnknown(_))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]

    #[test]
    fn the_laws_of_every_machine_hold(life in life()) {
        let history = life.moves.iter().map(|moved| (moved.trigger.clone(), moved.at));
        crate::laws::hold(life.first.clone(), |record| (record.step, record.updated_at), history)?;
    }

    /// Building the life was the proof that no trigger panics. A step is a function of what it is given, so one that is
    /// decided again (after a conflict, or in another process) is the same.
    #[test]
    fn a_step_is_decided_again_the_same(life in life()) {
        for moved in &life.moves {
            let again = step(&moved.before, moved.trigger.clone(), moved.at);
            prop_assert_eq!(format!("{again:?}"), format!("{:?}", moved.result));
        }
    }

    #[test]
    fn a_terminal_record_absorbs_every_trigger(life in life()) {
        for moved in life.moves.iter().filter(|moved| moved.before.phase.is_terminal()) {
            prop_assert_eq!(moved.result.as_ref().err(), Some(&Rejection::Terminal));
        }
    }

    /// A refusal changes nothing: what may happen next is decided by the steps alone.
    #[test]
    fn a_life_without_its_refused_triggers_is_the_same_life(life in life()) {
        let mut record = life.first.record.clone();
        for moved in life.moves.iter().filter(|moved| moved.result.is_ok()) {
            record = step(&record, moved.trigger.clone(), moved.at).unwrap().record;
        }
        prop_assert_eq!(&record, life.last());
    }

    #[test]
    fn fences_of_attempts_only_grow(life in life()) {
        let begun = life.moves.iter().filter(|moved| moved.began()).filter_map(|moved| moved.grant());
        let fences: Vec<u64> = begun.map(|grant| grant.fence).collect();
        prop_assert!(fences.windows(2).all(|pair| pair[0] < pair[1]), "{fences:?}");
    }

    /// An attempt over a running one needs the proof that the earlier lease is over, and a contract that allows a repeat.
    #[test]
    fn nothing_begins_over_a_running_attempt_without_proof(life in life()) {
        for moved in life.moves.iter().filter(|moved| moved.began()) {
            if matches!(moved.before.phase, Phase::Running(_)) {
                let proved = matches!(moved.trigger, Trigger::Start { over: true, .. });
                prop_assert!(proved);
                prop_assert!(life.kind.may_repeat());
            }
        }
    }

    #[test]
    fn nothing_settles_without_the_current_grant_but_a_plain_read(life in life()) {
        for moved in life.moves.iter().filter(|moved| moved.result.is_ok()) {
            let Trigger::Settle { grant, .. } = &moved.trigger else { continue };
            match grant {
                Some(grant) => prop_assert_eq!(Some(grant), moved.before.grant()),
                None => {
                    let offered = matches!(moved.before.phase, Phase::Queued {} | Phase::Cancelling(None));
                    prop_assert!(moved.before.is_plain_read() && offered, "{:?}", moved.before.phase);
                }
            }
        }
    }

    #[test]
    fn attempts_are_bounded_and_counted(life in life()) {
        let begun = life.moves.iter().filter(|moved| moved.began()).count();
        prop_assert_eq!(usize::try_from(life.last().attempts).unwrap(), begun);
        let asked = u32::try_from(life.last().questions.len()).unwrap();
        prop_assert!(life.last().attempts <= limits::ATTEMPTS_MAX + asked);
        prop_assert!(life.last().questions.len() <= limits::QUESTIONS_MAX);
    }

    /// AIP 1.0 §19.2: what may not be repeated begins once, unless the attempt before is known to have had no effect.
    #[test]
    fn what_may_not_be_repeated_begins_again_only_after_a_harmless_attempt(life in life()) {
        prop_assume!(!life.kind.may_repeat());
        for again in life.moves.iter().filter(|moved| moved.began() && moved.before.attempts > 0) {
            prop_assert!(again.before.harmless && matches!(again.before.phase, Phase::RetryDue(_)));
        }
    }

    /// The handler itself said so (a question, a definite failure), or a reconciliation did.
    #[test]
    fn an_attempt_is_harmless_only_if_somebody_said_so(life in life()) {
        for moved in &life.moves {
            let Some(step) = moved.step().filter(|step| step.record.harmless && !moved.before.harmless) else { continue };
            let said = match &moved.trigger {
                Trigger::Settle { settled, .. } => {
                    matches!(settled, Settled::Asked { .. } | Settled::Failed { uncertain: false, .. })
                }
                Trigger::Reconciled(outcome) => matches!(outcome, Reconciled::NotDone { .. }),
                _ => false,
            };
            prop_assert!(said, "{:?}", step.record.phase);
        }
    }

    /// AIP 1.0 §11.8: what may have had an effect is never labelled cancelled, expired or dead-lettered.
    #[test]
    fn a_lost_mutation_is_never_called_without_effect(life in life()) {
        prop_assume!(!life.kind.read_only);
        for moved in &life.moves {
            let Some(step) = moved.step() else { continue };
            let silent = matches!(step.record.phase, Phase::Cancelled {} | Phase::Expired {} | Phase::DeadLettered {});
            if silent {
                let idle = matches!(moved.before.phase, Phase::Queued {} | Phase::PendingApproval { .. });
                let told = matches!(moved.trigger, Trigger::Settle { .. } | Trigger::Reconciled(_));
                prop_assert!(idle || moved.before.harmless || told);
            }
        }
    }

    /// AIP 1.0 §12: nothing begins before the approval that the action was admitted under.
    #[test]
    fn nothing_begins_unapproved(life in life()) {
        prop_assume!(life.kind.approval);
        let mut approved = false;
        for moved in &life.moves {
            prop_assert!(approved || !moved.began());
            approved |= moved.result.is_ok() && matches!(moved.trigger, Trigger::Approved { .. });
        }
    }

    #[test]
    fn a_wish_to_stop_is_kept_and_nothing_new_begins_after_it(life in life()) {
        for moved in life.moves.iter().filter(|moved| moved.before.stop.is_some()) {
            prop_assert!(!moved.began());
            prop_assert!(moved.step().is_none_or(|step| step.record.stop.is_some()));
        }
    }

    /// A question is asked once and answered once, and its answer outlives every attempt.
    #[test]
    fn answers_are_kept(life in life()) {
        let answered = |record: &ActionRecord| record.questions.iter().filter(|one| one.answer.is_some()).count();
        let counts: Vec<_> = life.steps().map(|step| (answered(&step.record), step.record.questions.len())).collect();
        prop_assert!(counts.windows(2).all(|pair| pair[0].0 <= pair[1].0 && pair[0].1 <= pair[1].1), "{counts:?}");
        prop_assert!(counts.iter().all(|(answered, asked)| asked - answered <= 1));
    }

    /// AIP 1.0 §13.6: only a definite answer of the very attempt, or a reconciliation, ends an unknown outcome.
    #[test]
    fn an_unknown_outcome_is_left_by_a_definite_answer_only(life in life()) {
        for moved in life.moves.iter().filter(|moved| is_unknown(&moved.before)) {
            let Some(step) = moved.step() else { continue };
            match &moved.trigger {
                Trigger::Settle { settled, .. } => {
                    prop_assert_eq!(moved.grant(), moved.before.grant());
                    let sure = !matches!(settled, Settled::Failed { uncertain: true, .. });
                    prop_assert!(sure || is_unknown(&step.record));
                }
                Trigger::Reconciled(_) => {}
                other => prop_assert!(false, "{other:?}"),
            }
        }
    }

    #[test]
    fn the_outcome_of_a_read_is_never_unknown(life in life()) {
        prop_assume!(life.kind.read_only);
        prop_assert!(life.steps().all(|step| !is_unknown(&step.record)));
    }

    /// AIP 1.0 §18.2, over all entries of a record.
    #[test]
    fn the_receipts_of_a_life_are_one_chain(life in life()) {
        let receipts: Vec<_> = life.steps().flat_map(|step| step.receipts.clone()).collect();
        prop_assert_eq!(usize::try_from(life.last().receipts).unwrap(), receipts.len());
        let last = life.last().last_receipt.clone().unwrap();
        prop_assert_eq!(Some(&last.hash), receipts.last().and_then(|receipt| receipt.hash.as_ref()));
        prop_assert_eq!(Some(&last.id), receipts.last().map(|receipt| &receipt.id));
        let root_hash = aip_crypto::root_hash(receipts.iter().filter_map(|receipt| receipt.hash.as_deref()));
        let chain = ReceiptChain { chain_id: life.last().chain_id(), receipts, root_hash: Some(root_hash) };
        prop_assert_eq!(aip_crypto::verify_chain(&chain), Ok(()));
    }

    #[test]
    fn a_terminal_step_says_so_in_a_receipt_and_an_event(life in life()) {
        for step in life.steps() {
            let returned = step.receipts.iter().any(|receipt| receipt.receipt_type.as_str() == "result_returned");
            prop_assert_eq!(returned, step.record.phase.is_terminal());
            prop_assert!(!step.events.is_empty());
        }
    }

    #[test]
    fn steps_count_by_one_and_time_does_not_run_back(life in life()) {
        let steps: Vec<_> = life.steps().map(|step| &step.record).collect();
        for (number, record) in (1..).zip(&steps) {
            prop_assert_eq!(record.step, number);
        }
        prop_assert!(steps.windows(2).all(|pair| pair[0].updated_at <= pair[1].updated_at));
    }

    /// AIP 1.0 §11.1, §11.2: what was decided at admission is the authority for ever.
    #[test]
    fn what_admission_froze_never_moves(life in life()) {
        let first = &life.first.record;
        for record in life.steps().map(|step| &step.record) {
            prop_assert_eq!(record.deadline, DEADLINE);
            prop_assert_eq!(record.accepted_at, ACCEPTED);
            prop_assert_eq!((&record.id, &record.tenant), (&first.id, &first.tenant));
            prop_assert_eq!((&record.capability_id, &record.connector), (&first.capability_id, &first.connector));
            prop_assert_eq!((record.contract, record.mode), (first.contract, first.mode));
            prop_assert_eq!((&record.principal, &record.key), (&first.principal, &first.key));
            prop_assert_eq!((&record.input_hash, &record.request), (&first.input_hash, &first.request));
        }
    }

    #[test]
    fn nothing_begins_at_the_deadline_and_nothing_expires_before_it(life in life()) {
        for moved in &life.moves {
            prop_assert!(!moved.began() || moved.at < DEADLINE);
            let expired = moved.step().is_some_and(|step| step.record.phase == (Phase::Expired {}));
            // Clocks disagree: one that asked it to stop at the deadline may be ahead of one that says that it did.
            let asked = moved.before.stop.as_ref().is_some_and(|stop| stop.deadline);
            prop_assert!(!expired || moved.at >= DEADLINE || asked);
        }
    }

    #[test]
    fn the_input_is_kept_until_the_end_and_not_longer(life in life()) {
        for record in life.steps().map(|step| &step.record) {
            let terminal = record.phase.is_terminal();
            prop_assert_eq!(record.input.is_none(), terminal);
            prop_assert_eq!(record.completed_at.is_some(), terminal);
            prop_assert_eq!(record.output.is_some(), record.phase == (Phase::Completed {}));
            prop_assert!(!terminal || record.error.is_some() != record.output.is_some());
            let failed = matches!(record.phase, Phase::RetryDue(_)) && record.harmless;
            prop_assert!(record.error.is_none() || terminal || is_unknown(record) || failed || record.stop.is_some());
        }
    }

    #[test]
    fn ids_of_events_and_receipts_are_unique(life in life()) {
        let mut seen = BTreeSet::new();
        for step in life.steps() {
            let events = step.events.iter().map(|event| event.id.to_string());
            for id in events.chain(step.receipts.iter().map(|receipt| receipt.id.to_string())) {
                prop_assert!(seen.insert(id.clone()), "{id} stands twice");
            }
        }
    }

    /// AIP 1.0 §11.6: a new attempt numbers its chunks on.
    #[test]
    fn the_first_chunk_of_an_attempt_never_moves_back(life in life()) {
        let bases: Vec<u64> = life.steps().map(|step| step.record.chunk_base).collect();
        prop_assert!(bases.windows(2).all(|pair| pair[0] <= pair[1]), "{bases:?}");
    }

    /// The state, its event and what a reader sees agree.
    #[test]
    fn the_event_names_the_phase(life in life()) {
        for step in life.steps() {
            let record = &step.record;
            let (event, seen) = match record.phase {
                Phase::PendingApproval { .. } => ("pending_approval", ActionLifecycleState::PendingApproval),
                Phase::Queued {} if record.approval_id.is_some() => ("approved", ActionLifecycleState::Queued),
                Phase::Queued {} => ("queued", ActionLifecycleState::Queued),
                Phase::InputRequired { .. } => ("input_required", ActionLifecycleState::Running),
                Phase::Cancelling(_) => ("cancelling", ActionLifecycleState::Cancelling),
                Phase::Cancelled {} => ("cancelled", ActionLifecycleState::Cancelled),
                Phase::RetryDue(_) if step.event == "answered" => ("answered", ActionLifecycleState::Queued),
                Phase::Running(_) if record.mode.as_str() == "streaming" => ("started", ActionLifecycleState::Streaming),
                Phase::Running(_) => ("started", ActionLifecycleState::Running),
                Phase::RetryDue(_) => ("retry_due", ActionLifecycleState::Queued),
                Phase::OutcomeUnknown(_) => ("outcome_unknown", ActionLifecycleState::Running),
                Phase::Completed {} => ("completed", ActionLifecycleState::Completed),
                Phase::Failed {} => ("failed", ActionLifecycleState::Failed),
                Phase::Expired {} => ("expired", ActionLifecycleState::Expired),
                Phase::DeadLettered {} => ("dead_lettered", ActionLifecycleState::DeadLettered),
            };
            prop_assert_eq!((step.event, lifecycle(record)), (event, seen));
            let status = action::status(record);
            let person = matches!(record.phase, Phase::PendingApproval { .. } | Phase::InputRequired { .. });
            prop_assert_eq!(status.result_status.is_some(), record.phase.is_terminal() || person);
            let result = action::result(record, None);
            prop_assert_eq!(result.ok().map(|result| result.status), status.result_status);
        }
    }

    /// Serialized and read back, a record takes the same next step.
    #[test]
    fn a_stored_record_lives_on(life in life()) {
        for step in life.steps() {
            let text = serde_json::to_string(&step.record).unwrap();
            prop_assert_eq!(&serde_json::from_str::<ActionRecord>(&text).unwrap(), &step.record);
        }
    }
}

/// The strategies reach what they are to prove something about. A property over lives that all end early proves little.
#[test]
fn random_lives_reach_every_phase_and_every_refusal() {
    use proptest::{strategy::ValueTree as _, test_runner::TestRunner};
    let mut runner = TestRunner::deterministic();
    let (mut phases, mut refusals, mut attempts) = (BTreeSet::new(), BTreeSet::new(), 0);
    for _ in 0..3_000 {
        let life: Life = life().new_tree(&mut runner).unwrap().current();
        phases.extend(life.steps().map(|step| step.event));
        refusals.extend(life.moves.iter().filter_map(|moved| moved.result.as_ref().err()).map(|why| why.name()));
        attempts = attempts.max(life.last().attempts);
    }
    let all = [
        "answered",
        "approved",
        "cancelled",
        "cancelling",
        "completed",
        "dead_lettered",
        "expired",
        "failed",
        "input_required",
        "outcome_unknown",
        "pending_approval",
        "queued",
        "retry_due",
        "started",
    ];
    assert_eq!(phases.into_iter().collect::<Vec<_>>(), all);
    let all = [
        "deadline_passed",
        "lease_held",
        "mismatch",
        "not_admitted",
        "not_due",
        "outcome_unknown",
        "repeated",
        "stale_fence",
        "terminal",
    ];
    let refusals: Vec<_> = refusals.into_iter().collect();
    assert!(all.iter().all(|name| refusals.contains(name)), "{refusals:?}");
    assert!(attempts > 8, "{attempts}");
}

#[test]
fn the_last_attempt_is_the_last() {
    let mut record = record(Kind::SAFE);
    for fence in 1..=u64::from(limits::ATTEMPTS_MAX) {
        let trigger = Trigger::Start { grant: grant(fence), over: true, chunk_base: 0 };
        record = step(&record, trigger, Millis(1_100)).unwrap().record;
        record = step(&record, Trigger::LeaseOver { fence }, Millis(1_100)).unwrap().record;
    }
    let trigger = Trigger::Start { grant: grant(99), over: true, chunk_base: 0 };
    assert_eq!(step(&record, trigger, Millis(1_100)).err(), Some(Rejection::Exhausted));
}

/// Questions cost no attempts, and there is an end to them.
#[test]
fn a_handler_may_ask_only_so_often() {
    let mut record = record(Kind::UNSAFE);
    for number in 1_u64.. {
        let trigger = Trigger::Start { grant: grant(number), over: true, chunk_base: 0 };
        record = step(&record, trigger, Millis(1_100)).unwrap().record;
        let correlation_id = CorrelationId::new(format!("corr_{number}"));
        let settled =
            Settled::Asked { correlation_id: correlation_id.clone(), question: Held::Inline(json!({"kind": "input"})) };
        let trigger = Trigger::Settle { grant: Some(grant(number)), settled, chunks_last: None };
        match step(&record, trigger, Millis(1_100)) {
            Ok(step) => record = step.record,
            Err(rejection) => {
                assert_eq!((rejection, record.questions.len()), (Rejection::TooManyQuestions, limits::QUESTIONS_MAX));
                break;
            }
        }
        let trigger = Trigger::Answered { correlation_id, answer: Held::Inline(json!(number)) };
        record = step(&record, trigger, Millis(1_100)).unwrap().record;
    }
}

/// The bound holds for questions and answers together.
#[test]
fn questions_and_answers_fit_the_record_or_are_refused() {
    let asked = |bytes: usize| Settled::Asked {
        correlation_id: CorrelationId::new("corr_1"),
        question: Held::Inline(json!("x".repeat(bytes))),
    };
    assert_eq!(ended(&running(Kind::UNSAFE), asked(limits::QUESTIONS_BYTES_MAX)).err(), Some(Rejection::TooLarge));
    let parked = ended(&running(Kind::UNSAFE), asked(limits::QUESTIONS_BYTES_MAX / 2)).unwrap().record;
    let answered = |bytes: usize| Trigger::Answered {
        correlation_id: CorrelationId::new("corr_1"),
        answer: Held::Inline(json!("y".repeat(bytes))),
    };
    let large = step(&parked, answered(limits::QUESTIONS_BYTES_MAX / 2), Millis(1_300));
    assert_eq!(large.err(), Some(Rejection::TooLarge));
    assert!(step(&parked, answered(limits::QUESTIONS_BYTES_MAX / 3), Millis(1_300)).is_ok());
}

/// AIP 1.0 §19.2: a failure that may be repeated waits its time, and is final where the deadline would pass.
#[test]
fn a_retryable_failure_is_tried_again_after_its_delay() {
    let mut error = ProtocolError::from(ErrorCode::ConnectorFailed);
    (error.retryable, error.retry_after_ms) = (Some(true), Some(700));
    let waiting =
        ended(&running(Kind::SAFE), Settled::Failed { error: error.clone(), uncertain: false }).unwrap().record;
    assert_eq!((waiting.phase.name(), waiting.retry_at), ("retry_due", Some(Millis(1_900))));
    let again = || Trigger::Start { grant: grant(6), over: true, chunk_base: 0 };
    assert_eq!(step(&waiting, again(), Millis(1_899)).err(), Some(Rejection::NotDue));
    assert_eq!(step(&waiting, again(), Millis(1_900)).unwrap().record.phase, Phase::Running(grant(6)));
    error.retry_after_ms = Some(1_800);
    let ended = ended(&running(Kind::SAFE), Settled::Failed { error, uncertain: false }).unwrap().record;
    assert_eq!(ended.phase, Phase::Failed {});
}

/// AIP 1.0 §11.8: the provider may have won the race, and then its result stands.
#[test]
fn a_result_that_overtakes_a_cancellation_stands() {
    let cancel = Trigger::Cancel { by: crate::fixtures::caller(), reason: None };
    let cancelling = step(&running(Kind::UNSAFE), cancel.clone(), Millis(1_150)).unwrap().record;
    assert_eq!(cancelling.phase, Phase::Cancelling(Some(grant(5))));
    assert_eq!(step(&cancelling, cancel, Millis(1_160)).err(), Some(Rejection::Repeated));
    let done = ended(&cancelling, Settled::Completed { output: Held::Inline(json!(1)) }).unwrap().record;
    assert_eq!(done.phase, Phase::Completed {});
    assert_eq!(ended(&cancelling, Settled::Cancelled {}).unwrap().record.phase, Phase::Cancelled {});
    let lost = step(&cancelling, Trigger::LeaseOver { fence: 5 }, Millis(1_300)).unwrap().record;
    assert!(is_unknown(&lost));
}

/// A deadline asks a running mutation to stop; it never declares that it did.
#[test]
fn a_mutation_at_its_deadline_is_asked_to_stop() {
    let asked = step(&running(Kind::UNSAFE), Trigger::DeadlineDue, DEADLINE).unwrap().record;
    assert_eq!(asked.phase.name(), "cancelling");
    assert_eq!(ended(&asked, Settled::Cancelled {}).unwrap().record.phase, Phase::Expired {});
}

fn grant(fence: u64) -> Grant {
    Grant { fence, instance: "one".to_owned() }
}

fn running(kind: Kind) -> ActionRecord {
    let trigger = Trigger::Start { grant: grant(5), over: true, chunk_base: 0 };
    step(&record(kind), trigger, Millis(1_100)).unwrap().record
}

fn failed(uncertain: bool, details: &str) -> Settled {
    let error = ProtocolError::from(ErrorCode::ConnectorFailed).with_details(json!({"operation": details}));
    Settled::Failed { error, uncertain }
}

fn ended(record: &ActionRecord, settled: Settled) -> Result<action::Step, Rejection> {
    step(record, Trigger::Settle { grant: Some(grant(5)), settled, chunks_last: None }, Millis(1_200))
}

/// AIP 1.0 §13.6: the provider's operation reference is retained until the outcome is known.
#[test]
fn an_uncertain_failure_keeps_its_operation_reference_once() {
    let unknown = ended(&running(Kind::UNSAFE), failed(true, "op_7")).unwrap().record;
    assert_eq!(unknown.error.as_ref().unwrap().details, Some(json!({"operation": "op_7"})));
    assert_eq!(ended(&unknown, failed(true, "op_8")).err(), Some(Rejection::Repeated));
    let known = ended(&unknown, Settled::Completed { output: Held::Inline(json!(1)) }).unwrap().record;
    assert_eq!((known.phase, known.error), (Phase::Completed {}, None));
}

#[test]
fn an_uncertain_failure_after_a_lost_lease_is_kept() {
    let lost = step(&running(Kind::UNSAFE), Trigger::LeaseOver { fence: 5 }, Millis(1_200)).unwrap().record;
    assert!(is_unknown(&lost) && lost.error.is_none());
    let told = ended(&lost, failed(true, "op_7")).unwrap().record;
    assert!(is_unknown(&told) && told.error.is_some());
    let failed = ended(&told, failed(false, "op_7")).unwrap().record;
    assert_eq!(failed.phase, Phase::Failed {});
}

#[test]
fn a_lost_read_that_may_not_be_repeated_ends() {
    let kind = Kind { retry_safety: aip_types::RetrySafety::Unknown, ..Kind::PLAIN_READ };
    let ended = step(&running(kind), Trigger::LeaseOver { fence: 5 }, Millis(1_200)).unwrap().record;
    assert_eq!(ended.phase, Phase::DeadLettered {});
}

#[test]
fn a_repeatable_mutation_goes_on_after_its_lease_and_its_old_result_is_stale() {
    let lost = step(&running(Kind::SAFE), Trigger::LeaseOver { fence: 5 }, Millis(1_200)).unwrap().record;
    assert!(matches!(lost.phase, Phase::RetryDue(_)));
    let done = || Settled::Completed { output: Held::Inline(json!(1)) };
    assert_eq!(ended(&lost, done()).err(), Some(Rejection::StaleFence));
    let trigger = Trigger::Start { grant: grant(9), over: true, chunk_base: 3 };
    let again = step(&lost, trigger, Millis(1_300)).unwrap().record;
    assert_eq!((again.attempts, again.chunk_base), (2, 3));
    assert_eq!(ended(&again, done()).err(), Some(Rejection::StaleFence));
}

/// The whole table is printed for people in `docs/states/action.md`; that file is compared by `cargo xtask tidy`.
#[test]
fn the_matrix_has_no_empty_cell() {
    let matrix = matrix();
    let rows: Vec<&str> = matrix.lines().filter(|line| line.starts_with("| ")).collect();
    assert!(rows.len() > 16 * 3);
    assert!(rows.iter().all(|row| row.split('|').count() == 16 && !row.contains("|  |")), "{matrix}");
}
