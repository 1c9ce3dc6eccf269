//! What happens to a transaction. Everything in here was verified by the service that sends it.

use alloc::{boxed::Box, string::String};

use aip_types::{ActionId, ActionTransaction, DryRunFidelity, Principal, ProtocolError, ProviderOperationRef, limits};
use serde::Serialize;

use super::{
    facts::{VerifiedApproval, VerifiedFacts},
    open::Planning,
    record::Grant,
    rejection::Rejection,
};

/// What happens to a transaction after its first entry.
#[derive(Clone, Debug)]
pub enum Trigger {
    /// A plan follows a dry run of the same.
    Plan {
        /// The action that plans.
        action_id: ActionId,
        /// Its verified facts, as of now.
        facts: Box<VerifiedFacts>,
        /// The plan.
        planning: Box<Planning>,
    },
    /// The dry run's action has ended.
    DryRunEnded {
        /// That action.
        action_id: ActionId,
        /// How.
        ended: DryRun,
    },
    /// An action asks for the right to commit, execute or compensate (AIP 1.0 §13.4).
    Claim(Box<Claiming>),
    /// The claim's holder asks to let its worker go. Nothing runs before this is stored.
    Start {
        /// Its right.
        grant: Grant,
    },
    /// An attempt ended.
    Settle {
        /// Its right.
        grant: Grant,
        /// How it ended.
        settled: Settled,
    },
    /// The lease with this fence is over and its holder said nothing. Only who took the lease may send it.
    LeaseOver {
        /// Fence of the claim or of the reconciliation that is lost.
        fence: u64,
    },
    /// Somebody asks for the right to ask the provider what happened (AIP 1.0 §13.6).
    Reconcile {
        /// Its right, under the lease of the transaction.
        grant: Grant,
        /// Earlier leases of this transaction are over.
        over: bool,
    },
    /// The provider answered.
    Found {
        /// The reconciliation's right.
        grant: Grant,
        /// What it told.
        finding: Finding,
    },
    /// An authorised operator, or the fleet at its wits' end, hands an unknown outcome to a person.
    Escalate,
    /// An authorised operator decides what a person must decide.
    Resolve(Box<Resolution>),
    /// The action was cancelled before its attempt began (AIP 1.0 §11.8).
    Cancel,
    /// What [`super::TransactionRecord::due`] named may have come.
    Due,
}

/// How a dry run ended.
#[derive(Clone, Debug, PartialEq)]
pub enum DryRun {
    /// It told what would happen.
    Completed {
        /// What the handler really did.
        fidelity: DryRunFidelity,
        /// Hash of what it told.
        result_hash: Option<String>,
    },
    /// It could not tell.
    Failed {
        /// Why.
        error: ProtocolError,
    },
}

/// A claim, with all that it is checked by.
#[derive(Clone, Debug, PartialEq)]
pub struct Claiming {
    /// The right asked for, under the lease of the transaction.
    pub grant: Grant,
    /// The sender proved, by taking the lease, that any earlier lease of this transaction is over.
    pub over: bool,
    /// The action's transaction context; its mode is `execute`, `commit` or `compensate`.
    pub transaction: ActionTransaction,
    /// The action's verified facts, as of now.
    pub facts: VerifiedFacts,
    /// The action's approval.
    pub approval: Option<VerifiedApproval>,
    /// Whether the action has an idempotency key.
    pub keyed: bool,
}

/// How an attempt ended.
#[derive(Clone, Debug, PartialEq)]
pub enum Settled {
    /// The work took effect.
    Committed {
        /// Hash of its result.
        result_hash: Option<String>,
    },
    /// It had no effect.
    Failed {
        /// Why.
        error: ProtocolError,
    },
    /// It had no effect, and its action will try again: after a question to the caller, or a failure that its contract
    /// lets it repeat.
    Again,
    /// A part of it took effect: a person must look.
    Partial {
        /// Why.
        error: ProtocolError,
    },
    /// It may have had its effect (AIP 1.0 §13.6, §19.3).
    Uncertain {
        /// Why that is not known.
        error: ProtocolError,
        /// What reconciliation asks by.
        known: Known,
    },
    /// Its owner confirms that it stopped without effect (AIP 1.0 §11.8).
    Cancelled,
}

/// What the provider's side lets us ask by, and when.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Known {
    /// The operation there; the retained one stands if absent.
    pub operation: Option<ProviderOperationRef>,
    /// Place in its reconciliation feed; the retained one stands if absent.
    pub cursor: Option<String>,
    /// Milliseconds to wait before asking.
    pub retry_after_ms: Option<u64>,
}

impl Known {
    /// What a connector's uncertain failure preserves (AIP 1.0 §19.3): `details.provider_operation`,
    /// `details.reconciliation_cursor` and the retry delay.
    #[must_use]
    pub fn of(error: &ProtocolError) -> Self {
        let detail = |name| error.details.as_ref().and_then(|details| details.get(name)).cloned();
        Self {
            operation: detail("provider_operation").and_then(|operation| serde_json::from_value(operation).ok()),
            cursor: detail("reconciliation_cursor").and_then(|cursor| serde_json::from_value(cursor).ok()),
            retry_after_ms: error.retry_after_ms,
        }
    }

    fn fits(&self) -> bool {
        let id = |text: &str| text.len() <= limits::ID_BYTES_MAX;
        let operation = self.operation.as_ref();
        operation.is_none_or(|it| id(&it.provider) && id(&it.operation_id) && it.request_id.as_deref().is_none_or(id))
            && self.cursor.as_ref().is_none_or(|cursor| cursor.len() <= limits::RECONCILIATION_CURSOR_BYTES_MAX)
    }
}

/// What is found out about an unknown outcome.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Finding {
    /// Definitive: the work took effect.
    Committed {
        /// Hash of its result.
        result_hash: Option<String>,
    },
    /// Definitive: it did not, and will not.
    NotCommitted,
    /// Still unknown. From a person: ask the provider once more.
    Indefinite(Known),
}

/// What a person decided.
#[derive(Clone, Debug, PartialEq)]
pub struct Resolution {
    /// Makes a repeat recognisable.
    pub decision_id: String,
    /// The authenticated and authorised operator.
    pub operator: Principal,
    /// The decision.
    pub finding: Finding,
    /// Hash of the evidence, which lies in its own store; never empty.
    pub evidence_hash: String,
}

impl Trigger {
    /// Refuses what a record could not hold.
    pub(super) fn fits(&self) -> Result<(), Rejection> {
        let known = match self {
            Self::Settle { settled: Settled::Uncertain { known, .. }, .. } => Some(known),
            Self::Found { finding: Finding::Indefinite(known), .. } => Some(known),
            Self::Resolve(resolution) => match &resolution.finding {
                Finding::Indefinite(known) => Some(known),
                Finding::Committed { .. } | Finding::NotCommitted => None,
            },
            Self::Settle { .. }
            | Self::Found { .. }
            | Self::Plan { .. }
            | Self::DryRunEnded { .. }
            | Self::Claim(_)
            | Self::Start { .. }
            | Self::LeaseOver { .. }
            | Self::Reconcile { .. }
            | Self::Escalate
            | Self::Cancel
            | Self::Due => None,
        };
        if known.is_none_or(Known::fits) { Ok(()) } else { Err(Rejection::TooLarge) }
    }
}
