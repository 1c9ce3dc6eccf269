//! The transition function: every (phase, trigger) pair has its answer here, and nowhere else.

use aip_types::{ApprovalId, CorrelationId, ErrorCode, EventKind, Millis, Principal, ProtocolError, ReceiptType};
use alloc::string::String;
use serde_json::json;

use super::phase::{Grant, Phase};
use super::record::{ActionRecord, Admission, Held, Stop};
use super::settle::{Settled, cancelled, end, give_up, lose, retry, settle};
use super::{Rejection, Step};
use crate::step::{Draft, Machine, fleet};

/// What happens to an action after its first entry.
#[derive(Clone, Debug)]
pub enum Trigger {
    /// A connector process asks to begin under a lease. `over`: the sender proved, by taking the lease, that any earlier
    /// lease of this action is over.
    Start {
        /// Its right.
        grant: Grant,
        /// Earlier leases are over.
        over: bool,
        /// First chunk number of the attempt.
        chunk_base: u64,
    },
    /// An attempt ended. A plain read has no grant.
    Settle {
        /// The attempt's right.
        grant: Option<Grant>,
        /// How it ended.
        settled: Settled,
        /// Number of the last chunk, if any.
        chunks_last: Option<u64>,
    },
    /// The lease with this fence is over and its attempt said nothing. Only who took the key may send it.
    LeaseOver {
        /// Fence of the attempt that is lost.
        fence: u64,
    },
    /// The deadline may have come.
    DeadlineDue,
    /// Offers and attempts failed too often to go on.
    Exhausted,
    /// Somebody who may wants it stopped (AIP 1.0 §11.8).
    Cancel {
        /// Who.
        by: Principal,
        /// Why, as the asker says.
        reason: Option<String>,
    },
    /// The approval is granted, and still holds for this input and policy (AIP 1.0 §12.5).
    Approved {
        /// Which.
        approval_id: ApprovalId,
    },
    /// The approval will not come: denied, expired or revoked.
    Unapproved {
        /// Which.
        approval_id: ApprovalId,
        /// Why.
        code: ErrorCode,
    },
    /// The caller has answered, validly (AIP 1.0 §12.7).
    Answered {
        /// Which question.
        correlation_id: CorrelationId,
        /// The answer.
        answer: Held,
    },
    /// No answer will come.
    Unanswered {
        /// Which question.
        correlation_id: CorrelationId,
        /// Why.
        code: ErrorCode,
    },
    /// The provider, or a person, has said definitively what became of a lost attempt (AIP 1.0 §13.6).
    Reconciled(Reconciled),
}

/// A definitive outcome of an attempt that was lost.
#[derive(Clone, Debug, PartialEq)]
pub enum Reconciled {
    /// It had its effect.
    Done {
        /// Its validated output.
        output: Held,
    },
    /// It had none.
    NotDone {
        /// Why.
        error: ProtocolError,
        /// It may be tried again.
        retry: bool,
    },
}

/// The first step: an admitted action is queued, or waits for its approval.
pub fn admit(admission: Admission) -> Step {
    let (at, approval) = (admission.at, admission.approval_id.clone());
    let record = ActionRecord::of(admission);
    let actor = record.principal.clone();
    let decision = if approval.is_some() { "approval_required" } else { "allow" };
    let decided = json!({"decision": decision, "capability_id": record.capability_id.as_str()});
    let received = json!({"action_id": record.id.as_str(), "input_hash": record.input_hash});
    let accepted = json!({"action_id": record.id.as_str(), "connector": record.connector});
    let draft = Draft::new(record, at)
        .receipt(ReceiptType::RequestReceived, &actor, received)
        .receipt(ReceiptType::PolicyDecision, &fleet(), decided)
        .receipt(ReceiptType::ActionAccepted, &fleet(), accepted)
        .event(EventKind::ActionAccepted, None);
    match approval {
        None => draft.done("queued"),
        Some(id) => draft
            .event(EventKind::ActionPendingApproval, Some(json!({"approval_id": id.as_str()})))
            .done("pending_approval"),
    }
}

