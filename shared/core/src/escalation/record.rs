//! What an escalation's record holds. Stored in every journal entry, so its shape is a contract (`style.md` §2).

use aip_types::{ActionId, CorrelationId, Escalation, EscalationResolution, Millis, SessionId};
use alloc::string::String;
use serde::{Deserialize, Serialize};

use crate::step::{About, Chain, Recorded};

/// Where an escalation stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Phase {
    /// Waits for a person.
    Open {},
    /// A person has answered.
    Resolved {},
    /// Nobody answered in time.
    Expired {},
    /// What it was raised for has ended.
    Withdrawn {},
}

impl Phase {
    /// Nothing changes it any more.
    #[must_use]
    pub const fn is_terminal(&self) -> bool {
        match self {
            Self::Open {} => false,
            Self::Resolved {} | Self::Expired {} | Self::Withdrawn {} => true,
        }
    }

    /// Its name in `docs/states/` and its event token.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Open {} => "open",
            Self::Resolved {} => "resolved",
            Self::Expired {} => "expired",
            Self::Withdrawn {} => "withdrawn",
        }
    }
}

/// The record of one escalation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EscalationRecord {
    /// The minted correlation id, which is its key.
    pub id: CorrelationId,
    /// Tenant, from the trusted context.
    pub tenant: String,
    /// The action that waits, if one does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action_id: Option<ActionId>,
    /// Session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<SessionId>,
    /// What is asked; who asks is the authenticated principal.
    pub request: Escalation,
    /// When it was raised.
    pub created_at: Millis,
    /// When it ends unanswered.
    pub expires_at: Millis,
    /// The answer, when resolved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<EscalationResolution>,
    /// Where it stands.
    pub phase: Phase,
    /// Where its evidence stands.
    pub chain: Chain,
}

impl EscalationRecord {
    /// What it waits for, if for anything: when it expires.
    #[must_use]
    pub const fn due(&self) -> Option<Millis> {
        match self.phase {
            Phase::Open {} => Some(self.expires_at),
            Phase::Resolved {} | Phase::Expired {} | Phase::Withdrawn {} => None,
        }
    }
}

/// An escalation as it was raised, with what the service knows of it.
#[derive(Clone, Debug)]
pub struct Raised {
    /// The minted correlation id.
    pub id: CorrelationId,
    /// Tenant.
    pub tenant: String,
    /// The action that waits.
    pub action_id: Option<ActionId>,
    /// Session.
    pub session_id: Option<SessionId>,
    /// What is asked, by the authenticated `requested_by`.
    pub request: Escalation,
    /// Now.
    pub at: Millis,
    /// The action's deadline, if an action waits.
    pub deadline: Option<Millis>,
}

impl Recorded for EscalationRecord {
    fn about(&self) -> About {
        About {
            tenant: self.tenant.clone(),
            id: self.id.as_str().into(),
            session_id: self.session_id.clone(),
            action_id: self.action_id.clone(),
            correlation_id: Some(self.id.clone()),
        }
    }

    fn chain(&self) -> Chain {
        self.chain.clone()
    }

    fn set_chain(&mut self, chain: Chain) {
        self.chain = chain;
    }
}
