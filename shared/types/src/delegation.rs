//! Delegation of a child action to another agent.
//!
//! Source: AIP 1.0 §14.
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::action::{Action, ActionResult};
use crate::callback::Callback;
use crate::error::ProtocolError;
use crate::ids::{ActionId, DelegationId};
use crate::principal::Principal;
use crate::receipt::ReceiptChain;
use crate::time::Timestamp;
use crate::wire::wire_enum;

/// Delegation entry.
///
/// Source: AIP 1.0 §14.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DelegationEntry {
    /// From.
    pub from: Principal,
    /// To.
    pub to: Principal,
    /// One string.
    pub scope: String,
    /// Delegated at.
    pub delegated_at: Timestamp,
}

/// Delegation request.
///
/// Source: AIP 1.0 §14.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DelegationRequest {
    /// Delegation id.
    pub delegation_id: DelegationId,
    /// Parent action id.
    pub parent_action_id: ActionId,
    /// Child action.
    pub child_action: Action,
    /// Requested by.
    pub requested_by: Principal,
    /// Delegate.
    pub delegate: Principal,
    /// One string, not a list.
    pub scope: String,
    /// Callback.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub callback: Option<Callback>,
    /// Metadata.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Value>,
}

/// Delegation result.
///
/// Source: AIP 1.0 §14.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DelegationResult {
    /// Delegation id.
    pub delegation_id: DelegationId,
    /// Parent action id.
    pub parent_action_id: ActionId,
    /// Child action id.
    pub child_action_id: ActionId,
    /// Status.
    pub status: DelegationStatus,
    /// Result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<ActionResult>,
    /// Error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<ProtocolError>,
    /// Receipt chain.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub receipt_chain: Option<ReceiptChain>,
    /// Untyped here, typed in the request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub callback: Option<Value>,
}

wire_enum! {
    /// Delegation status.
    ///
    /// Source: AIP 1.0 §14.
    pub enum DelegationStatus {
        /// `accepted`.
        Accepted => "accepted",
        /// `running`.
        Running => "running",
        /// `completed`.
        Completed => "completed",
        /// `failed`.
        Failed => "failed",
        /// `cancelled`.
        Cancelled => "cancelled",
        /// `requires_human`.
        RequiresHuman => "requires_human",
    }
}
