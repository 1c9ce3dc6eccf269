//! Conversations and channel messages.
//!
//! Source: AIP 1.0 §15.
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::content::MessagePart;
use crate::ids::ConversationId;
use crate::principal::{ExternalRef, IdentityContext, Principal};
use crate::wire::wire_enum;

/// Conversation.
///
/// Source: AIP 1.0 §15.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Conversation {
    /// Id.
    pub id: ConversationId,
    /// Channel.
    pub channel: Value,
    /// Status.
    pub status: ConversationStatus,
    /// External refs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub external_refs: Vec<ExternalRef>,
    /// Contact.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contact: Option<Principal>,
    /// Assignee.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub assignee: Option<Principal>,
    /// Priority.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<Priority>,
    /// Labels.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<String>,
    /// Metadata.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Value>,
}

impl Conversation {
    /// A value with its required members; the optional ones are absent.
    #[must_use]
    pub fn new(id: ConversationId, channel: Value, status: ConversationStatus) -> Self {
        Self {
            id,
            channel,
            status,
            external_refs: Vec::new(),
            contact: None,
            assignee: None,
            priority: None,
            labels: Vec::new(),
            metadata: None,
        }
    }
}

wire_enum! {
    /// Conversation status.
    ///
    /// Source: AIP 1.0 §15.
    pub enum ConversationStatus {
        /// `open`.
        Open => "open",
        /// `pending`.
        Pending => "pending",
        /// `resolved`.
        Resolved => "resolved",
        /// `snoozed`.
        Snoozed => "snoozed",
        /// `archived`.
        Archived => "archived",
    }
}

wire_enum! {
    /// Priority.
    ///
    /// Source: AIP 1.0 §15.
    pub enum Priority {
        /// `low`.
        Low => "low",
        /// `medium`.
        Medium => "medium",
        /// `high`.
        High => "high",
        /// `urgent`.
        Urgent => "urgent",
    }
}

/// Channel message.
///
/// Source: AIP 1.0 §15.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChannelMessage {
    /// Conversation.
    pub conversation: Conversation,
    /// Identity.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identity: Option<IdentityContext>,
    /// Provider message metadata.
    pub message: Value,
    /// Sender.
    pub sender: Principal,
    /// Parts.
    pub parts: Vec<MessagePart>,
    /// Delivery.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delivery: Option<Value>,
    /// Raw payload.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw_payload: Option<Value>,
}

impl ChannelMessage {
    /// A value with its required members; the optional ones are absent.
    #[must_use]
    pub fn new(conversation: Conversation, message: Value, sender: Principal, parts: Vec<MessagePart>) -> Self {
        Self { conversation, identity: None, message, sender, parts, delivery: None, raw_payload: None }
    }
}

/// Conversation updated.
///
/// Source: AIP 1.0 §15.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ConversationUpdated {
    /// On the wire {"conversation":{"conversation":{...},"changed_fields":[...]}}.
    pub conversation: Conversation,
    /// Identity.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identity: Option<IdentityContext>,
    /// Changed fields.
    pub changed_fields: Vec<String>,
}

impl ConversationUpdated {
    /// A value with its required members; the optional ones are absent.
    #[must_use]
    pub fn new(conversation: Conversation, changed_fields: Vec<String>) -> Self {
        Self { conversation, identity: None, changed_fields }
    }
}
