//! The SDK against a real nats-server, with a test in the place of admission and scheduler.
#![expect(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

mod attempts;
mod chunks;
mod fleet;
mod presence;
