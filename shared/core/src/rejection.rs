//! Why a machine says no.

use aip_types::ErrorCode;

/// Why a trigger was refused. A refusal changes nothing, so it is safe to repeat.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Rejection {
    /// The fence or instance is not the current one: another attempt or a settlement has overtaken it.
    #[error("the attempt was superseded")]
    StaleFence,
    /// The same attempt has already begun.
    #[error("the attempt has already begun")]
    Repeated,
    /// The current attempt's lease has not been proved over.
    #[error("the current attempt holds its lease")]
    LeaseHeld,
    /// The deadline has not come.
    #[error("the time has not come")]
    NotDue,
    /// The deadline has passed: nothing new begins.
    #[error("the deadline has passed")]
    DeadlinePassed,
    /// All attempts are used up.
    #[error("the attempts are used up")]
    Exhausted,
    /// The state does not admit this trigger.
    #[error("the state does not admit this")]
    NotAdmitted,
    /// The record is terminal.
    #[error("the record is terminal")]
    Terminal,
}

impl Rejection {
    /// Its public row.
    #[must_use]
    pub const fn code(self) -> ErrorCode {
        match self {
            Self::StaleFence => ErrorCode::StaleFence,
            Self::Repeated => ErrorCode::StateRepeated,
            Self::LeaseHeld => ErrorCode::LeaseHeld,
            Self::NotDue => ErrorCode::StateNotDue,
            Self::DeadlinePassed => ErrorCode::ActionExpired,
            Self::Exhausted => ErrorCode::ActionDeadLettered,
            Self::NotAdmitted => ErrorCode::StateNotAdmitted,
            Self::Terminal => ErrorCode::StateTerminal,
        }
    }

    /// Its short name in the matrix of `docs/states/`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::StaleFence => "stale_fence",
            Self::Repeated => "repeated",
            Self::LeaseHeld => "lease_held",
            Self::NotDue => "not_due",
            Self::DeadlinePassed => "deadline_passed",
            Self::Exhausted => "exhausted",
            Self::NotAdmitted => "not_admitted",
            Self::Terminal => "terminal",
        }
    }
}
