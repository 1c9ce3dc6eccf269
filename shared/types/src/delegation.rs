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

/// One hop of a delegation chain.
///
/// Source: AIP 1.0 §14.3.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DelegationEntry {
    /// Who passes it on.
    pub from: Principal,
    /// Who takes it over.
    pub to: Principal,
    /// The authority that is passed on, as one label.
    pub scope: String,
    /// When the authority was passed on.
    pub delegated_at: Timestamp,
}

/// Hands a child action to another agent.
///
/// Source: AIP 1.0 §14.1.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DelegationRequest {
    /// The delegation.
    pub delegation_id: DelegationId,
    /// The action that delegates.
    pub parent_action_id: ActionId,
    /// The action to run; its id differs from the parent's.
    pub child_action: Action,
    /// Who asks.
    pub requested_by: Principal,
    /// Who shall do it.
    pub delegate: Principal,
    /// The authority that is passed on, as one label; never empty.
    pub scope: String,
    /// Where to report the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub callback: Option<Callback>,
    /// Free metadata.
    #[serde(default, deserialize_with = "crate::exact::option", skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Value>,
}

/// What became of a delegated action.
///
/// Source: AIP 1.0 §14.4.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DelegationResult {
    /// The delegation.
    pub delegation_id: DelegationId,
    /// The action that delegates.
    pub parent_action_id: ActionId,
    /// The delegated action.
    pub child_action_id: ActionId,
    /// Where it stands.
    pub status: DelegationStatus,
    /// The result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<ActionResult>,
    /// The failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<ProtocolError>,
    /// The evidence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub receipt_chain: Option<ReceiptChain>,
    /// Callback metadata; untyped here.
    #[serde(default, deserialize_with = "crate::exact::option", skip_serializing_if = "Option::is_none")]
    pub callback: Option<Value>,
}

wire_enum! {
    /// Where a delegated action stands.
    ///
    /// Source: AIP 1.0 §14.4.
    pub enum DelegationStatus {
        /// The delegate took it.
        Accepted => "accepted",
        /// The delegate works on it.
        Running => "running",
        /// It was done.
        Completed => "completed",
        /// It failed.
        Failed => "failed",
        /// It was stopped.
        Cancelled => "cancelled",
        /// It waits for a person.
        RequiresHuman => "requires_human",
    }
}
