//! What a delegation's record holds. Stored in every journal entry, so its shape is a contract (`style.md` §2).

use aip_types::{
    ActionId, CorrelationId, DelegationEntry, DelegationId, DelegationStatus, MessageId, Millis, Principal,
    PrincipalId, PrincipalKind, ProtocolError,
};
use alloc::{
    format,
    string::{String, ToString as _},
    vec::Vec,
};
use serde::{Deserialize, Serialize};

use super::{Authority, VerifiedHop};
use crate::action::{Held, IdempotencyKey};
use crate::causes::Causes;
use crate::outbox::Lease;
use crate::step::{About, Chain, Recorded};

/// The peer that holds a child action, as authenticated (AIP 1.0 §14.2). A URL or a subject is no identity.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VerifiedPeer {
    /// Who it is.
    pub principal: PrincipalId,
    /// What kind.
    pub kind: PrincipalKind,
    /// Its trust domain.
    pub trust_domain: String,
    /// How it is authenticated, such as the DID that signs or the issuer of its certificate.
    pub method: String,
}

/// Where a delegation stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Phase {
    /// Accepted here; waits for its next dispatch to the peer.
    Accepted {
        /// When that may begin.
        due: Millis,
    },
    /// A dispatch may be under way.
    Dispatching(Lease),
    /// The peer has the child.
    Running {},
    /// The peer has the child, which waits for a person.
    RequiresHuman {},
    /// Nobody here knows what becomes of the child, or the peer does not know its outcome (AIP 1.0 §14.5). Never
    /// dispatched again, never terminal by itself.
    OutcomeUnknown {},
    /// The child is done.
    Completed {},
    /// The child is not done.
    Failed {},
    /// The child was stopped, as its owner confirmed, or never left.
    Cancelled {},
}

impl Phase {
    /// Its name in `docs/states/`, and its event token.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Accepted { .. } => "accepted",
            Self::Dispatching(_) => "dispatching",
            Self::Running {} => "running",
            Self::RequiresHuman {} => "requires_human",
            Self::OutcomeUnknown {} => "outcome_unknown",
            Self::Completed {} => "completed",
            Self::Failed {} => "failed",
            Self::Cancelled {} => "cancelled",
        }
    }

    /// Nothing changes it any more.
    #[must_use]
    pub const fn is_terminal(&self) -> bool {
        match self {
            Self::Completed {} | Self::Failed {} | Self::Cancelled {} => true,
            Self::Accepted { .. }
            | Self::Dispatching(_)
            | Self::Running {}
            | Self::RequiresHuman {}
            | Self::OutcomeUnknown {} => false,
        }
    }
}

/// The parent wants no child any more. Intent, not outcome (AIP 1.0 §11.8).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cancelling {
    /// When the peer is asked again.
    pub due: Millis,
    /// Times that it has been asked.
    pub asked: u32,
}

/// The record of one delegation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DelegationRecord {
    /// Wire id.
    pub id: DelegationId,
    /// Tenant, from the trusted context.
    pub tenant: String,
    /// The action that delegates.
    pub parent_action_id: ActionId,
    /// The delegated action. Every dispatch names this one.
    pub child_action_id: ActionId,
    /// The child action; gone when it is dispatched no more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub child: Option<Held>,
    /// Hash of the child action.
    pub child_hash: String,
    /// Key of the child action. Every dispatch carries this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<IdempotencyKey>,
    /// The authenticated requester.
    pub requester: Principal,
    /// Who shall do it.
    pub delegate: Principal,
    /// The authority that the delegate has, as it stands on the wire.
    pub scope: String,
    /// How it came to the delegate, the hop to it included; at most `limits::DELEGATION_CHAIN_MAX` entries.
    pub delegation_chain: Vec<DelegationEntry>,
    /// The peer that must confirm everything about the child.
    pub peer: VerifiedPeer,
    /// The request's message id.
    pub request: MessageId,
    /// Correlation of the request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub correlation_id: Option<CorrelationId>,
    /// When it was accepted.
    pub accepted_at: Millis,
    /// When the child must be over; never moved.
    pub deadline: Millis,
    /// Where it stands.
    pub phase: Phase,
    /// The highest fence so far.
    pub fence: u64,
    /// Dispatches begun.
    pub dispatches: u32,
    /// The peer may have the child: some dispatch was not certainly in vain.
    pub may_have_arrived: bool,
    /// Cancellation, where it is wanted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cancelling: Option<Cancelling>,
    /// The result, where the peer gave one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<Held>,
    /// Hash of the terminal report.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub report_hash: Option<String>,
    /// Why it is not completed, when terminal otherwise; what the peer said, while the outcome is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<ProtocolError>,
    /// Time of the terminal step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completed_at: Option<Millis>,
    /// The last messages that moved it.
    pub causes: Causes,
    /// Where its evidence stands.
    pub chain: Chain,
}

