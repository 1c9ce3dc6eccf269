//! The two orders that every owner follows: how a record is driven, and how a request is received (`design.md` §2, §7).
//!
//! Over the simulated bus, which the parity suite of `aip-bus` holds to the real one.
#![expect(clippy::unwrap_used, reason = "tests")]

mod driving;
mod receiving;
mod settings;
mod waiting;
mod world;
