//! The transition function: every (phase, trigger) pair has its answer here, and nowhere else.

use aip_types::{CallbackDeliveryPolicy, EventKind, MessageId, Millis, Principal, ReceiptType, Timestamp, limits};
use alloc::{
    string::{String, ToString as _},
    vec::Vec,
};
use serde_json::{Value, json};

use super::Rejection;
use super::record::{Attempt, CallbackRecord, Delivery, Phase, VerifiedTarget, delivery_id};
use crate::causes::{Causes, push_bounded};
use crate::outbox::{Lease, backoff_ms, bounded};
use crate::step::{Chain, Draft, Machine, Step, fleet};

/// Somebody who is authenticated and permitted to operate deliveries of this tenant.
#[derive(Clone, Debug)]
pub struct VerifiedOperator(pub Principal);

/// What happens to a delivery after its first entry.
#[derive(Clone, Debug)]
pub enum Trigger {
    /// A worker asks to make an attempt. Nothing is sent before this is stored.
    Lease {
        /// Its fence, higher than all before.
        fence: u64,
        /// The worker.
        worker: String,
    },
    /// An attempt ended.
    Ended {
        /// Its fence.
        fence: u64,
        /// How it ended.
        outcome: Outcome,
    },
    /// The lease of an attempt may be over without a word.
    LeaseOver {
        /// Its fence.
        fence: u64,
    },
    /// An operator wants another round of attempts.
    Retry {
        /// The request.
        message: MessageId,
        /// Who asks.
        by: VerifiedOperator,
    },
    /// An operator wants no attempt any more.
    Drop {
        /// The request.
        message: MessageId,
        /// Who asks.
        by: VerifiedOperator,
    },
}

/// How an attempt ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The target acknowledged the message.
    Delivered,
    /// It did not.
    Failed {
        /// Why; public, without anything that the target wrote. Cut to `limits::REASON_BYTES_MAX`.
        reason: String,
        /// The target refused it for good.
        permanent: bool,
    },
}

/// The first step: the delivery is stored and due at once.
///
/// # Errors
/// [`Rejection::PolicyInvalid`], [`Rejection::NotTerminal`].
pub fn open(delivery: Delivery) -> Result<Step<CallbackRecord>, Rejection> {
    if !delivery.is_bounded() {
        return Err(Rejection::PolicyInvalid);
    }
    if delivery.terminal_only && !delivery.terminal {
        return Err(Rejection::NotTerminal);
    }
    let Delivery {
        tenant, target: VerifiedTarget(target), message_id, message_type, payload, payload_hash, at, ..
    } = delivery;
    let id = delivery_id(&tenant, &message_id, &target);
    let record = CallbackRecord {
        tenant,
        policy: CallbackDeliveryPolicy {
            idempotency_key: id.clone(),
            delivery_id: id,
            target,
            max_attempts: delivery.max_attempts,
            timeout_ms: delivery.timeout_ms,
            retry_backoff_ms: delivery.retry_backoff_ms,
            sign_payload: delivery.sign_payload,
            terminal_only: delivery.terminal_only,
        },
        message_id,
        message_type,
        payload: Some(payload),
        payload_hash,
        action_id: delivery.action_id,
        session_id: delivery.session_id,
        correlation_id: delivery.correlation_id,
        created_at: at,
        phase: Phase::Pending { due: at },
        fence: 0,
        attempts: 0,
        attempts_before: 0,
        retries: 0,
        attempts_last: Vec::new(),
        dead_letter_reason: None,
        completed_at: None,
        causes: Causes::default(),
        chain: Chain::default(),
    };
    Ok(scheduled(Draft::new(record.clone(), at), &record, at).done("pending"))
}

/// What a delivery that is made again means for the one that stands under its id.
#[must_use]
pub fn again(record: &CallbackRecord, payload_hash: &str) -> Rejection {
    if record.payload_hash == payload_hash { Rejection::Repeated } else { Rejection::Conflict }
}

