//! Delegation (AIP 1.0 §14): authority that only narrows from hop to hop, and the life of one delegated child action.
//!
//! Start at [`Authority`], then [`accept`], then [`step`].

mod authority;
mod effect;
mod matrix;
mod record;
mod rejection;
mod scope;
mod step;
mod view;

pub use authority::{Authority, HopPolicy, VerifiedHop, VerifiedOrigin};
pub use matrix::matrix;
pub use record::{Acceptance, Cancelling, DelegationRecord, Phase, VerifiedPeer};
pub use rejection::Rejection;
pub use scope::Scope;
pub use step::{Reach, Report, ReportedResult, Trigger, accept, again, step};
pub use view::{status, view};

/// A step of a delegation.
pub type Step = crate::Step<DelegationRecord>;
