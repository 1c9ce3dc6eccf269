//! Actions, their acknowledgement, chunks, result, cancel and heartbeats.
//!
//! Source: AIP 1.0 §11.

use serde::{Deserialize, Serialize};
use serde_json::{Number, Value};

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

/// A request to run one capability.
///
/// Source: AIP 1.0 §11.1.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Action {
    /// Names this action.
    pub id: ActionId,
    /// The capability.
    pub capability_id: CapabilityId,
    /// The input, as the schema of the capability describes it; never null.
    #[serde(deserialize_with = "crate::exact::value")]
    pub input: Value,
    /// How the caller wants the result; absent, the contract decides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<ActionMode>,
    /// The key that makes repeats recognisable.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotency_key: Option<String>,
    /// Milliseconds from admission to the deadline; greater than zero.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// The conversation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversation: Option<Conversation>,
    /// Memory that the caller passes on.
    #[serde(default, deserialize_with = "crate::exact::option", skip_serializing_if = "Option::is_none")]
    pub memory_context: Option<Value>,
    /// How the authority came here; at most ten hops.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub delegation_chain: Vec<DelegationEntry>,
    /// The way across trust domains.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub federation: Option<FederationContext>,
    /// Where to report the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub callback: Option<Callback>,
    /// Trace identifiers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observability: Option<ObservabilityContext>,
    /// Compliance labels.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compliance: Option<ComplianceContext>,
    /// On whose account, as claimed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identity: Option<IdentityContext>,
    /// A decision that was already taken; it must be `approved`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval: Option<ApprovalDecision>,
    /// The part that the action plays in a transaction.
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
    /// How the caller wants the result.
    ///
    /// Source: AIP 1.0 §11.1.
    pub enum ActionMode {
        /// As the answer.
        Sync => "sync",
        /// Later; the answer is an acknowledgement.
        Async => "async",
        /// Piece by piece.
        Streaming => "streaming",
    }
}

/// The way of a request across trust domains.
///
/// Source: AIP 1.0 §14.2.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FederationContext {
    /// The trust domain of origin.
    pub trust_domain: String,
    /// The domains passed so far.
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

/// Trace identifiers of the caller.
///
/// Source: AIP 1.0 §11.1.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ObservabilityContext {
    /// The trace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace_id: Option<String>,
    /// The span.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub span_id: Option<String>,
    /// Further trace fields.
    #[serde(default, deserialize_with = "crate::exact::option", skip_serializing_if = "Option::is_none")]
    pub fields: Option<Value>,
}

/// Compliance labels of the caller.
///
/// Source: AIP 1.0 §11.1.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ComplianceContext {
    /// Regimes that apply.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub regimes: Vec<String>,
    /// A free label.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data_classification: Option<String>,
    /// Free metadata.
    #[serde(default, deserialize_with = "crate::exact::option", skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Value>,
}

/// The first answer to an action that is not answered by its result.
///
/// Source: AIP 1.0 §11.4.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ack {
    /// The action.
    pub action_id: ActionId,
    /// What became of the action.
    pub status: AckStatus,
    /// Why, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Milliseconds to wait before another try.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after_ms: Option<u64>,
    /// Queue metadata.
    #[serde(default, deserialize_with = "crate::exact::option", skip_serializing_if = "Option::is_none")]
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
    /// What became of an action at admission.
    ///
    /// Source: AIP 1.0 §11.4.
    pub enum AckStatus {
        /// It was taken and may already run.
        Accepted => "accepted",
        /// It was not taken.
        Rejected => "rejected",
        /// It was taken and waits.
        Queued => "queued",
        /// It was taken and streams.
        Streaming => "streaming",
        /// It is a repeat; the original result stands.
        Cached => "cached",
    }
}

/// One piece of the stream of an action.
///
/// Source: AIP 1.0 §11.6.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StreamChunk {
    /// The action.
    pub action_id: ActionId,
    /// The place in the stream, ascending; never used again for other content.
    pub sequence: u64,
    /// What kind it is.
    pub kind: StreamChunkKind,
    /// Free structured data.
    #[serde(default, deserialize_with = "crate::exact::option", skip_serializing_if = "Option::is_none")]
    pub data: Option<Value>,
    /// A piece of content.
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
    /// What a chunk carries.
    ///
    /// Source: AIP 1.0 §11.6.
    pub enum StreamChunkKind {
        /// A piece of the output.
        Data => "data",
        /// How far it is.
        Progress => "progress",
        /// The use of a tool.
        Tool => "tool",
        /// A thought of an agent.
        Thought => "thought",
        /// A preview of the output.
        Preview => "preview",
        /// It waits for an approval.
        PendingApproval => "pending_approval",
        /// It failed.
        Error => "error",
        /// Nothing more comes.
        Done => "done",
    }
}

/// The end of an action.
///
/// Source: AIP 1.0 §11.7.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ActionResult {
    /// The action.
    pub action_id: ActionId,
    /// Where it stands.
    pub status: ActionResultStatus,
    /// The output, as the schema of the capability describes it.
    #[serde(default, deserialize_with = "crate::exact::option", skip_serializing_if = "Option::is_none")]
    pub output: Option<Value>,
    /// Content for people; an array, despite its name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub message: Vec<MessagePart>,
    /// Memory that the caller should keep.
    #[serde(default, deserialize_with = "crate::exact::option", skip_serializing_if = "Option::is_none")]
    pub memory_update: Option<Value>,
    /// What it consumed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// The receipt of the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub receipt: Option<ReceiptRef>,
    /// The failure; needed when the status is `failed`.
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
    /// How an action ended.
    ///
    /// Source: AIP 1.0 §11.7.
    pub enum ActionResultStatus {
        /// It was done.
        Completed => "completed",
        /// It failed; there is an error.
        Failed => "failed",
        /// It was stopped.
        Cancelled => "cancelled",
        /// It waits for an approval.
        PendingApproval => "pending_approval",
        /// It waits for a person.
        RequiresHuman => "requires_human",
    }
}

/// What an action consumed.
///
/// Source: AIP 1.0 §11.7.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Usage {
    /// Tokens used.
    #[serde(default, deserialize_with = "crate::exact::option", skip_serializing_if = "Option::is_none")]
    pub tokens: Option<Value>,
    /// Tools used.
    #[serde(default, deserialize_with = "crate::exact::option", skip_serializing_if = "Option::is_none")]
    pub tools: Option<Value>,
    /// Milliseconds from start to end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency_ms: Option<u64>,
    /// What it costs.
    #[serde(default, deserialize_with = "crate::exact::option", skip_serializing_if = "Option::is_none")]
    pub cost: Option<Value>,
}

/// Asks to stop an action or all work of a session.
///
/// Source: AIP 1.0 §11.8.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cancel {
    /// What it is aimed at.
    pub target: CancelTarget,
    /// Why, for people.
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

/// A sign of life.
///
/// Source: AIP 1.0 §11.9.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Heartbeat {
    /// A number that the answer echoes.
    pub sequence: u64,
    /// A free label.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
    /// Progress in percent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[serde(deserialize_with = "crate::exact::number")]
    pub progress: Option<Number>,
}

impl Heartbeat {
    /// A value with its required members; the optional ones are absent.
    #[must_use]
    pub fn new(sequence: u64) -> Self {
        Self { sequence, status: None, progress: None }
    }
}

/// The echo of a heartbeat.
///
/// Source: AIP 1.0 §11.9.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HeartbeatAck {
    /// The number of the heartbeat.
    pub sequence: u64,
    /// When the heartbeat arrived.
    pub received_at: Timestamp,
}
