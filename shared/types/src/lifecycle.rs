//! Durable action state and the queries that read it.
//!
//! Source: AIP 1.0 §16.5.
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::action::{ActionResult, ActionResultStatus, StreamChunk};
use crate::event::Event;
use crate::ids::{
    ActionId, ApprovalId, CapabilityId, CorrelationId, DelegationId, PrincipalId, SessionId, TransactionId,
};
use crate::receipt::ReceiptChain;
use crate::time::Timestamp;
use crate::wire::wire_enum;

/// Action status request.
///
/// Source: AIP 1.0 §16.5.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ActionStatusRequest {
    /// Action id.
    pub action_id: ActionId,
    /// Tenant id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant_id: Option<String>,
    /// Include result.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub include_result: bool,
    /// Include receipts.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub include_receipts: bool,
    /// Include chunks.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub include_chunks: bool,
    /// Wait ms.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait_ms: Option<u64>,
}

impl ActionStatusRequest {
    /// A value with its required members; the optional ones are absent.
    #[must_use]
    pub fn new(action_id: ActionId) -> Self {
        Self {
            action_id,
            tenant_id: None,
            include_result: false,
            include_receipts: false,
            include_chunks: false,
            wait_ms: None,
        }
    }
}

/// Action status.
///
/// Source: AIP 1.0 §16.5.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ActionStatus {
    /// Action id.
    pub action_id: ActionId,
    /// Capability id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capability_id: Option<CapabilityId>,
    /// Session id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<SessionId>,
    /// Correlation id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub correlation_id: Option<CorrelationId>,
    /// State.
    pub state: ActionLifecycleState,
    /// Backend label, free text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queued_state: Option<String>,
    /// Result status.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result_status: Option<ActionResultStatus>,
    /// Approval id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval_id: Option<ApprovalId>,
    /// Transaction id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transaction_id: Option<TransactionId>,
    /// Delegation id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delegation_id: Option<DelegationId>,
    /// Started at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at: Option<Timestamp>,
    /// Updated at.
    pub updated_at: Timestamp,
    /// Completed at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completed_at: Option<Timestamp>,
    /// Retry.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry: Option<Value>,
    /// Lease.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease: Option<Value>,
    /// Result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<ActionResult>,
    /// Receipt chain.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub receipt_chain: Option<ReceiptChain>,
    /// Chunks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub chunks: Vec<StreamChunk>,
    /// Any member name, string values.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub links: BTreeMap<String, String>,
}

impl ActionStatus {
    /// A value with its required members; the optional ones are absent.
    #[must_use]
    pub fn new(action_id: ActionId, state: ActionLifecycleState, updated_at: Timestamp) -> Self {
        Self {
            action_id,
            capability_id: None,
            session_id: None,
            correlation_id: None,
            state,
            queued_state: None,
            result_status: None,
            approval_id: None,
            transaction_id: None,
            delegation_id: None,
            started_at: None,
            updated_at,
            completed_at: None,
            retry: None,
            lease: None,
            result: None,
            receipt_chain: None,
            chunks: Vec::new(),
            links: BTreeMap::new(),
        }
    }
}

wire_enum! {
    /// Action lifecycle state.
    ///
    /// Source: AIP 1.0 §16.5.
    pub enum ActionLifecycleState {
        /// `unknown`.
        Unknown => "unknown",
        /// `accepted`.
        Accepted => "accepted",
        /// `queued`.
        Queued => "queued",
        /// `running`.
        Running => "running",
        /// `streaming`.
        Streaming => "streaming",
        /// `pending_approval`.
        PendingApproval => "pending_approval",
        /// `cancelling`.
        Cancelling => "cancelling",
        /// `cancelled`.
        Cancelled => "cancelled",
        /// `completed`.
        Completed => "completed",
        /// `failed`.
        Failed => "failed",
        /// `expired`.
        Expired => "expired",
        /// `dead_lettered`.
        DeadLettered => "dead_lettered",
    }
}

/// Action result request.
///
/// Source: AIP 1.0 §16.5.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ActionResultRequest {
    /// Action id.
    pub action_id: ActionId,
    /// Tenant id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant_id: Option<String>,
    /// Wait ms.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait_ms: Option<u64>,
    /// Singular, unlike the other requests.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub include_receipt: bool,
    /// Include terminal events.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub include_terminal_events: bool,
}

impl ActionResultRequest {
    /// A value with its required members; the optional ones are absent.
    #[must_use]
    pub fn new(action_id: ActionId) -> Self {
        Self { action_id, tenant_id: None, wait_ms: None, include_receipt: false, include_terminal_events: false }
    }
}

/// Action list request.
///
/// Source: AIP 1.0 §16.5.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ActionListRequest {
    /// State.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<ActionLifecycleState>,
    /// Capability id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capability_id: Option<CapabilityId>,
    /// Session id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<SessionId>,
    /// Principal id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub principal_id: Option<PrincipalId>,
    /// Approval id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval_id: Option<ApprovalId>,
    /// Transaction id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transaction_id: Option<TransactionId>,
    /// Tenant id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant_id: Option<String>,
    /// Cursor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    /// Limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    /// Plural.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub include_results: bool,
    /// Include receipts.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub include_receipts: bool,
}

/// Action list.
///
/// Source: AIP 1.0 §16.5.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ActionList {
    /// Actions.
    pub actions: Vec<ActionStatus>,
    /// Count before paging; only list with a total.
    pub total_size: u64,
    /// Cursor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
}

impl ActionList {
    /// A value with its required members; the optional ones are absent.
    #[must_use]
    pub fn new(actions: Vec<ActionStatus>, total_size: u64) -> Self {
        Self { actions, total_size, cursor: None }
    }
}

/// Action events request.
///
/// Source: AIP 1.0 §16.5.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ActionEventsRequest {
    /// Action id.
    pub action_id: ActionId,
    /// Tenant id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant_id: Option<String>,
    /// Cursor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    /// Limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    /// Kinds.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kinds: Vec<String>,
    /// Include chunks.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub include_chunks: bool,
    /// Follow.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub follow: bool,
}

impl ActionEventsRequest {
    /// A value with its required members; the optional ones are absent.
    #[must_use]
    pub fn new(action_id: ActionId) -> Self {
        Self {
            action_id,
            tenant_id: None,
            cursor: None,
            limit: None,
            kinds: Vec::new(),
            include_chunks: false,
            follow: false,
        }
    }
}

/// Action events.
///
/// Source: AIP 1.0 §16.5.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ActionEvents {
    /// Action id.
    pub action_id: ActionId,
    /// Events.
    pub events: Vec<Event>,
    /// Chunks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub chunks: Vec<StreamChunk>,
    /// Cursor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    /// Terminal.
    pub terminal: bool,
}

impl ActionEvents {
    /// A value with its required members; the optional ones are absent.
    #[must_use]
    pub fn new(action_id: ActionId, events: Vec<Event>, terminal: bool) -> Self {
        Self { action_id, events, chunks: Vec::new(), cursor: None, terminal }
    }
}
