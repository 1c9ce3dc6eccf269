//! The pure core: properties of the action machine over random histories, the precedence of refusals, and what a repeated key
//! means.
#![expect(clippy::unwrap_used, clippy::wildcard_enum_match_arm, reason = "tests")]

mod approval;
mod approval_fixtures;
mod approval_histories;
mod approval_rule;
mod callback;
mod constraint;
mod delegation;
mod delegation_chain;
mod escalation;
mod fixtures;
mod histories;
mod idempotency;
mod laws;
mod machine;
mod precedence;
mod session;
mod transaction;
mod transaction_histories;
mod transaction_properties;
