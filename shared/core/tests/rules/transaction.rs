//! The rules of transactions, one by one (AIP 1.0 §9.4, §11.8, §13).

use aip_core::{
    Machine as _,
    transaction::{
        Claiming, Contract, DryRun, Finding, First, Grant, Known, Phase, Rejection, Resolution, Settled, Step,
        TransactionRecord, Trigger, calls_handler, implicit_id, matrix, open, open_unknown, plan, result, step,
    },
};
use aip_types::{
    ActionId, CapabilityId, CompensationMode, DryRunFidelity, ErrorCode, Millis, Principal, PrincipalId, PrincipalKind,
    ProtocolError, ReceiptType, TransactionMode, limits,
};
use serde_json::json;

use crate::{
    fixtures,
    transaction_histories::{
        EXPIRY, Kind, OPENED, Opens, SPOILS, WINDOW_MS, grant, spoil, uncertain_error, unknown_action,
    },
};

const NOW: Millis = Millis(2_000);
const COMMIT: &str = "act_commit";

type Stepped = Result<Step, Rejection>;

fn claim(kind: &Kind, record: &TransactionRecord, mode: TransactionMode, right: Grant) -> Stepped {
    step(record, Trigger::Claim(Box::new(kind.claiming(mode, right))), NOW)
}

fn settle(record: &TransactionRecord, right: Grant, settled: Settled) -> Stepped {
    step(record, Trigger::Settle { grant: right, settled }, NOW)
}

fn failure() -> ProtocolError {
    ErrorCode::ConnectorFailed.into()
}

fn done() -> Settled {
    Settled::Committed { result_hash: None }
}

fn uncertain() -> Settled {
    Settled::Uncertain { error: uncertain_error(), known: Known::of(&uncertain_error()) }
}

fn opened(kind: &Kind) -> TransactionRecord {
    kind.open().record
}

fn claimed(kind: &Kind) -> TransactionRecord {
    claim(kind, &opened(kind), TransactionMode::Commit, grant(COMMIT, 5)).unwrap().record
}

/// A commit that was let go with fence 5.
fn committing(kind: &Kind) -> TransactionRecord {
    step(&claimed(kind), Trigger::Start { grant: grant(COMMIT, 5) }, NOW).unwrap().record
}

fn committed(kind: &Kind) -> TransactionRecord {
    settle(&committing(kind), grant(COMMIT, 5), done()).unwrap().record
}

fn unknown(kind: &Kind) -> TransactionRecord {
    settle(&committing(kind), grant(COMMIT, 5), uncertain()).unwrap().record
}

/// A reconciliation with fence 6.
fn reconciling(kind: &Kind) -> TransactionRecord {
    let record = unknown(kind);
    step(&record, Trigger::Reconcile { grant: grant("act_ask", 6), over: true }, record.due().unwrap()).unwrap().record
}

fn compensating(kind: &Kind) -> TransactionRecord {
    let record = claim(kind, &committed(kind), TransactionMode::Compensate, grant("act_undo", 6)).unwrap().record;
    step(&record, Trigger::Start { grant: grant("act_undo", 6) }, NOW).unwrap().record
}

fn found(record: &TransactionRecord, finding: Finding) -> Stepped {
    step(record, Trigger::Found { grant: grant("act_ask", 6), finding }, Millis(8_000))
}

fn decision(id: &str, finding: Finding) -> Resolution {
    Resolution {
        decision_id: id.to_owned(),
        operator: Principal::new(PrincipalId::new("human:ann"), PrincipalKind::Human),
        finding,
        evidence_hash: "evidence".to_owned(),
    }
}

fn resolve(record: &TransactionRecord, resolution: Resolution) -> Stepped {
    step(record, Trigger::Resolve(Box::new(resolution)), NOW)
}

fn receipts(step: &Step) -> Vec<ReceiptType> {
    step.receipts.iter().map(|receipt| receipt.receipt_type).collect()
}

fn events(step: &Step) -> Vec<&str> {
    step.events.iter().map(|event| event.kind.trim_start_matches("aip.transaction.")).collect()
}

#[test]
fn a_plan_is_committed_with_its_receipts_and_events() {
    let kind = Kind::PLAN;
    let planned = kind.open();
    let claimed = claim(&kind, &planned.record, TransactionMode::Commit, grant(COMMIT, 5)).unwrap();
    let started = step(&claimed.record, Trigger::Start { grant: grant(COMMIT, 5) }, NOW).unwrap();
    let ended = settle(&started.record, grant(COMMIT, 5), done()).unwrap();
    let steps = [&planned, &claimed, &started, &ended];
    assert_eq!(steps.map(|step| step.event), ["planned", "prepared", "committing", "committed"]);
    assert_eq!(steps.map(events), [["planned"], ["prepared"], ["commit_started"], ["committed"]]);
    let evidence = [
        vec![ReceiptType::TransactionPlanned],
        vec![],
        vec![ReceiptType::TransactionCommitStarted],
        vec![ReceiptType::TransactionCommitted],
    ];
    assert_eq!(steps.map(receipts), evidence);
    assert_eq!(ended.record.part.mode, TransactionMode::Commit);
    assert_eq!(ended.record.earlier.len(), 1);
}

