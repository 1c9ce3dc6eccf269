//! The scheduler against a real nats-server, with a connector that the test plays message by message: what nobody sees from
//! outside of the fleet (`design.md` §4).
#![expect(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, reason = "tests")]

mod begins;
mod cancels;
mod holders;
mod leases;
mod outcomes;
mod world;
