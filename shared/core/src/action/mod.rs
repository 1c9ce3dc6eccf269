//! The action machine (AIP 1.0 §11.5, `design.md` §4).

mod matrix;
mod phase;
mod record;
mod rejection;
mod settle;
mod step;
mod view;

pub use matrix::matrix;
pub use phase::{Grant, Phase};
pub use record::{ActionRecord, Admission, Contract, Held, IdempotencyKey, Question, Stop};
pub use rejection::Rejection;
pub use settle::Settled;
pub use step::{Reconciled, Trigger, admit, step};
pub use view::{lifecycle, result, status};

/// A step of an action.
pub type Step = crate::Step<ActionRecord>;
