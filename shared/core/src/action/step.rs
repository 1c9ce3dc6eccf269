//! The transition function: every (phase, trigger) pair has its answer here, and nowhere else.

use aip_types::{ErrorCode, Millis, Principal, PrincipalId, PrincipalKind, ProtocolError, ReceiptType, limits};
use alloc::{
    format,
    string::{String, ToString},
};
use serde_json::json;

use super::Rejection;
use super::record::{ActionRecord, Admission, Grant, Held, Phase};
use crate::step::{Draft, Machine, Step, fleet};

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
}

/// How an attempt ended.
#[derive(Clone, Debug, PartialEq)]
pub enum Settled {
    /// It did the work.
    Completed {
        /// Validated output.
        output: Held,
    },
    /// It did not.
    Failed {
        /// Why.
        error: ProtocolError,
        /// An external effect may have happened (AIP 1.0 §19.3).
        uncertain: bool,
    },
}

/// The first step: an admitted action is queued.
pub fn admit(admission: Admission) -> Step<ActionRecord> {
    let Admission {
        id,
        tenant,
        capability_id,
        connector,
        contract,
        principal,
        method,
        mode,
        request,
        correlation_id,
        session_id,
        key,
        input,
        input_hash,
        at,
        deadline,
    } = admission;
    let causes = alloc::vec![request.to_string()];
    let record = ActionRecord {
        id,
        tenant,
        capability_id,
        connector,
        contract,
        principal,
        method,
        mode,
        request,
        correlation_id,
        session_id,
        key,
        input: Some(input),
        input_hash,
        accepted_at: at,
        deadline,
        updated_at: at,
        started_at: None,
        completed_at: None,
        phase: Phase::Queued {},
        attempts: 0,
        chunk_base: 0,
        chunks_last: None,
        output: None,
        error: None,
        step: 0,
        receipts: 0,
        last_receipt: None,
        causes,
    };
    let actor = record.principal.clone();
    let decided = json!({"decision": "allow", "capability_id": record.capability_id.as_str()});
    let received = json!({"action_id": record.id.as_str(), "input_hash": record.input_hash});
    let accepted = json!({"action_id": record.id.as_str(), "connector": record.connector});
    Draft::new(record, at)
        .receipt(ReceiptType::RequestReceived, &actor, received)
        .receipt(ReceiptType::PolicyDecision, &fleet(), decided)
        .receipt(ReceiptType::ActionAccepted, &fleet(), accepted)
        .event("aip.action.accepted", None)
        .done("queued")
}

