//! The approval machine: who may let a governed action run, and whether enough of them have said so (AIP 1.0 §12,
//! `design.md` §3).
//!
//! A decision is admitted in the fixed order of [`decide`]'s module, is counted by the [`Rule`] of the frozen policy, and a
//! grant is looked at once more by [`revalidate`] before the action is dispatched.

mod authority;
pub mod constraint;
mod decision;
mod evidence;
mod matrix;
mod record;
mod rejection;
mod resume;
mod rule;
mod step;
mod view;

pub use authority::{Governed, Standing, VerifiedAuthority, VerifiedGrant};
pub use decision::{ActionNow, Decide, VerifiedNow};
pub use matrix::matrix;
pub use record::{ApprovalRecord, Phase, Recorded, Requested};
pub use rejection::Rejection;
pub use resume::{VerifiedDispatch, revalidate, verify};
pub use rule::{Leaves, Rule};
pub use step::{Trigger, request, step};
pub use view::{VerifiedExport, evidence_payload, view};

/// A step of an approval.
pub type Step = crate::Step<ApprovalRecord>;