/// AIP 1.0 §13.3: all that a plan binds.
#[test]
fn a_plan_binds_what_the_specification_lists() {
    let record = opened(&Kind::PLAN);
    let plan = plan(&record).unwrap();
    let facts = Kind::PLAN.facts();
    assert_eq!((plan.plan_id.as_str(), plan.transaction_id.as_str()), ("plan_1", "txn_1"));
    assert_eq!((plan.action_id.as_str(), plan.planned_by), ("act_1", facts.principal));
    assert_eq!((plan.input_hash, plan.identity), (facts.input_hash, facts.identity));
    assert_eq!(plan.compensation, Some(facts.contract.compensation));
    assert_eq!(plan.dry_run_fidelity, Some(DryRunFidelity::FullSimulation));
    assert_eq!(plan.created_at.millis(), OPENED);
    assert_eq!(plan.expires_at.unwrap().millis(), EXPIRY);
}

/// Receipts and events carry ids, hashes and decisions, and the record carries no more of the principal than its name.
#[test]
fn evidence_never_carries_the_input() {
    let kind = Kind::PLAN;
    let mut planning = kind.planning();
    planning.input_snapshot = Some(json!({"iban": "secret"}));
    planning.metadata = Some(json!("secret"));
    let mut opening = kind.opening();
    opening.facts.principal.auth_context = Some(json!("secret"));
    let step = open(opening, First::Plan(Box::new(planning))).unwrap();
    let evidence = serde_json::to_string(&(&step.receipts, &step.events)).unwrap();
    assert!(!evidence.contains("secret"), "{evidence}");
    assert_eq!(step.record.facts.principal.auth_context, None);
}

/// AIP 1.0 §13.4.
#[test]
fn each_mismatch_of_a_claim_has_a_refusal_of_its_own() {
    let kind = Kind::PLAN;
    let refusals = (0..SPOILS).map(|how| {
        let mut claiming = kind.claiming(TransactionMode::Commit, grant(COMMIT, 5));
        spoil(&mut claiming, how);
        step(&opened(&kind), Trigger::Claim(Box::new(claiming)), NOW).unwrap_err()
    });
    let all = [
        Rejection::CapabilityMismatch,
        Rejection::CapabilityMismatch,
        Rejection::InputMismatch,
        Rejection::PrincipalMismatch,
        Rejection::TenantMismatch,
        Rejection::AccountMismatch,
        Rejection::PolicyChanged,
        Rejection::ContextMismatch,
        Rejection::ContextMismatch,
    ];
    assert_eq!(refusals.collect::<Vec<_>>(), all);
}

/// One wrong claim has one answer: what is wrong first in the fixed order, whatever else is.
#[test]
fn the_order_of_refusals_is_fixed() {
    let kind = Kind { approval: true, ..Kind::PLAN };
    let mut claiming = kind.claiming(TransactionMode::Commit, grant(COMMIT, 5));
    let mut answers = Vec::new();
    let ask = |claiming: &Claiming, at| step(&opened(&kind), Trigger::Claim(Box::new(claiming.clone())), at).err();
    spoil(&mut claiming, 7);
    answers.push(ask(&claiming, NOW));
    claiming.approval = None;
    answers.push(ask(&claiming, NOW));
    for how in [6, 5, 4, 3, 2, 0] {
        spoil(&mut claiming, how);
        answers.push(ask(&claiming, NOW));
    }
    answers.push(ask(&claiming, EXPIRY));
    let order = [
        Rejection::ContextMismatch,
        Rejection::ApprovalRequired,
        Rejection::PolicyChanged,
        Rejection::AccountMismatch,
        Rejection::TenantMismatch,
        Rejection::PrincipalMismatch,
        Rejection::InputMismatch,
        Rejection::CapabilityMismatch,
        Rejection::PlanExpired,
    ];
    assert_eq!(answers, order.map(Some));
}

/// AIP 1.0 §12.5: an approval is for one action, one input and one policy, and for its time.
#[test]
fn an_approval_counts_only_for_what_it_was_granted_for() {
    let kind = Kind { approval: true, ..Kind::PLAN };
    let with = |change: fn(&mut Claiming)| {
        let mut claiming = kind.claiming(TransactionMode::Commit, grant(COMMIT, 5));
        change(&mut claiming);
        step(&opened(&kind), Trigger::Claim(Box::new(claiming)), NOW)
    };
    assert_eq!(with(|it| it.approval = None).err(), Some(Rejection::ApprovalRequired));
    let other = |it: &mut Claiming| it.approval.as_mut().unwrap().action_id = ActionId::new("act_other");
    assert_eq!(with(other).err(), Some(Rejection::ApprovalMismatch));
    let other = |it: &mut Claiming| it.approval.as_mut().unwrap().input_hash = "other".to_owned();
    assert_eq!(with(other).err(), Some(Rejection::ApprovalMismatch));
    let other = |it: &mut Claiming| it.approval.as_mut().unwrap().policy_hash = None;
    assert_eq!(with(other).err(), Some(Rejection::ApprovalMismatch));
    assert_eq!(with(|it| it.approval.as_mut().unwrap().expires_at = Some(NOW)).err(), Some(Rejection::ApprovalExpired));
    let claimed = with(|it| it.approval.as_mut().unwrap().expires_at = Some(NOW.plus(1))).unwrap().record;
    let start = Trigger::Start { grant: grant(COMMIT, 5) };
    assert_eq!(step(&claimed, start, NOW.plus(1)).err(), Some(Rejection::ApprovalExpired));
    let released = step(&claimed, Trigger::Due, NOW.plus(1)).unwrap().record;
    assert_eq!(released.phase, Phase::Planned {}, "another approval may come while the plan holds");
}

