//! The callback machine (AIP 1.0 §17): one stored message that must reach one target, at least once, under one id.
//!
//! Start at [`open`], then [`step`]. Nothing here touches the source action: a retry repeats the sending only.

mod matrix;
mod record;
mod rejection;
mod step;
mod view;

pub use matrix::matrix;
pub use record::{Attempt, CallbackRecord, Delivery, Phase, VerifiedTarget, delivery_id};
pub use rejection::Rejection;
pub use step::{Outcome, Trigger, VerifiedOperator, again, open, step};
pub use view::{status, view};

/// A step of a callback delivery.
pub type Step = crate::Step<CallbackRecord>;
