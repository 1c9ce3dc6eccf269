//! The transaction machine (AIP 1.0 §13, `design.md` §4.6).
//!
//! One transaction is one piece of governed work: maybe a dry run of it, maybe a plan, its commit (or its execution without
//! a plan), and maybe the compensation of that commit. Every action that takes part has a record of its own; this record
//! says who may have the effect and whether it took place. Its phases are the wire states of AIP 1.0 §13.5:
//!
//! - opened: `planned`; `prepared` (an execution, or a dry run that calls the handler); `dry_run_completed` (a dry run that
//!   does not); `rollback_not_supported`; `outcome_unknown` (for an action without a transaction, [`open_unknown`]).
//! - `planned`, `prepared`, `reconciled` → claim → `prepared` with a claim → start → `committing` → `committed`.
//! - `committed` → claim → `compensating` → `compensated`. It is never called rollback.
//! - An attempt that began and is lost or uncertain → `outcome_unknown` ⇄ `reconciling`; → `requires_human`, when the
//!   provider cannot tell or a part took effect. From these three only a definitive word leads on: of the provider, of a
//!   person, or a late result with the fence of the claim. Committed → `committed` or `compensated`; not committed →
//!   `reconciled` while the plan holds, `failed`, or `committed` again where it was the compensation.
//! - The claim is released, because nothing began or because its attempt had no effect and its action will try again →
//!   `planned`, `prepared`, `committed`.
//! - Nothing began: a cancel → `cancelled`, the expiry → `failed`. Later only the owner's word → `cancelled`.
//!
//! Two rules carry the rest. *Nothing runs before its start is stored*, so a claim without one passes on freely. *What began
//! is repeated by its own action only*, and only where the contract says that a repeat is safe: no other action's key would
//! tell the provider that it is the same work.
//!
//! A reconciliation asks under the lease of the transaction like a claim, so that its fence outdates every worker before it.
//! References and cursors come from the provider's side only: what a caller sends in a `TransactionRequest` names nothing
//! that is asked about.
//!
//! Start reading at [`step`], then `check.rs` for what a claim is checked by and `effect.rs` for the evidence.

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

pub use facts::{Contract, VerifiedApproval, VerifiedFacts, calls_handler};
pub use matrix::matrix;
pub use open::{First, Opening, Planning, implicit_id, open, open_unknown};
pub use record::{Begun, Claim, Committed, Grant, Part, Phase, Plan, TransactionRecord, Work};
pub use rejection::Rejection;
pub use step::step;
pub use trigger::{Claiming, DryRun, Finding, Known, Resolution, Settled, Trigger};
pub use view::{plan, result, view};

/// A step of a transaction.
pub type Step = crate::Step<TransactionRecord>;
