//! The native envelope that carries every message.
//!
//! Source: AIP 1.0 §6.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::ids::{CorrelationId, MessageId, MessageReference, SessionId};
use crate::message::{AipVersion, MessageBody, MessageType};
use crate::principal::Principal;
use crate::time::Timestamp;

/// One message: its type, its body and what surrounds it.
///
/// Source: AIP 1.0 §6.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Envelope {
    /// The protocol version.
    pub aip_version: AipVersion,
    /// The type of the body.
    pub message_type: MessageType,
    /// Names this message; never empty.
    pub message_id: MessageId,
    /// When the sender sent it, by its own clock.
    pub sent_at: Timestamp,
    /// The payload.
    pub body: MessageBody,
    /// The active session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<SessionId>,
    /// Ties the messages of one piece of work together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub correlation_id: Option<CorrelationId>,
    /// The message or correlation that this answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_response_to: Option<MessageReference>,
    /// Recognises repeats of this delivery; never empty.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotency_key: Option<String>,
    /// The sender, as claimed; not proof.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<Principal>,
    /// The recipient that is meant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<Principal>,
    /// Trace metadata.
    #[serde(default, deserialize_with = "crate::exact::option", skip_serializing_if = "Option::is_none")]
    pub trace: Option<Value>,
    /// For a signed envelope an object with `did` and `signature`.
    #[serde(default, deserialize_with = "crate::exact::option", skip_serializing_if = "Option::is_none")]
    pub security: Option<Value>,
    /// Open extension point; member names are namespaced.
    #[serde(default, deserialize_with = "crate::exact::option", skip_serializing_if = "Option::is_none")]
    pub extensions: Option<Value>,
}

impl Envelope {
    /// An envelope around `body`, with the type that it implies; all optional members are absent.
    #[must_use]
    pub fn new(message_id: MessageId, sent_at: Timestamp, body: impl Into<MessageBody>) -> Self {
        let body = body.into();
        Self {
            aip_version: AipVersion::V1_0,
            message_type: body.message_type(),
            message_id,
            sent_at,
            body,
            session_id: None,
            correlation_id: None,
            in_response_to: None,
            idempotency_key: None,
            from: None,
            to: None,
            trace: None,
            security: None,
            extensions: None,
        }
    }

    /// A response to this envelope: copies the correlation id and refers to the message id (AIP 1.0 §6.2).
    #[must_use]
    pub fn response(&self, message_id: MessageId, sent_at: Timestamp, body: impl Into<MessageBody>) -> Self {
        Self {
            session_id: self.session_id.clone(),
            correlation_id: self.correlation_id.clone(),
            in_response_to: Some(self.message_id.clone().into()),
            ..Self::new(message_id, sent_at, body)
        }
    }
}
