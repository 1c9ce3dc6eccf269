//! The action machine (AIP 1.0 §11.5, `design.md` §4).

mod matrix;
mod record;
mod rejection;
mod step;
mod view;

pub use matrix::matrix;
pub use record::{ActionRecord, Admission, Contract, Grant, Held, IdempotencyKey, Phase};
pub use rejection::Rejection;
pub use step::{Settled, Trigger, admit, step};
pub use view::{lifecycle, result, status};

/// A step of an action.
pub type Step = crate::Step<ActionRecord>;
