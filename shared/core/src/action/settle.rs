//! How attempts end, and what that makes of the action.

use aip_types::{
    CorrelationId, ErrorCode, EventKind, Millis, Principal, PrincipalId, PrincipalKind, ProtocolError, ReceiptType,
    limits,
};
use alloc::{format, string::String};
use serde_json::json;

use super::phase::{Grant, Phase};
use super::record::{ActionRecord, Held, Question, Stop};
use super::{Rejection, Step};
use crate::step::{Draft, fleet};

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
    /// It stopped as it was asked to, without effect or with its effect undone.
    Cancelled {},
    /// It needs something from the caller first, and has had no effect that a new attempt would repeat.
    Asked {
        /// Names the question.
        correlation_id: CorrelationId,
        /// An `escalation` body with a JSON Schema.
        question: Held,
    },
}

/// Settles the current attempt; its right has been checked.
pub(super) fn settle(
    record: &ActionRecord,
    settled: Settled,
    chunks_last: Option<u64>,
    at: Millis,
) -> Result<Step, Rejection> {
    let chunks_last = chunks_last.or(record.chunks_last);
    match settled {
        Settled::Completed { output } => Ok(completed(record, output, chunks_last, at)),
        // An attempt that may be repeated under its key is lost like one that said nothing (`design.md` §4.6).
        Settled::Failed { uncertain: true, .. } if is_running(record) && record.may_repeat() => {
            Ok(lose(record, &last_grant(record), at))
        }
        Settled::Failed { uncertain: true, error } if !record.contract.read_only => {
            Ok(unsure(record, error, chunks_last, at))
        }
        Settled::Failed { uncertain: false, error } if is_running(record) && may_retry(record, &error, at) => {
            let wait = error.retry_after_ms.unwrap_or(0).max(backoff_ms(record.attempts));
            Ok(retry(record, &last_grant(record), error, Millis(at.0.saturating_add(wait)), at))
        }
        Settled::Failed { error, .. } => Ok(failed(record, error, chunks_last, at)),
        Settled::Cancelled {} => match &record.stop {
            Some(stop) => Ok(cancelled(record, stop.clone(), at)),
            None => Err(Rejection::NotAdmitted),
        },
        Settled::Asked { correlation_id, question } => match &record.stop {
            // Who is asked to stop and asks back works no more.
            Some(stop) => Ok(cancelled(record, stop.clone(), at)),
            None => asked(record, correlation_id, question, at),
        },
    }
}

fn completed(record: &ActionRecord, output: Held, chunks_last: Option<u64>, at: Millis) -> Step {
    let mut next = terminal(record, Phase::Completed {}, at);
    next.chunks_last = chunks_last;
    next.error = None;
    let hash = match &output {
        Held::Inline(value) => aip_crypto::hash(value),
        Held::Blob { sha256, .. } => sha256.clone(),
    };
    next.output = Some(output);
    let executed = json!({"capability_id": next.capability_id.as_str(), "attempt": next.attempts, "output_hash": hash});
    let actor = connector(record);
    Draft::new(next, at)
        .receipt(ReceiptType::ToolExecuted, &actor, executed)
        .receipt(ReceiptType::ResultReturned, &fleet(), json!({"status": "completed"}))
        .event(EventKind::ActionCompleted, None)
        .done("completed")
}

fn failed(record: &ActionRecord, error: ProtocolError, chunks_last: Option<u64>, at: Millis) -> Step {
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
        .event(EventKind::ActionFailed, Some(json!({"code": code})))
        .done("failed")
}

fn unsure(record: &ActionRecord, error: ProtocolError, chunks_last: Option<u64>, at: Millis) -> Step {
    let mut next = record.clone();
    next.phase = Phase::OutcomeUnknown(last_grant(record));
    next.chunks_last = chunks_last;
    let code = error.code.clone();
    // Kept whole: it may name the provider's operation, which reconciliation asks about.
    next.error = Some(error);
    Draft::new(next, at).event(EventKind::ActionOutcomeUnknown, Some(json!({"code": code}))).done("outcome_unknown")
}

fn asked(record: &ActionRecord, correlation_id: CorrelationId, question: Held, at: Millis) -> Result<Step, Rejection> {
    if record.questions.len() >= limits::QUESTIONS_MAX {
        return Err(Rejection::TooManyQuestions);
    }
    if record.is_plain_read() {
        return Err(Rejection::NotAdmitted); // it has no fence that a second attempt could outgrow
    }
    let mut next = record.clone();
    next.phase = Phase::InputRequired { grant: last_grant(record), correlation_id: correlation_id.clone() };
    next.harmless = true;
    next.error = None;
    let data = json!({"correlation_id": correlation_id.as_str()});
    next.questions.push(Question { correlation_id, question, answer: None });
    next.fit_questions()?;
    Ok(Draft::new(next, at).event(EventKind::ActionInputRequired, Some(data)).done("input_required"))
}

