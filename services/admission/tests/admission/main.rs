//! Admission against a real nats-server, where the test plays edge, connector and scheduler: keys, ids and waiting callers
//! (AIP 1.0 §9.5, §11.3; `design.md` §5).
#![expect(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, clippy::string_slice, reason = "tests")]

mod ids;
mod keys;
mod waiting;
mod world;