/// Applies a trigger. Total: every phase answers every trigger.
///
/// # Errors
/// A [`Rejection`], which changes nothing.
///
/// Source: AIP 1.0 §17.2, §17.3.
pub fn step(record: &CallbackRecord, trigger: Trigger, at: Millis) -> Result<Step<CallbackRecord>, Rejection> {
    match &record.phase {
        Phase::Pending { due } => match trigger {
            Trigger::Lease { fence, .. } if fence <= record.fence => Err(Rejection::StaleFence),
            Trigger::Lease { .. } if at < *due => Err(Rejection::NotDue),
            Trigger::Lease { fence, worker } => Ok(begin(record, fence, worker, at)),
            Trigger::Ended { .. } | Trigger::LeaseOver { .. } => Err(Rejection::StaleFence),
            Trigger::Retry { message, .. } if record.causes.has(&message) => Err(Rejection::Repeated),
            Trigger::Retry { .. } => Err(Rejection::NotAdmitted),
            Trigger::Drop { message, by } => Ok(drop_for_good(record, message, &by, at)),
        },
        Phase::Running(current) => match trigger {
            Trigger::Lease { fence, worker } if fence == current.fence && worker == current.worker => {
                Err(Rejection::Repeated)
            }
            Trigger::Lease { fence, .. } if fence <= current.fence => Err(Rejection::StaleFence),
            Trigger::Lease { .. } => Err(Rejection::LeaseHeld),
            Trigger::Ended { fence, .. } | Trigger::LeaseOver { fence } if fence != current.fence => {
                Err(Rejection::StaleFence)
            }
            Trigger::Ended { outcome: Outcome::Delivered, .. } => Ok(delivered(record, at)),
            Trigger::Ended { outcome: Outcome::Failed { reason, permanent }, .. } => {
                Ok(failed(record, reason, permanent, at))
            }
            Trigger::LeaseOver { .. } if at < current.expires_at => Err(Rejection::NotDue),
            Trigger::LeaseOver { .. } => Ok(failed(record, "the worker said nothing".to_string(), false, at)),
            Trigger::Retry { message, .. } if record.causes.has(&message) => Err(Rejection::Repeated),
            Trigger::Retry { .. } => Err(Rejection::NotAdmitted),
            // It may be arriving: whether it did is known when the lease is over.
            Trigger::Drop { .. } => Err(Rejection::LeaseHeld),
        },
        Phase::Failed {} | Phase::DeadLettered { dropped: false } => match trigger {
            Trigger::Lease { .. } => Err(Rejection::NotAdmitted),
            Trigger::Ended { .. } | Trigger::LeaseOver { .. } => Err(Rejection::StaleFence),
            Trigger::Retry { message, .. } if record.causes.has(&message) => Err(Rejection::Repeated),
            Trigger::Retry { .. } if record.retries >= limits::CALLBACK_RETRIES_MAX => Err(Rejection::RetriesExhausted),
            Trigger::Retry { message, by } => Ok(retry(record, message, &by, at)),
            Trigger::Drop { message, by } => Ok(drop_for_good(record, message, &by, at)),
        },
        Phase::Delivered {} | Phase::DeadLettered { dropped: true } => match trigger {
            Trigger::Drop { message, .. } | Trigger::Retry { message, .. } if record.causes.has(&message) => {
                Err(Rejection::Repeated)
            }
            Trigger::Lease { .. }
            | Trigger::Ended { .. }
            | Trigger::LeaseOver { .. }
            | Trigger::Retry { .. }
            | Trigger::Drop { .. } => Err(Rejection::Terminal),
        },
    }
}

impl Machine for CallbackRecord {
    type Trigger = Trigger;
    type Rejection = Rejection;

    fn step(&self, trigger: Trigger, at: Millis) -> Result<Step<Self>, Rejection> {
        step(self, trigger, at)
    }

    fn is_terminal(&self) -> bool {
        match self.phase {
            Phase::Delivered {} | Phase::DeadLettered { dropped: true } => true,
            Phase::Pending { .. } | Phase::Running(_) | Phase::Failed {} | Phase::DeadLettered { dropped: false } => {
                false
            }
        }
    }

    fn phase(&self) -> &'static str {
        self.phase.name()
    }
}

/// What evidence says about a delivery: its target by hash, since a target may hold a secret.
fn said(record: &CallbackRecord) -> Value {
    json!({
        "delivery_id": record.policy.delivery_id,
        "message_id": record.message_id.as_str(),
        "payload_hash": record.payload_hash,
        "target_hash": aip_crypto::sha256_hex(record.policy.target.target.as_bytes()),
        "attempt": record.attempts,
    })
}

/// What its events say about a delivery.
fn numbered(record: &CallbackRecord) -> Value {
    json!({"delivery_id": record.policy.delivery_id, "attempt": record.attempts})
}

/// Says when the next attempt of `next` is due.
fn scheduled(draft: Draft<CallbackRecord>, next: &CallbackRecord, due: Millis) -> Draft<CallbackRecord> {
    let data = json!({
        "delivery_id": next.policy.delivery_id,
        "attempt": next.attempts.saturating_add(1),
        "due_at": Timestamp::from_millis(due),
    });
    draft.event(EventKind::CallbackScheduled, Some(data))
}