#[test]
fn a_plan_holds_until_its_expiry_and_not_longer() {
    let kind = Kind::PLAN;
    let record = opened(&kind);
    let commit =
        |at| step(&record, Trigger::Claim(Box::new(kind.claiming(TransactionMode::Commit, grant(COMMIT, 5)))), at);
    assert!(commit(EXPIRY.minus(1)).is_ok());
    assert_eq!(commit(EXPIRY).err(), Some(Rejection::PlanExpired));
    assert_eq!(step(&record, Trigger::Due, EXPIRY.minus(1)).err(), Some(Rejection::NotDue));
    assert_eq!(record.due(), Some(EXPIRY));
    let ended = step(&record, Trigger::Due, EXPIRY).unwrap();
    assert_eq!((&ended.record.phase, receipts(&ended)), (&Phase::Failed {}, vec![ReceiptType::TransactionFailed]));
    assert_eq!(ended.record.error.unwrap().code, "aip.transaction.plan_expired");
    let start = Trigger::Start { grant: grant(COMMIT, 5) };
    assert_eq!(step(&claimed(&kind), start, EXPIRY).err(), Some(Rejection::PlanExpired));
}

#[test]
fn the_life_of_a_plan_is_bounded() {
    let kind = Kind::PLAN;
    let plan = |expires_at| {
        open(kind.opening(), First::Plan(Box::new(aip_core::transaction::Planning { expires_at, ..kind.planning() })))
    };
    assert!(plan(OPENED.plus(limits::PLAN_TTL_MS_MAX)).is_ok());
    assert_eq!(plan(OPENED.plus(limits::PLAN_TTL_MS_MAX + 1)).err(), Some(Rejection::PlanInvalid));
    assert_eq!(plan(OPENED).err(), Some(Rejection::PlanInvalid));
}

#[test]
fn a_plan_that_no_record_can_hold_is_refused() {
    let kind = Kind::PLAN;
    let mut planning = kind.planning();
    planning.metadata = Some(json!("x".repeat(limits::RECORD_INLINE_BYTES_MAX - 4_096)));
    assert!(open(kind.opening(), First::Plan(Box::new(planning.clone()))).is_ok());
    planning.metadata = Some(json!("x".repeat(limits::RECORD_INLINE_BYTES_MAX)));
    assert_eq!(open(kind.opening(), First::Plan(Box::new(planning))).err(), Some(Rejection::TooLarge));
}

#[test]
fn what_needs_a_plan_is_not_executed_without_one() {
    let kind = Kind::PLAN;
    let mut opening = kind.opening();
    opening.facts.contract.requires_plan_before_commit = true;
    assert_eq!(open(opening, First::Execute).err(), Some(Rejection::PlanRequired));
    let executing = opened(&Kind { first: Opens::Execute, ..kind.clone() });
    assert_eq!(
        claim(&kind, &executing, TransactionMode::Commit, grant("act_1", 5)).err(),
        Some(Rejection::PlanMissing)
    );
    let other = claim(&kind, &executing, TransactionMode::Execute, grant("act_2", 5));
    assert_eq!(other.err(), Some(Rejection::ContextMismatch), "an execution is of its own action");
    assert!(claim(&kind, &executing, TransactionMode::Execute, grant("act_1", 5)).is_ok());
    assert_eq!(
        claim(&kind, &opened(&kind), TransactionMode::Execute, grant("act_1", 5)).err(),
        Some(Rejection::ContextMismatch)
    );
}

/// AIP 1.0 §9.4: the conservative reading.
#[test]
fn without_a_transaction_contract_no_mode_is_supported_and_there_is_no_way_back() {
    let contract = Contract::of(&fixtures::capability());
    assert!(TransactionMode::ALL.iter().all(|mode| !contract.supports(*mode)));
    assert_eq!(contract.compensation.mode, CompensationMode::RollbackNotSupported);
    assert!(contract.requires_plan_before_commit);
    let mut opening = Kind::PLAN.opening();
    opening.facts.contract = contract;
    for first in [First::Execute, First::Plan(Box::new(Kind::PLAN.planning())), First::RollbackNotSupported] {
        assert_eq!(open(opening.clone(), first).err(), Some(Rejection::ModeUnsupported));
    }
}

#[test]
fn a_valid_claim_is_not_taken_over() {
    let kind = Kind::PLAN;
    let held = claimed(&kind);
    let mut claiming = kind.claiming(TransactionMode::Commit, grant("act_other", 6));
    claiming.over = false;
    let trigger = Trigger::Claim(Box::new(claiming));
    assert_eq!(step(&held, trigger, NOW).err(), Some(Rejection::ClaimHeld));
    let again = claim(&kind, &held, TransactionMode::Commit, grant(COMMIT, 5));
    assert_eq!(again.err(), Some(Rejection::Repeated));
    let stale = claim(&kind, &held, TransactionMode::Commit, grant(COMMIT, 4));
    assert_eq!(stale.err(), Some(Rejection::StaleFence));
}

#[test]
fn a_claim_that_never_began_passes_to_another_action_and_the_first_is_stale() {
    let kind = Kind::PLAN;
    let taken = claim(&kind, &claimed(&kind), TransactionMode::Commit, grant("act_other", 6)).unwrap().record;
    let start = Trigger::Start { grant: grant(COMMIT, 5) };
    assert_eq!(step(&taken, start, NOW).err(), Some(Rejection::StaleFence));
    assert_eq!(settle(&taken, grant(COMMIT, 5), done()).err(), Some(Rejection::StaleFence));
    assert!(step(&taken, Trigger::Start { grant: grant("act_other", 6) }, NOW).is_ok());
}

