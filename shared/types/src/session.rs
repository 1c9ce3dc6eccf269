//! Handshake and session messages.
//!
//! Source: AIP 1.0 §10.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::error::ProtocolError;
use crate::event::Event;
use crate::ids::{CapabilityId, PrincipalId, ProfileId, SessionId};
use crate::principal::Principal;
use crate::time::Timestamp;
use crate::wire::wire_enum;

/// Opens a session: who calls, why, and what it supports.
///
/// Source: AIP 1.0 §10.1.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Handshake {
    /// The caller.
    pub client: Principal,
    /// What the session is for; never empty.
    pub purpose: String,
    /// Capabilities that the caller means to use.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub requested_capabilities: Vec<CapabilityId>,
    /// Profiles that the caller supports.
    pub profiles: Vec<ProfileId>,
    /// Authentication terms; no raw secret.
    #[serde(default, deserialize_with = "crate::exact::option", skip_serializing_if = "Option::is_none")]
    pub auth: Option<Value>,
    /// Compliance regimes that the caller insists on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub compliance_required: Vec<String>,
    /// Terms of heartbeats.
    #[serde(default, deserialize_with = "crate::exact::option", skip_serializing_if = "Option::is_none")]
    pub heartbeat: Option<Value>,
    /// Terms of session encryption.
    #[serde(default, deserialize_with = "crate::exact::option", skip_serializing_if = "Option::is_none")]
    pub encryption: Option<Value>,
    /// Terms of billing.
    #[serde(default, deserialize_with = "crate::exact::option", skip_serializing_if = "Option::is_none")]
    pub billing: Option<Value>,
}

impl Handshake {
    /// A value with its required members; the optional ones are absent.
    #[must_use]
    pub fn new(client: Principal, purpose: String, profiles: Vec<ProfileId>) -> Self {
        Self {
            client,
            purpose,
            requested_capabilities: Vec::new(),
            profiles,
            auth: None,
            compliance_required: Vec::new(),
            heartbeat: None,
            encryption: None,
            billing: None,
        }
    }
}

/// The answer to a handshake.
///
/// Source: AIP 1.0 §10.2.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HandshakeResponse {
    /// Where it stands.
    pub status: HandshakeStatus,
    /// The new session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<SessionId>,
    /// Single-use secret that takes up the session again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resume_token: Option<String>,
    /// The responder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<Principal>,
    /// Profiles that both sides use from here on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub agreed_profiles: Vec<ProfileId>,
    /// Capabilities that the caller may use.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub agreed_capabilities: Vec<CapabilityId>,
    /// Terms of heartbeats.
    #[serde(default, deserialize_with = "crate::exact::option", skip_serializing_if = "Option::is_none")]
    pub heartbeat: Option<Value>,
    /// Terms of session encryption.
    #[serde(default, deserialize_with = "crate::exact::option", skip_serializing_if = "Option::is_none")]
    pub encryption: Option<Value>,
    /// Terms of billing.
    #[serde(default, deserialize_with = "crate::exact::option", skip_serializing_if = "Option::is_none")]
    pub billing: Option<Value>,
    /// Where to go instead.
    #[serde(default, deserialize_with = "crate::exact::option", skip_serializing_if = "Option::is_none")]
    pub redirect: Option<Value>,
    /// Why it was rejected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rejection_reason: Option<ProtocolError>,
}

impl HandshakeResponse {
    /// A value with its required members; the optional ones are absent.
    #[must_use]
    pub fn new(status: HandshakeStatus) -> Self {
        Self {
            status,
            session_id: None,
            resume_token: None,
            server: None,
            agreed_profiles: Vec::new(),
            agreed_capabilities: Vec::new(),
            heartbeat: None,
            encryption: None,
            billing: None,
            redirect: None,
            rejection_reason: None,
        }
    }
}

wire_enum! {
    /// How a handshake ended.
    ///
    /// Source: AIP 1.0 §10.2.
    pub enum HandshakeStatus {
        /// There is a session.
        Accepted => "accepted",
        /// There is none.
        Rejected => "rejected",
        /// Another responder should be asked.
        Redirect => "redirect",
    }
}

