//! What holds of every life of a transaction (AIP 1.0 §13; `design.md` §4.6).

use std::collections::BTreeSet;

use aip_core::{
    Machine as _,
    transaction::{Finding, Phase, Settled, TransactionRecord, Trigger, Work, result, step, view},
};
use aip_types::{EventKind, ReceiptType, TransactionProtocolStatus as Status, limits};
use proptest::prelude::*;

use crate::transaction_histories::{EXPIRY, Life, Moved, Opens, dry_life, life};

/// Whether the provider may have done the work, as somebody outside would count it: from the moment that a worker is let go
/// until a definitive word of the attempt, of the provider or of a person.
fn ghosts(life: &Life) -> Vec<(&Moved, &TransactionRecord, bool, bool)> {
    let mut may_have = life.kind.first == Opens::Unknown;
    let mut told = Vec::new();
    for (moved, after) in life.applied() {
        let before = may_have;
        let started = moved.before.phase.claim().is_some_and(|claim| claim.has_started());
        may_have = match &moved.trigger {
            Trigger::Start { .. } => true,
            Trigger::Settle { settled, .. } if started => match settled {
                Settled::Committed { .. } | Settled::Failed { .. } | Settled::Again | Settled::Cancelled => false,
                Settled::Partial { .. } => true,
                Settled::Uncertain { .. } => may_have && !life.kind.read_only,
            },
            Trigger::Found { finding, .. } => may_have && matches!(finding, Finding::Indefinite(_)),
            Trigger::Resolve(resolution) => may_have && matches!(resolution.finding, Finding::Indefinite(_)),
            // Of a read there is no effect to be unknown.
            Trigger::Settle { .. } | Trigger::LeaseOver { .. } => may_have && !life.kind.read_only,
            Trigger::Plan { .. }
            | Trigger::DryRunEnded { .. }
            | Trigger::Claim(_)
            | Trigger::Reconcile { .. }
            | Trigger::Escalate
            | Trigger::Cancel
            | Trigger::Due => may_have,
        };
        told.push((moved, after, before, may_have));
    }
    told
}

fn fence_of(trigger: &Trigger) -> Option<u64> {
    match trigger {
        Trigger::Claim(claiming) => Some(claiming.grant.fence),
        Trigger::Start { grant }
        | Trigger::Settle { grant, .. }
        | Trigger::Reconcile { grant, .. }
        | Trigger::Found { grant, .. } => Some(grant.fence),
        Trigger::LeaseOver { fence } => Some(*fence),
        Trigger::Plan { .. }
        | Trigger::DryRunEnded { .. }
        | Trigger::Escalate
        | Trigger::Resolve(_)
        | Trigger::Cancel
        | Trigger::Due => None,
    }
}

