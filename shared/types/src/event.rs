//! Events and event streams.
//!
//! Source: AIP 1.0 §16.1.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::ids::{ActionId, CorrelationId, EventId, SessionId};
use crate::principal::Principal;
use crate::time::Timestamp;

/// Something that happened, in the order of its stream.
///
/// Source: AIP 1.0 §16.1.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Event {
    /// The id.
    pub id: EventId,
    /// A namespaced label.
    pub kind: String,
    /// When it happened.
    pub occurred_at: Timestamp,
    /// The session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<SessionId>,
    /// The action.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action_id: Option<ActionId>,
    /// Ties the messages of one piece of work together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub correlation_id: Option<CorrelationId>,
    /// Who caused it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub actor: Option<Principal>,
    /// Free structured data.
    #[serde(default, deserialize_with = "crate::exact::option", skip_serializing_if = "Option::is_none")]
    pub data: Option<Value>,
}

impl Event {
    /// A value with its required members; the optional ones are absent.
    #[must_use]
    pub fn new(id: EventId, kind: String, occurred_at: Timestamp) -> Self {
        Self { id, kind, occurred_at, session_id: None, action_id: None, correlation_id: None, actor: None, data: None }
    }
}

/// Asks for events after a cursor.
///
/// Source: AIP 1.0 §16.1.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EventStreamRequest {
    /// Opaque place in the sequence: in a request where to go on, in an answer where the next page begins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    /// Records in one page, 1 to 1000.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    /// Only events of these kinds.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kinds: Vec<String>,
}

/// One page of events.
///
/// Source: AIP 1.0 §16.1.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EventStream {
    /// The events, in order.
    pub events: Vec<Event>,
    /// Opaque place where the next page begins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}

impl EventStream {
    /// A value with its required members; the optional ones are absent.
    #[must_use]
    pub fn new(events: Vec<Event>) -> Self {
        Self { events, next_cursor: None }
    }
}
