//! The transition function: every (phase, trigger) pair has its answer here, and nowhere else.

use alloc::string::String;

use aip_crypto::{hash, sha256_hex};
use aip_types::{CompensationMode, ErrorCode, Millis, ProtocolError, TransactionMode, limits};
use serde_json::json;

use super::{
    Step, check,
    effect::{self, Source},
    open::{plan_after, plan_again},
    record::{Claim, Grant, Phase, TransactionRecord, Work},
    rejection::Rejection,
    trigger::{Claiming, Finding, Known, Resolution, Settled, Trigger},
};
use crate::step::Machine;

/// Applies a trigger. Total: every phase answers every trigger.
///
/// # Errors
/// A [`Rejection`], which changes nothing.
///
/// Source: AIP 1.0 §13; `design.md` §4.6.
pub fn step(record: &TransactionRecord, trigger: Trigger, at: Millis) -> Result<Step, Rejection> {
    trigger.fits()?;
    if let Trigger::Resolve(resolution) = &trigger {
        new_decision(record, resolution)?;
    }
    match &record.phase {
        Phase::Planned {} | Phase::Reconciled {} | Phase::Prepared { claim: None } => waiting(record, trigger, at),
        Phase::Prepared { claim: Some(claim) } | Phase::Committing(claim) | Phase::Compensating(claim) => {
            claimed(record, claim, trigger, at)
        }
        Phase::OutcomeUnknown(claim) => unknown(record, claim, trigger, at),
        Phase::Reconciling { claim, query } => reconciling(record, claim, query, trigger, at),
        Phase::RequiresHuman { claim, partial } => requires_human(record, claim, *partial, trigger, at),
        Phase::Committed {} => committed(record, trigger, at),
        Phase::DryRunCompleted {} => dry_run_completed(record, trigger, at),
        Phase::Compensated {} | Phase::Cancelled {} | Phase::RollbackNotSupported {} | Phase::Failed {} => {
            Err(Rejection::Terminal)
        }
    }
}

impl Machine for TransactionRecord {
    type Trigger = Trigger;
    type Rejection = Rejection;

    fn step(&self, trigger: Trigger, at: Millis) -> Result<Step, Rejection> {
        step(self, trigger, at)
    }

    fn is_terminal(&self) -> bool {
        match &self.phase {
            Phase::Compensated {} | Phase::Cancelled {} | Phase::RollbackNotSupported {} | Phase::Failed {} => true,
            Phase::Committed {} => match self.facts.contract.compensation.mode {
                CompensationMode::NotRequired | CompensationMode::RollbackNotSupported => true,
                CompensationMode::Supported | CompensationMode::BestEffort => false,
            },
            Phase::DryRunCompleted {}
            | Phase::Planned {}
            | Phase::Prepared { .. }
            | Phase::Committing(_)
            | Phase::Compensating(_)
            | Phase::RequiresHuman { .. }
            | Phase::OutcomeUnknown(_)
            | Phase::Reconciling { .. }
            | Phase::Reconciled {} => false,
        }
    }

    fn phase(&self) -> &'static str {
        self.phase.name()
    }
}

/// Nothing is claimed: `planned`, `reconciled` without effect, or `prepared` without a plan.
fn waiting(record: &TransactionRecord, trigger: Trigger, at: Millis) -> Result<Step, Rejection> {
    match trigger {
        Trigger::Claim(claiming) => match check::work(claiming.transaction.mode) {
            Some(Work::Commit) if record.is_dry_run() => Err(Rejection::NotAdmitted),
            Some(Work::Commit) => claim_anew(record, Work::Commit, &claiming, at),
            Some(Work::Compensation) => Err(Rejection::NothingCommitted),
            None => Err(Rejection::NotAdmitted),
        },
        Trigger::DryRunEnded { action_id, ended } if record.is_dry_run() => {
            if record.part.action_id == action_id {
                effect::dry_run_ended(record, ended, at)
            } else {
                Err(Rejection::ContextMismatch)
            }
        }
        Trigger::Cancel => Ok(effect::cancel(record, at)),
        Trigger::Due if at < record.expires_at => Err(Rejection::NotDue),
        Trigger::Due => Ok(effect::expire(record, at)),
        Trigger::Plan { action_id, planning, .. } => Err(plan_again(record, &action_id, &planning)),
        Trigger::Start { .. } | Trigger::Settle { .. } | Trigger::LeaseOver { .. } | Trigger::Found { .. } => {
            Err(Rejection::StaleFence)
        }
        Trigger::DryRunEnded { .. } | Trigger::Reconcile { .. } | Trigger::Escalate | Trigger::Resolve(_) => {
            Err(Rejection::NotAdmitted)
        }
    }
}

