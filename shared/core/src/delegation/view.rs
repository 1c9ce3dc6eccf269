//! What a reader sees of a delegation (AIP 1.0 §14.4).

use aip_types::{ActionResult, DelegationResult, DelegationStatus, ErrorCode, ProtocolError};

use super::record::{DelegationRecord, Phase};

/// The wire status of a delegation. An unknown outcome shows as `running`, with its code as the error.
#[must_use]
pub const fn status(record: &DelegationRecord) -> DelegationStatus {
    match record.phase {
        Phase::Accepted { .. } | Phase::Dispatching(_) => DelegationStatus::Accepted,
        Phase::Running {} | Phase::OutcomeUnknown {} => DelegationStatus::Running,
        Phase::RequiresHuman {} => DelegationStatus::RequiresHuman,
        Phase::Completed {} => DelegationStatus::Completed,
        Phase::Failed {} => DelegationStatus::Failed,
        Phase::Cancelled {} => DelegationStatus::Cancelled,
    }
}

/// The view of a delegation without its optional receipt chain. `result` is the record's result, fetched where it lies in
/// the object store.
#[must_use]
pub fn view(record: &DelegationRecord, result: Option<ActionResult>) -> DelegationResult {
    let error = match record.phase {
        Phase::OutcomeUnknown {} => Some(ProtocolError::from(ErrorCode::OutcomeUnknown)),
        Phase::Accepted { .. }
        | Phase::Dispatching(_)
        | Phase::Running {}
        | Phase::RequiresHuman {}
        | Phase::Completed {}
        | Phase::Failed {}
        | Phase::Cancelled {} => record.error.clone(),
    };
    DelegationResult {
        delegation_id: record.id.clone(),
        parent_action_id: record.parent_action_id.clone(),
        child_action_id: record.child_action_id.clone(),
        status: status(record),
        result,
        error,
        receipt_chain: None,
        callback: None,
    }
}
