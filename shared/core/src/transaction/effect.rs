//! What a transition does to the record, and the evidence that it leaves. Decides nothing: that is [`super::step`].

use alloc::string::{String, ToString as _};

use aip_types::{
    ErrorCode, EventKind, Millis, Principal, ProtocolError, ReceiptType, TransactionMode,
    TransactionProtocolStatus as Status, limits,
};
use serde_json::{Value, json};

use super::{
    Step,
    record::{Begun, Claim, Committed, Grant, Phase, TransactionRecord, Work},
    rejection::Rejection,
    trigger::{DryRun, Known, Resolution},
};
use crate::step::{Draft, fleet};

/// By what an outcome became known.
#[derive(Clone, Copy)]
pub(super) enum Source<'a> {
    /// The attempt's own result.
    Result,
    /// The same, after the outcome had become unknown: it *is* the reconciliation (AIP 1.0 §13.6).
    LateResult,
    /// The provider, asked.
    Reconciliation,
    /// A person.
    Person(&'a Resolution),
}

impl Source<'_> {
    const fn name(self) -> &'static str {
        match self {
            Self::Result => "result",
            Self::LateResult => "late_result",
            Self::Reconciliation => "reconciliation",
            Self::Person(_) => "person",
        }
    }

    pub(super) const fn reconciles(self) -> bool {
        match self {
            Self::Result => false,
            Self::LateResult | Self::Reconciliation | Self::Person(_) => true,
        }
    }

    fn actor(self) -> Principal {
        match self {
            Self::Result | Self::LateResult | Self::Reconciliation => fleet(),
            Self::Person(resolution) => resolution.operator.clone(),
        }
    }

    fn evidence_hash(self) -> Option<String> {
        match self {
            Self::Result | Self::LateResult | Self::Reconciliation => None,
            Self::Person(resolution) => Some(resolution.evidence_hash.clone()),
        }
    }
}

/// The record with another phase, in which the provider is not to be asked.
fn moved(record: &TransactionRecord, phase: Phase) -> TransactionRecord {
    TransactionRecord { phase, reconcile_after: None, ..record.clone() }
}

/// The step to the record's own state.
fn done(draft: Draft<TransactionRecord>, status: Status) -> Step {
    draft.done(status.as_str())
}

fn of(claim: &Claim) -> Value {
    json!({"action_id": claim.grant.action_id.as_str(), "fence": claim.grant.fence})
}

impl Draft<TransactionRecord> {
    /// Adds an event that says of which transaction it is.
    pub(super) fn tell(self, kind: EventKind, mut data: Value) -> Self {
        if let Some(members) = data.as_object_mut() {
            let _none = members.insert("transaction_id".to_string(), json!(self.id()));
        }
        self.event(kind, Some(data))
    }
}

/// An error that a record can hold.
pub(super) fn clipped(error: ProtocolError) -> ProtocolError {
    let bytes = serde_json::to_value(&error).map_or(usize::MAX, |value| value.to_string().len());
    if bytes <= limits::ERROR_BYTES_MAX { error } else { ProtocolError { details: None, source: None, ..error } }
}

pub(super) fn dry_run_ended(record: &TransactionRecord, ended: DryRun, at: Millis) -> Result<Step, Rejection> {
    match ended {
        DryRun::Completed { fidelity, .. } if fidelity > record.facts.contract.dry_run_fidelity => {
            Err(Rejection::FidelityExceeded)
        }
        DryRun::Completed { fidelity, result_hash } => {
            let data = json!({
                "capability_id": record.facts.capability_id.as_str(), "input_hash": record.facts.input_hash,
                "fidelity": fidelity.as_str(), "result_hash": result_hash,
            });
            let draft = Draft::new(moved(record, Phase::DryRunCompleted {}), at)
                .receipt(ReceiptType::TransactionDryRunCompleted, &fleet(), data)
                .tell(EventKind::TransactionDryRunCompleted, json!({"fidelity": fidelity.as_str()}));
            Ok(done(draft, Status::DryRunCompleted))
        }
        DryRun::Failed { error } => Ok(fail(record, error, at)),
    }
}