/// One claim is valid: its work has begun, or not yet.
fn claimed(record: &TransactionRecord, claim: &Claim, trigger: Trigger, at: Millis) -> Result<Step, Rejection> {
    match trigger {
        Trigger::Claim(claiming) => claim_again(record, claim, &claiming, at),
        Trigger::Start { grant } if grant != claim.grant => Err(Rejection::StaleFence),
        Trigger::Start { .. } if claim.has_started() => Err(Rejection::Repeated),
        Trigger::Start { .. } => check::in_time(record, claim, at).map(|()| effect::started(record, claim, at)),
        Trigger::Settle { grant, .. } if grant != claim.grant => Err(Rejection::StaleFence),
        Trigger::Settle { settled, .. } if claim.has_started() => {
            Ok(settle(record, claim, settled, Source::Result, at))
        }
        Trigger::Settle { settled, .. } => settle_unstarted(record, claim, settled, at),
        Trigger::LeaseOver { fence } if fence != claim.grant.fence => Err(Rejection::StaleFence),
        Trigger::LeaseOver { .. } => Ok(lose(record, claim, at)),
        Trigger::Cancel if claim.begun.is_some() => Err(Rejection::CommitStarted),
        Trigger::Cancel => Ok(match claim.work {
            Work::Commit => effect::cancel(record, at),
            Work::Compensation => effect::release(record, claim, at),
        }),
        Trigger::Due if claim.begun.is_some() => Err(Rejection::NotAdmitted),
        Trigger::Due if claim.begin_before.is_none_or(|end| at < end) => Err(Rejection::NotDue),
        Trigger::Due if claim.work == Work::Commit && at >= record.expires_at => Ok(effect::expire(record, at)),
        Trigger::Due => Ok(effect::release(record, claim, at)),
        Trigger::Plan { action_id, planning, .. } => Err(plan_again(record, &action_id, &planning)),
        Trigger::Found { .. } => Err(Rejection::StaleFence),
        Trigger::DryRunEnded { .. } | Trigger::Reconcile { .. } | Trigger::Escalate | Trigger::Resolve(_) => {
            Err(Rejection::NotAdmitted)
        }
    }
}

/// The work may have had its effect, and nobody asks.
fn unknown(record: &TransactionRecord, claim: &Claim, trigger: Trigger, at: Millis) -> Result<Step, Rejection> {
    match trigger {
        Trigger::Settle { grant, settled } => late(record, claim, &grant, settled, at),
        Trigger::Reconcile { .. } if !record.facts.contract.supports(TransactionMode::Reconcile) => {
            Err(Rejection::ModeUnsupported)
        }
        Trigger::Reconcile { grant, .. } if grant.fence <= record.fence => Err(Rejection::StaleFence),
        Trigger::Reconcile { .. } if record.reconcile_after.is_some_and(|after| at < after) => Err(Rejection::NotDue),
        Trigger::Reconcile { .. } if record.reconciliations >= limits::RECONCILIATIONS_MAX => Err(Rejection::Exhausted),
        Trigger::Reconcile { grant, .. } => Ok(effect::reconciling(record, claim, grant, at)),
        Trigger::Escalate => Ok(effect::escalate(record, claim, at)),
        Trigger::Claim(_) | Trigger::Cancel => Err(Rejection::OutcomeUnknown),
        Trigger::LeaseOver { fence } if fence == claim.grant.fence => Err(Rejection::Repeated),
        Trigger::Start { .. } | Trigger::LeaseOver { .. } | Trigger::Found { .. } => Err(Rejection::StaleFence),
        Trigger::Plan { action_id, planning, .. } => Err(plan_again(record, &action_id, &planning)),
        Trigger::DryRunEnded { .. } | Trigger::Resolve(_) | Trigger::Due => Err(Rejection::NotAdmitted),
    }
}