#[test]
fn what_began_and_may_not_be_repeated_is_unknown_when_its_lease_is_over() {
    let kind = Kind::PLAN;
    let begun = committing(&kind);
    let again = claim(&kind, &begun, TransactionMode::Commit, grant(COMMIT, 6));
    assert_eq!(again.err(), Some(Rejection::NotRepeatable));
    let lost = step(&begun, Trigger::LeaseOver { fence: 5 }, NOW).unwrap();
    assert_eq!((lost.event, events(&lost)), ("outcome_unknown", vec!["outcome_unknown"]));
    assert!(receipts(&lost).is_empty());
}

/// The key of the action is what makes a repeat safe: no other action may repeat it, and not without the key.
#[test]
fn what_began_and_may_be_repeated_is_repeated_by_its_own_action_only() {
    let kind = Kind::SAFE;
    let begun = committing(&kind);
    let other = claim(&kind, &begun, TransactionMode::Commit, grant("act_other", 6));
    assert_eq!(other.err(), Some(Rejection::OutcomeUnknown));
    let keyless = Kind { keyed: false, ..kind.clone() };
    let bare = claim(&keyless, &begun, TransactionMode::Commit, grant(COMMIT, 6));
    assert_eq!(bare.err(), Some(Rejection::NotRepeatable));
    let again = claim(&kind, &begun, TransactionMode::Commit, grant(COMMIT, 6)).unwrap().record;
    assert_eq!(again.phase.status().as_str(), "committing", "it may have had its effect all the time");
    assert_eq!(settle(&again, grant(COMMIT, 5), done()).err(), Some(Rejection::StaleFence));
    // The second attempt never began. That says nothing of the first.
    let failed = settle(&again, grant(COMMIT, 6), Settled::Failed { error: failure() }).unwrap();
    assert_eq!(failed.event, "outcome_unknown");
    assert_eq!(settle(&again, grant(COMMIT, 6), done()).err(), Some(Rejection::NotStarted));
}

#[test]
fn an_attempt_without_effect_may_be_made_again_under_a_new_claim() {
    let kind = Kind::PLAN;
    let again = settle(&committing(&kind), grant(COMMIT, 5), Settled::Again).unwrap();
    assert_eq!((again.event, events(&again)), ("planned", vec!["claim_released"]));
    assert_eq!(settle(&again.record, grant(COMMIT, 5), done()).err(), Some(Rejection::StaleFence));
    assert!(claim(&kind, &again.record, TransactionMode::Commit, grant(COMMIT, 6)).is_ok());
}

#[test]
fn claims_are_bounded() {
    let kind = Kind::SAFE;
    let mut record = opened(&kind);
    for fence in 1..=u64::from(limits::TRANSACTION_CLAIMS_MAX) {
        record = claim(&kind, &record, TransactionMode::Commit, grant(COMMIT, fence)).unwrap().record;
    }
    let more = claim(&kind, &record, TransactionMode::Commit, grant(COMMIT, 99));
    assert_eq!(more.err(), Some(Rejection::Exhausted));
}

/// AIP 1.0 §13.6.
#[test]
fn an_uncertain_outcome_keeps_the_operation_and_forbids_everything_but_reconciliation() {
    let kind = Kind::SAFE;
    let record = unknown(&kind);
    assert_eq!(record.operation.as_ref().unwrap().operation_id, "op_7");
    assert_eq!(record.cursor.as_deref(), Some("c1"));
    assert_eq!(record.due(), Some(NOW.plus(limits::RECONCILE_AFTER_MS)));
    let seen = result(&record, None, None);
    assert_eq!(
        (seen.provider_operation, seen.reconciliation_cursor),
        (record.operation.clone(), record.cursor.clone())
    );
    for mode in [TransactionMode::Commit, TransactionMode::Execute, TransactionMode::Compensate] {
        assert_eq!(claim(&kind, &record, mode, grant(COMMIT, 6)).err(), Some(Rejection::OutcomeUnknown));
    }
    assert_eq!(step(&record, Trigger::Cancel, NOW).err(), Some(Rejection::OutcomeUnknown));
    assert_eq!(settle(&record, grant(COMMIT, 5), uncertain()).err(), Some(Rejection::Repeated));
    let early = Trigger::Reconcile { grant: grant("act_ask", 6), over: true };
    assert_eq!(step(&record, early, NOW).err(), Some(Rejection::NotDue));
}

#[test]
fn a_definitive_reconciliation_leads_on() {
    let kind = Kind::PLAN;
    let yes = found(&reconciling(&kind), Finding::Committed { result_hash: None }).unwrap();
    assert_eq!((yes.event, events(&yes)), ("committed", vec!["reconciled", "committed"]));
    assert_eq!(yes.record.committed.unwrap().at, NOW, "counted from the start of the attempt");
    let no = found(&reconciling(&kind), Finding::NotCommitted).unwrap();
    assert_eq!((no.event, receipts(&no)), ("reconciled", vec![ReceiptType::TransactionFailed]));
    let stale = claim(&kind, &no.record, TransactionMode::Commit, grant("act_commit_2", 6));
    assert_eq!(stale.err(), Some(Rejection::StaleFence), "the reconciliation had that fence");
    let again = claim(&kind, &no.record, TransactionMode::Commit, grant("act_commit_2", 7)).unwrap().record;
    assert_eq!(again.operation, None, "the old operation is not the new one's");
    assert_eq!(settle(&again, grant(COMMIT, 5), done()).err(), Some(Rejection::StaleFence));
    let late = step(
        &reconciling(&kind),
        Trigger::Found { grant: grant("act_ask", 6), finding: Finding::NotCommitted },
        EXPIRY,
    );
    assert_eq!(late.unwrap().event, "failed", "the plan has expired meanwhile");
}