/// Ends a transaction of which nothing began.
pub(super) fn fail(record: &TransactionRecord, error: ProtocolError, at: Millis) -> Step {
    let mut next = moved(record, Phase::Failed {});
    let data = json!({"code": error.code});
    next.error = Some(clipped(error));
    let draft = Draft::new(next, at)
        .receipt(ReceiptType::TransactionFailed, &fleet(), data.clone())
        .tell(EventKind::TransactionFailed, data);
    done(draft, Status::Failed)
}

/// Nothing began in time.
pub(super) fn expire(record: &TransactionRecord, at: Millis) -> Step {
    let code = if record.plan.is_some() { ErrorCode::TransactionPlanExpired } else { ErrorCode::ActionExpired };
    fail(record, code.into(), at)
}

pub(super) fn cancel(record: &TransactionRecord, at: Millis) -> Step {
    let draft = Draft::new(moved(record, Phase::Cancelled {}), at).tell(EventKind::TransactionCancelled, json!({}));
    done(draft, Status::Cancelled)
}

pub(super) fn claimed(record: &TransactionRecord, claim: Claim, mode: TransactionMode, at: Millis) -> Step {
    let data = of(&claim);
    let mut next = record.clone();
    next.take_part(mode, &claim.grant.action_id);
    next.fence = claim.grant.fence;
    next.claims = record.claims.saturating_add(1);
    next.error = None;
    if claim.begun.is_none() {
        (next.operation, next.cursor, next.reconcile_after) = (None, None, None);
    }
    let (kind, phase) = match (claim.work, claim.begun) {
        (Work::Commit, None) => (EventKind::TransactionPrepared, Phase::Prepared { claim: Some(claim) }),
        (Work::Commit, Some(_)) => (EventKind::TransactionPrepared, Phase::Committing(claim)),
        (Work::Compensation, _) => (EventKind::TransactionCompensating, Phase::Compensating(claim)),
    };
    next.phase = phase;
    let status = next.phase.status();
    done(Draft::new(next, at).tell(kind, data), status)
}

/// The claim is given up and nothing of it took effect: the work waits for the next.
pub(super) fn release(record: &TransactionRecord, claim: &Claim, at: Millis) -> Step {
    let phase = match claim.work {
        Work::Commit if record.plan.is_some() => Phase::Planned {},
        Work::Commit => Phase::Prepared { claim: None },
        Work::Compensation => Phase::Committed {},
    };
    let status = phase.status();
    done(Draft::new(moved(record, phase), at).tell(EventKind::TransactionClaimReleased, of(claim)), status)
}

pub(super) fn started(record: &TransactionRecord, claim: &Claim, at: Millis) -> Step {
    let begun = Some(Begun { fence: claim.grant.fence, at });
    let claim = Claim { begun, ..claim.clone() };
    let data = of(&claim);
    match claim.work {
        Work::Commit => {
            let receipt = json!({
                "action_id": claim.grant.action_id.as_str(), "fence": claim.grant.fence,
                "plan_id": record.plan.as_ref().map(|plan| &plan.plan_id), "input_hash": record.facts.input_hash,
                "approval_id": claim.approval.as_ref().map(|approval| approval.approval_id.as_str()),
            });
            let draft = Draft::new(moved(record, Phase::Committing(claim)), at)
                .receipt(ReceiptType::TransactionCommitStarted, &fleet(), receipt)
                .tell(EventKind::TransactionCommitStarted, data);
            done(draft, Status::Committing)
        }
        Work::Compensation => {
            let draft = Draft::new(moved(record, Phase::Compensating(claim)), at)
                .tell(EventKind::TransactionCompensationStarted, data);
            done(draft, Status::Compensating)
        }
    }
}

/// A draft that says by what the outcome became known, where it had been unknown.
fn settled(next: TransactionRecord, took_effect: bool, source: Source<'_>, at: Millis) -> Draft<TransactionRecord> {
    let draft = Draft::new(next, at);
    if source.reconciles() {
        let data = json!({"outcome": if took_effect { "committed" } else { "not_committed" }, "by": source.name()});
        draft.tell(EventKind::TransactionReconciled, data)
    } else {
        draft
    }
}

