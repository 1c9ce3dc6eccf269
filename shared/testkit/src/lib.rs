//! What tests stand on: a real nats-server of their own, conditions with a deadline, seeds.
//!
//! Only ever a dev-dependency. Every [`Nats`] has free ports and a folder of its own, and both go when it is dropped, so tests
//! run in parallel. Where something fails here the test is over: everything panics with a reason.
#![expect(clippy::panic, reason = "a test without its server is over")]

mod cluster;
mod eventually;
mod faulty;
mod nats;
mod scratch;
mod seed;

pub use cluster::Cluster;
pub use eventually::eventually;
pub use faulty::{Fate, Faulty, Gate};
pub use nats::Nats;
pub use scratch::Scratch;
pub use seed::{Seed, seed};
