//! The transaction machine (AIP 1.0 §13, `design.md` §4.6).
mod check;
mod effect;
mod facts;
mod matrix;
mod open;
mod record;
mod rejection;
mod step;
mod trigger;
mod view;
/// A step of a transaction.
pub type Step = crate::Step<TransactionRecord>;
pub use facts::{Contract, VerifiedApproval, VerifiedFacts, calls_handler};
pub use matrix::matrix;
pub use open::{First, Opening, Planning, implicit_id, open, open_unknown};
pub use record::{Begun, Claim, Committed, Grant, Part, Phase, Plan, TransactionRecord, Work};
pub use rejection::Rejection;
pub use step::step;
pub use trigger::{Claiming, DryRun, Finding, Known, Resolution, Settled, Trigger};
pub use view::{plan, result, view};
