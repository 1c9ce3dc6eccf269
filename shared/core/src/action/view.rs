//! What a reader sees of a record (AIP 1.0 §16.5).

use aip_types::{
    ActionLifecycleState, ActionMode, ActionResult, ActionResultStatus, ActionStatus, ErrorCode, ProtocolError,
    Timestamp,
};
use alloc::{collections::BTreeMap, format, string::ToString, vec::Vec};
use serde_json::Value;

use super::{ActionRecord, Phase};

/// The wire state of a record. An unknown outcome shows as `running` (`design.md` §4.6).
#[must_use]
pub fn lifecycle(record: &ActionRecord) -> ActionLifecycleState {
    match record.phase {
        Phase::PendingApproval { .. } => ActionLifecycleState::PendingApproval,
        Phase::Queued {} | Phase::RetryDue(_) => ActionLifecycleState::Queued,
        Phase::Running(_) if record.mode == ActionMode::Streaming => ActionLifecycleState::Streaming,
        Phase::Running(_) | Phase::InputRequired { .. } | Phase::OutcomeUnknown(_) => ActionLifecycleState::Running,
        Phase::Cancelling(_) => ActionLifecycleState::Cancelling,
        Phase::Completed {} => ActionLifecycleState::Completed,
        Phase::Failed {} => ActionLifecycleState::Failed,
        Phase::Cancelled {} => ActionLifecycleState::Cancelled,
        Phase::Expired {} => ActionLifecycleState::Expired,
        Phase::DeadLettered {} => ActionLifecycleState::DeadLettered,
    }
}

/// The result status of a record that has one: terminal, or parked until somebody decides or answers.
fn result_status(record: &ActionRecord) -> Option<ActionResultStatus> {
    match record.phase {
        Phase::Completed {} => Some(ActionResultStatus::Completed),
        Phase::Failed {} | Phase::Expired {} | Phase::DeadLettered {} => Some(ActionResultStatus::Failed),
        Phase::Cancelled {} => Some(ActionResultStatus::Cancelled),
        Phase::PendingApproval { .. } => Some(ActionResultStatus::PendingApproval),
        Phase::InputRequired { .. } => Some(ActionResultStatus::RequiresHuman),
        Phase::Queued {} | Phase::Running(_) | Phase::RetryDue(_) | Phase::Cancelling(_) | Phase::OutcomeUnknown(_) => {
            None
        }
    }
}

/// The result of a record that is terminal or waits for a person; `output` is the record's output, fetched where it lies in the object store.
///
/// # Errors
/// `aip.action.not_finished` while it is open, `aip.action.outcome_unknown` when nobody knows.
pub fn result(record: &ActionRecord, output: Option<Value>) -> Result<ActionResult, ProtocolError> {
    let status = match (&record.phase, result_status(record)) {
        (Phase::OutcomeUnknown(_), _) => return Err(ErrorCode::OutcomeUnknown.into()),
        (_, None) => return Err(ErrorCode::ActionNotFinished.into()),
        (_, Some(status)) => status,
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
            Phase::RetryDue(_) | Phase::InputRequired { .. } | Phase::OutcomeUnknown(_) => {
                Some(record.phase.name().to_string())
            }
            Phase::PendingApproval { .. }
            | Phase::Queued {}
            | Phase::Running(_)
            | Phase::Cancelling(_)
            | Phase::Completed {}
            | Phase::Failed {}
            | Phase::Cancelled {}
            | Phase::Expired {}
            | Phase::DeadLettered {} => None,
        },
        result_status: result_status(record),
        approval_id: record.approval_id.clone(),
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