/// Applies a trigger. Total: every phase answers every trigger.
///
/// # Errors
/// A [`Rejection`], which changes nothing.
///
/// Source: AIP 1.0 §11.5, §13.6, §19.2; `design.md` §4.
pub fn step(record: &ActionRecord, trigger: Trigger, at: Millis) -> Result<Step<ActionRecord>, Rejection> {
    match &record.phase {
        Phase::Queued {} => match trigger {
            Trigger::Start { grant, chunk_base, .. } => start(record, grant, chunk_base, at),
            Trigger::Settle { grant: None, settled, chunks_last } if record.is_plain_read() => {
                Ok(settle(record, settled, chunks_last, at))
            }
            Trigger::Settle { .. } => Err(Rejection::StaleFence),
            Trigger::LeaseOver { .. } => Err(Rejection::NotAdmitted),
            Trigger::DeadlineDue => {
                due(record, at).map(|()| end(record, Phase::Expired {}, ErrorCode::ActionExpired, at))
            }
            Trigger::Exhausted => Ok(end(record, Phase::DeadLettered {}, ErrorCode::ActionDeadLettered, at)),
        },
        Phase::Running(current) => match trigger {
            Trigger::Start { grant, .. } if grant == *current => Err(Rejection::Repeated),
            Trigger::Start { grant, .. } if grant.fence <= current.fence => Err(Rejection::StaleFence),
            Trigger::Start { over: false, .. } => Err(Rejection::LeaseHeld),
            Trigger::Start { .. } if !record.may_repeat() => Err(Rejection::NotAdmitted),
            Trigger::Start { grant, chunk_base, .. } => start(record, grant, chunk_base, at),
            Trigger::Settle { grant: Some(grant), settled, chunks_last } if grant == *current => {
                Ok(settle(record, settled, chunks_last, at))
            }
            Trigger::Settle { .. } => Err(Rejection::StaleFence),
            Trigger::LeaseOver { fence } if fence != current.fence => Err(Rejection::StaleFence),
            Trigger::LeaseOver { .. } => Ok(lose(record, current, at)),
            Trigger::DeadlineDue if !record.contract.read_only => Err(Rejection::LeaseHeld),
            Trigger::DeadlineDue => {
                due(record, at).map(|()| end(record, Phase::Expired {}, ErrorCode::ActionExpired, at))
            }
            Trigger::Exhausted => Err(Rejection::LeaseHeld),
        },
        Phase::RetryDue(last) => match trigger {
            Trigger::Start { grant, .. } if grant.fence <= last.fence => Err(Rejection::StaleFence),
            Trigger::Start { grant, chunk_base, .. } => start(record, grant, chunk_base, at),
            Trigger::Settle { .. } => Err(Rejection::StaleFence),
            Trigger::LeaseOver { .. } => Err(Rejection::NotAdmitted),
            Trigger::DeadlineDue => due(record, at).map(|()| give_up(record, last, at)),
            Trigger::Exhausted => Ok(give_up(record, last, at)),
        },
        Phase::OutcomeUnknown(last) => match trigger {
            // Its handler has said already that it does not know: the first such report is kept (AIP 1.0 §13.6).
            Trigger::Settle { grant: Some(grant), settled: Settled::Failed { uncertain: true, .. }, .. }
                if grant == *last && record.error.is_some() =>
            {
                Err(Rejection::Repeated)
            }
            Trigger::Settle { grant: Some(grant), settled, chunks_last } if grant == *last => {
                Ok(settle(record, settled, chunks_last, at))
            }
            Trigger::Settle { .. } => Err(Rejection::StaleFence),
            Trigger::Start { .. } | Trigger::LeaseOver { .. } | Trigger::DeadlineDue | Trigger::Exhausted => {
                Err(Rejection::NotAdmitted)
            }
        },
        Phase::Completed {} | Phase::Failed {} | Phase::Expired {} | Phase::DeadLettered {} => match trigger {
            Trigger::Start { .. }
            | Trigger::Settle { .. }
            | Trigger::LeaseOver { .. }
            | Trigger::DeadlineDue
            | Trigger::Exhausted => Err(Rejection::Terminal),
        },
    }
}

impl Machine for ActionRecord {
    type Trigger = Trigger;
    type Rejection = Rejection;

