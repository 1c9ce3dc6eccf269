//! Actions, their acknowledgement, chunks, result, cancel and heartbeats.
//!
//! Source: AIP 1.0 §11.
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::approval::ApprovalDecision;
use crate::callback::Callback;
use crate::content::MessagePart;
use crate::conversation::Conversation;
use crate::delegation::DelegationEntry;
use crate::error::ProtocolError;
use crate::ids::{ActionId, CapabilityId, SessionId};
use crate::principal::IdentityContext;
use crate::receipt::ReceiptRef;
use crate::time::Timestamp;
use crate::transaction::ActionTransaction;
use crate::wire::wire_enum;

/// Action.
///
/// Source: AIP 1.0 §11.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Action {
    /// Id.
    pub id: ActionId,
    /// Capability id.
    pub capability_id: CapabilityId,
    /// Spec 11.1 forbids null, schema does not.
    pub input: Value,
    /// Mode.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<ActionMode>,
    /// Idempotency key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotency_key: Option<String>,
    /// Timeout ms.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// Conversation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversation: Option<Conversation>,
    /// Memory context.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_context: Option<Value>,
    /// Delegation chain.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub delegation_chain: Vec<DelegationEntry>,
    /// Federation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub federation: Option<FederationContext>,
    /// Callback.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub callback: Option<Callback>,
    /// Observability.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observability: Option<ObservabilityContext>,
    /// Compliance.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compliance: Option<ComplianceContext>,
    /// Identity.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identity: Option<IdentityContext>,
    /// Approval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval: Option<ApprovalDecision>,
    /// Transaction.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transaction: Option<ActionTransaction>,
}

impl Action {
    /// A value with its required members; the optional ones are absent.
    #[must_use]
    pub fn new(id: ActionId, capability_id: CapabilityId, input: Value) -> Self {
        Self {
            id,
            capability_id,
            input,
            mode: None,
            idempotency_key: None,
            timeout_ms: None,
            conversation: None,
            memory_context: None,
            delegation_chain: Vec::new(),
            federation: None,
            callback: None,
            observability: None,
            compliance: None,
            identity: None,
            approval: None,
            transaction: None,
        }
    }
}

wire_enum! {
    /// Action mode.
    ///
    /// Source: AIP 1.0 §11.
    pub enum ActionMode {
        /// `sync`.
        Sync => "sync",
        /// `async`.
        Async => "async",
        /// `streaming`.
        Streaming => "streaming",
    }
}

/// Federation context.
///
/// Source: AIP 1.0 §11.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FederationContext {
    /// Trust domain.
    pub trust_domain: String,
    /// Hops.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hops: Vec<String>,
}

impl FederationContext {
    /// A value with its required members; the optional ones are absent.
    #[must_use]
    pub fn new(trust_domain: String) -> Self {
        Self { trust_domain, hops: Vec::new() }
    }
}

/// Observability context.
///
/// Source: AIP 1.0 §11.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ObservabilityContext {
    /// Trace id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace_id: Option<String>,
    /// Span id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub span_id: Option<String>,
    /// Fields.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fields: Option<Value>,
}

/// Compliance context.
///
/// Source: AIP 1.0 §11.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ComplianceContext {
    /// Regimes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub regimes: Vec<String>,
    /// Free label, not DataSensitivity.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data_classification: Option<String>,
    /// Metadata.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Value>,
}

/// Ack.
///
/// Source: AIP 1.0 §11.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ack {
    /// Action id.
    pub action_id: ActionId,
    /// Status.
    pub status: AckStatus,
    /// Reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Retry after ms.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after_ms: Option<u64>,
    /// Queue.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue: Option<Value>,
}

impl Ack {
    /// A value with its required members; the optional ones are absent.
    #[must_use]
    pub fn new(action_id: ActionId, status: AckStatus) -> Self {
        Self { action_id, status, reason: None, retry_after_ms: None, queue: None }
    }
}

