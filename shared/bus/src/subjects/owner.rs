//! Which service answers which message type (`design.md` §3).

use aip_types::MessageType;

/// A service that answers requests. Its name is its queue group and its user.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Owner {
    /// Judges what comes in and creates records.
    Admission,
    /// Moves actions, transactions and delegations, and answers for them.
    Scheduler,
}

impl Owner {
    /// Its queue group, which is also the name of its user.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Admission => "admission",
            Self::Scheduler => "scheduler",
        }
    }

    /// Everything that it may answer; what its user may subscribe.
    #[must_use]
    pub fn messages(self) -> Vec<MessageType> {
        MessageType::ALL.iter().copied().filter(|message| owner(*message) == Some(self)).collect()
    }
}

/// The service that answers a message type; `None` for a type that is an answer itself, or that no service answers yet.
///
/// A receipt chain lies in its record, so the record's owner answers for it; the reconciler takes over when it exists.
#[must_use]
pub const fn owner(message: MessageType) -> Option<Owner> {
    use MessageType as M;
    match message {
        M::Action | M::Cancel | M::ManifestRequest => Some(Owner::Admission),
        M::ActionStatusRequest | M::ActionResultRequest | M::ActionEventsRequest | M::ReceiptQueryRequest => {
            Some(Owner::Scheduler)
        }
        M::Handshake
        | M::Heartbeat
        | M::SessionRequest
        | M::SessionListRequest
        | M::SessionCloseRequest
        | M::SessionResumeRequest
        | M::TransactionRequest
        | M::DelegationRequest
        | M::ResourceListRequest
        | M::ResourceReadRequest
        | M::ChannelMessage
        | M::Conversation
        | M::ActionListRequest
        | M::TransactionQueryRequest
        | M::ApprovalRequest
        | M::ApprovalDecision
        | M::ApprovalQueryRequest
        | M::ApprovalListRequest
        | M::Escalation
        | M::EscalationResolution
        | M::CallbackDeliveryQueryRequest
        | M::CallbackDeliveryListRequest
        | M::EventStreamRequest
        | M::AuditQueryRequest
        | M::HandshakeResponse
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