/// The work may have had its effect, and the provider is being asked.
fn reconciling(
    record: &TransactionRecord,
    claim: &Claim,
    query: &Grant,
    trigger: Trigger,
    at: Millis,
) -> Result<Step, Rejection> {
    match trigger {
        Trigger::Found { grant, .. } if grant != *query => Err(Rejection::StaleFence),
        Trigger::Found { finding, .. } => Ok(found(record, claim, finding, Source::Reconciliation, at)),
        Trigger::Settle { grant, settled } => late(record, claim, &grant, settled, at),
        Trigger::LeaseOver { fence } if fence != query.fence => Err(Rejection::StaleFence),
        Trigger::LeaseOver { .. } => Ok(effect::indefinite(record, claim, Known::default(), at)),
        Trigger::Reconcile { grant, .. } if grant == *query => Err(Rejection::Repeated),
        Trigger::Reconcile { grant, .. } if grant.fence <= record.fence => Err(Rejection::StaleFence),
        Trigger::Reconcile { over: false, .. } => Err(Rejection::ClaimHeld),
        Trigger::Reconcile { .. } if record.reconciliations >= limits::RECONCILIATIONS_MAX => Err(Rejection::Exhausted),
        Trigger::Reconcile { grant, .. } => Ok(effect::reconciling(record, claim, grant, at)),
        Trigger::Escalate => Ok(effect::escalate(record, claim, at)),
        Trigger::Claim(_) | Trigger::Cancel => Err(Rejection::OutcomeUnknown),
        Trigger::Start { .. } => Err(Rejection::StaleFence),
        Trigger::Plan { action_id, planning, .. } => Err(plan_again(record, &action_id, &planning)),
        Trigger::DryRunEnded { .. } | Trigger::Resolve(_) | Trigger::Due => Err(Rejection::NotAdmitted),
    }
}

/// The work may have had its effect, or a part of it has, and a person must decide.
fn requires_human(
    record: &TransactionRecord,
    claim: &Claim,
    partial: bool,
    trigger: Trigger,
    at: Millis,
) -> Result<Step, Rejection> {
    match trigger {
        Trigger::Resolve(resolution) => resolve(record, claim, &resolution, at),
        Trigger::Settle { grant, .. } if partial && grant == claim.grant => Err(Rejection::Repeated),
        Trigger::Settle { grant, settled } => late(record, claim, &grant, settled, at),
        Trigger::Escalate => Err(Rejection::Repeated),
        Trigger::Claim(_) | Trigger::Cancel => Err(Rejection::OutcomeUnknown),
        Trigger::Start { .. } | Trigger::LeaseOver { .. } | Trigger::Found { .. } => Err(Rejection::StaleFence),
        Trigger::Plan { action_id, planning, .. } => Err(plan_again(record, &action_id, &planning)),
        Trigger::DryRunEnded { .. } | Trigger::Reconcile { .. } | Trigger::Due => Err(Rejection::NotAdmitted),
    }
}

/// The effect took place; only a compensation may follow.
fn committed(record: &TransactionRecord, trigger: Trigger, at: Millis) -> Result<Step, Rejection> {
    match trigger {
        Trigger::Claim(claiming) => match check::work(claiming.transaction.mode) {
            Some(Work::Compensation) => claim_anew(record, Work::Compensation, &claiming, at),
            Some(Work::Commit) => Err(Rejection::Committed),
            None => Err(Rejection::NotAdmitted),
        },
        Trigger::Settle { grant, .. }
            if record.committed.as_ref().is_some_and(|committed| committed.claim.grant == grant) =>
        {
            Err(Rejection::Repeated)
        }
        Trigger::Cancel => Err(Rejection::Committed),
        Trigger::Start { .. } | Trigger::Settle { .. } | Trigger::LeaseOver { .. } | Trigger::Found { .. } => {
            Err(Rejection::StaleFence)
        }
        Trigger::Plan { action_id, planning, .. } => Err(plan_again(record, &action_id, &planning)),
        Trigger::DryRunEnded { .. }
        | Trigger::Reconcile { .. }
        | Trigger::Escalate
        | Trigger::Resolve(_)
        | Trigger::Due => Err(Rejection::NotAdmitted),
    }
}