/// The work took effect.
pub(super) fn took_effect(
    record: &TransactionRecord,
    claim: &Claim,
    result_hash: Option<String>,
    source: Source<'_>,
    at: Millis,
) -> Step {
    let mut next = record.clone();
    (next.error, next.reconcile_after) = (None, None);
    let receipt = json!({
        "action_id": claim.grant.action_id.as_str(), "fence": claim.grant.fence, "by": source.name(),
        "result_hash": result_hash, "evidence_hash": source.evidence_hash(),
        "compensation_for": record.committed.as_ref().map(|committed| committed.claim.grant.action_id.as_str()),
    });
    let (phase, receipt_type, kind) = match claim.work {
        Work::Commit => {
            let known = if source.reconciles() { claim.begun.map(|begun| begun.at) } else { None };
            next.committed = Some(Committed { claim: claim.clone(), at: known.unwrap_or(at) });
            next.claims = 0;
            (Phase::Committed {}, ReceiptType::TransactionCommitted, EventKind::TransactionCommitted)
        }
        Work::Compensation => {
            (Phase::Compensated {}, ReceiptType::TransactionCompensated, EventKind::TransactionCompensated)
        }
    };
    let status = phase.status();
    next.phase = phase;
    let draft = settled(next, true, source, at).receipt(receipt_type, &source.actor(), receipt);
    done(draft.tell(kind, of(claim)), status)
}

/// The work had no effect. A reconciled commit may be claimed again while its plan holds; a compensation may be tried again.
pub(super) fn no_effect(
    record: &TransactionRecord,
    claim: &Claim,
    error: ProtocolError,
    source: Source<'_>,
    at: Millis,
) -> Step {
    let error = clipped(error);
    let receipt = json!({
        "action_id": claim.grant.action_id.as_str(), "fence": claim.grant.fence, "by": source.name(),
        "code": error.code, "evidence_hash": source.evidence_hash(), "work": claim.work,
    });
    let data = json!({"action_id": claim.grant.action_id.as_str(), "code": error.code});
    let again = match source {
        Source::Result | Source::LateResult => false,
        Source::Reconciliation | Source::Person(_) => record.plan.is_some() && at < record.expires_at,
    };
    let (phase, kind) = match claim.work {
        Work::Commit if again => (Phase::Reconciled {}, None),
        Work::Commit => (Phase::Failed {}, Some(EventKind::TransactionFailed)),
        Work::Compensation => (Phase::Committed {}, Some(EventKind::TransactionCompensationFailed)),
    };
    let status = phase.status();
    let mut next = moved(record, phase);
    (next.error, next.operation, next.cursor) = (Some(error), None, None);
    let draft = settled(next, false, source, at).receipt(ReceiptType::TransactionFailed, &source.actor(), receipt);
    done(if let Some(kind) = kind { draft.tell(kind, data) } else { draft }, status)
}

/// The owner confirms that the commit stopped without effect.
pub(super) fn stopped(record: &TransactionRecord, claim: &Claim, source: Source<'_>, at: Millis) -> Step {
    match claim.work {
        Work::Commit => {
            let next = moved(record, Phase::Cancelled {});
            done(settled(next, false, source, at).tell(EventKind::TransactionCancelled, of(claim)), Status::Cancelled)
        }
        Work::Compensation => no_effect(record, claim, ErrorCode::TransactionNotCommitted.into(), source, at),
    }
}

/// A part of the work took effect.
pub(super) fn partial(record: &TransactionRecord, claim: &Claim, error: ProtocolError, at: Millis) -> Step {
    let error = clipped(error);
    let data = json!({
        "action_id": claim.grant.action_id.as_str(), "fence": claim.grant.fence, "code": error.code,
        "partial": true, "work": claim.work,
    });
    let mut next = moved(record, Phase::RequiresHuman { claim: claim.clone(), partial: true });
    next.error = Some(error);
    let draft = Draft::new(next, at)
        .receipt(ReceiptType::TransactionFailed, &fleet(), data.clone())
        .tell(EventKind::TransactionRequiresHuman, data);
    done(draft, Status::RequiresHuman)
}