#[test]
fn an_indefinite_reconciliation_asks_again_later_and_at_last_a_person() {
    let kind = Kind::PLAN;
    let mut record = unknown(&kind);
    let mut waits = Vec::new();
    for fence in 6..6 + u64::from(limits::RECONCILIATIONS_MAX) {
        let at = record.due().unwrap();
        record = step(&record, Trigger::Reconcile { grant: grant("act_ask", fence), over: true }, at).unwrap().record;
        let known = Known { cursor: Some(format!("c{fence}")), ..Known::default() };
        let finding = Finding::Indefinite(known);
        record = step(&record, Trigger::Found { grant: grant("act_ask", fence), finding }, at).unwrap().record;
        waits.extend(record.reconcile_after.map(|after| after.since(at)));
    }
    assert_eq!(waits[..4], [10_000, 20_000, 40_000, 80_000]);
    assert_eq!(waits.last(), Some(&limits::RECONCILE_AFTER_MS_MAX));
    assert_eq!(waits.len() + 1, usize::try_from(limits::RECONCILIATIONS_MAX).unwrap());
    assert!(matches!(record.phase, Phase::RequiresHuman { partial: false, .. }));
    assert_eq!((record.cursor.as_deref(), record.operation.unwrap().operation_id.as_str()), (Some("c21"), "op_7"));
}

#[test]
fn a_lost_reconciliation_is_an_indefinite_one() {
    let record = reconciling(&Kind::PLAN);
    assert_eq!(step(&record, Trigger::LeaseOver { fence: 5 }, NOW).err(), Some(Rejection::StaleFence));
    let lost = step(&record, Trigger::LeaseOver { fence: 6 }, NOW).unwrap().record;
    assert!(matches!(lost.phase, Phase::OutcomeUnknown(_)) && lost.reconciliations == 1);
    let held = Trigger::Reconcile { grant: grant("act_ask", 7), over: false };
    assert_eq!(step(&record, held, NOW).err(), Some(Rejection::ClaimHeld));
    let stale = Trigger::Found { grant: grant("act_ask", 5), finding: Finding::NotCommitted };
    assert_eq!(step(&record, stale, NOW).err(), Some(Rejection::StaleFence));
}

/// AIP 1.0 §13.6, `design.md` §4.4.
#[test]
fn a_late_result_with_the_granted_fence_is_the_reconciliation() {
    for record in [unknown(&Kind::PLAN), reconciling(&Kind::PLAN)] {
        let late = settle(&record, grant(COMMIT, 5), done()).unwrap();
        assert_eq!((late.event, events(&late)), ("committed", vec!["reconciled", "committed"]));
        let failed = settle(&record, grant(COMMIT, 5), Settled::Failed { error: failure() }).unwrap();
        assert_eq!(failed.event, "failed");
        let stopped = settle(&record, grant(COMMIT, 5), Settled::Cancelled).unwrap();
        assert_eq!(stopped.event, "cancelled");
        assert_eq!(settle(&record, grant(COMMIT, 4), done()).err(), Some(Rejection::StaleFence));
        let foreign = Grant { instance: "two".to_owned(), ..grant(COMMIT, 5) };
        assert_eq!(settle(&record, foreign, done()).err(), Some(Rejection::StaleFence));
    }
}

#[test]
fn a_lost_worker_may_still_tell_what_to_ask_by() {
    let lost = step(&committing(&Kind::PLAN), Trigger::LeaseOver { fence: 5 }, NOW).unwrap().record;
    assert_eq!(lost.operation, None);
    let told = settle(&lost, grant(COMMIT, 5), uncertain()).unwrap().record;
    assert_eq!(told.operation.unwrap().operation_id, "op_7");
    let person = step(&lost, Trigger::Escalate, NOW).unwrap().record;
    let told = settle(&person, grant(COMMIT, 5), uncertain()).unwrap().record;
    assert_eq!(told.operation.unwrap().operation_id, "op_7");
    assert_eq!(told.reconcile_after, None, "nobody asks the provider while a person must decide");
}

#[test]
fn a_person_decides_once_and_with_evidence() {
    let record = step(&unknown(&Kind::PLAN), Trigger::Escalate, NOW).unwrap().record;
    let yes = || Finding::Committed { result_hash: None };
    let bare = Resolution { evidence_hash: String::new(), ..decision("d1", yes()) };
    assert_eq!(resolve(&record, bare).err(), Some(Rejection::EvidenceMissing));
    let decided = resolve(&record, decision("d1", yes())).unwrap();
    assert_eq!(decided.receipts[0].actor.id.as_str(), "human:ann");
    assert_eq!(decided.receipts[0].data.as_ref().unwrap()["evidence_hash"], json!("evidence"));
    assert_eq!(resolve(&decided.record, decision("d1", yes())).err(), Some(Rejection::Repeated));
    assert_eq!(resolve(&decided.record, decision("d1", Finding::NotCommitted)).err(), Some(Rejection::Conflict));
    assert_eq!(resolve(&decided.record, decision("d2", yes())).err(), Some(Rejection::NotAdmitted));
    assert_eq!(resolve(&unknown(&Kind::PLAN), decision("d1", yes())).err(), Some(Rejection::NotAdmitted));
}