/// Applies a trigger. Total: every phase answers every trigger.
///
/// # Errors
/// A [`Rejection`], which changes nothing.
///
/// Source: AIP 1.0 §11.5, §11.8, §12.5, §13.6, §19.2; `design.md` §4.
pub fn step(record: &ActionRecord, trigger: Trigger, at: Millis) -> Result<Step, Rejection> {
    match &record.phase {
        Phase::PendingApproval { approval_id } => pending_approval(record, approval_id, trigger, at),
        Phase::Queued {} => queued(record, trigger, at),
        Phase::Running(current) => running(record, current, trigger, at),
        Phase::InputRequired { grant, correlation_id } => input_required(record, grant, correlation_id, trigger, at),
        Phase::RetryDue(last) => retry_due(record, last, trigger, at),
        Phase::Cancelling(current) => cancelling(record, current.as_ref(), trigger, at),
        Phase::OutcomeUnknown(last) => outcome_unknown(record, last, trigger, at),
        Phase::Completed {} | Phase::Failed {} | Phase::Cancelled {} | Phase::Expired {} | Phase::DeadLettered {} => {
            Err(Rejection::Terminal)
        }
    }
}

fn pending_approval(
    record: &ActionRecord,
    awaited: &ApprovalId,
    trigger: Trigger,
    at: Millis,
) -> Result<Step, Rejection> {
    match trigger {
        Trigger::Approved { approval_id } if approval_id == *awaited && at < record.deadline => {
            let mut next = record.clone();
            next.phase = Phase::Queued {};
            let data = json!({"approval_id": approval_id.as_str()});
            Ok(Draft::new(next, at).event(EventKind::ActionApproved, Some(data)).done("approved"))
        }
        Trigger::Approved { approval_id } if approval_id == *awaited => Err(Rejection::DeadlinePassed),
        Trigger::Unapproved { approval_id, code } if approval_id == *awaited => {
            Ok(end(record, Phase::Failed {}, code, at))
        }
        Trigger::Approved { .. } | Trigger::Unapproved { .. } => Err(Rejection::Mismatch),
        Trigger::Cancel { by, reason } => Ok(cancelled(record, Stop::asked(by, reason), at)),
        Trigger::DeadlineDue => due(record, at).map(|()| end(record, Phase::Expired {}, ErrorCode::ActionExpired, at)),
        Trigger::Settle { .. } => Err(Rejection::StaleFence),
        Trigger::Start { .. }
        | Trigger::LeaseOver { .. }
        | Trigger::Exhausted
        | Trigger::Answered { .. }
        | Trigger::Unanswered { .. }
        | Trigger::Reconciled(_) => Err(Rejection::NotAdmitted),
    }
}

fn queued(record: &ActionRecord, trigger: Trigger, at: Millis) -> Result<Step, Rejection> {
    match trigger {
        Trigger::Start { grant, chunk_base, .. } => start(record, grant, chunk_base, at),
        Trigger::Settle { grant: None, settled, chunks_last } if record.is_plain_read() => {
            settle(record, settled, chunks_last, at)
        }
        Trigger::Settle { .. } => Err(Rejection::StaleFence),
        Trigger::DeadlineDue => due(record, at).map(|()| end(record, Phase::Expired {}, ErrorCode::ActionExpired, at)),
        Trigger::Exhausted => Ok(end(record, Phase::DeadLettered {}, ErrorCode::ActionDeadLettered, at)),
        // Its offer is its go: somebody may be reading.
        Trigger::Cancel { by, reason } if record.is_plain_read() => {
            Ok(ask_to_stop(record, None, Stop::asked(by, reason), at))
        }
        Trigger::Cancel { by, reason } => Ok(cancelled(record, Stop::asked(by, reason), at)),
        Trigger::Approved { .. } if record.approval_id.is_some() => Err(Rejection::Repeated),
        Trigger::LeaseOver { .. }
        | Trigger::Approved { .. }
        | Trigger::Unapproved { .. }
        | Trigger::Answered { .. }
        | Trigger::Unanswered { .. }
        | Trigger::Reconciled(_) => Err(Rejection::NotAdmitted),
    }
}

fn running(record: &ActionRecord, current: &Grant, trigger: Trigger, at: Millis) -> Result<Step, Rejection> {
    match trigger {
        Trigger::Start { grant, .. } if grant == *current => Err(Rejection::Repeated),
        Trigger::Start { grant, .. } if grant.fence <= current.fence => Err(Rejection::StaleFence),
        Trigger::Start { over: false, .. } => Err(Rejection::LeaseHeld),
        Trigger::Start { .. } if !record.may_repeat() => Err(Rejection::NotAdmitted),
        Trigger::Start { grant, chunk_base, .. } => start(record, grant, chunk_base, at),
        Trigger::Settle { grant: Some(grant), settled, chunks_last } if grant == *current => {
            settle(record, settled, chunks_last, at)
        }
        Trigger::Settle { .. } => Err(Rejection::StaleFence),
        Trigger::LeaseOver { fence } if fence != current.fence => Err(Rejection::StaleFence),
        Trigger::LeaseOver { .. } => Ok(lose(record, current, at)),
        Trigger::DeadlineDue if record.contract.read_only => {
            due(record, at).map(|()| end(record, Phase::Expired {}, ErrorCode::ActionExpired, at))
        }
        Trigger::DeadlineDue => {
            due(record, at).map(|()| ask_to_stop(record, Some(current.clone()), Stop::at_deadline(), at))
        }
        Trigger::Exhausted => Err(Rejection::LeaseHeld),
        Trigger::Cancel { by, reason } => Ok(ask_to_stop(record, Some(current.clone()), Stop::asked(by, reason), at)),
        Trigger::Approved { .. }
        | Trigger::Unapproved { .. }
        | Trigger::Answered { .. }
        | Trigger::Unanswered { .. }
        | Trigger::Reconciled(_) => Err(Rejection::NotAdmitted),
    }
}

