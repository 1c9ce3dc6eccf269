//! Conversations and channel messages.
//!
//! Source: AIP 1.0 §15.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::content::MessagePart;
use crate::ids::ConversationId;
use crate::principal::{ExternalRef, IdentityContext, Principal};
use crate::wire::wire_enum;

/// A conversation as a channel knows it.
///
/// Source: AIP 1.0 §15.1.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Conversation {
    /// The id.
    pub id: ConversationId,
    /// The channel, as the provider describes it.
    #[serde(deserialize_with = "crate::exact::value")]
    pub channel: Value,
    /// Where it stands.
    pub status: ConversationStatus,
    /// Names of the same thing in other systems.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub external_refs: Vec<ExternalRef>,
    /// The person at the other end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contact: Option<Principal>,
    /// Who takes care of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub assignee: Option<Principal>,
    /// How urgent it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<Priority>,
    /// Free labels.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<String>,
    /// Free metadata.
    #[serde(default, deserialize_with = "crate::exact::option", skip_serializing_if = "Option::is_none")]
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
    /// Where a conversation stands.
    ///
    /// Source: AIP 1.0 §15.1.
    pub enum ConversationStatus {
        /// Being worked on.
        Open => "open",
        /// Waiting for the other end.
        Pending => "pending",
        /// Done.
        Resolved => "resolved",
        /// Put off.
        Snoozed => "snoozed",
        /// Put away.
        Archived => "archived",
    }
}

wire_enum! {
    /// How urgent a conversation is.
    ///
    /// Source: AIP 1.0 §15.1.
    pub enum Priority {
        /// It can wait.
        Low => "low",
        /// The usual.
        Medium => "medium",
        /// Before the usual.
        High => "high",
        /// At once.
        Urgent => "urgent",
    }
}

/// A message that came in through a channel.
///
/// Source: AIP 1.0 §15.3.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChannelMessage {
    /// The conversation.
    pub conversation: Conversation,
    /// On whose account.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identity: Option<IdentityContext>,
    /// Message metadata of the provider.
    #[serde(deserialize_with = "crate::exact::value")]
    pub message: Value,
    /// Who sent it.
    pub sender: Principal,
    /// The content.
    pub parts: Vec<MessagePart>,
    /// Delivery metadata.
    #[serde(default, deserialize_with = "crate::exact::option", skip_serializing_if = "Option::is_none")]
    pub delivery: Option<Value>,
    /// What the provider sent.
    #[serde(default, deserialize_with = "crate::exact::option", skip_serializing_if = "Option::is_none")]
    pub raw_payload: Option<Value>,
}

impl ChannelMessage {
    /// A value with its required members; the optional ones are absent.
    #[must_use]
    pub fn new(conversation: Conversation, message: Value, sender: Principal, parts: Vec<MessagePart>) -> Self {
        Self { conversation, identity: None, message, sender, parts, delivery: None, raw_payload: None }
    }
}

/// Tells that a conversation changed.
///
/// Source: AIP 1.0 §15.3.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ConversationUpdated {
    /// The conversation.
    pub conversation: Conversation,
    /// On whose account.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identity: Option<IdentityContext>,
    /// Members that changed.
    pub changed_fields: Vec<String>,
}

impl ConversationUpdated {
    /// A value with its required members; the optional ones are absent.
    #[must_use]
    pub fn new(conversation: Conversation, changed_fields: Vec<String>) -> Self {
        Self { conversation, identity: None, changed_fields }
    }
}