#[test]
fn to_ask_once_more_is_bounded_and_a_decision_that_settles_finds_room() {
    let mut record = step(&unknown(&Kind::PLAN), Trigger::Escalate, NOW).unwrap().record;
    let again = |number: usize| decision(&format!("d{number}"), Finding::Indefinite(Known::default()));
    for number in 0..limits::TRANSACTION_DECISIONS_LEN_MAX / 2 {
        let asked = resolve(&record, again(number)).unwrap().record;
        assert_eq!((asked.phase.status().as_str(), asked.reconciliations), ("outcome_unknown", 0));
        record = step(&asked, Trigger::Escalate, NOW).unwrap().record;
    }
    assert_eq!(resolve(&record, again(999)).err(), Some(Rejection::Exhausted));
    assert!(resolve(&record, decision("last", Finding::NotCommitted)).is_ok());
}

#[test]
fn without_the_mode_only_a_late_result_or_a_person_reconciles() {
    let kind = Kind { reconciles: false, ..Kind::PLAN };
    let record = unknown(&kind);
    let ask = Trigger::Reconcile { grant: grant("act_ask", 6), over: true };
    assert_eq!(step(&record, ask, Millis(60_000)).err(), Some(Rejection::ModeUnsupported));
    assert_eq!(record.due(), None);
}

/// AIP 1.0 §13.7.
#[test]
fn a_compensation_is_another_action_with_its_own_claim_and_receipt() {
    let kind = Kind::PLAN;
    let record = compensating(&kind);
    let undone = settle(&record, grant("act_undo", 6), done()).unwrap();
    assert_eq!(receipts(&undone), [ReceiptType::TransactionCompensated]);
    assert_eq!(undone.receipts[0].data.as_ref().unwrap()["compensation_for"], json!(COMMIT));
    let seen = result(&undone.record, None, None);
    assert_eq!(seen.transaction.compensation_for, Some(ActionId::new(COMMIT)));
    assert_eq!((seen.action_id.as_str(), seen.capability_id.as_str()), ("act_undo", "cap:demo:undo"));
    let itself = claim(&kind, &committed(&kind), TransactionMode::Compensate, grant(COMMIT, 6));
    assert_eq!(itself.err(), Some(Rejection::CompensationMismatch));
}

#[test]
fn only_a_committed_transaction_is_compensated() {
    let kind = Kind::PLAN;
    for record in [opened(&kind), claimed(&kind), committing(&kind)] {
        let early = claim(&kind, &record, TransactionMode::Compensate, grant("act_undo", 9));
        assert_eq!(early.err(), Some(Rejection::NothingCommitted));
    }
    let again = claim(&kind, &committed(&kind), TransactionMode::Commit, grant("act_other", 9));
    assert_eq!(again.err(), Some(Rejection::Committed));
}

#[test]
fn a_compensation_fits_the_contract_and_comes_in_time() {
    let kind = Kind::PLAN;
    let record = committed(&kind);
    let end = NOW.plus(WINDOW_MS);
    let with = |change: fn(&mut Claiming), at| {
        let mut claiming = kind.claiming(TransactionMode::Compensate, grant("act_undo", 6));
        change(&mut claiming);
        step(&record, Trigger::Claim(Box::new(claiming)), at).err()
    };
    assert_eq!(with(|_| {}, end.minus(1)), None);
    assert_eq!(with(|_| {}, end), Some(Rejection::WindowClosed));
    let other = |it: &mut Claiming| it.facts.capability_id = CapabilityId::new("cap:demo:x");
    assert_eq!(with(other, NOW), Some(Rejection::CapabilityMismatch));
    assert_eq!(with(|it| it.facts.tenant = "other".to_owned(), NOW), Some(Rejection::TenantMismatch));
    assert_eq!(with(|it| it.facts.identity = None, NOW), Some(Rejection::AccountMismatch));
    let other = |it: &mut Claiming| it.transaction.compensation_for = Some(ActionId::new("act_1"));
    assert_eq!(with(other, NOW), Some(Rejection::CompensationMismatch));
    assert_eq!(with(|it| it.facts.principal = fixtures::caller(), NOW), None, "authorised on its own, by whoever asks");
    for (mode, answer) in [
        (CompensationMode::NotRequired, Rejection::CompensationUnsupported),
        (CompensationMode::RollbackNotSupported, Rejection::RollbackNotSupported),
    ] {
        let kind = Kind { compensation: mode, ..kind.clone() };
        let record = committed(&kind);
        assert!(record.is_terminal());
        let refused = claim(&kind, &record, TransactionMode::Compensate, grant("act_undo", 6));
        assert_eq!(refused.err(), Some(answer));
    }
}

/// AIP 1.0 §13.7: it has its own approval; that of the commit does not count for it.
#[test]
fn a_compensation_has_its_own_approval() {
    let kind = Kind { approval: true, ..Kind::PLAN };
    let mut record = committed(&kind);
    record.facts.contract.compensation.requires_approval = true;
    let with = |change: fn(&mut Claiming)| {
        let mut claiming = kind.claiming(TransactionMode::Compensate, grant("act_undo", 6));
        change(&mut claiming);
        step(&record, Trigger::Claim(Box::new(claiming)), NOW).err()
    };
    assert_eq!(with(|_| {}), None);
    assert_eq!(with(|it| it.approval = None), Some(Rejection::ApprovalRequired));
    let of_the_commit = |it: &mut Claiming| it.approval.as_mut().unwrap().action_id = ActionId::new(COMMIT);
    assert_eq!(with(of_the_commit), Some(Rejection::ApprovalMismatch));
}