fn receipt_types(life: &Life) -> Vec<ReceiptType> {
    life.steps().flat_map(|step| step.receipts.iter().map(|receipt| receipt.receipt_type)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn the_laws_of_every_machine_hold_for_a_transaction(life in life()) {
        let history = life.moves.iter().map(|moved| (moved.trigger.clone(), moved.at));
        crate::laws::hold(life.first.clone(), |record| (record.chain.step, record.chain.updated_at), history)?;
    }

    /// AIP 1.0 §13.6, §19.2: while the provider may have done the work, nothing is claimed but a repeat by the same action
    /// under a contract that allows it, and nothing is committed, compensated, failed or cancelled.
    #[test]
    fn nothing_follows_an_unknown_outcome_without_a_definitive_word(life in life()) {
        for (moved, after, before, now) in ghosts(&life) {
            if before && let Trigger::Claim(claiming) = &moved.trigger {
                let held = moved.before.phase.claim().unwrap();
                prop_assert!(held.may_repeat() && claiming.over);
                prop_assert_eq!(&held.grant.action_id, &claiming.grant.action_id);
                let valid = matches!(moved.before.phase, Phase::Committing(_) | Phase::Compensating(_));
                prop_assert!(valid, "{:?}", moved.before.phase);
            }
            if now {
                let open = match after.phase {
                    Phase::Committing(_) | Phase::Compensating(_) | Phase::OutcomeUnknown(_)
                    | Phase::Reconciling { .. } | Phase::RequiresHuman { .. } => true,
                    Phase::DryRunCompleted {} | Phase::Planned {} | Phase::Prepared { .. } | Phase::Committed {}
                    | Phase::Compensated {} | Phase::Cancelled {} | Phase::RollbackNotSupported {} | Phase::Failed {}
                    | Phase::Reconciled {} => false,
                };
                prop_assert!(open, "{:?} gave {:?}", moved.trigger, after.phase);
            }
        }
    }

    /// What may not be repeated is let go at most once between two definitive words.
    #[test]
    fn what_may_not_be_repeated_is_let_go_once(life in life()) {
        prop_assume!(!life.kind.may_repeat());
        for (moved, _, before, _) in ghosts(&life) {
            let let_go = matches!(moved.trigger, Trigger::Start { .. });
            prop_assert!(!before || !let_go);
        }
    }

    /// The other direction: where the record says that the outcome is open, it is.
    #[test]
    fn an_open_outcome_is_never_invented(life in life()) {
        for (_, after, _, now) in ghosts(&life) {
            if matches!(after.phase, Phase::OutcomeUnknown(_) | Phase::Reconciling { .. } | Phase::RequiresHuman { .. }) {
                prop_assert!(now, "{:?}", after.phase);
            }
        }
    }

    /// Fences only grow: what is granted is above all before, and what acts acts under the very grant that stands.
    #[test]
    fn a_stale_fence_changes_no_transaction(life in life()) {
        for (moved, after) in life.applied() {
            prop_assert!(after.fence >= moved.before.fence);
            let Some(fence) = fence_of(&moved.trigger) else { continue };
            if matches!(moved.trigger, Trigger::Claim(_) | Trigger::Reconcile { .. }) {
                prop_assert!(fence > moved.before.fence);
                prop_assert_eq!(after.fence, fence);
            } else {
                let query = if let Phase::Reconciling { query, .. } = &moved.before.phase { Some(query.fence) } else { None };
                let claim = moved.before.phase.claim().map(|claim| claim.grant.fence);
                prop_assert!(Some(fence) == claim || Some(fence) == query, "{:?}", moved.trigger);
            }
        }
    }

    /// AIP 1.0 §13.4: a claim over a valid one needs the proof that its lease is over.
    #[test]
    fn at_most_one_claim_is_valid(life in life()) {
        for (moved, after) in life.applied() {
            let Trigger::Claim(claiming) = &moved.trigger else { continue };
            prop_assert!(moved.before.phase.claim().is_none() || claiming.over);
            prop_assert_eq!(after.phase.claim().map(|claim| &claim.grant), Some(&claiming.grant));
        }
    }

    #[test]
    fn no_expired_or_mismatching_plan_is_claimed(life in life()) {
        for (moved, after) in life.applied() {
            let Trigger::Claim(claiming) = &moved.trigger else { continue };
            let claim = after.phase.claim().unwrap();
            if claim.work == Work::Commit {
                prop_assert!(moved.at < EXPIRY);
                let mut same = claiming.facts.clone();
                same.principal = moved.before.facts.principal.clone();
                prop_assert_eq!(&same, &moved.before.facts);
                prop_assert_eq!(&claiming.facts.principal.id, &moved.before.facts.principal.id);
                let plan = moved.before.plan.as_ref().map(|plan| &plan.plan_id);
                prop_assert_eq!(claiming.transaction.plan_id.as_ref(), plan);
                prop_assert!(!life.kind.approval || claiming.approval.is_some());
            } else {
                prop_assert!(moved.before.compensate_before().is_none_or(|end| moved.at < end));
                prop_assert_eq!(claiming.facts.capability_id.as_str(), "cap:demo:undo");
                prop_assert_eq!(&claiming.facts.tenant, &moved.before.facts.tenant);
            }
        }
    }

    #[test]
    fn nothing_begins_too_late(life in life()) {
        for (moved, _) in life.applied() {
            if matches!(moved.trigger, Trigger::Start { .. }) {
                let claim = moved.before.phase.claim().unwrap();
                prop_assert!(claim.begin_before.is_none_or(|end| moved.at < end));
            }
        }
    }

    /// AIP 1.0 §13.7: compensation follows a commit, never a plan, a failure or an unknown outcome.
    #[test]
    fn compensated_only_after_committed(life in life()) {
        let mut committed = 0;
        for kind in receipt_types(&life) {
            if kind == ReceiptType::TransactionCommitted {
                committed += 1;
                prop_assert_eq!(committed, 1, "committed once");
            }
            prop_assert!(kind != ReceiptType::TransactionCompensated || committed == 1);
        }
        for (moved, after) in life.applied() {
            if matches!(after.phase, Phase::Compensating(_)) {
                prop_assert!(after.committed.is_some());
                prop_assert_eq!(&after.committed, &moved.before.committed);
            }
        }
    }

    /// AIP 1.0 §13.2.
    #[test]
    fn a_dry_run_never_starts_a_commit(life in dry_life()) {
        let receipts = receipt_types(&life);
        let planned = receipts.iter().position(|kind| *kind == ReceiptType::TransactionPlanned);
        let started = receipts.iter().position(|kind| *kind == ReceiptType::TransactionCommitStarted);
        prop_assert!(started.is_none() || planned.is_some_and(|planned| Some(planned) < started));
    }

    /// AIP 1.0 §11.8: cancelled only when nothing began, or when the owner of the attempt confirms.
    #[test]
    fn cancelled_only_before_a_commit_or_by_its_owner(life in life()) {
        for (moved, _, before, _) in ghosts(&life) {
            let cancelled = moved.after().is_some_and(|after| after.phase == (Phase::Cancelled {}));
            let confirmed = matches!(&moved.trigger, Trigger::Settle { settled: Settled::Cancelled, .. });
            prop_assert!(!cancelled || !before || confirmed);
        }
    }

    /// Whatever was frozen stays, but for the plan that follows a dry run.
    #[test]
    fn what_the_opening_froze_never_moves(life in life()) {
        for (moved, after) in life.applied() {
            prop_assert_eq!((&after.id, &after.facts), (&moved.before.id, &moved.before.facts));
            prop_assert_eq!(after.created_at, moved.before.created_at);
            if !matches!(moved.trigger, Trigger::Plan { .. }) {
                prop_assert_eq!((&after.plan, after.expires_at), (&moved.before.plan, moved.before.expires_at));
            }
        }
    }

    #[test]
    fn tries_and_memories_are_bounded(life in life()) {
        for record in life.steps().map(|step| &step.record) {
            prop_assert!(record.claims <= limits::TRANSACTION_CLAIMS_MAX);
            prop_assert!(record.reconciliations <= limits::RECONCILIATIONS_MAX);
            prop_assert!(record.earlier.len() < limits::TRANSACTION_MODES_LEN_MAX);
            prop_assert!(record.decisions.len() <= limits::TRANSACTION_DECISIONS_LEN_MAX);
            prop_assert!(serde_json::to_string(record).unwrap().len() < limits::RECORD_STATE_BYTES_MAX);
        }
    }

    /// The state, its event, its receipts and what a reader sees agree (AIP 1.0 §13.3, §13.5).
    #[test]
    fn what_a_reader_sees_keeps_the_rules_of_the_wire(life in life()) {
        for step in life.steps() {
            let record = &step.record;
            prop_assert_eq!(step.event, record.phase.status().as_str());
            prop_assert!(!step.events.is_empty());
            for event in &step.events {
                let row = EventKind::from_kind(&event.kind).unwrap().row();
                let data = event.data.as_ref().and_then(|data| data.as_object()).unwrap();
                prop_assert_eq!(data.get("transaction_id").and_then(|id| id.as_str()), Some(record.id.as_str()));
                for member in data.keys() {
                    prop_assert!(row.data.iter().any(|known| known.name == member), "{} of {}", member, row.kind);
                }
            }
            let result = result(record, None, None);
            if result.status == Status::Planned {
                let plan = result.plan.as_ref().unwrap();
                prop_assert_eq!(&plan.transaction_id, &result.transaction_id);
                prop_assert_eq!((&plan.action_id, &plan.capability_id), (&result.action_id, &result.capability_id));
            }
            prop_assert!(result.status != Status::Failed || result.error.is_some());
            prop_assert_eq!(result.status == Status::OutcomeUnknown, matches!(record.phase, Phase::OutcomeUnknown(_)));
            let asked = result.reconcile_after.is_some();
            prop_assert!(!asked || matches!(result.status, Status::OutcomeUnknown | Status::Reconciling));
            let view = view(record, None, None);
            prop_assert_eq!(view.status.as_str(), result.status.as_str());
            prop_assert_eq!((view.action_id, view.transaction), (result.action_id, result.transaction));
        }
    }

    #[test]
    fn the_receipts_of_a_transaction_are_one_chain_that_says_what_happened(life in life()) {
        let receipts: Vec<_> = life.steps().flat_map(|step| step.receipts.clone()).collect();
        prop_assert_eq!(usize::try_from(life.last().chain.receipts).unwrap(), receipts.len());
        let ids: BTreeSet<_> = receipts.iter().map(|receipt| &receipt.id).collect();
        prop_assert_eq!(ids.len(), receipts.len());
        crate::laws::verifies(receipts)?;
        for step in life.steps() {
            let due = match step.record.phase {
                Phase::Committed {} if step.events.iter().any(|it| it.kind == "aip.transaction.committed") => {
                    Some(ReceiptType::TransactionCommitted)
                }
                Phase::Compensated {} => Some(ReceiptType::TransactionCompensated),
                Phase::Failed {} => Some(ReceiptType::TransactionFailed),
                Phase::DryRunCompleted {} => Some(ReceiptType::TransactionDryRunCompleted),
                Phase::RollbackNotSupported {} => Some(ReceiptType::TransactionRollbackUnsupported),
                Phase::Committed {} | Phase::Planned {} | Phase::Prepared { .. } | Phase::Committing(_)
                | Phase::Compensating(_) | Phase::RequiresHuman { .. } | Phase::Cancelled {} | Phase::OutcomeUnknown(_)
                | Phase::Reconciling { .. } | Phase::Reconciled {} => None,
            };
            prop_assert!(due.is_none_or(|due| step.receipts.iter().any(|receipt| receipt.receipt_type == due)));
        }
    }

    /// A crash between any two steps: what is stored is all that the next process needs, and it is never stuck. Whoever
    /// takes the lease finds a way on, without any memory of what was before.
    #[test]
    fn a_stored_transaction_lives_on_and_is_never_stuck(life in life()) {
        for record in life.steps().map(|step| &step.record) {
            let text = serde_json::to_string(record).unwrap();
            let stored: TransactionRecord = serde_json::from_str(&text).unwrap();
            prop_assert_eq!(&stored, record);
            let next = match &record.phase {
                Phase::Prepared { claim: Some(claim) } | Phase::Committing(claim) | Phase::Compensating(claim) => {
                    Trigger::LeaseOver { fence: claim.grant.fence }
                }
                Phase::Reconciling { query, .. } => Trigger::LeaseOver { fence: query.fence },
                Phase::Planned {} | Phase::Reconciled {} | Phase::Prepared { claim: None } => Trigger::Due,
                Phase::OutcomeUnknown(_) => Trigger::Escalate,
                Phase::RequiresHuman { .. } | Phase::Committed {} | Phase::DryRunCompleted {} => continue,
                Phase::Compensated {} | Phase::Cancelled {} | Phase::RollbackNotSupported {} | Phase::Failed {} => {
                    prop_assert!(record.is_terminal() && record.due().is_none());
                    continue;
                }
            };
            let at = record.due().unwrap_or(record.chain.updated_at);
            prop_assert!(step(&stored, next, at).is_ok(), "{:?}", record.phase);
        }
    }

    #[test]
    fn a_transition_is_decided_again_the_same(life in life()) {
        for moved in &life.moves {
            let again = step(&moved.before, moved.trigger.clone(), moved.at);
            prop_assert_eq!(format!("{again:?}"), format!("{:?}", moved.result));
        }
    }
}

/// The strategies reach what they are to prove something about.
#[test]
fn random_lives_reach_every_state_of_a_transaction() {
    use proptest::{strategy::ValueTree as _, test_runner::TestRunner};
    let mut runner = TestRunner::deterministic();
    let (mut phases, mut refusals) = (BTreeSet::new(), BTreeSet::new());
    let (mut claims, mut asked, mut again) = (0, 0, 0);
    for _ in 0..600 {
        let life: Life = life().new_tree(&mut runner).unwrap().current();
        phases.extend(life.steps().map(|step| step.record.phase.name()));
        refusals.extend(life.moves.iter().filter_map(|moved| moved.result.as_ref().err()).map(|why| why.name()));
        claims = claims.max(life.steps().map(|step| step.record.claims).max().unwrap_or(0));
        asked = asked.max(life.steps().map(|step| step.record.reconciliations).max().unwrap_or(0));
        let reconciled = life.applied().filter(|(moved, _)| moved.before.phase == (Phase::Reconciled {}));
        again += reconciled.filter(|(moved, _)| matches!(moved.trigger, Trigger::Claim(_))).count();
    }
    let names: BTreeSet<_> = Status::ALL.iter().map(|status| status.as_str()).collect();
    let missing: Vec<_> = names.difference(&phases).collect();
    assert_eq!(missing, [&"rollback_not_supported"], "that one only begins and ends: {phases:?}");
    assert!(phases.contains("prepared_claimed") && phases.contains("compensating_claimed"));
    assert!(claims > 5 && asked > 5 && again > 20, "{claims} {asked} {again}");
    for name in ["stale_fence", "repeated", "conflict", "claim_held", "outcome_unknown", "not_repeatable", "terminal"] {
        assert!(refusals.contains(name), "{name}: {refusals:?}");
    }
}