wire_enum! {
    /// Ack status.
    ///
    /// Source: AIP 1.0 §11.
    pub enum AckStatus {
        /// `accepted`.
        Accepted => "accepted",
        /// `rejected`.
        Rejected => "rejected",
        /// `queued`.
        Queued => "queued",
        /// `streaming`.
        Streaming => "streaming",
        /// `cached`.
        Cached => "cached",
    }
}

/// Stream chunk.
///
/// Source: AIP 1.0 §11.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StreamChunk {
    /// Action id.
    pub action_id: ActionId,
    /// Sequence.
    pub sequence: u64,
    /// Kind.
    pub kind: StreamChunkKind,
    /// Data.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Value>,
    /// Part.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<MessagePart>,
}

impl StreamChunk {
    /// A value with its required members; the optional ones are absent.
    #[must_use]
    pub fn new(action_id: ActionId, sequence: u64, kind: StreamChunkKind) -> Self {
        Self { action_id, sequence, kind, data: None, part: None }
    }
}

wire_enum! {
    /// Stream chunk kind.
    ///
    /// Source: AIP 1.0 §11.
    pub enum StreamChunkKind {
        /// `data`.
        Data => "data",
        /// `progress`.
        Progress => "progress",
        /// `tool`.
        Tool => "tool",
        /// `thought`.
        Thought => "thought",
        /// `preview`.
        Preview => "preview",
        /// `pending_approval`.
        PendingApproval => "pending_approval",
        /// `error`.
        Error => "error",
        /// `done`.
        Done => "done",
    }
}

/// Action result.
///
/// Source: AIP 1.0 §11.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ActionResult {
    /// Action id.
    pub action_id: ActionId,
    /// Status.
    pub status: ActionResultStatus,
    /// Output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<Value>,
    /// Array, despite the singular name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub message: Vec<MessagePart>,
    /// Memory update.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_update: Option<Value>,
    /// Usage.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// Receipt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub receipt: Option<ReceiptRef>,
    /// Error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<ProtocolError>,
}

impl ActionResult {
    /// A value with its required members; the optional ones are absent.
    #[must_use]
    pub fn new(action_id: ActionId, status: ActionResultStatus) -> Self {
        Self {
            action_id,
            status,
            output: None,
            message: Vec::new(),
            memory_update: None,
            usage: None,
            receipt: None,
            error: None,
        }
    }
}

wire_enum! {
    /// Action result status.
    ///
    /// Source: AIP 1.0 §11.
    pub enum ActionResultStatus {
        /// `completed`.
        Completed => "completed",
        /// `failed`.
        Failed => "failed",
        /// `cancelled`.
        Cancelled => "cancelled",
        /// `pending_approval`.
        PendingApproval => "pending_approval",
        /// `requires_human`.
        RequiresHuman => "requires_human",
    }
}

/// Usage.
///
/// Source: AIP 1.0 §11.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Usage {
    /// Tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<Value>,
    /// Tools.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<Value>,
    /// Latency ms.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency_ms: Option<u64>,
    /// Cost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<Value>,
}

/// Cancel.
///
/// Source: AIP 1.0 §11.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cancel {
    /// Target.
    pub target: CancelTarget,
    /// Reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl Cancel {
    /// A value with its required members; the optional ones are absent.
    #[must_use]
    pub fn new(target: CancelTarget) -> Self {
        Self { target, reason: None }
    }
}

/// What a cancel is aimed at; on the wire an object with exactly one member.
///
/// Source: AIP 1.0 §11.8.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CancelTarget {
    /// One action.
    Action(ActionId),
    /// All that runs in one session.
    Session(SessionId),
}

/// Heartbeat.
///
/// Source: AIP 1.0 §11.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Heartbeat {
    /// Sequence.
    pub sequence: u64,
    /// Free text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
    /// A percentage; no bounds in the schema.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub progress: Option<f64>,
}

impl Heartbeat {
    /// A value with its required members; the optional ones are absent.
    #[must_use]
    pub fn new(sequence: u64) -> Self {
        Self { sequence, status: None, progress: None }
    }
}

/// Heartbeat ack.
///
/// Source: AIP 1.0 §11.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HeartbeatAck {
    /// Echoes the heartbeat's value.
    pub sequence: u64,
    /// Received at.
    pub received_at: Timestamp,
}