#[test]
fn a_compensation_has_its_own_tries() {
    let kind = Kind::PLAN;
    let mut record = committed(&kind);
    for fence in 6..6 + u64::from(limits::TRANSACTION_CLAIMS_MAX) {
        record = claim(&kind, &record, TransactionMode::Compensate, grant("act_undo", fence)).unwrap().record;
    }
    let more = claim(&kind, &record, TransactionMode::Compensate, grant("act_undo", 99));
    assert_eq!(more.err(), Some(Rejection::Exhausted));
}

#[test]
fn a_compensation_that_fails_leaves_the_transaction_committed_and_in_part_asks_a_person() {
    let kind = Kind::PLAN;
    let record = compensating(&kind);
    let failed = settle(&record, grant("act_undo", 6), Settled::Failed { error: failure() }).unwrap();
    assert_eq!((failed.event, events(&failed)), ("committed", vec!["compensation_failed"]));
    assert!(failed.record.error.is_some());
    assert!(claim(&kind, &failed.record, TransactionMode::Compensate, grant("act_undo_2", 7)).is_ok());
    let partly = settle(&record, grant("act_undo", 6), Settled::Partial { error: failure() }).unwrap();
    assert_eq!((partly.event, receipts(&partly)), ("requires_human", vec![ReceiptType::TransactionFailed]));
    assert_eq!(settle(&partly.record, grant("act_undo", 6), done()).err(), Some(Rejection::Repeated));
    let yes = resolve(&partly.record, decision("d1", Finding::Committed { result_hash: None })).unwrap();
    assert_eq!(yes.event, "compensated");
    assert_eq!(resolve(&partly.record, decision("d1", Finding::NotCommitted)).unwrap().event, "committed");
}

#[test]
fn an_unknown_compensation_is_reconciled_like_a_commit() {
    let kind = Kind::PLAN;
    let lost = settle(&compensating(&kind), grant("act_undo", 6), uncertain()).unwrap().record;
    let asked =
        step(&lost, Trigger::Reconcile { grant: grant("act_ask", 7), over: true }, Millis(9_000)).unwrap().record;
    let answer = |finding| step(&asked, Trigger::Found { grant: grant("act_ask", 7), finding }, Millis(9_000)).unwrap();
    assert_eq!(answer(Finding::Committed { result_hash: None }).event, "compensated");
    let no = answer(Finding::NotCommitted);
    assert_eq!((no.event, events(&no)), ("committed", vec!["reconciled", "compensation_failed"]));
}

/// AIP 1.0 §11.8.
#[test]
fn a_cancel_stops_what_has_not_begun_and_nothing_else() {
    let kind = Kind::PLAN;
    for record in [opened(&kind), claimed(&kind)] {
        assert_eq!(step(&record, Trigger::Cancel, NOW).unwrap().event, "cancelled");
    }
    let begun = committing(&kind);
    assert_eq!(step(&begun, Trigger::Cancel, NOW).err(), Some(Rejection::CommitStarted));
    assert_eq!(settle(&begun, grant(COMMIT, 5), Settled::Cancelled).unwrap().event, "cancelled");
    assert_eq!(step(&committed(&kind), Trigger::Cancel, NOW).err(), Some(Rejection::Committed));
    let undo = claim(&kind, &committed(&kind), TransactionMode::Compensate, grant("act_undo", 6)).unwrap().record;
    assert_eq!(step(&undo, Trigger::Cancel, NOW).unwrap().event, "committed", "the compensation is cancelled");
}

/// AIP 1.0 §13.2.
#[test]
fn a_weak_dry_run_is_answered_without_the_handler() {
    assert_eq!(DryRunFidelity::ALL.iter().map(|it| calls_handler(*it)).collect::<Vec<_>>(), [false, false, true, true]);
    let kind = Kind::PLAN;
    let dry = |fidelity| open(kind.opening(), First::DryRun(fidelity));
    let told = dry(DryRunFidelity::PolicyAndSchema).unwrap();
    assert_eq!((told.event, receipts(&told)), ("dry_run_completed", vec![ReceiptType::TransactionDryRunCompleted]));
    assert_eq!(dry(DryRunFidelity::FullSimulation).unwrap().event, "prepared");
}

#[test]
fn a_dry_run_claims_no_more_than_its_contract() {
    let kind = Kind::PLAN;
    let mut opening = kind.opening();
    opening.facts.contract.dry_run_fidelity = DryRunFidelity::DownstreamValidation;
    let dry = |fidelity| open(opening.clone(), First::DryRun(fidelity));
    assert_eq!(dry(DryRunFidelity::FullSimulation).err(), Some(Rejection::FidelityExceeded));
    let running = dry(DryRunFidelity::DownstreamValidation).unwrap().record;
    let ended = |fidelity| Trigger::DryRunEnded {
        action_id: ActionId::new("act_1"),
        ended: DryRun::Completed { fidelity, result_hash: None },
    };
    let boast = step(&running, ended(DryRunFidelity::FullSimulation), NOW);
    assert_eq!(boast.err(), Some(Rejection::FidelityExceeded));
    let started = claim(&kind, &running, TransactionMode::Execute, grant("act_1", 5));
    assert_eq!(started.err(), Some(Rejection::NotAdmitted), "a dry run has nothing to commit");
    let told = step(&running, ended(DryRunFidelity::SchemaOnly), NOW).unwrap().record;
    assert_eq!(step(&told, ended(DryRunFidelity::SchemaOnly), NOW).err(), Some(Rejection::Repeated));
}

