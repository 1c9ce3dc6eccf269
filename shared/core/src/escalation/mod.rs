//! The escalation machine: a person is asked for an input, a takeover or an exception, and answers once (AIP 1.0 §12.7).
//!
//! The answer to an escalation lets its owner go on; it is no decision about an approval, whatever it says. Nothing here makes
//! an `ApprovalDecision`, an approval's receipt or one of its triggers.

mod matrix;
mod record;
mod rejection;
mod step;

pub use matrix::matrix;
pub use record::{EscalationRecord, Phase, Raised};
pub use rejection::Rejection;
pub use step::{Resolve, Trigger, VerifiedAnswer, raise, resolution, step};

/// A step of an escalation.
pub type Step = crate::Step<EscalationRecord>;