/// Asks for one session.
///
/// Source: AIP 1.0 §10.4.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SessionRequest {
    /// The session.
    pub session_id: SessionId,
}

/// A session as a reader may see it.
///
/// Source: AIP 1.0 §10.4.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SessionView {
    /// The session.
    pub session_id: SessionId,
    /// Where it stands.
    pub status: SessionState,
    /// The initiator.
    pub principal: Principal,
    /// The responder.
    pub peer: Principal,
    /// When the record was made.
    pub created_at: Timestamp,
    /// When the record last changed.
    pub updated_at: Timestamp,
    /// The instant after which it no longer holds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
    /// Actions that have not ended.
    pub active_action_count: u64,
    /// Related addresses, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub links: BTreeMap<String, String>,
}

wire_enum! {
    /// Where a session stands. `settled` is the one state without a way out.
    ///
    /// Source: AIP 1.0 §10.3.
    pub enum SessionState {
        /// Just opened.
        New => "new",
        /// Open and idle.
        Active => "active",
        /// Work waits.
        Queued => "queued",
        /// Work runs.
        Processing => "processing",
        /// Work streams.
        Streaming => "streaming",
        /// It waits for a person.
        WaitingForHuman => "waiting_for_human",
        /// Ended well.
        Completed => "completed",
        /// Stopped.
        Cancelled => "cancelled",
        /// Ended badly.
        Failed => "failed",
        /// Closed for good.
        Settled => "settled",
    }
}

/// Asks for the sessions that the filters select.
///
/// Source: AIP 1.0 §10.4.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SessionListRequest {
    /// Only sessions that have this principal on either side.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub principal_id: Option<PrincipalId>,
    /// Where it stands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<SessionState>,
    /// Opaque place in the sequence: in a request where to go on, in an answer where the next page begins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    /// Records in one page, 1 to 1000.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
}

/// One page of sessions.
///
/// Source: AIP 1.0 §10.4.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SessionList {
    /// The sessions.
    pub sessions: Vec<SessionView>,
    /// Opaque place in the sequence: in a request where to go on, in an answer where the next page begins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
}

impl SessionList {
    /// A value with its required members; the optional ones are absent.
    #[must_use]
    pub fn new(sessions: Vec<SessionView>) -> Self {
        Self { sessions, cursor: None }
    }
}

/// Asks to end a session.
///
/// Source: AIP 1.0 §10.4.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SessionCloseRequest {
    /// The session.
    pub session_id: SessionId,
    /// Why, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl SessionCloseRequest {
    /// A value with its required members; the optional ones are absent.
    #[must_use]
    pub fn new(session_id: SessionId) -> Self {
        Self { session_id, reason: None }
    }
}

/// Asks to take up a session again.
///
/// Source: AIP 1.0 §10.5.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SessionResumeRequest {
    /// The session.
    pub session_id: SessionId,
    /// Single-use secret that takes up the session again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resume_token: Option<String>,
    /// Opaque place of the last event that the caller saw.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_event_cursor: Option<String>,
}

impl SessionResumeRequest {
    /// A value with its required members; the optional ones are absent.
    #[must_use]
    pub fn new(session_id: SessionId) -> Self {
        Self { session_id, resume_token: None, last_event_cursor: None }
    }
}

/// A session taken up again, with the events that were missed.
///
/// Source: AIP 1.0 §10.5.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SessionResume {
    /// The session.
    pub session: SessionView,
    /// The events that were missed, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub replayed_events: Vec<Event>,
    /// Opaque place where the next page begins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
    /// The replacement for the token that was used up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resume_token: Option<String>,
}

impl SessionResume {
    /// A value with its required members; the optional ones are absent.
    #[must_use]
    pub fn new(session: SessionView) -> Self {
        Self { session, replayed_events: Vec::new(), next_cursor: None, resume_token: None }
    }
}