/// A dry run told what would happen; only a plan of the same may follow.
fn dry_run_completed(record: &TransactionRecord, trigger: Trigger, at: Millis) -> Result<Step, Rejection> {
    match trigger {
        Trigger::Plan { action_id, facts, planning } => plan_after(record, &action_id, &facts, *planning, at),
        Trigger::DryRunEnded { action_id, .. } if record.part.action_id == action_id => Err(Rejection::Repeated),
        Trigger::Claim(_) => Err(Rejection::PlanMissing),
        Trigger::Start { .. } | Trigger::Settle { .. } | Trigger::LeaseOver { .. } | Trigger::Found { .. } => {
            Err(Rejection::StaleFence)
        }
        Trigger::DryRunEnded { .. }
        | Trigger::Reconcile { .. }
        | Trigger::Escalate
        | Trigger::Resolve(_)
        | Trigger::Cancel
        | Trigger::Due => Err(Rejection::NotAdmitted),
    }
}

/// The first claim on the work, or the first after one that is settled.
fn claim_anew(record: &TransactionRecord, work: Work, claiming: &Claiming, at: Millis) -> Result<Step, Rejection> {
    if claiming.grant.fence <= record.fence {
        return Err(Rejection::StaleFence);
    }
    let claim = check::claim(record, work, claiming, None, at)?;
    Ok(effect::claimed(record, claim, claiming.transaction.mode, at))
}

/// A claim over another. What has begun is repeated by its own action only, whose key the provider knows.
fn claim_again(record: &TransactionRecord, held: &Claim, claiming: &Claiming, at: Millis) -> Result<Step, Rejection> {
    let work = check::work(claiming.transaction.mode).ok_or(Rejection::NotAdmitted)?;
    match (work, held.work) {
        (Work::Commit, Work::Commit) | (Work::Compensation, Work::Compensation) => {}
        (Work::Commit, Work::Compensation) => return Err(Rejection::Committed),
        (Work::Compensation, Work::Commit) => return Err(Rejection::NothingCommitted),
    }
    if claiming.grant == held.grant {
        return Err(Rejection::Repeated);
    }
    if claiming.grant.fence <= record.fence {
        return Err(Rejection::StaleFence);
    }
    if !claiming.over {
        return Err(Rejection::ClaimHeld);
    }
    if held.begun.is_some() && claiming.grant.action_id != held.grant.action_id {
        return Err(Rejection::OutcomeUnknown);
    }
    if held.begun.is_some() && !(held.may_repeat() && held.execution.may_repeat(claiming.keyed)) {
        return Err(Rejection::NotRepeatable);
    }
    let claim = check::claim(record, work, claiming, held.begun, at)?;
    Ok(effect::claimed(record, claim, claiming.transaction.mode, at))
}

/// An attempt that began has ended.
fn settle(record: &TransactionRecord, claim: &Claim, settled: Settled, source: Source<'_>, at: Millis) -> Step {
    match settled {
        Settled::Committed { result_hash } => effect::took_effect(record, claim, result_hash, source, at),
        Settled::Failed { error } => effect::no_effect(record, claim, error, source, at),
        Settled::Again if source.reconciles() => {
            effect::no_effect(record, claim, ErrorCode::TransactionNotCommitted.into(), source, at)
        }
        Settled::Again => effect::release(record, claim, at),
        Settled::Partial { error } => effect::partial(record, claim, error, at),
        // What only reads has no effect to be uncertain about (AIP 1.0 §19.3).
        Settled::Uncertain { error, .. } if claim.execution.read_only => {
            effect::no_effect(record, claim, error, source, at)
        }
        Settled::Uncertain { error, known } => {
            effect::unknown(record, claim.clone(), Some(effect::clipped(error)), known, at)
        }
        Settled::Cancelled => effect::stopped(record, claim, source, at),
    }
}

