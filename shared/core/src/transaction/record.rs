//! What a transaction's record holds. Stored in every journal entry, so its shape is a contract (`style.md` §2).

use alloc::{
    collections::{BTreeMap, BTreeSet},
    format,
    string::{String, ToString as _},
    vec::Vec,
};

use aip_types::{
    ActionId, ApprovalPolicy, CorrelationId, Millis, ProtocolError, ProviderOperationRef, SessionId, SideEffect,
    TransactionId, TransactionMode, TransactionProtocolStatus as Status, limits,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::facts::{VerifiedApproval, VerifiedFacts};
use crate::{
    action,
    step::{About, Chain, Recorded},
};

/// The right of one process to work on the transaction: for which action, under which lease.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Grant {
    /// The action that it works for.
    pub action_id: ActionId,
    /// The process that works.
    pub instance: String,
    /// Creation revision of the lease of this transaction.
    pub fence: u64,
}

/// What a claim is on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Work {
    /// The effect itself: a commit, or an execution without a plan.
    Commit,
    /// The compensation of a committed effect.
    Compensation,
}

/// The last attempt that was let go, and so may have had its effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Begun {
    /// Its fence.
    pub fence: u64,
    /// When.
    pub at: Millis,
}

/// The one claim on the work (AIP 1.0 §13.4).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// What is claimed.
    pub work: Work,
    /// By whom.
    pub grant: Grant,
    /// Whether and when an attempt for this action began: maybe under an earlier fence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub begun: Option<Begun>,
    /// Contract of the capability that does the work.
    pub execution: action::Contract,
    /// Whether the action has an idempotency key.
    pub keyed: bool,
    /// Nothing begins at or after this time: end of the plan, of the approval, of the compensation window.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub begin_before: Option<Millis>,
    /// The approval that was checked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval: Option<VerifiedApproval>,
}

impl Claim {
    /// Whether the claim's own attempt began.
    #[must_use]
    pub fn has_started(&self) -> bool {
        self.begun.is_some_and(|begun| begun.fence == self.grant.fence)
    }

    /// Whether an attempt that may have had its effect may be repeated by the same action (AIP 1.0 §19.2).
    #[must_use]
    pub const fn may_repeat(&self) -> bool {
        self.execution.may_repeat(self.keyed)
    }
}

/// Where a transaction stands: the wire states of AIP 1.0 §13.5.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Phase {
    /// A dry run told what would happen.
    DryRunCompleted {},
    /// There is a plan; waits for a claim.
    Planned {},
    /// Nothing has begun: an execution that waits for its claim, a dry run at work, or a commit that is claimed.
    Prepared {
        /// The claim.
        claim: Option<Claim>,
    },
    /// An attempt to commit may be at work.
    Committing(Claim),
    /// The effect took place.
    Committed {},
    /// A compensation is claimed or at work.
    Compensating(Claim),
    /// The compensation took place. Never called rollback (AIP 1.0 §13.7).
    Compensated {},
    /// Only a person leads on.
    RequiresHuman {
        /// The claim whose outcome is open.
        claim: Claim,
        /// The worker has told all it knows: a part of the work took effect.
        partial: bool,
    },
    /// Stopped before anything took effect.
    Cancelled {},
    /// It was declared that there is no way back.
    RollbackNotSupported {},
    /// Nothing took effect.
    Failed {},
    /// The claim's work may have had its effect.
    OutcomeUnknown(Claim),
    /// The provider is being asked.
    Reconciling {
        /// The claim whose outcome is open.
        claim: Claim,
        /// Who asks.
        query: Grant,
    },
    /// The provider told that the commit had no effect: the plan may be claimed again.
    Reconciled {},
}

impl Phase {
    /// The wire state.
    #[must_use]
    pub const fn status(&self) -> Status {
        match self {
            Self::DryRunCompleted {} => Status::DryRunCompleted,
            Self::Planned {} => Status::Planned,
            Self::Prepared { .. } => Status::Prepared,
            Self::Committing(_) => Status::Committing,
            Self::Committed {} => Status::Committed,
            Self::Compensating(_) => Status::Compensating,
            Self::Compensated {} => Status::Compensated,
            Self::RequiresHuman { .. } => Status::RequiresHuman,
            Self::Cancelled {} => Status::Cancelled,
            Self::RollbackNotSupported {} => Status::RollbackNotSupported,
            Self::Failed {} => Status::Failed,
            Self::OutcomeUnknown(_) => Status::OutcomeUnknown,
            Self::Reconciling { .. } => Status::Reconciling,
            Self::Reconciled {} => Status::Reconciled,
        }
    }

    /// Its name in `docs/states/`: the wire state, or a finer one where a claim makes the difference.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Prepared { claim: Some(_) } => "prepared_claimed",
            Self::Compensating(claim) if claim.begun.is_none() => "compensating_claimed",
            Self::DryRunCompleted {}
            | Self::Planned {}
            | Self::Prepared { claim: None }
            | Self::Committing(_)
            | Self::Committed {}
            | Self::Compensating(_)
            | Self::Compensated {}
            | Self::RequiresHuman { .. }
            | Self::Cancelled {}
            | Self::RollbackNotSupported {}
            | Self::Failed {}
            | Self::OutcomeUnknown(_)
            | Self::Reconciling { .. }
            | Self::Reconciled {} => self.status().as_str(),
        }
    }

    /// The claim, where there is one: valid, or of an outcome that is open.
    #[must_use]
    pub const fn claim(&self) -> Option<&Claim> {
        match self {
            Self::Prepared { claim } => claim.as_ref(),
            Self::Committing(claim)
            | Self::Compensating(claim)
            | Self::OutcomeUnknown(claim)
            | Self::RequiresHuman { claim, .. }
            | Self::Reconciling { claim, .. } => Some(claim),
            Self::DryRunCompleted {}
            | Self::Planned {}
            | Self::Committed {}
            | Self::Compensated {}
            | Self::Cancelled {}
            | Self::RollbackNotSupported {}
            | Self::Failed {}
            | Self::Reconciled {} => None,
        }
    }
}

