//! Judges documents: the JSON Schemas of the wire, the rules that the specification states beside them, and the schemas
//! that capabilities bring along.
//!
//! A fault names one place and one rule and never repeats a received value. Start at [`receive`], which does everything
//! that a receiver can check on the bytes of one message alone; authentication, replay and authorisation come after it.
//!
//! Source: AIP 1.0 §1.2, §6.4, §22.8, Appendix A.

mod budget;
mod capability;
mod embedded;
mod expansion;
mod fault;
mod files;
mod inspect;
mod received;
pub mod rules;

pub use capability::{CapabilitySchema, SchemaFault};
pub use embedded::{Schemas, check_envelope};
pub use fault::Fault;
pub use files::{Digests, FILES, digests, file};
pub use inspect::{Form, Inspected, inspect};
pub use received::{Received, receive};