fn input_required(
    record: &ActionRecord,
    last: &Grant,
    awaited: &CorrelationId,
    trigger: Trigger,
    at: Millis,
) -> Result<Step, Rejection> {
    match trigger {
        Trigger::Answered { correlation_id, .. } | Trigger::Unanswered { correlation_id, .. }
            if correlation_id != *awaited =>
        {
            Err(Rejection::Mismatch)
        }
        Trigger::Answered { .. } if at >= record.deadline => Err(Rejection::DeadlinePassed),
        Trigger::Answered { correlation_id, answer } => {
            let mut next = record.clone();
            next.phase = Phase::RetryDue(last.clone());
            if let Some(question) = next.questions.last_mut() {
                question.answer = Some(answer);
            }
            next.fit_questions()?;
            let data = json!({"correlation_id": correlation_id.as_str()});
            Ok(Draft::new(next, at).event(EventKind::ActionInputReceived, Some(data)).done("answered"))
        }
        Trigger::Unanswered { code, .. } => Ok(end(record, Phase::Failed {}, code, at)),
        Trigger::Cancel { by, reason } => Ok(cancelled(record, Stop::asked(by, reason), at)),
        Trigger::DeadlineDue => due(record, at).map(|()| end(record, Phase::Expired {}, ErrorCode::ActionExpired, at)),
        Trigger::Settle { grant: Some(grant), settled: Settled::Asked { .. }, .. } if grant == *last => {
            Err(Rejection::Repeated)
        }
        Trigger::Settle { .. } => Err(Rejection::StaleFence),
        Trigger::Start { .. }
        | Trigger::LeaseOver { .. }
        | Trigger::Exhausted
        | Trigger::Approved { .. }
        | Trigger::Unapproved { .. }
        | Trigger::Reconciled(_) => Err(Rejection::NotAdmitted),
    }
}

fn retry_due(record: &ActionRecord, last: &Grant, trigger: Trigger, at: Millis) -> Result<Step, Rejection> {
    match trigger {
        Trigger::Start { grant, .. } if grant.fence <= last.fence => Err(Rejection::StaleFence),
        Trigger::Start { .. } if record.retry_at.is_some_and(|due| at < due) => Err(Rejection::NotDue),
        Trigger::Start { grant, chunk_base, .. } => start(record, grant, chunk_base, at),
        Trigger::Settle { .. } => Err(Rejection::StaleFence),
        Trigger::DeadlineDue => due(record, at).map(|()| give_up(record, last, at)),
        Trigger::Exhausted => Ok(give_up(record, last, at)),
        // The attempt before may have had its effect: only a reconciliation can say (AIP 1.0 §11.8).
        Trigger::Cancel { by, reason } if record.contract.read_only || record.harmless => {
            Ok(cancelled(record, Stop::asked(by, reason), at))
        }
        Trigger::Cancel { .. } => Ok(give_up(record, last, at)),
        Trigger::Answered { correlation_id, .. } if record.has_answered(&correlation_id) => Err(Rejection::Repeated),
        Trigger::LeaseOver { .. }
        | Trigger::Approved { .. }
        | Trigger::Unapproved { .. }
        | Trigger::Answered { .. }
        | Trigger::Unanswered { .. }
        | Trigger::Reconciled(_) => Err(Rejection::NotAdmitted),
    }
}