/// The attempt is lost: repeat where the contract allows it, else it was the last.
pub(super) fn lose(record: &ActionRecord, grant: &Grant, at: Millis) -> Step {
    if !record.may_repeat() {
        return give_up(record, grant, at);
    }
    let mut next = record.clone();
    next.phase = Phase::RetryDue(grant.clone());
    next.harmless = false;
    let data = json!({"attempt": record.attempts, "fence": grant.fence});
    Draft::new(next, at).event(EventKind::ActionAttemptLost, Some(data)).done("retry_due")
}

/// The attempt failed without effect: the next may begin at `due` (AIP 1.0 §19.2).
pub(super) fn retry(record: &ActionRecord, grant: &Grant, error: ProtocolError, due: Millis, at: Millis) -> Step {
    let mut next = record.clone();
    next.phase = Phase::RetryDue(grant.clone());
    next.retry_at = (due > at).then_some(due);
    next.harmless = true;
    let data = json!({"attempt": record.attempts, "code": error.code});
    next.error = Some(error);
    Draft::new(next, at).event(EventKind::ActionRetryScheduled, Some(data)).done("retry_due")
}

/// No attempt will follow: where the last one may have had an effect, nobody knows; else it ends here.
pub(super) fn give_up(record: &ActionRecord, last: &Grant, at: Millis) -> Step {
    if record.contract.read_only || is_retry_due(record) && record.harmless {
        if let Some(stop) = &record.stop {
            return cancelled(record, stop.clone(), at);
        }
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
    Draft::new(next, at).event(EventKind::ActionOutcomeUnknown, Some(data)).done("outcome_unknown")
}

/// Ends without an effect and without a handler's word.
pub(super) fn end(record: &ActionRecord, phase: Phase, code: ErrorCode, at: Millis) -> Step {
    let (kind, event) = match phase {
        Phase::Expired {} => (EventKind::ActionExpired, "expired"),
        Phase::DeadLettered {} => (EventKind::ActionDeadLettered, "dead_lettered"),
        Phase::Cancelled {} => (EventKind::ActionCancelled, "cancelled"),
        Phase::PendingApproval { .. }
        | Phase::Queued {}
        | Phase::Running(_)
        | Phase::InputRequired { .. }
        | Phase::RetryDue(_)
        | Phase::Cancelling(_)
        | Phase::OutcomeUnknown(_)
        | Phase::Completed {}
        | Phase::Failed {} => (EventKind::ActionFailed, "failed"),
    };
    let mut next = terminal(record, phase, at);
    // Given up after failures, it ends with what the last one said.
    next.error = record.error.clone().filter(|_| event == "dead_lettered").or_else(|| Some(ProtocolError::from(code)));
    let status = if event == "cancelled" { "cancelled" } else { "failed" };
    Draft::new(next, at)
        .receipt(ReceiptType::ResultReturned, &fleet(), json!({"status": status, "code": code.row().code}))
        .event(kind, None)
        .done(event)
}

/// Its owner confirms that it stopped: nothing ran, or the handler has said so (AIP 1.0 §11.8).
pub(super) fn cancelled(record: &ActionRecord, stop: Stop, at: Millis) -> Step {
    let (phase, code) = if stop.deadline {
        (Phase::Expired {}, ErrorCode::ActionExpired)
    } else {
        (Phase::Cancelled {}, ErrorCode::ActionCancelled)
    };
    let mut stopped = record.clone();
    stopped.stop = Some(stop);
    end(&stopped, phase, code, at)
}

fn terminal(record: &ActionRecord, phase: Phase, at: Millis) -> ActionRecord {
    let mut next = record.clone();
    next.phase = phase;
    next.input = None;
    next.retry_at = None;
    next.completed_at = Some(at);
    next
}

const fn is_running(record: &ActionRecord) -> bool {
    matches!(record.phase, Phase::Running(_))
}

const fn is_retry_due(record: &ActionRecord) -> bool {
    matches!(record.phase, Phase::RetryDue(_))
}

/// A failure is worth another attempt: the error says so, the contract allows it, and there is time and an attempt left.
fn may_retry(record: &ActionRecord, error: &ProtocolError, at: Millis) -> bool {
    let wait = error.retry_after_ms.unwrap_or(0).max(backoff_ms(record.attempts));
    error.retryable == Some(true)
        && record.contract.supports_retry
        && record.may_repeat()
        && record.attempts_left()
        && at.0.saturating_add(wait) < record.deadline.0
}

/// Milliseconds before the attempt after the `attempts`th: doubling, bounded.
fn backoff_ms(attempts: u32) -> u64 {
    let doublings = attempts.saturating_sub(1).min(16);
    limits::RETRY_BACKOFF_MS_MIN.saturating_mul(1 << doublings).min(limits::RETRY_BACKOFF_MS_MAX)
}

fn last_grant(record: &ActionRecord) -> Grant {
    record.grant().cloned().unwrap_or(Grant { fence: 0, instance: String::new() })
}

fn connector(record: &ActionRecord) -> Principal {
    Principal::new(PrincipalId::new(format!("connector:{}", record.connector)), PrincipalKind::Service)
}
