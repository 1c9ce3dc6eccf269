//! What a session's record holds. Stored in every journal entry, so its shape is a contract (`style.md` §2).

use aip_types::{
    ActionId, CapabilityId, CorrelationId, MessageId, Millis, Principal, ProfileId, SessionId, SessionState, limits,
};
use alloc::{
    collections::{BTreeMap, BTreeSet},
    string::{String, ToString as _},
    vec::Vec,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::token::TokenHash;
use crate::causes::Causes;
use crate::step::{About, Chain, Recorded};

/// Where one action of a session stands. Ordered by how much goes on: a session shows the liveliest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// It waits for a person: an approval, an input.
    WaitingForHuman,
    /// It waits for an attempt.
    Queued,
    /// An attempt is or may be at work.
    Processing,
    /// An attempt streams.
    Streaming,
}

/// An action that has not ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ActiveAction {
    /// Where it stands.
    pub stage: Stage,
    /// The entry of its own record that said so; 0 until its record has said something. Older words are ignored.
    pub step: u32,
}

/// What a handshake agreed (AIP 1.0 §10.2). Terms, not authority: every action is authorised by itself.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Terms {
    /// Profiles that both sides use.
    pub profiles: BTreeSet<ProfileId>,
    /// Capabilities that were asked for and may be seen.
    pub capabilities: BTreeSet<CapabilityId>,
    /// Terms of heartbeats.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub heartbeat: Option<Value>,
    /// Terms of session encryption; never key material.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub encryption: Option<Value>,
    /// Terms of billing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub billing: Option<Value>,
}

/// The end of a session is wanted. It comes when the last action is over (AIP 1.0 §11.8).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Closing {
    /// How it will end: `completed`, `cancelled` or `failed`.
    pub to: SessionState,
    /// The request, where somebody asked for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<MessageId>,
    /// The code of the failure, where it is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// Since when.
    pub at: Millis,
}

/// The record of one session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SessionRecord {
    /// Wire id.
    pub id: SessionId,
    /// Tenant, from the trusted context.
    pub tenant: String,
    /// The authenticated initiator.
    pub initiator: Principal,
    /// The responder.
    pub peer: Principal,
    /// The handshake's message id.
    pub handshake: MessageId,
    /// Correlation of the handshake.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub correlation_id: Option<CorrelationId>,
    /// What was agreed.
    pub terms: Terms,
    /// When it was opened.
    pub created_at: Millis,
    /// When it ends whatever happens; never moved.
    pub expires_at: Millis,
    /// Milliseconds without a word after which it ends, while it has no action.
    pub idle_ms: u64,
    /// Where it stands. `new` is never stored: the first entry takes it to `active`.
    pub state: SessionState,
    /// Actions that have not ended; at most `limits::SESSION_ACTIONS_LEN_MAX`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub actions: BTreeMap<ActionId, ActiveAction>,
    /// The last actions that ended, newest last; at most `limits::SESSION_ENDED_LEN_MAX`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ended: Vec<ActionId>,
    /// The resume token that works, once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<TokenHash>,
    /// Tokens issued so far; the number of the last one.
    pub generation: u32,
    /// Its end is wanted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub closing: Option<Closing>,
    /// The last messages that moved it.
    pub causes: Causes,
    /// Where its evidence stands.
    pub chain: Chain,
}

impl SessionRecord {
    /// When it is over if nothing happens until then: its time, or the idle time where it has no action. Nothing is due
    /// once its end is wanted: then the end of the last action is awaited.
    #[must_use]
    pub fn due(&self) -> Option<Millis> {
        if !is_open(self.state) || self.closing.is_some() {
            return None;
        }
        let idle = self.actions.is_empty().then(|| self.chain.updated_at.plus(self.idle_ms));
        Some(idle.map_or(self.expires_at, |idle| idle.min(self.expires_at)))
    }

    /// Name of its receipt chain.
    #[must_use]
    pub fn chain_id(&self) -> String {
        alloc::format!("session:{}", self.id)
    }

    pub(crate) fn knows(&self, action: &ActionId) -> bool {
        self.actions.contains_key(action) || self.ended.contains(action)
    }
}

/// Neither ended nor settled.
pub(crate) const fn is_open(state: SessionState) -> bool {
    match state {
        SessionState::New
        | SessionState::Active
        | SessionState::Queued
        | SessionState::Processing
        | SessionState::Streaming
        | SessionState::WaitingForHuman => true,
        SessionState::Completed | SessionState::Cancelled | SessionState::Failed | SessionState::Settled => false,
    }
}

/// Everything that the service has verified about one accepted handshake.
#[derive(Clone, Debug)]
pub struct Opening {
    /// New id.
    pub id: SessionId,
    /// Tenant, from the trusted context.
    pub tenant: String,
    /// The authenticated initiator.
    pub initiator: Principal,
    /// The responder.
    pub peer: Principal,
    /// The handshake's message id.
    pub handshake: MessageId,
    /// Hash of the handshake.
    pub handshake_hash: String,
    /// Correlation of the handshake.
    pub correlation_id: Option<CorrelationId>,
    /// What was agreed.
    pub terms: Terms,
    /// When it shall end; within `limits::SESSION_TTL_MS_MAX`.
    pub expires_at: Millis,
    /// Milliseconds without a word after which it shall end.
    pub idle_ms: u64,
    /// The first resume token, where there shall be one.
    pub token: Option<TokenHash>,
    /// Now.
    pub at: Millis,
}

impl Opening {
    pub(crate) fn is_bounded(&self) -> bool {
        let terms = serde_json::to_string(&(&self.terms, &self.initiator, &self.peer));
        terms.is_ok_and(|text| text.len() <= limits::SESSION_TERMS_BYTES_MAX)
            && self.expires_at > self.at
            && self.expires_at <= self.at.plus(limits::SESSION_TTL_MS_MAX)
            && self.idle_ms > 0
    }
}

impl Recorded for SessionRecord {
    fn about(&self) -> About {
        About {
            tenant: self.tenant.clone(),
            id: self.id.to_string(),
            session_id: Some(self.id.clone()),
            action_id: None,
            correlation_id: self.correlation_id.clone(),
        }
    }

    fn chain(&self) -> Chain {
        self.chain.clone()
    }

    fn set_chain(&mut self, chain: Chain) {
        self.chain = chain;
    }
}