/// What a plan adds to the frozen facts (AIP 1.0 §13.3).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// Wire id.
    pub plan_id: String,
    /// The action that planned.
    pub action_id: ActionId,
    /// The input, redacted as the data contract demands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_snapshot: Option<Value>,
    /// Effects that a commit would have.
    pub predicted_side_effects: BTreeSet<SideEffect>,
    /// Whether a commit needs an approval.
    pub approval_required: bool,
    /// What an approval needs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval_policy: Option<ApprovalPolicy>,
    /// When it was made.
    pub created_at: Millis,
    /// Metadata.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Value>,
}

/// A mode in which an action took part.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Part {
    /// Mode.
    pub mode: TransactionMode,
    /// Action.
    pub action_id: ActionId,
}

/// The commit that took effect.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Committed {
    /// Its claim.
    pub claim: Claim,
    /// When; the start of its attempt where only a reconciliation told. The compensation window is counted from it.
    pub at: Millis,
}

/// The record of one transaction.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TransactionRecord {
    /// Wire id.
    pub id: TransactionId,
    /// Frozen when it opened, or by the plan that followed a dry run.
    pub facts: VerifiedFacts,
    /// Session of the first request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<SessionId>,
    /// Correlation of the first request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub correlation_id: Option<CorrelationId>,
    /// The plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<Plan>,
    /// The part that the latest action plays.
    pub part: Part,
    /// The parts before it, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub earlier: Vec<Part>,
    /// When it opened.
    pub created_at: Millis,
    /// No commit begins at or after this time: the plan's expiry, or the deadline of the action without one.
    pub expires_at: Millis,
    /// Where it stands.
    pub phase: Phase,
    /// The highest fence granted, 0 before the first.
    pub fence: u64,
    /// Claims on the present work.
    pub claims: u32,
    /// The operation as the provider knows it. From the provider's side only, never from a caller.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operation: Option<ProviderOperationRef>,
    /// Place in the provider's reconciliation feed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    /// Not before this time is it worth asking the provider.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reconcile_after: Option<Millis>,
    /// Reconciliations of the present unknown outcome.
    pub reconciliations: u32,
    /// The commit that took effect.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub committed: Option<Committed>,
    /// Decisions of persons: hash of the id, hash of the content.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub decisions: BTreeMap<String, String>,
    /// The last error; always there when it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<ProtocolError>,
    /// Its evidence.
    pub chain: Chain,
}

impl TransactionRecord {
    /// Name of its receipt chain.
    #[must_use]
    pub fn chain_id(&self) -> String {
        format!("transaction:{}", self.id)
    }

    /// When something is due: a [`super::Trigger::Due`], or in `outcome_unknown` a [`super::Trigger::Reconcile`].
    #[must_use]
    pub fn due(&self) -> Option<Millis> {
        match &self.phase {
            Phase::Planned {} | Phase::Reconciled {} | Phase::Prepared { claim: None } => Some(self.expires_at),
            Phase::Prepared { claim: Some(claim) } => claim.begin_before,
            Phase::Compensating(claim) if claim.begun.is_none() => claim.begin_before,
            Phase::OutcomeUnknown(_) if self.facts.contract.supports(TransactionMode::Reconcile) => {
                self.reconcile_after
            }
            Phase::Committing(_)
            | Phase::Compensating(_)
            | Phase::OutcomeUnknown(_)
            | Phase::Reconciling { .. }
            | Phase::RequiresHuman { .. }
            | Phase::Committed {}
            | Phase::DryRunCompleted {}
            | Phase::Compensated {}
            | Phase::Cancelled {}
            | Phase::RollbackNotSupported {}
            | Phase::Failed {} => None,
        }
    }

    /// The first moment at which a compensation comes too late.
    #[must_use]
    pub fn compensate_before(&self) -> Option<Millis> {
        let window = self.facts.contract.compensation.compensation_window_ms?;
        self.committed.as_ref().map(|committed| committed.at.plus(window))
    }

    pub(super) fn is_dry_run(&self) -> bool {
        self.part.mode == TransactionMode::DryRun
    }

    /// Notes who takes part. Bounded: claims are counted, and reconciliations in a row are one part.
    pub(super) fn take_part(&mut self, mode: TransactionMode, action_id: &ActionId) {
        let part = Part { mode, action_id: action_id.clone() };
        let asks_again = mode == TransactionMode::Reconcile && self.part.mode == mode;
        let before = core::mem::replace(&mut self.part, part);
        if before != self.part && !asks_again {
            self.earlier.push(before);
        }
        debug_assert!(self.earlier.len() < limits::TRANSACTION_MODES_LEN_MAX, "claims are counted");
    }
}

impl Recorded for TransactionRecord {
    fn about(&self) -> About {
        About {
            tenant: self.facts.tenant.clone(),
            id: self.id.to_string(),
            session_id: self.session_id.clone(),
            action_id: Some(self.part.action_id.clone()),
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
