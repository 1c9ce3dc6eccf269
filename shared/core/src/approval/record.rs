//! What an approval's record holds. Stored in every journal entry, so its shape is a contract (`style.md` §2).

use aip_types::{
    ActionId, ApprovalDecision, ApprovalDecisionKind, ApprovalId, ApprovalPolicy, CapabilityId, CorrelationId,
    EvidenceArtifact, IdentityContext, Millis, Principal, PrincipalId, RiskLevel, SessionId,
};
use alloc::{collections::BTreeMap, format, string::String, vec::Vec};
use serde::{Deserialize, Serialize};

use super::Rejection;
use super::authority::{Governed, Standing};
use super::rule::Leaves;
use crate::step::{About, Chain};

/// Where an approval stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Phase {
    /// Waits for decisions.
    Pending {},
    /// The rule is satisfied: the action may run. Until it is dispatched, the grant may be revoked.
    Granted {},
    /// The action ran under the grant and has ended.
    Used {},
    /// Somebody with authority said no.
    Denied {},
    /// Nobody decided in time.
    Expired {},
    /// The grant was taken back before the action was dispatched.
    Revoked {},
    /// The action ended without it.
    Withdrawn {},
}

impl Phase {
    /// Nothing changes it any more.
    #[must_use]
    pub const fn is_terminal(&self) -> bool {
        match self {
            Self::Pending {} | Self::Granted {} => false,
            Self::Used {} | Self::Denied {} | Self::Expired {} | Self::Revoked {} | Self::Withdrawn {} => true,
        }
    }

    /// Its name in `docs/states/` and its event token.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Pending {} => "pending",
            Self::Granted {} => "granted",
            Self::Used {} => "used",
            Self::Denied {} => "denied",
            Self::Expired {} => "expired",
            Self::Revoked {} => "revoked",
            Self::Withdrawn {} => "withdrawn",
        }
    }
}

/// A decision that was accepted, with what was verified about its decider.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recorded {
    /// Its id.
    pub id: String,
    /// The decision. Its approver is the authenticated one; its time and authority path are what was claimed and decide
    /// nothing.
    pub decision: ApprovalDecision,
    /// When it was accepted.
    pub at: Millis,
    /// The leaves of the rule that the decider satisfied.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub standings: Vec<Standing>,
    /// Revision of the resolver's entry.
    pub authority_revision: u64,
    /// The decision that took it back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revoked_by: Option<String>,
}

impl Recorded {
    /// It says yes and was not taken back.
    #[must_use]
    pub fn approves(&self) -> bool {
        self.decision.decision == ApprovalDecisionKind::Approved && self.revoked_by.is_none()
    }
}

/// The record of one approval.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ApprovalRecord {
    /// Wire id, minted with the action's `pending_approval` entry.
    pub id: ApprovalId,
    /// Tenant, from the trusted context.
    pub tenant: String,
    /// The action that waits.
    pub action_id: ActionId,
    /// What it calls.
    pub capability_id: CapabilityId,
    /// Session of the action.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<SessionId>,
    /// Correlation of the action.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub correlation_id: Option<CorrelationId>,
    /// The authenticated caller of the action.
    pub requester: Principal,
    /// On whose behalf the action runs, where that is somebody else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<Principal>,
    /// Who would operate it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operator: Option<Principal>,
    /// Trusted identity context of the action: references, no credentials.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identity: Option<IdentityContext>,
    /// Why somebody is asked.
    pub reason: String,
    /// Risk of the capability.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub risk: Option<RiskLevel>,
    /// Value of the operation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub governed_value: Option<u64>,
    /// The policy as it stood.
    pub policy: ApprovalPolicy,
    /// The policy decision that asked.
    pub policy_decision_id: String,
    /// `aip_crypto::policy_hash`.
    pub policy_hash: String,
    /// `aip_crypto::input_hash`.
    pub input_hash: String,
    /// What the request brings along, by reference.
    pub evidence: Vec<EvidenceArtifact>,
    /// When it was asked for.
    pub created_at: Millis,
    /// When it ends undecided; a grant that was not used by then counts no more.
    pub expires_at: Millis,
    /// Accepted decisions, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub decisions: Vec<Recorded>,
    /// Where it stands.
    pub phase: Phase,
    /// Where its evidence stands.
    pub chain: Chain,
}

