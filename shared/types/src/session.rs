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

/// Handshake.
///
/// Source: AIP 1.0 §10.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Handshake {
    /// The caller.
    pub client: Principal,
    /// Purpose.
    pub purpose: String,
    /// Requested capabilities.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub requested_capabilities: Vec<CapabilityId>,
    /// What the caller supports; may be empty by schema.
    pub profiles: Vec<ProfileId>,
    /// Auth.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub auth: Option<Value>,
    /// Compliance required.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub compliance_required: Vec<String>,
    /// Heartbeat.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub heartbeat: Option<Value>,
    /// Encryption.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub encryption: Option<Value>,
    /// Billing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
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

/// Handshake response.
///
/// Source: AIP 1.0 §10.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HandshakeResponse {
    /// Status.
    pub status: HandshakeStatus,
    /// Session id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<SessionId>,
    /// First single-use token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resume_token: Option<String>,
    /// The responder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<Principal>,
    /// Agreed profiles.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub agreed_profiles: Vec<ProfileId>,
    /// Agreed capabilities.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub agreed_capabilities: Vec<CapabilityId>,
    /// Heartbeat.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub heartbeat: Option<Value>,
    /// Encryption.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub encryption: Option<Value>,
    /// Billing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub billing: Option<Value>,
    /// Redirect target, shape not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub redirect: Option<Value>,
    /// Rejection reason.
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
    /// Handshake status.
    ///
    /// Source: AIP 1.0 §10.
    pub enum HandshakeStatus {
        /// `accepted`.
        Accepted => "accepted",
        /// `rejected`.
        Rejected => "rejected",
        /// `redirect`.
        Redirect => "redirect",
    }
}

/// Session request.
///
/// Source: AIP 1.0 §10.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SessionRequest {
    /// Session id.
    pub session_id: SessionId,
}

/// Session view.
///
/// Source: AIP 1.0 §10.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SessionView {
    /// Session id.
    pub session_id: SessionId,
    /// Status.
    pub status: SessionState,
    /// Initiator.
    pub principal: Principal,
    /// Responder.
    pub peer: Principal,
    /// Created at.
    pub created_at: Timestamp,
    /// Updated at.
    pub updated_at: Timestamp,
    /// Expires at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
    /// Active action count.
    pub active_action_count: u64,
    /// Any member name, string values.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub links: BTreeMap<String, String>,
}

wire_enum! {
    /// Session state.
    ///
    /// Source: AIP 1.0 §10.
    pub enum SessionState {
        /// `new`.
        New => "new",
        /// `active`.
        Active => "active",
        /// `queued`.
        Queued => "queued",
        /// `processing`.
        Processing => "processing",
        /// `streaming`.
        Streaming => "streaming",
        /// `waiting_for_human`.
        WaitingForHuman => "waiting_for_human",
        /// `completed`.
        Completed => "completed",
        /// `cancelled`.
        Cancelled => "cancelled",
        /// `failed`.
        Failed => "failed",
        /// `settled`.
        Settled => "settled",
    }
}

/// Session list request.
///
/// Source: AIP 1.0 §10.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SessionListRequest {
    /// Matches either side of the session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub principal_id: Option<PrincipalId>,
    /// Status.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<SessionState>,
    /// Cursor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    /// Limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
}

/// Session list.
///
/// Source: AIP 1.0 §10.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SessionList {
    /// Sessions.
    pub sessions: Vec<SessionView>,
    /// Cursor.
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

/// Session close request.
///
/// Source: AIP 1.0 §10.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SessionCloseRequest {
    /// Session id.
    pub session_id: SessionId,
    /// Reason.
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

/// Session resume request.
///
/// Source: AIP 1.0 §10.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SessionResumeRequest {
    /// Session id.
    pub session_id: SessionId,
    /// Resume token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resume_token: Option<String>,
    /// Last event cursor.
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

/// Session resume.
///
/// Source: AIP 1.0 §10.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SessionResume {
    /// Session.
    pub session: SessionView,
    /// Replayed events.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub replayed_events: Vec<Event>,
    /// Next cursor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
    /// Replacement token.
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