fn cancelling(record: &ActionRecord, current: Option<&Grant>, trigger: Trigger, at: Millis) -> Result<Step, Rejection> {
    match trigger {
        Trigger::Start { grant, .. } if Some(&grant) == current => Err(Rejection::Repeated),
        Trigger::Settle { grant, settled, chunks_last } if grant.as_ref() == current => {
            settle(record, settled, chunks_last, at)
        }
        Trigger::Settle { .. } => Err(Rejection::StaleFence),
        Trigger::LeaseOver { fence } => match current {
            Some(grant) if grant.fence == fence => Ok(give_up(record, grant, at)),
            Some(_) | None => Err(Rejection::StaleFence),
        },
        Trigger::DeadlineDue if record.contract.read_only => {
            due(record, at).map(|()| end(record, Phase::Expired {}, ErrorCode::ActionExpired, at))
        }
        Trigger::DeadlineDue | Trigger::Exhausted => Err(Rejection::LeaseHeld),
        Trigger::Cancel { .. } => Err(Rejection::Repeated),
        Trigger::Start { .. }
        | Trigger::Approved { .. }
        | Trigger::Unapproved { .. }
        | Trigger::Answered { .. }
        | Trigger::Unanswered { .. }
        | Trigger::Reconciled(_) => Err(Rejection::NotAdmitted),
    }
}

fn outcome_unknown(record: &ActionRecord, last: &Grant, trigger: Trigger, at: Millis) -> Result<Step, Rejection> {
    match trigger {
        // Its handler has said already that it does not know: the first such report is kept (AIP 1.0 §13.6).
        Trigger::Settle { grant: Some(grant), settled: Settled::Failed { uncertain: true, .. }, .. }
            if grant == *last && record.error.is_some() =>
        {
            Err(Rejection::Repeated)
        }
        Trigger::Settle { grant: Some(grant), settled, chunks_last } if grant == *last => {
            settle(record, settled, chunks_last, at)
        }
        Trigger::Settle { .. } => Err(Rejection::StaleFence),
        Trigger::Reconciled(Reconciled::Done { output }) => {
            settle(record, Settled::Completed { output }, record.chunks_last, at)
        }
        Trigger::Reconciled(Reconciled::NotDone { error, retry: true })
            if record.stop.is_none() && at < record.deadline && record.attempts_left() =>
        {
            Ok(retry(record, last, error, at, at))
        }
        // What was to be stopped has stopped without effect.
        Trigger::Reconciled(Reconciled::NotDone { .. }) if record.stop.is_some() => {
            settle(record, Settled::Cancelled {}, record.chunks_last, at)
        }
        Trigger::Reconciled(Reconciled::NotDone { error, .. }) => {
            settle(record, Settled::Failed { error, uncertain: false }, record.chunks_last, at)
        }
        Trigger::Cancel { .. } => Err(Rejection::OutcomeUnknown),
        Trigger::Start { .. }
        | Trigger::LeaseOver { .. }
        | Trigger::DeadlineDue
        | Trigger::Exhausted
        | Trigger::Approved { .. }
        | Trigger::Unapproved { .. }
        | Trigger::Answered { .. }
        | Trigger::Unanswered { .. } => Err(Rejection::NotAdmitted),
    }
}

impl Machine for ActionRecord {
    type Trigger = Trigger;
    type Rejection = Rejection;

    fn step(&self, trigger: Trigger, at: Millis) -> Result<Step, Rejection> {
        step(self, trigger, at)
    }

    fn is_terminal(&self) -> bool {
        self.phase.is_terminal()
    }

    fn phase(&self) -> &'static str {
        self.phase.name()
    }
}

fn due(record: &ActionRecord, at: Millis) -> Result<(), Rejection> {
    if at < record.deadline { Err(Rejection::NotDue) } else { Ok(()) }
}

fn start(record: &ActionRecord, grant: Grant, chunk_base: u64, at: Millis) -> Result<Step, Rejection> {
    if at >= record.deadline {
        return Err(Rejection::DeadlinePassed);
    }
    if !record.attempts_left() {
        return Err(Rejection::Exhausted);
    }
    let mut next = record.clone();
    next.attempts = record.attempts.saturating_add(1);
    next.started_at = record.started_at.or(Some(at));
    next.chunk_base = chunk_base.max(record.chunk_base);
    next.retry_at = None;
    next.harmless = false;
    next.error = None;
    let data = json!({"attempt": next.attempts, "fence": grant.fence, "instance": grant.instance});
    next.phase = Phase::Running(grant);
    Ok(Draft::new(next, at).event(EventKind::ActionStarted, Some(data)).done("started"))
}

/// Records the wish; whoever works learns it from the live copy, and says what came of it (AIP 1.0 §11.8).
fn ask_to_stop(record: &ActionRecord, current: Option<Grant>, stop: Stop, at: Millis) -> Step {
    let mut next = record.clone();
    next.phase = Phase::Cancelling(current);
    let data = json!({"by": stop.by.id.as_str(), "deadline": stop.deadline});
    next.stop = Some(stop);
    Draft::new(next, at).event(EventKind::ActionCancelling, Some(data)).done("cancelling")
}
