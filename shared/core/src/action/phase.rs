//! Where an action stands.

use alloc::string::String;

use aip_types::{ApprovalId, CorrelationId};
use serde::{Deserialize, Serialize};

/// The right of one attempt: which lease, which connector process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Grant {
    /// Creation revision of the lease.
    pub fence: u64,
    /// The connector process that works under it.
    pub instance: String,
}

/// Where an action stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Phase {
    /// A person must decide first (AIP 1.0 §12). Parked.
    PendingApproval {
        /// The approval, named before its record exists.
        approval_id: ApprovalId,
    },
    /// Waits for its first attempt.
    Queued {},
    /// An attempt may be at work.
    Running(Grant),
    /// The handler has ended its attempt with a question to the caller, and without effect. Parked.
    InputRequired {
        /// The last attempt.
        grant: Grant,
        /// Names the question.
        correlation_id: CorrelationId,
    },
    /// The last attempt is over and may be repeated; waits for the next.
    RetryDue(Grant),
    /// Somebody wants it stopped, and an attempt may be at work; a plain read has no grant (AIP 1.0 §11.8).
    Cancelling(Option<Grant>),
    /// The last attempt is lost and may have had its effect (AIP 1.0 §13.6). Never repeated blindly, never terminal by
    /// itself. Parked.
    OutcomeUnknown(Grant),
    /// Done.
    Completed {},
    /// Not done.
    Failed {},
    /// Stopped, and its owner has confirmed it.
    Cancelled {},
    /// Not done in time, and without effect.
    Expired {},
    /// Given up.
    DeadLettered {},
}

impl Phase {
    /// Nothing changes it any more (AIP 1.0 §11.5).
    #[must_use]
    pub const fn is_terminal(&self) -> bool {
        match self {
            Self::Completed {} | Self::Failed {} | Self::Cancelled {} | Self::Expired {} | Self::DeadLettered {} => {
                true
            }
            Self::PendingApproval { .. }
            | Self::Queued {}
            | Self::Running(_)
            | Self::InputRequired { .. }
            | Self::RetryDue(_)
            | Self::Cancelling(_)
            | Self::OutcomeUnknown(_) => false,
        }
    }

    /// Nothing moves it without a new trigger: its lane message may be acknowledged (`design.md` §4.1).
    #[must_use]
    pub const fn is_settled_or_parked(&self) -> bool {
        self.is_terminal()
            || matches!(self, Self::PendingApproval { .. } | Self::InputRequired { .. } | Self::OutcomeUnknown(_))
    }

    /// Its name in `docs/states/`.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::PendingApproval { .. } => "pending_approval",
            Self::Queued {} => "queued",
            Self::Running(_) => "running",
            Self::InputRequired { .. } => "input_required",
            Self::RetryDue(_) => "retry_due",
            Self::Cancelling(_) => "cancelling",
            Self::OutcomeUnknown(_) => "outcome_unknown",
            Self::Completed {} => "completed",
            Self::Failed {} => "failed",
            Self::Cancelled {} => "cancelled",
            Self::Expired {} => "expired",
            Self::DeadLettered {} => "dead_lettered",
        }
    }

    /// The right of the current or last attempt, where there is or was one that matters.
    #[must_use]
    pub const fn grant(&self) -> Option<&Grant> {
        match self {
            Self::Running(grant)
            | Self::InputRequired { grant, .. }
            | Self::RetryDue(grant)
            | Self::Cancelling(Some(grant))
            | Self::OutcomeUnknown(grant) => Some(grant),
            Self::PendingApproval { .. }
            | Self::Queued {}
            | Self::Cancelling(None)
            | Self::Completed {}
            | Self::Failed {}
            | Self::Cancelled {}
            | Self::Expired {}
            | Self::DeadLettered {} => None,
        }
    }
}
