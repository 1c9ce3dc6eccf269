//! Which service answers which message type (`design.md` §3).

use aip_types::MessageType;

/// A service that answers requests. Its name is its queue group and its user.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Owner {
    /// Judges what comes in and creates records.
    Admission,
    /// Moves actions, transactions and delegations, and answers for them.
    Scheduler,
    /// Approvals and escalations.
    Approval,
    /// Callback deliveries.
    CallbackWorker,
    /// Lists, audit and event streams.
    Reconciler,
}

impl Owner {
    /// Its queue group, which is also the name of its user.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Admission => "admission",
            Self::Scheduler => "scheduler",
            Self::Approval => "approval",
            Self::CallbackWorker => "callback-worker",
            Self::Reconciler => "reconciler",
        }
    }

    /// Everything that it may answer; what its user may subscribe.
    #[must_use]
    pub fn messages(self) -> Vec<MessageType> {
        MessageType::ALL.iter().copied().filter(|message| owner(*message) == Some(self)).collect()
    }
}

/// The service that answers a message type; `None` for a type that is an answer itself.
///
/// A receipt chain lies in its record, so the record's owner answers for it; the reconciler takes over when it exists.
#[must_use]
pub const fn owner(message: MessageType) -> Option<Owner> {
    use MessageType as M;
    match message {
        M::Handshake
        | M::Action
        | M::Cancel
        | M::Heartbeat
        | M::SessionRequest
        | M::SessionListRequest
        | M::SessionCloseRequest
        | M::SessionResumeRequest
        | M::TransactionRequest
        | M::DelegationRequest
        | M::ManifestRequest
        | M::ResourceListRequest
        | M::ResourceReadRequest
        | M::ChannelMessage
        | M::Conversation => Some(Owner::Admission),
        M::ActionStatusRequest
        | M::ActionResultRequest
        | M::ActionListRequest
        | M::ActionEventsRequest
        | M::TransactionQueryRequest
        | M::ReceiptQueryRequest => Some(Owner::Scheduler),
        M::ApprovalRequest
        | M::ApprovalDecision
        | M::ApprovalQueryRequest
        | M::ApprovalListRequest
        | M::Escalation
        | M::EscalationResolution => Some(Owner::Approval),
        M::CallbackDeliveryQueryRequest | M::CallbackDeliveryListRequest => Some(Owner::CallbackWorker),
        M::EventStreamRequest | M::AuditQueryRequest => Some(Owner::Reconciler),
        M::HandshakeResponse
        | M::Ack
        | M::StreamChunk
        | M::ActionResult
        | M::ActionStatus
        | M::ActionList
        | M::ActionEvents
        | M::ApprovalRecordView
        | M::ApprovalList
        | M::CallbackDeliveryRecord
        | M::CallbackDeliveryList
        | M::SessionView
        | M::SessionList
        | M::SessionResume
        | M::DelegationResult
        | M::TransactionResult
        | M::TransactionView
        | M::Error
        | M::HeartbeatAck
        | M::Manifest
        | M::EventStream
        | M::ReceiptChain
        | M::AuditEvent
        | M::AuditQueryResult
        | M::ResourceList
        | M::ResourceReadResult
        | M::BatchSettlement => None,
    }
}
