//! What a claim is checked by (AIP 1.0 §12.5, §13.4). The order is fixed, so that one wrong claim has one answer.

use aip_types::{CompensationMode, Millis, TransactionMode, limits};

use super::{
    facts::VerifiedFacts,
    record::{Begun, Claim, TransactionRecord, Work},
    rejection::Rejection,
    trigger::Claiming,
};

/// What the action's mode claims.
pub(super) const fn work(mode: TransactionMode) -> Option<Work> {
    match mode {
        TransactionMode::Execute | TransactionMode::Commit => Some(Work::Commit),
        TransactionMode::Compensate => Some(Work::Compensation),
        TransactionMode::DryRun
        | TransactionMode::Plan
        | TransactionMode::Reconcile
        | TransactionMode::RollbackNotSupported => None,
    }
}

/// The claim, if all that it is checked by holds and tries are left.
pub(super) fn claim(
    record: &TransactionRecord,
    work: Work,
    claiming: &Claiming,
    begun: Option<Begun>,
    at: Millis,
) -> Result<Claim, Rejection> {
    let (until, execution) = match work {
        Work::Commit => (commit(record, claiming, at)?, record.facts.contract.execution),
        Work::Compensation => (compensation(record, claiming, at)?, claiming.facts.contract.execution),
    };
    if record.claims >= limits::TRANSACTION_CLAIMS_MAX {
        return Err(Rejection::Exhausted);
    }
    let approved = claiming.approval.as_ref().and_then(|approval| approval.expires_at);
    Ok(Claim {
        work,
        grant: claiming.grant.clone(),
        begun,
        execution,
        keyed: claiming.keyed,
        begin_before: until.into_iter().chain(approved).min(),
        approval: claiming.approval.clone(),
    })
}

/// A claim on the commit: the plan exists and has not expired, then nothing has changed since it was made, in the order of
/// AIP 1.0 §13.4: capability, input, identity, policy, approval, transaction context. Gives the end of the plan.
fn commit(record: &TransactionRecord, claiming: &Claiming, at: Millis) -> Result<Option<Millis>, Rejection> {
    let mode = claiming.transaction.mode;
    if mode == TransactionMode::Commit && record.plan.is_none() {
        return Err(Rejection::PlanMissing);
    }
    if at >= record.expires_at {
        return Err(expired(record));
    }
    unchanged(&record.facts, &claiming.facts)?;
    if !record.facts.contract.supports(mode) {
        return Err(Rejection::ModeUnsupported);
    }
    approval(record.plan.as_ref().is_some_and(|plan| plan.approval_required), claiming, at)?;
    commit_context(record, claiming)?;
    Ok(Some(record.expires_at))
}

/// A claim on the compensation: there is a way back, within its time, by the capability of the contract, in the tenant, with
/// an approval where the contract asks for one, for the action that committed. Gives the end of the window.
fn compensation(record: &TransactionRecord, claiming: &Claiming, at: Millis) -> Result<Option<Millis>, Rejection> {
    match record.facts.contract.compensation.mode {
        CompensationMode::Supported | CompensationMode::BestEffort => {}
        CompensationMode::NotRequired => return Err(Rejection::CompensationUnsupported),
        CompensationMode::RollbackNotSupported => return Err(Rejection::RollbackNotSupported),
    }
    let window = record.compensate_before();
    if window.is_some_and(|window| at >= window) {
        return Err(Rejection::WindowClosed);
    }
    if claiming.facts.capability_id != *record.facts.compensating_capability() {
        return Err(Rejection::CapabilityMismatch);
    }
    if claiming.facts.tenant != record.facts.tenant {
        return Err(Rejection::TenantMismatch);
    }
    if claiming.facts.account() != record.facts.account() {
        return Err(Rejection::AccountMismatch);
    }
    approval(record.facts.contract.compensation.requires_approval, claiming, at)?;
    let transaction = &claiming.transaction;
    let committed = record.committed.as_ref().map(|committed| &committed.claim.grant.action_id);
    if transaction.compensation_for.as_ref() != committed || Some(&claiming.grant.action_id) == committed {
        return Err(Rejection::CompensationMismatch);
    }
    if transaction.transaction_id.as_ref().is_some_and(|id| *id != record.id) {
        return Err(Rejection::ContextMismatch);
    }
    Ok(window)
}

/// Nothing that binds a transaction has changed.
pub(super) fn unchanged(frozen: &VerifiedFacts, now: &VerifiedFacts) -> Result<(), Rejection> {
    if now.capability_id != frozen.capability_id || now.contract != frozen.contract {
        return Err(Rejection::CapabilityMismatch);
    }
    if now.input_hash != frozen.input_hash {
        return Err(Rejection::InputMismatch);
    }
    if now.principal.id != frozen.principal.id || now.subject() != frozen.subject() {
        return Err(Rejection::PrincipalMismatch);
    }
    if now.tenant != frozen.tenant {
        return Err(Rejection::TenantMismatch);
    }
    if now.account() != frozen.account() {
        return Err(Rejection::AccountMismatch);
    }
    if now.policy_hash != frozen.policy_hash {
        return Err(Rejection::PolicyChanged);
    }
    Ok(())
}

/// The approval is there where it is needed, and where it is there it is for this.
fn approval(required: bool, claiming: &Claiming, at: Millis) -> Result<(), Rejection> {
    let Some(approval) = &claiming.approval else {
        return if required { Err(Rejection::ApprovalRequired) } else { Ok(()) };
    };
    if approval.expires_at.is_some_and(|expires_at| at >= expires_at) {
        return Err(Rejection::ApprovalExpired);
    }
    let same = approval.action_id == claiming.grant.action_id
        && approval.input_hash == claiming.facts.input_hash
        && approval.policy_hash == claiming.facts.policy_hash;
    if same { Ok(()) } else { Err(Rejection::ApprovalMismatch) }
}

/// A commit names the plan. An execution is of the very action that opened the transaction, which has no plan.
fn commit_context(record: &TransactionRecord, claiming: &Claiming) -> Result<(), Rejection> {
    let transaction = &claiming.transaction;
    let fits = match &record.plan {
        Some(plan) => {
            transaction.mode == TransactionMode::Commit && transaction.plan_id.as_ref() == Some(&plan.plan_id)
        }
        None => record.part.action_id == claiming.grant.action_id,
    };
    if fits && transaction.transaction_id.as_ref().is_none_or(|id| *id == record.id) {
        Ok(())
    } else {
        Err(Rejection::ContextMismatch)
    }
}

/// Why nothing begins at or after `expires_at`.
pub(super) const fn expired(record: &TransactionRecord) -> Rejection {
    if record.plan.is_some() { Rejection::PlanExpired } else { Rejection::DeadlinePassed }
}

/// Why a claim may not begin any more, if it may not (AIP 1.0 §12.5).
pub(super) fn in_time(record: &TransactionRecord, claim: &Claim, at: Millis) -> Result<(), Rejection> {
    if claim.begin_before.is_none_or(|end| at < end) {
        return Ok(());
    }
    Err(match claim.work {
        Work::Commit if at >= record.expires_at => expired(record),
        Work::Compensation if record.compensate_before().is_some_and(|end| at >= end) => Rejection::WindowClosed,
        Work::Commit | Work::Compensation => Rejection::ApprovalExpired,
    })
}
