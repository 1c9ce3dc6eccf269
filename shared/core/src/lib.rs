//! The pure protocol core: decisions of AIP 1.0 as total functions `(state, trigger) -> step`.
//!
//! It owns the machines of all records, the precedence of refusals at admission and the idempotency decisions. It must
//! never read a clock, make randomness, log, wait or talk to anything: time and fences come in with the trigger, ids are
//! derived from the record. `#![no_std]` holds it to that. Start reading at [`action::step`].
#![no_std]

extern crate alloc;

mod causes;
mod derive;
mod matrix;
mod outbox;
mod rejection;
mod step;

pub mod action;
pub mod admission;
pub mod approval;
pub mod callback;
pub mod delegation;
pub mod escalation;
pub mod idempotency;
pub mod session;
pub mod transaction;

pub use causes::Causes;
pub use outbox::Lease;
pub use step::{Chain, Machine, Refusal, Step};