impl ApprovalRecord {
    /// Name of its receipt chain.
    #[must_use]
    pub fn chain_id(&self) -> String {
        format!("approval:{}", self.id)
    }

    /// What it waits for, if for anything: when it expires.
    #[must_use]
    pub const fn due(&self) -> Option<Millis> {
        match self.phase {
            Phase::Pending {} => Some(self.expires_at),
            Phase::Granted {}
            | Phase::Used {}
            | Phase::Denied {}
            | Phase::Expired {}
            | Phase::Revoked {}
            | Phase::Withdrawn {} => None,
        }
    }

    /// The accepted decision with this id: the answer to a repeat.
    #[must_use]
    pub fn decision(&self, id: &str) -> Option<&Recorded> {
        self.decisions.iter().find(|recorded| recorded.id == id)
    }

    /// The approving decisions that count at a time, by principal.
    pub(super) fn votes(&self, at: Millis) -> BTreeMap<&PrincipalId, Leaves> {
        let approving = self.decisions.iter().filter(|recorded| recorded.approves());
        approving.map(|recorded| (&recorded.decision.approver.id, Leaves::standing(&recorded.standings, at))).collect()
    }

    pub(super) fn governed(&self) -> Governed<'_> {
        Governed {
            tenant: &self.tenant,
            capability_id: &self.capability_id,
            barred: self.barred().into_keys().collect(),
            risk: self.risk,
            value: self.governed_value,
        }
    }

    /// Who may not approve, and why: separation of duties (AIP 1.0 §12.1).
    pub(super) fn barred(&self) -> BTreeMap<&PrincipalId, Rejection> {
        let duties = &self.policy.separation_of_duties;
        let behalf = self.identity.as_ref().and_then(|identity| identity.acted_on_behalf_of.as_ref());
        let mut barred = BTreeMap::new();
        if !duties.allow_self_approval {
            let own = [Some(&self.requester), self.subject.as_ref(), behalf];
            barred.extend(own.into_iter().flatten().map(|one| (&one.id, Rejection::SelfApproval)));
        }
        if duties.operator_must_differ {
            barred.extend(self.operator.as_ref().map(|operator| (&operator.id, Rejection::OperatorMustDiffer)));
        }
        if duties.requester_must_differ {
            barred.insert(&self.requester.id, Rejection::RequesterMustDiffer);
        }
        barred
    }
}

/// What the `pending_approval` entry of an action says: all of it verified at admission, none of it the caller's choice.
#[derive(Clone, Debug)]
pub struct Requested {
    /// The minted id.
    pub id: ApprovalId,
    /// Tenant.
    pub tenant: String,
    /// The action.
    pub action_id: ActionId,
    /// What it calls.
    pub capability_id: CapabilityId,
    /// Session.
    pub session_id: Option<SessionId>,
    /// Correlation.
    pub correlation_id: Option<CorrelationId>,
    /// The authenticated caller.
    pub requester: Principal,
    /// On whose behalf.
    pub subject: Option<Principal>,
    /// Who would operate it.
    pub operator: Option<Principal>,
    /// Trusted identity context.
    pub identity: Option<IdentityContext>,
    /// Why somebody is asked; the policy's reason when absent.
    pub reason: Option<String>,
    /// Risk.
    pub risk: Option<RiskLevel>,
    /// Value.
    pub governed_value: Option<u64>,
    /// The policy.
    pub policy: ApprovalPolicy,
    /// The policy decision that asks.
    pub policy_decision_id: String,
    /// Policy hash.
    pub policy_hash: String,
    /// Input hash.
    pub input_hash: String,
    /// Evidence, by reference.
    pub evidence: Vec<EvidenceArtifact>,
    /// The entry's time.
    pub at: Millis,
    /// The action's deadline: a grant after it would be of no use.
    pub deadline: Millis,
}

impl crate::step::Recorded for ApprovalRecord {
    fn about(&self) -> About {
        About {
            tenant: self.tenant.clone(),
            id: self.id.as_str().into(),
            session_id: self.session_id.clone(),
            action_id: Some(self.action_id.clone()),
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
