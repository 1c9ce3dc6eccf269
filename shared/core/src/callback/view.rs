//! What a reader sees of a delivery (AIP 1.0 §17.3).

use aip_types::{CallbackDeliveryAttempt, CallbackDeliveryRecord, CallbackDeliveryStatus, Timestamp};

use super::record::{CallbackRecord, Phase};

/// The wire status of a delivery.
#[must_use]
pub const fn status(record: &CallbackRecord) -> CallbackDeliveryStatus {
    match record.phase {
        Phase::Pending { .. } => CallbackDeliveryStatus::Pending,
        Phase::Running(_) => CallbackDeliveryStatus::Running,
        Phase::Delivered {} => CallbackDeliveryStatus::Delivered,
        Phase::Failed {} => CallbackDeliveryStatus::Failed,
        Phase::DeadLettered { .. } => CallbackDeliveryStatus::DeadLettered,
    }
}

/// The view of a delivery without its optional receipt chain. Its attempts are the last ones.
#[must_use]
pub fn view(record: &CallbackRecord) -> CallbackDeliveryRecord {
    let attempts = record.attempts_last.iter().map(|attempt| CallbackDeliveryAttempt {
        attempt: attempt.number,
        started_at: Timestamp::from_millis(attempt.started_at),
        finished_at: attempt.finished_at.map(Timestamp::from_millis),
        error: attempt.error.clone(),
    });
    let (next_attempt_at, lease) = match &record.phase {
        Phase::Pending { due } => (Some(*due), None),
        Phase::Running(lease) => (None, Some(lease)),
        Phase::Delivered {} | Phase::Failed {} | Phase::DeadLettered { .. } => (None, None),
    };
    CallbackDeliveryRecord {
        delivery_id: record.policy.delivery_id.clone(),
        policy: record.policy.clone(),
        message_id: record.message_id.clone(),
        message_type: record.message_type.clone(),
        action_id: record.action_id.clone(),
        session_id: record.session_id.clone(),
        correlation_id: record.correlation_id.clone(),
        tenant_id: Some(record.tenant.clone()),
        status: status(record),
        attempts: attempts.collect(),
        next_attempt_at: next_attempt_at.map(Timestamp::from_millis),
        leased_by: lease.map(|lease| lease.worker.clone()),
        lease_expires_at: lease.map(|lease| Timestamp::from_millis(lease.expires_at)),
        last_error: record.attempts_last.iter().rev().find_map(|attempt| attempt.error.clone()),
        dead_letter_reason: record.dead_letter_reason.clone(),
        receipt_chain: None,
        created_at: Timestamp::from_millis(record.created_at),
        updated_at: Timestamp::from_millis(record.chain.updated_at),
        completed_at: record.completed_at.map(Timestamp::from_millis),
    }
}
