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

/// Asks where an action stands.
///
/// Source: AIP 1.0 §16.5.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ActionStatusRequest {
    /// The action.
    pub action_id: ActionId,
    /// The tenant; must be one that the caller may ask about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant_id: Option<String>,
    /// Whether to add the result.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub include_result: bool,
    /// Whether to add the receipt chain.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub include_receipts: bool,
    /// Whether to add the stream chunks.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub include_chunks: bool,
    /// Milliseconds to wait for a change, at most 30 000.
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

/// Where an action stands.
///
/// Source: AIP 1.0 §11.5.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ActionStatus {
    /// The action.
    pub action_id: ActionId,
    /// The capability.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capability_id: Option<CapabilityId>,
    /// The session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<SessionId>,
    /// Ties the messages of one piece of work together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub correlation_id: Option<CorrelationId>,
    /// The durable state.
    pub state: ActionLifecycleState,
    /// A label of the backend for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queued_state: Option<String>,
    /// How it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result_status: Option<ActionResultStatus>,
    /// The approval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval_id: Option<ApprovalId>,
    /// The transaction.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transaction_id: Option<TransactionId>,
    /// The delegation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delegation_id: Option<DelegationId>,
    /// When the work began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at: Option<Timestamp>,
    /// When the record last changed.
    pub updated_at: Timestamp,
    /// When the end was reached.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completed_at: Option<Timestamp>,
    /// Retry metadata.
    #[serde(default, deserialize_with = "crate::exact::option", skip_serializing_if = "Option::is_none")]
    pub retry: Option<Value>,
    /// Lease metadata.
    #[serde(default, deserialize_with = "crate::exact::option", skip_serializing_if = "Option::is_none")]
    pub lease: Option<Value>,
    /// The result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<ActionResult>,
    /// The evidence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub receipt_chain: Option<ReceiptChain>,
    /// The stream chunks, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub chunks: Vec<StreamChunk>,
    /// Related addresses, by name.
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
    /// The durable state of an action.
    ///
    /// Source: AIP 1.0 §11.5.
    pub enum ActionLifecycleState {
        /// Nothing is known about it.
        Unknown => "unknown",
        /// It was admitted.
        Accepted => "accepted",
        /// It waits for a worker.
        Queued => "queued",
        /// A worker has it.
        Running => "running",
        /// A worker has it and sends chunks.
        Streaming => "streaming",
        /// It waits for an approval.
        PendingApproval => "pending_approval",
        /// A cancel is on its way.
        Cancelling => "cancelling",
        /// It was stopped.
        Cancelled => "cancelled",
        /// It was done.
        Completed => "completed",
        /// It failed.
        Failed => "failed",
        /// Its deadline passed.
        Expired => "expired",
        /// Its attempts are exhausted.
        DeadLettered => "dead_lettered",
    }
}

/// Asks for the result of an action.
///
/// Source: AIP 1.0 §16.5.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ActionResultRequest {
    /// The action.
    pub action_id: ActionId,
    /// The tenant; must be one that the caller may ask about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant_id: Option<String>,
    /// Milliseconds to wait for a change, at most 30 000.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait_ms: Option<u64>,
    /// Whether to add the receipt reference.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub include_receipt: bool,
    /// Whether to add the events of the end.
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

/// Asks for the actions that the filters select.
///
/// Source: AIP 1.0 §16.5.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ActionListRequest {
    /// Only actions in this state.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<ActionLifecycleState>,
    /// The capability.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capability_id: Option<CapabilityId>,
    /// The session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<SessionId>,
    /// The principal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub principal_id: Option<PrincipalId>,
    /// The approval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval_id: Option<ApprovalId>,
    /// The transaction.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transaction_id: Option<TransactionId>,
    /// The tenant; must be one that the caller may ask about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant_id: Option<String>,
    /// Opaque place in the sequence: in a request where to go on, in an answer where the next page begins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    /// Records in one page, 1 to 1000.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    /// Whether to add the results.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub include_results: bool,
    /// Whether to add the receipt chain.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub include_receipts: bool,
}

/// One page of actions.
///
/// Source: AIP 1.0 §16.5.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ActionList {
    /// The actions, newest first.
    pub actions: Vec<ActionStatus>,
    /// How many there are before paging; counts only what the caller may see.
    pub total_size: u64,
    /// Opaque place in the sequence: in a request where to go on, in an answer where the next page begins.
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

/// Asks for the events of one action.
///
/// Source: AIP 1.0 §16.5.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ActionEventsRequest {
    /// The action.
    pub action_id: ActionId,
    /// The tenant; must be one that the caller may ask about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant_id: Option<String>,
    /// Opaque place in the sequence: in a request where to go on, in an answer where the next page begins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    /// Records in one page, 1 to 1000.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    /// Only events of these kinds.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kinds: Vec<String>,
    /// Whether to add the stream chunks.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub include_chunks: bool,
    /// Whether to keep the stream open for later events.
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

/// One page of the events of an action.
///
/// Source: AIP 1.0 §16.5.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ActionEvents {
    /// The action.
    pub action_id: ActionId,
    /// The events, in order.
    pub events: Vec<Event>,
    /// The stream chunks, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub chunks: Vec<StreamChunk>,
    /// Opaque place in the sequence: in a request where to go on, in an answer where the next page begins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    /// Whether the action has ended, so that no more events come.
    pub terminal: bool,
}

impl ActionEvents {
    /// A value with its required members; the optional ones are absent.
    #[must_use]
    pub fn new(action_id: ActionId, events: Vec<Event>, terminal: bool) -> Self {
        Self { action_id, events, chunks: Vec::new(), cursor: None, terminal }
    }
}