    fn step(&self, trigger: Trigger, at: Millis) -> Result<Step<Self>, Rejection> {
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

fn start(record: &ActionRecord, grant: Grant, chunk_base: u64, at: Millis) -> Result<Step<ActionRecord>, Rejection> {
    if at >= record.deadline {
        return Err(Rejection::DeadlinePassed);
    }
    if record.attempts >= limits::ATTEMPTS_MAX {
        return Err(Rejection::Exhausted);
    }
    let mut next = record.clone();
    next.attempts = record.attempts.saturating_add(1);
    next.started_at = record.started_at.or(Some(at));
    next.chunk_base = chunk_base.max(record.chunk_base);
    let data = json!({"attempt": next.attempts, "fence": grant.fence, "instance": grant.instance});
    next.phase = Phase::Running(grant);
    Ok(Draft::new(next, at).event("aip.action.started", Some(data)).done("started"))
}

fn settle(record: &ActionRecord, settled: Settled, chunks_last: Option<u64>, at: Millis) -> Step<ActionRecord> {
    match settled {
        Settled::Completed { output } => {
            let mut next = terminal(record, Phase::Completed {}, at);
            next.chunks_last = chunks_last;
            next.error = None;
            let hash = match &output {
                Held::Inline(value) => aip_crypto::hash(value),
                Held::Blob { sha256, .. } => sha256.clone(),
            };
            next.output = Some(output);
            let executed =
                json!({"capability_id": next.capability_id.as_str(), "attempt": next.attempts, "output_hash": hash});
            let actor = connector(record);
            Draft::new(next, at)
                .receipt(ReceiptType::ToolExecuted, &actor, executed)
                .receipt(ReceiptType::ResultReturned, &fleet(), json!({"status": "completed"}))
                .event("aip.action.completed", None)
                .done("completed")
        }
        // An attempt that may be repeated under its key is lost like one that said nothing (`design.md` §4.6).
        Settled::Failed { uncertain: true, .. } if is_running(record) && record.may_repeat() => {
            let grant = record.grant().cloned().unwrap_or(Grant { fence: 0, instance: String::new() });
            lose(record, &grant, at)
        }
        Settled::Failed { uncertain: true, error } if !record.contract.read_only => {
            let grant = record.grant().cloned().unwrap_or(Grant { fence: 0, instance: String::new() });
            let mut next = record.clone();
            next.phase = Phase::OutcomeUnknown(grant);
            next.chunks_last = chunks_last;
            let code = error.code.clone();
            // Kept whole: it may name the provider's operation, which reconciliation asks about.
            next.error = Some(error);
            Draft::new(next, at)
                .event("aip.action.outcome_unknown", Some(json!({"code": code})))
                .done("outcome_unknown")
        }
        Settled::Failed { error, .. } => {
            let mut next = terminal(record, Phase::Failed {}, at);
            next.chunks_last = chunks_last;
            let code = error.code.clone();
            next.error = Some(error);
            let actor = connector(record);
            Draft::new(next, at)
                .receipt(
                    ReceiptType::ToolExecuted,
                    &actor,
                    json!({"capability_id": record.capability_id.as_str(), "code": code}),
                )
                .receipt(ReceiptType::ResultReturned, &fleet(), json!({"status": "failed", "code": code}))
                .event("aip.action.failed", Some(json!({"code": code})))
                .done("failed")
        }
    }
}

const fn is_running(record: &ActionRecord) -> bool {
    matches!(record.phase, Phase::Running(_))
}

/// The attempt is lost: repeat where the contract allows it, else it was the last.
fn lose(record: &ActionRecord, grant: &Grant, at: Millis) -> Step<ActionRecord> {
    if !record.may_repeat() {
        return give_up(record, grant, at);
    }
    let mut next = record.clone();
    next.phase = Phase::RetryDue(grant.clone());
    let data = json!({"attempt": record.attempts, "fence": grant.fence});
    Draft::new(next, at).event("aip.action.attempt_lost", Some(data)).done("retry_due")
}

/// No attempt will follow a lost one: a read had no effect, of anything else nobody knows.
fn give_up(record: &ActionRecord, last: &Grant, at: Millis) -> Step<ActionRecord> {
    if record.contract.read_only {
        let (phase, code) = if at < record.deadline {
            (Phase::DeadLettered {}, ErrorCode::ActionDeadLettered)
        } else {
            (Phase::Expired {}, ErrorCode::ActionExpired)
        };
        return end(record, phase, code, at);
    }
    let mut next = record.clone();
    next.phase = Phase::OutcomeUnknown(last.clone());
    let data = json!({"attempt": record.attempts, "fence": last.fence});
    Draft::new(next, at).event("aip.action.outcome_unknown", Some(data)).done("outcome_unknown")
}

fn end(record: &ActionRecord, phase: Phase, code: ErrorCode, at: Millis) -> Step<ActionRecord> {
    let (kind, event) = if phase == (Phase::Expired {}) {
        ("aip.action.expired", "expired")
    } else {
        ("aip.action.dead_lettered", "dead_lettered")
    };
    let mut next = terminal(record, phase, at);
    next.error = Some(ProtocolError::from(code));
    Draft::new(next, at)
        .receipt(ReceiptType::ResultReturned, &fleet(), json!({"status": "failed", "code": code.row().code}))
        .event(kind, None)
        .done(event)
}

fn terminal(record: &ActionRecord, phase: Phase, at: Millis) -> ActionRecord {
    let mut next = record.clone();
    next.phase = phase;
    next.input = None;
    next.completed_at = Some(at);
    next
}

fn connector(record: &ActionRecord) -> Principal {
    Principal::new(PrincipalId::new(format!("connector:{}", record.connector)), PrincipalKind::Service)
}