/// A claim ends whose own attempt never began. An earlier attempt of its action may have: then nobody knows.
fn settle_unstarted(
    record: &TransactionRecord,
    claim: &Claim,
    settled: Settled,
    at: Millis,
) -> Result<Step, Rejection> {
    match settled {
        Settled::Committed { .. } | Settled::Partial { .. } | Settled::Uncertain { .. } => Err(Rejection::NotStarted),
        Settled::Failed { .. } | Settled::Again | Settled::Cancelled if claim.begun.is_some() => {
            Ok(lose(record, claim, at))
        }
        Settled::Again => Ok(effect::release(record, claim, at)),
        Settled::Failed { error } => Ok(effect::no_effect(record, claim, error, Source::Result, at)),
        Settled::Cancelled => Ok(effect::stopped(record, claim, Source::Result, at)),
    }
}

/// The holder of a claim is gone, and no other attempt of its action will follow.
fn lose(record: &TransactionRecord, claim: &Claim, at: Millis) -> Step {
    if claim.begun.is_none() {
        return effect::release(record, claim, at);
    }
    if claim.execution.read_only {
        let error = ProtocolError::from(ErrorCode::TransactionNotCommitted);
        return effect::no_effect(record, claim, error, Source::Result, at);
    }
    effect::unknown(record, claim.clone(), None, Known::default(), at)
}

/// A result that comes when the outcome is unknown already: with the last granted fence of the work it is the
/// reconciliation (AIP 1.0 §13.6).
fn late(
    record: &TransactionRecord,
    claim: &Claim,
    grant: &Grant,
    settled: Settled,
    at: Millis,
) -> Result<Step, Rejection> {
    if *grant != claim.grant {
        return Err(Rejection::StaleFence);
    }
    if !claim.has_started() {
        return Err(Rejection::NotStarted);
    }
    match settled {
        Settled::Uncertain { .. } if record.error.is_some() => Err(Rejection::Repeated),
        Settled::Uncertain { error, known } => Ok(effect::learn(record, error, known, at)),
        Settled::Committed { .. }
        | Settled::Failed { .. }
        | Settled::Again
        | Settled::Partial { .. }
        | Settled::Cancelled => Ok(settle(record, claim, settled, Source::LateResult, at)),
    }
}

/// What a reconciliation or a person found.
fn found(record: &TransactionRecord, claim: &Claim, finding: Finding, source: Source<'_>, at: Millis) -> Step {
    match finding {
        Finding::Committed { result_hash } => effect::took_effect(record, claim, result_hash, source, at),
        Finding::NotCommitted => {
            effect::no_effect(record, claim, ErrorCode::TransactionNotCommitted.into(), source, at)
        }
        Finding::Indefinite(known) => effect::indefinite(record, claim, known, at),
    }
}

/// A decision that is not recorded yet.
fn new_decision(record: &TransactionRecord, resolution: &Resolution) -> Result<(), Rejection> {
    let (id, content) = decision(resolution);
    match record.decisions.get(&id) {
        Some(recorded) if *recorded == content => Err(Rejection::Repeated),
        Some(_) => Err(Rejection::Conflict),
        None => Ok(()),
    }
}

fn decision(resolution: &Resolution) -> (String, String) {
    let Resolution { decision_id, operator, finding, evidence_hash } = resolution;
    let content = json!({"operator": operator.id.as_str(), "finding": finding, "evidence_hash": evidence_hash});
    (sha256_hex(decision_id.as_bytes()), hash(&content))
}

/// A person decides. To ask the provider once more is bounded, so that a decision that settles always finds room.
fn resolve(record: &TransactionRecord, claim: &Claim, resolution: &Resolution, at: Millis) -> Result<Step, Rejection> {
    if resolution.evidence_hash.is_empty() {
        return Err(Rejection::EvidenceMissing);
    }
    let mut decided = record.clone();
    let room = match &resolution.finding {
        Finding::Committed { .. } | Finding::NotCommitted => limits::TRANSACTION_DECISIONS_LEN_MAX,
        Finding::Indefinite(_) => limits::TRANSACTION_DECISIONS_LEN_MAX / 2,
    };
    if decided.decisions.len() >= room {
        return Err(Rejection::Exhausted);
    }
    let (id, content) = decision(resolution);
    let _new = decided.decisions.insert(id, content);
    decided.reconciliations = 0;
    Ok(found(&decided, claim, resolution.finding.clone(), Source::Person(resolution), at))
}