#[test]
fn a_plan_may_follow_a_dry_run_of_the_same() {
    let kind = Kind { first: Opens::DryRun(DryRunFidelity::SchemaOnly), ..Kind::PLAN };
    let told = opened(&kind);
    let plan = |facts, plan_id: &str| {
        let planning = aip_core::transaction::Planning { plan_id: plan_id.to_owned(), ..kind.planning() };
        Trigger::Plan { action_id: ActionId::new("act_plan"), facts: Box::new(facts), planning: Box::new(planning) }
    };
    let mut other = kind.facts();
    other.input_hash = "other".to_owned();
    assert_eq!(step(&told, plan(other, "plan_1"), NOW).err(), Some(Rejection::InputMismatch));
    let planned = step(&told, plan(kind.facts(), "plan_1"), NOW).unwrap().record;
    assert_eq!(result(&planned, None, None).action_id.as_str(), "act_plan");
    assert_eq!(step(&planned, plan(kind.facts(), "plan_1"), NOW).err(), Some(Rejection::Repeated));
    assert_eq!(step(&planned, plan(kind.facts(), "plan_2"), NOW).err(), Some(Rejection::Conflict));
    assert!(claim(&kind, &planned, TransactionMode::Commit, grant(COMMIT, 5)).is_ok());
}

#[test]
fn a_released_claim_leaves_a_plan_whose_result_names_its_plan() {
    let released = step(&claimed(&Kind::PLAN), Trigger::LeaseOver { fence: 5 }, NOW).unwrap();
    assert_eq!((released.event, events(&released)), ("planned", vec!["claim_released"]));
    let seen = result(&released.record, None, None);
    assert_eq!(seen.action_id, seen.plan.unwrap().action_id);
}

#[test]
fn there_is_no_way_back_and_that_is_said() {
    let declared = open(Kind::PLAN.opening(), First::RollbackNotSupported).unwrap();
    assert_eq!(declared.event, "rollback_not_supported");
    assert_eq!(receipts(&declared), [ReceiptType::TransactionRollbackUnsupported]);
    assert!(declared.record.is_terminal());
}

/// `design.md` §4.6.
#[test]
fn an_action_whose_outcome_is_unknown_gets_a_transaction_of_its_own() {
    let (kind, action) = (Kind { first: Opens::Unknown, ..Kind::PLAN }, unknown_action(true));
    let opened = open_unknown(&action, kind.facts(), Millis(1_200)).unwrap();
    assert_eq!((opened.event, &opened.record.id), ("outcome_unknown", &implicit_id(&action)));
    assert_eq!(opened.record.id, open_unknown(&action, kind.facts(), NOW).unwrap().record.id);
    assert_eq!(opened.record.operation.as_ref().unwrap().operation_id, "op_7");
    let late = settle(&opened.record, grant("act_1", 5), done()).unwrap();
    assert_eq!(late.event, "committed");
    let person = step(&opened.record, Trigger::Escalate, NOW).unwrap().record;
    let no = resolve(&person, decision("d1", Finding::NotCommitted)).unwrap();
    assert_eq!(no.event, "failed", "there is no plan to commit again");
    let queued = fixtures::record(fixtures::Kind::UNSAFE);
    assert_eq!(open_unknown(&queued, kind.facts(), NOW).err(), Some(Rejection::NotAdmitted));
}

#[test]
fn what_only_reads_is_never_unknown() {
    let kind = Kind { read_only: true, ..Kind::PLAN };
    let lost = step(&committing(&kind), Trigger::LeaseOver { fence: 5 }, NOW).unwrap();
    assert_eq!((lost.event, lost.record.error.unwrap().code.as_str()), ("failed", "aip.transaction.not_committed"));
    assert_eq!(settle(&committing(&kind), grant(COMMIT, 5), uncertain()).unwrap().event, "failed");
}

#[test]
fn a_reference_that_no_record_can_hold_is_refused_and_a_large_error_loses_its_details() {
    let cursor = |bytes| Known { cursor: Some("c".repeat(bytes)), ..Known::default() };
    let told =
        |known| settle(&committing(&Kind::PLAN), grant(COMMIT, 5), Settled::Uncertain { error: failure(), known });
    assert!(told(cursor(limits::RECONCILIATION_CURSOR_BYTES_MAX)).is_ok());
    assert_eq!(told(cursor(limits::RECONCILIATION_CURSOR_BYTES_MAX + 1)).err(), Some(Rejection::TooLarge));
    let error = failure().with_details(json!("x".repeat(limits::ERROR_BYTES_MAX)));
    let failed = settle(&committing(&Kind::PLAN), grant(COMMIT, 5), Settled::Failed { error }).unwrap();
    assert_eq!(failed.record.error.unwrap().details, None);
}

/// The whole table is printed for people in `docs/states/transaction.md`; that file is compared by `cargo xtask tidy`.
#[test]
fn the_matrix_of_transactions_has_no_empty_cell() {
    let matrix = matrix();
    let rows: Vec<&str> = matrix.lines().filter(|line| line.starts_with("| ")).collect();
    assert!(rows.len() > 30 * 4, "{}", rows.len());
    assert!(rows.iter().all(|row| !row.contains("|  |")), "{matrix}");
    assert_eq!(matrix.matches("\n## ").count(), 5);
}
