//! The registry of message types and the union of message bodies.
//!
//! Source: AIP 1.0 §6.1, §7.

use core::fmt;

use serde::de::{Error as _, MapAccess, Visitor};
use serde::ser::SerializeMap as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::action::{Ack, Action, ActionResult, Cancel, Heartbeat, HeartbeatAck, StreamChunk};
use crate::approval::{
    ApprovalDecision, ApprovalList, ApprovalListRequest, ApprovalQueryRequest, ApprovalRecordView, ApprovalRequest,
};
use crate::audit::{AuditEvent, AuditQueryRequest, AuditQueryResult, BatchSettlement};
use crate::callback::{
    CallbackDeliveryList, CallbackDeliveryListRequest, CallbackDeliveryQueryRequest, CallbackDeliveryRecord,
};
use crate::conversation::{ChannelMessage, ConversationUpdated};
use crate::delegation::{DelegationRequest, DelegationResult};
use crate::error::ErrorBody;
use crate::escalation::{Escalation, EscalationResolution};
use crate::event::{EventStream, EventStreamRequest};
use crate::lifecycle::{
    ActionEvents, ActionEventsRequest, ActionList, ActionListRequest, ActionResultRequest, ActionStatus,
    ActionStatusRequest,
};
use crate::manifest::{Manifest, ManifestRequest};
use crate::receipt::{ReceiptChain, ReceiptQueryRequest};
use crate::resource::{ResourceList, ResourceListRequest, ResourceReadRequest, ResourceReadResult};
use crate::session::{
    Handshake, HandshakeResponse, SessionCloseRequest, SessionList, SessionListRequest, SessionRequest, SessionResume,
    SessionResumeRequest, SessionView,
};
use crate::transaction::{TransactionQueryRequest, TransactionRequest, TransactionResult, TransactionView};
use crate::wire::wire_enum;

wire_enum! {
    /// The protocol version. There is one.
    ///
    /// Source: AIP 1.0 §6, §23.1.
    pub enum AipVersion {
        /// AIP 1.0.
        V1_0 => "1.0",
    }
}

/// One table from which the registry and the union come.
macro_rules! messages {
    ( $( $variant:ident($body:ident) { key: $key:literal, wire: $wire:literal, token: $token:literal }, )+ ) => {
        wire_enum! {
            /// A registered message type; its wire string is fully qualified, such as `aip.core.v1.action`.
            ///
            /// Source: AIP 1.0 §7.
            pub enum MessageType {
                $( #[doc = concat!("Announces a body of type [`", stringify!($body), "`] under the key `", $key, "`.")] $variant => $wire, )+
            }
        }

        impl MessageType {
            /// The one member of `body` that this type stands for.
            #[must_use]
            pub const fn body_key(self) -> &'static str {
                match self { $(Self::$variant => $key,)+ }
            }

            /// The type that a body key stands for.
            #[must_use]
            pub fn from_body_key(key: &str) -> Option<Self> {
                match key { $($key => Some(Self::$variant),)+ _ => None }
            }

            /// The type as one token of a NATS subject: its dots folded to `_` (AIP 1.0 §20.4).
            #[must_use]
            pub const fn subject_token(self) -> &'static str {
                match self { $(Self::$variant => $token,)+ }
            }

            /// The type of a folded subject token.
            #[must_use]
            pub fn from_subject_token(token: &str) -> Option<Self> {
                match token { $($token => Some(Self::$variant),)+ _ => None }
            }
        }

        /// The payload of a message; on the wire an object with exactly one member, whose name tells the type.
        ///
        /// Source: AIP 1.0 §6.1.
        #[derive(Clone, Debug, PartialEq)]
        pub enum MessageBody {
            $( #[doc = concat!("`", $key, "`.")] $variant(Box<$body>), )+
        }

        impl MessageBody {
            /// The message type that this body implies.
            #[must_use]
            pub const fn message_type(&self) -> MessageType {
                match self { $(Self::$variant(_) => MessageType::$variant,)+ }
            }

            /// The name of the one member.
            #[must_use]
            pub const fn key(&self) -> &'static str {
                self.message_type().body_key()
            }
        }

        $( impl From<$body> for MessageBody {
            fn from(body: $body) -> Self {
                Self::$variant(Box::new(body))
            }
        } )+

        impl Serialize for MessageBody {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                let mut map = serializer.serialize_map(Some(1))?;
                match self { $(Self::$variant(body) => map.serialize_entry($key, body)?,)+ }
                map.end()
            }
        }

        impl<'de> Visitor<'de> for OneBody {
            type Value = MessageBody;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object with exactly one body")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<MessageBody, A::Error> {
                let kind = map.next_key::<BodyKey>()?.ok_or_else(|| A::Error::custom("the body is empty"))?.0;
                let body = match kind { $(MessageType::$variant => MessageBody::$variant(map.next_value()?),)+ };
                match map.next_key::<BodyKey>()? {
                    None => Ok(body),
                    Some(_) => Err(A::Error::custom("more than one body")),
                }
            }
        }
    };
}

