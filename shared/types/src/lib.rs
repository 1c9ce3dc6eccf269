//! The wire vocabulary of AIP 1.0: ids, the envelope, its bodies, protocol errors and limits. Parses; never judges.
//!
//! Every typed object is closed: unknown members are refused. Absent optional members are not serialised. Error texts of
//! deserialisation may quote a received value; they are for logs, never for peers.
//!
//! Start at [`Envelope`]; bytes from outside come in by [`document::parse`]. Source: AIP 1.0 §5–§19.

mod action;
mod approval;
mod audit;
mod callback;
mod content;
mod contract;
mod conversation;
mod delegation;
pub mod document;
mod envelope;
mod error;
pub mod error_codes;
mod escalation;
mod event;
pub mod event_kinds;
pub mod exact;
pub mod ids;
mod lifecycle;
pub mod limits;
mod manifest;
mod message;
mod policy;
mod principal;
mod receipt;
mod resource;
mod session;
pub mod sse;
mod time;
mod transaction;
pub mod transport;
pub mod websocket;
mod wire;

pub use action::{
    Ack, AckStatus, Action, ActionMode, ActionResult, ActionResultStatus, Cancel, CancelTarget, ComplianceContext,
    FederationContext, Heartbeat, HeartbeatAck, ObservabilityContext, StreamChunk, StreamChunkKind, Usage,
};
pub use approval::{
    ApprovalConstraint, ApprovalDecision, ApprovalDecisionKind, ApprovalEvidencePayload, ApprovalList,
    ApprovalListRequest, ApprovalQueryRequest, ApprovalRecordView, ApprovalRequest, EvidenceArtifact,
};
pub use audit::{AuditEvent, AuditQueryRequest, AuditQueryResult, BatchSettlement};
pub use callback::{
    Callback, CallbackDeliveryAttempt, CallbackDeliveryList, CallbackDeliveryListRequest, CallbackDeliveryPolicy,
    CallbackDeliveryQueryRequest, CallbackDeliveryRecord, CallbackDeliveryStatus,
};
pub use content::{
    AudioPart, CardPart, FilePart, FormPart, ImagePart, JsonPart, MessagePart, TextPart, ToolResultPart,
};
pub use contract::{
    CapabilityContract, CompensationContract, CompensationMode, CredentialPolicy, DataContract, DataResidency,
    DataSensitivity, DryRunFidelity, ExecutionContract, ExpectedCompletionMode, IdempotencyCollisionBehavior,
    IdempotencyContract, IdempotencyKeyScope, IdempotencyRequirement, RetentionPolicy, RetrySafety,
    ServiceLevelContract, SideEffect, TransactionContract,
};
pub use conversation::{ChannelMessage, Conversation, ConversationStatus, ConversationUpdated, Priority};
pub use delegation::{DelegationEntry, DelegationRequest, DelegationResult, DelegationStatus};
pub use envelope::Envelope;
pub use error::{ErrorBody, ErrorCategory, ProtocolError};
pub use error_codes::{ErrorCode, ErrorRow};
pub use escalation::{
    Escalation, EscalationDecision, EscalationKind, EscalationResolution, EscalationResolutionStatus,
};
pub use event::{Event, EventStream, EventStreamRequest};
pub use event_kinds::{EventKind, EventMember, EventRecord, EventRow};
pub use ids::{
    ActionId, ApprovalId, CapabilityId, ConversationId, CorrelationId, DelegationId, EventId, MessageId,
    MessageReference, PrincipalId, ProfileId, ReceiptId, SessionId, TransactionId,
};
pub use lifecycle::{
    ActionEvents, ActionEventsRequest, ActionLifecycleState, ActionList, ActionListRequest, ActionResultRequest,
    ActionStatus, ActionStatusRequest,
};
pub use manifest::{Binding, Capability, CapabilityKind, Manifest, ManifestFilter, ManifestRequest, Stability};
pub use message::{AipVersion, MessageBody, MessageType};
pub use policy::{
    AllRule, AnyRule, ApprovalPolicy, ApprovalRule, ApproverSelector, DelegatedApprovalAuthority,
    DelegatedAuthorityRule, EvidenceRequirement, ExternalSystemRule, ExternalSystemSelector, GroupRule, GroupSelector,
    PrincipalRule, PrincipalSelector, QuorumRule, RiskLevel, RoleRule, RoleSelector, SeparationOfDuties,
    TenantPolicyRule, TenantPolicySelector,
};
pub use principal::{
    CredentialRef, DelegatedAuthorityGrant, ExternalAccountRef, ExternalRef, ExternalUserRef, IdentityContext,
    OAuthCredentialState, Principal, PrincipalKind, TenantRef,
};
pub use receipt::{Receipt, ReceiptChain, ReceiptQueryRequest, ReceiptRef, ReceiptType};
pub use resource::{
    Resource, ResourceAccessPolicy, ResourceList, ResourceListRequest, ResourceReadRequest, ResourceReadResult,
};
pub use session::{
    Handshake, HandshakeResponse, HandshakeStatus, SessionCloseRequest, SessionList, SessionListRequest,
    SessionRequest, SessionResume, SessionResumeRequest, SessionState, SessionView,
};
pub use time::{Millis, Timestamp, TimestampFault};
pub use transaction::{
    ActionTransaction, ProviderOperationRef, TransactionMode, TransactionPlan, TransactionProtocolStatus,
    TransactionQueryRequest, TransactionRequest, TransactionResult, TransactionView,
};
