//! Events and event streams.
//!
//! Source: AIP 1.0 §16.1.
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::ids::{ActionId, CorrelationId, EventId, SessionId};
use crate::principal::Principal;
use crate::time::Timestamp;

/// Event.
///
/// Source: AIP 1.0 §16.1.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Event {
    /// Id.
    pub id: EventId,
    /// Namespaced label, no enum.
    pub kind: String,
    /// Occurred at.
    pub occurred_at: Timestamp,
    /// Session id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<SessionId>,
    /// Action id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action_id: Option<ActionId>,
    /// Correlation id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub correlation_id: Option<CorrelationId>,
    /// Actor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub actor: Option<Principal>,
    /// Data.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Value>,
}

impl Event {
    /// A value with its required members; the optional ones are absent.
    #[must_use]
    pub fn new(id: EventId, kind: String, occurred_at: Timestamp) -> Self {
        Self { id, kind, occurred_at, session_id: None, action_id: None, correlation_id: None, actor: None, data: None }
    }
}

/// Event stream request.
///
/// Source: AIP 1.0 §16.1.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EventStreamRequest {
    /// Cursor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    /// Limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    /// Kinds.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kinds: Vec<String>,
}

/// Event stream.
///
/// Source: AIP 1.0 §16.1.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EventStream {
    /// Events.
    pub events: Vec<Event>,
    /// Next cursor.
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