impl DelegationRecord {
    /// When something is to be done about it if nothing happens until then: the next dispatch, the end of a lease, another
    /// request to cancel, the deadline.
    #[must_use]
    pub fn due(&self) -> Option<Millis> {
        let ask = self.cancel_due();
        match &self.phase {
            Phase::Accepted { due } => Some(self.deadline.min(*due)),
            Phase::Dispatching(lease) => Some(lease.expires_at),
            Phase::Running {} | Phase::RequiresHuman {} => {
                Some(ask.map_or(self.deadline, |due| due.min(self.deadline)))
            }
            Phase::OutcomeUnknown {} => ask,
            Phase::Completed {} | Phase::Failed {} | Phase::Cancelled {} => None,
        }
    }

    /// When the peer is asked again to cancel.
    pub(crate) fn cancel_due(&self) -> Option<Millis> {
        let cancelling = self.cancelling.as_ref()?;
        (cancelling.asked < aip_types::limits::DELEGATION_CANCELS_MAX).then_some(cancelling.due)
    }

    /// Name of its receipt chain.
    #[must_use]
    pub fn chain_id(&self) -> String {
        format!("delegation:{}", self.id)
    }
}

/// Everything that the service has verified about one delegation request.
#[derive(Clone, Debug)]
pub struct Acceptance {
    /// Wire id.
    pub id: DelegationId,
    /// Tenant, from the trusted context.
    pub tenant: String,
    /// The action that delegates.
    pub parent_action_id: ActionId,
    /// The delegated action.
    pub child_action_id: ActionId,
    /// The child action, validated like any other (AIP 1.0 §14.1).
    pub child: Held,
    /// Its hash.
    pub child_hash: String,
    /// Its key and the reservation of it.
    pub key: Option<IdempotencyKey>,
    /// The requester's authority.
    pub authority: Authority,
    /// The hop to the delegate.
    pub hop: VerifiedHop,
    /// The peer that serves the delegate.
    pub peer: VerifiedPeer,
    /// The request's message id.
    pub request: MessageId,
    /// Correlation of the request.
    pub correlation_id: Option<CorrelationId>,
    /// When the child must be over. The end of a grant of the chain cuts it short.
    pub deadline: Millis,
}

/// What a report says, in the words of AIP 1.0 §14.4, as the phase that follows from it.
pub(crate) const fn reported(status: DelegationStatus) -> Phase {
    match status {
        DelegationStatus::Accepted | DelegationStatus::Running => Phase::Running {},
        DelegationStatus::RequiresHuman => Phase::RequiresHuman {},
        DelegationStatus::Completed => Phase::Completed {},
        DelegationStatus::Failed => Phase::Failed {},
        DelegationStatus::Cancelled => Phase::Cancelled {},
    }
}

impl Recorded for DelegationRecord {
    fn about(&self) -> About {
        About {
            tenant: self.tenant.clone(),
            id: self.id.to_string(),
            session_id: None,
            action_id: Some(self.parent_action_id.clone()),
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
