//! The built binary from outside: separate processes, the shipped configuration, `kill -9`, SIGSTOP and restarts.
//!
//! Everything goes through the public edges; only what a dead or forged sender would do uses the bus directly. Start reading
//! at [`harness::Fleet`].
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    clippy::print_stderr,
    reason = "tests"
)]

mod bad_input;
mod caller;
mod cancel;
mod chaos;
mod fences;
mod following;
mod harness;
mod idempotency;
mod outage;
mod process;
mod python;
mod secrecy;
mod smoke;
mod trial;