fn begin(record: &CallbackRecord, fence: u64, worker: String, at: Millis) -> Step<CallbackRecord> {
    let mut next = record.clone();
    next.attempts = record.attempts.saturating_add(1);
    next.fence = fence;
    let attempt = Attempt { number: next.attempts, fence, started_at: at, finished_at: None, error: None };
    push_bounded(&mut next.attempts_last, attempt, limits::CALLBACK_ATTEMPTS_LEN_MAX);
    next.phase = Phase::Running(Lease::new(fence, worker, record.policy.timeout_ms, at));
    let data = json!({"delivery_id": next.policy.delivery_id, "attempt": next.attempts, "fence": fence});
    let said = said(&next);
    Draft::new(next, at)
        .receipt(ReceiptType::CallbackDeliveryAttempted, &fleet(), said)
        .event(EventKind::CallbackAttempted, Some(data))
        .done("running")
}

/// The record with its last attempt over.
fn over(record: &CallbackRecord, error: Option<String>, at: Millis) -> CallbackRecord {
    let mut next = record.clone();
    if let Some(last) = next.attempts_last.last_mut() {
        last.finished_at = Some(at);
        last.error = error;
    }
    next
}

fn delivered(record: &CallbackRecord, at: Millis) -> Step<CallbackRecord> {
    let mut next = over(record, None, at);
    next.phase = Phase::Delivered {};
    next.payload = None;
    next.completed_at = Some(at);
    let (said, data) = (said(&next), numbered(&next));
    Draft::new(next, at)
        .receipt(ReceiptType::CallbackDelivered, &fleet(), said)
        .event(EventKind::CallbackDelivered, Some(data))
        .done("delivered")
}

fn failed(record: &CallbackRecord, reason: String, permanent: bool, at: Millis) -> Step<CallbackRecord> {
    let reason = bounded(reason);
    let mut next = over(record, Some(reason.clone()), at);
    if permanent {
        next.phase = Phase::Failed {};
        return given_up(next, &fleet(), at);
    }
    if next.made() >= next.policy.max_attempts {
        next.phase = Phase::DeadLettered { dropped: false };
        next.dead_letter_reason = Some(reason);
        return given_up(next, &fleet(), at);
    }
    let due = at.plus(backoff_ms(&next.policy.retry_backoff_ms, next.made()));
    next.phase = Phase::Pending { due };
    let draft = Draft::new(next.clone(), at).event(EventKind::CallbackFailed, Some(numbered(&next)));
    scheduled(draft, &next, due).done("pending")
}

fn drop_for_good(
    record: &CallbackRecord,
    message: MessageId,
    by: &VerifiedOperator,
    at: Millis,
) -> Step<CallbackRecord> {
    let mut next = record.clone();
    next.phase = Phase::DeadLettered { dropped: true };
    next.payload = None;
    next.dead_letter_reason = Some("dropped by an operator".to_string());
    next.causes.push(message);
    given_up(next, &by.0, at)
}

fn given_up(mut next: CallbackRecord, actor: &Principal, at: Millis) -> Step<CallbackRecord> {
    next.completed_at = Some(at);
    let (event, kind, dropped) = match next.phase {
        Phase::DeadLettered { dropped } => ("dead_lettered", EventKind::CallbackDeadLettered, dropped),
        Phase::Pending { .. } | Phase::Running(_) | Phase::Delivered {} | Phase::Failed {} => {
            ("failed", EventKind::CallbackFailed, false)
        }
    };
    let (mut said, data) = (said(&next), numbered(&next));
    if let Some(said) = said.as_object_mut() {
        said.insert("status".to_string(), json!(event));
        said.insert("dropped".to_string(), json!(dropped));
    }
    Draft::new(next, at).receipt(ReceiptType::CallbackDeliveryFailed, actor, said).event(kind, Some(data)).done(event)
}

fn retry(record: &CallbackRecord, message: MessageId, by: &VerifiedOperator, at: Millis) -> Step<CallbackRecord> {
    let mut next = record.clone();
    next.phase = Phase::Pending { due: at };
    next.attempts_before = record.attempts;
    next.retries = record.retries.saturating_add(1);
    next.dead_letter_reason = None;
    next.completed_at = None;
    let decided = json!({
        "decision": "retry",
        "delivery_id": record.policy.delivery_id,
        "message_id": message.as_str(),
    });
    next.causes.push(message);
    let draft = Draft::new(next.clone(), at).receipt(ReceiptType::PolicyDecision, &by.0, decided);
    scheduled(draft, &next, at).done("pending")
}