/// Reads the one member of a body.
struct OneBody;

/// A known body key.
struct BodyKey(MessageType);

impl<'de> Deserialize<'de> for BodyKey {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Key;
        impl Visitor<'_> for Key {
            type Value = BodyKey;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a registered body key")
            }
            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<BodyKey, E> {
                MessageType::from_body_key(text).map(BodyKey).ok_or_else(|| E::custom("not a registered body key"))
            }
        }
        deserializer.deserialize_identifier(Key)
    }
}

impl<'de> Deserialize<'de> for MessageBody {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(OneBody)
    }
}

messages! {
    Handshake(Handshake) { key: "handshake", wire: "aip.core.v1.handshake", token: "aip_core_v1_handshake" },
    HandshakeResponse(HandshakeResponse) { key: "handshake_response", wire: "aip.core.v1.handshake_response", token: "aip_core_v1_handshake_response" },
    Action(Action) { key: "action", wire: "aip.core.v1.action", token: "aip_core_v1_action" },
    Ack(Ack) { key: "ack", wire: "aip.core.v1.ack", token: "aip_core_v1_ack" },
    StreamChunk(StreamChunk) { key: "stream_chunk", wire: "aip.core.v1.stream_chunk", token: "aip_core_v1_stream_chunk" },
    ActionResult(ActionResult) { key: "action_result", wire: "aip.core.v1.action_result", token: "aip_core_v1_action_result" },
    ActionStatusRequest(ActionStatusRequest) { key: "action_status_request", wire: "aip.lifecycle.v1.action_status_request", token: "aip_lifecycle_v1_action_status_request" },
    ActionStatus(ActionStatus) { key: "action_status", wire: "aip.lifecycle.v1.action_status", token: "aip_lifecycle_v1_action_status" },
    ActionResultRequest(ActionResultRequest) { key: "action_result_request", wire: "aip.lifecycle.v1.action_result_request", token: "aip_lifecycle_v1_action_result_request" },
    ActionListRequest(ActionListRequest) { key: "action_list_request", wire: "aip.lifecycle.v1.action_list_request", token: "aip_lifecycle_v1_action_list_request" },
    ActionList(ActionList) { key: "action_list", wire: "aip.lifecycle.v1.action_list", token: "aip_lifecycle_v1_action_list" },
    ActionEventsRequest(ActionEventsRequest) { key: "action_events_request", wire: "aip.lifecycle.v1.action_events_request", token: "aip_lifecycle_v1_action_events_request" },
    ActionEvents(ActionEvents) { key: "action_events", wire: "aip.lifecycle.v1.action_events", token: "aip_lifecycle_v1_action_events" },
    ApprovalRequest(ApprovalRequest) { key: "approval_request", wire: "aip.policy.v1.approval_request", token: "aip_policy_v1_approval_request" },
    ApprovalDecision(ApprovalDecision) { key: "approval_decision", wire: "aip.policy.v1.approval_decision", token: "aip_policy_v1_approval_decision" },
    ApprovalQueryRequest(ApprovalQueryRequest) { key: "approval_query_request", wire: "aip.policy.v1.approval_query_request", token: "aip_policy_v1_approval_query_request" },
    ApprovalListRequest(ApprovalListRequest) { key: "approval_list_request", wire: "aip.policy.v1.approval_list_request", token: "aip_policy_v1_approval_list_request" },
    ApprovalRecordView(ApprovalRecordView) { key: "approval_record_view", wire: "aip.policy.v1.approval_record_view", token: "aip_policy_v1_approval_record_view" },
    ApprovalList(ApprovalList) { key: "approval_list", wire: "aip.policy.v1.approval_list", token: "aip_policy_v1_approval_list" },
    CallbackDeliveryQueryRequest(CallbackDeliveryQueryRequest) { key: "callback_delivery_query_request", wire: "aip.callback.v1.delivery_query_request", token: "aip_callback_v1_delivery_query_request" },
    CallbackDeliveryListRequest(CallbackDeliveryListRequest) { key: "callback_delivery_list_request", wire: "aip.callback.v1.delivery_list_request", token: "aip_callback_v1_delivery_list_request" },
    CallbackDeliveryRecord(CallbackDeliveryRecord) { key: "callback_delivery_record", wire: "aip.callback.v1.delivery_record", token: "aip_callback_v1_delivery_record" },
    CallbackDeliveryList(CallbackDeliveryList) { key: "callback_delivery_list", wire: "aip.callback.v1.delivery_list", token: "aip_callback_v1_delivery_list" },
    SessionRequest(SessionRequest) { key: "session_request", wire: "aip.session.v1.session_request", token: "aip_session_v1_session_request" },
    SessionView(SessionView) { key: "session_view", wire: "aip.session.v1.session_view", token: "aip_session_v1_session_view" },
    SessionListRequest(SessionListRequest) { key: "session_list_request", wire: "aip.session.v1.session_list_request", token: "aip_session_v1_session_list_request" },
    SessionList(SessionList) { key: "session_list", wire: "aip.session.v1.session_list", token: "aip_session_v1_session_list" },
    SessionCloseRequest(SessionCloseRequest) { key: "session_close_request", wire: "aip.session.v1.session_close_request", token: "aip_session_v1_session_close_request" },
    SessionResumeRequest(SessionResumeRequest) { key: "session_resume_request", wire: "aip.session.v1.session_resume_request", token: "aip_session_v1_session_resume_request" },
    SessionResume(SessionResume) { key: "session_resume", wire: "aip.session.v1.session_resume", token: "aip_session_v1_session_resume" },
    DelegationRequest(DelegationRequest) { key: "delegation_request", wire: "aip.agent.v1.delegation_request", token: "aip_agent_v1_delegation_request" },
    DelegationResult(DelegationResult) { key: "delegation_result", wire: "aip.agent.v1.delegation_result", token: "aip_agent_v1_delegation_result" },
    TransactionRequest(TransactionRequest) { key: "transaction_request", wire: "aip.transaction.v1.request", token: "aip_transaction_v1_request" },
    TransactionResult(TransactionResult) { key: "transaction_result", wire: "aip.transaction.v1.result", token: "aip_transaction_v1_result" },
    TransactionQueryRequest(TransactionQueryRequest) { key: "transaction_query_request", wire: "aip.transaction.v1.query_request", token: "aip_transaction_v1_query_request" },
    TransactionView(TransactionView) { key: "transaction_view", wire: "aip.transaction.v1.view", token: "aip_transaction_v1_view" },
    Error(ErrorBody) { key: "error", wire: "aip.core.v1.error", token: "aip_core_v1_error" },
    Cancel(Cancel) { key: "cancel", wire: "aip.core.v1.cancel", token: "aip_core_v1_cancel" },
    Heartbeat(Heartbeat) { key: "heartbeat", wire: "aip.core.v1.heartbeat", token: "aip_core_v1_heartbeat" },
    HeartbeatAck(HeartbeatAck) { key: "heartbeat_ack", wire: "aip.core.v1.heartbeat_ack", token: "aip_core_v1_heartbeat_ack" },
    Escalation(Escalation) { key: "escalation", wire: "aip.core.v1.escalation", token: "aip_core_v1_escalation" },
    EscalationResolution(EscalationResolution) { key: "escalation_resolution", wire: "aip.core.v1.escalation_resolution", token: "aip_core_v1_escalation_resolution" },
    ManifestRequest(ManifestRequest) { key: "manifest_request", wire: "aip.discovery.v1.manifest_request", token: "aip_discovery_v1_manifest_request" },
    Manifest(Manifest) { key: "manifest", wire: "aip.discovery.v1.manifest_response", token: "aip_discovery_v1_manifest_response" },
    EventStreamRequest(EventStreamRequest) { key: "event_stream_request", wire: "aip.discovery.v1.event_stream_request", token: "aip_discovery_v1_event_stream_request" },
    EventStream(EventStream) { key: "event_stream", wire: "aip.discovery.v1.event_stream_response", token: "aip_discovery_v1_event_stream_response" },
    ChannelMessage(ChannelMessage) { key: "channel_message", wire: "aip.channel.v1.message_created", token: "aip_channel_v1_message_created" },
    Conversation(ConversationUpdated) { key: "conversation", wire: "aip.channel.v1.conversation_updated", token: "aip_channel_v1_conversation_updated" },
    ReceiptChain(ReceiptChain) { key: "receipt_chain", wire: "aip.audit.v1.receipt_chain", token: "aip_audit_v1_receipt_chain" },
    ReceiptQueryRequest(ReceiptQueryRequest) { key: "receipt_query_request", wire: "aip.audit.v1.receipt_query_request", token: "aip_audit_v1_receipt_query_request" },
    AuditEvent(AuditEvent) { key: "audit_event", wire: "aip.audit.v1.audit_event", token: "aip_audit_v1_audit_event" },
    AuditQueryRequest(AuditQueryRequest) { key: "audit_query_request", wire: "aip.audit.v1.audit_query_request", token: "aip_audit_v1_audit_query_request" },
    AuditQueryResult(AuditQueryResult) { key: "audit_query_result", wire: "aip.audit.v1.audit_query_result", token: "aip_audit_v1_audit_query_result" },
    ResourceListRequest(ResourceListRequest) { key: "resource_list_request", wire: "aip.resource.v1.resource_list_request", token: "aip_resource_v1_resource_list_request" },
    ResourceList(ResourceList) { key: "resource_list", wire: "aip.resource.v1.resource_list", token: "aip_resource_v1_resource_list" },
    ResourceReadRequest(ResourceReadRequest) { key: "resource_read_request", wire: "aip.resource.v1.resource_read_request", token: "aip_resource_v1_resource_read_request" },
    ResourceReadResult(ResourceReadResult) { key: "resource_read_result", wire: "aip.resource.v1.resource_read_result", token: "aip_resource_v1_resource_read_result" },
    BatchSettlement(BatchSettlement) { key: "batch_settlement", wire: "aip.economic.v1.batch_settlement", token: "aip_economic_v1_batch_settlement" },
}