/// Nobody knows whether the work took effect (AIP 1.0 §13.6).
pub(super) fn unknown(
    record: &TransactionRecord,
    claim: Claim,
    error: Option<ProtocolError>,
    known: Known,
    at: Millis,
) -> Step {
    let data = json!({
        "action_id": claim.grant.action_id.as_str(), "fence": claim.grant.fence, "work": claim.work,
        "code": error.as_ref().map(|error| &error.code),
    });
    let mut next = moved(record, Phase::OutcomeUnknown(claim));
    next.error = error;
    next.reconciliations = 0;
    retain(&mut next, known, at);
    done(Draft::new(next, at).tell(EventKind::TransactionOutcomeUnknown, data), Status::OutcomeUnknown)
}

/// The worker of an attempt whose outcome is unknown says late that it does not know either: what it knows is kept.
pub(super) fn learn(record: &TransactionRecord, error: ProtocolError, known: Known, at: Millis) -> Step {
    let data = json!({"code": error.code});
    let mut next = record.clone();
    next.error = Some(clipped(error));
    retain(&mut next, known, at);
    let status = next.phase.status();
    if status == Status::RequiresHuman {
        next.reconcile_after = None;
    }
    done(Draft::new(next, at).tell(EventKind::TransactionOutcomeUnknown, data), status)
}

pub(super) fn reconciling(record: &TransactionRecord, claim: &Claim, query: Grant, at: Millis) -> Step {
    let mut next = record.clone();
    next.take_part(TransactionMode::Reconcile, &query.action_id);
    next.fence = query.fence;
    next.reconciliations = record.reconciliations.saturating_add(1);
    let data = json!({"fence": query.fence, "reconciliation": next.reconciliations});
    next.phase = Phase::Reconciling { claim: claim.clone(), query };
    done(Draft::new(next, at).tell(EventKind::TransactionReconciling, data), Status::Reconciling)
}

/// The provider could not tell. The last try hands over to a person.
pub(super) fn indefinite(record: &TransactionRecord, claim: &Claim, known: Known, at: Millis) -> Step {
    let mut next = record.clone();
    retain(&mut next, known, at);
    if record.reconciliations >= limits::RECONCILIATIONS_MAX {
        return escalate(&next, claim, at);
    }
    next.phase = Phase::OutcomeUnknown(claim.clone());
    let data = json!({
        "reconciliation": next.reconciliations, "reconcile_after_ms": next.reconcile_after.map(|after| after.0),
    });
    done(Draft::new(next, at).tell(EventKind::TransactionOutcomeUnknown, data), Status::OutcomeUnknown)
}

pub(super) fn escalate(record: &TransactionRecord, claim: &Claim, at: Millis) -> Step {
    let next = moved(record, Phase::RequiresHuman { claim: claim.clone(), partial: false });
    let data = json!({"action_id": claim.grant.action_id.as_str(), "partial": false, "work": claim.work});
    done(Draft::new(next, at).tell(EventKind::TransactionRequiresHuman, data), Status::RequiresHuman)
}

/// Keeps what reconciliation asks by, and says when to ask: the provider's delay or the backoff, whichever is longer.
fn retain(next: &mut TransactionRecord, known: Known, at: Millis) {
    let Known { operation, cursor, retry_after_ms } = known;
    next.operation = operation.or(next.operation.take());
    next.cursor = cursor.or(next.cursor.take());
    let backoff = limits::RECONCILE_AFTER_MS.saturating_mul(1 << next.reconciliations.min(limits::RECONCILIATIONS_MAX));
    let wait = backoff.max(retry_after_ms.unwrap_or(0)).min(limits::RECONCILE_AFTER_MS_MAX);
    next.reconcile_after = Some(at.plus(wait));
}
