//! What a reader sees of a record (AIP 1.0 §16.5).

use aip_types::{
    ActionLifecycleState, ActionMode, ActionResult, ActionResultStatus, ActionStatus, ErrorCode, ProtocolError,
    Timestamp,
};
use alloc::{collections::BTreeMap, format, string::ToString, vec::Vec};
use serde_json::Value;

use super::record::{ActionRecord, Phase};

/// The wire state of a record. An unknown outcome shows as `running` (`design.md` §4.6).
#[must_use]
pub fn lifecycle(record: &ActionRecord) -> ActionLifecycleState {
    match record.phase {
        Phase::Queued {} | Phase::RetryDue(_) => ActionLifecycleState::Queued,
        Phase::Running(_) if record.mode == ActionMode::Streaming => ActionLifecycleState::Streaming,
        Phase::Running(_) | Phase::OutcomeUnknown(_) => ActionLifecycleState::Running,
        Phase::Completed {} => ActionLifecycleState::Completed,
        Phase::Failed {} => ActionLifecycleState::Failed,
        Phase::Expired {} => ActionLifecycleState::Expired,
        Phase::DeadLettered {} => ActionLifecycleState::DeadLettered,
    }
}

/// The final result of a terminal record; `output` is the record's output, fetched where it lies in the object store.
///
/// # Errors
/// `aip.action.not_finished` while it is open, `aip.action.outcome_unknown` when nobody knows.
pub fn result(record: &ActionRecord, output: Option<Value>) -> Result<ActionResult, ProtocolError> {
    let status = match record.phase {
        Phase::Completed {} => ActionResultStatus::Completed,
        Phase::Failed {} | Phase::Expired {} | Phase::DeadLettered {} => ActionResultStatus::Failed,
        Phase::OutcomeUnknown(_) => return Err(ErrorCode::OutcomeUnknown.into()),
        Phase::Queued {} | Phase::Running(_) | Phase::RetryDue(_) => return Err(ErrorCode::ActionNotFinished.into()),
    };
    Ok(ActionResult {
        action_id: record.id.clone(),
        status,
        output,
        message: Vec::new(),
        memory_update: None,
        usage: None,
        receipt: record.last_receipt.clone(),
        error: record.error.clone(),
    })
}

/// The status view without its optional expansions.
#[must_use]
pub fn status(record: &ActionRecord) -> ActionStatus {
    let state = lifecycle(record);
    let id = &record.id;
    let links = [("self", ""), ("result", "/result"), ("events", "/events")];
    let mut links: BTreeMap<_, _> =
        links.iter().map(|(name, tail)| ((*name).to_string(), format!("/aip/v1/actions/{id}{tail}"))).collect();
    links.insert("receipts".to_string(), format!("/aip/v1/receipts/{}", record.chain_id()));
    ActionStatus {
        action_id: id.clone(),
        capability_id: Some(record.capability_id.clone()),
        session_id: record.session_id.clone(),
        correlation_id: record.correlation_id.clone(),
        state,
        queued_state: match record.phase {
            Phase::RetryDue(_) => Some("retry_due".to_string()),
            Phase::OutcomeUnknown(_) => Some("outcome_unknown".to_string()),
            Phase::Queued {}
            | Phase::Running(_)
            | Phase::Completed {}
            | Phase::Failed {}
            | Phase::Expired {}
            | Phase::DeadLettered {} => None,
        },
        result_status: match record.phase {
            Phase::Completed {} => Some(ActionResultStatus::Completed),
            Phase::Failed {} | Phase::Expired {} | Phase::DeadLettered {} => Some(ActionResultStatus::Failed),
            Phase::Queued {} | Phase::Running(_) | Phase::RetryDue(_) | Phase::OutcomeUnknown(_) => None,
        },
        approval_id: None,
        transaction_id: None,
        delegation_id: None,
        started_at: record.started_at.map(Timestamp::from_millis),
        updated_at: Timestamp::from_millis(record.updated_at),
        completed_at: record.completed_at.map(Timestamp::from_millis),
        retry: None,
        lease: None,
        result: None,
        receipt_chain: None,
        chunks: Vec::new(),
        links,
    }
}
