//! The action machine (AIP 1.0 §11.5, `design.md` §4).

mod matrix;
mod record;
mod step;
mod view;

pub use matrix::matrix;
pub use record::{ActionRecord, Admission, Contract, Grant, Held, IdempotencyKey, Phase};
pub use step::{Settled, Step, Trigger, admit, step};
pub use view::{lifecycle, result, status};
