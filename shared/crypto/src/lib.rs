//! Canonical JSON, hashes, `did:key` signatures, receipt chains and session encryption of AIP 1.0.
//!
//! Owns the one definition of "the bytes that are hashed or signed" (AIP 1.0 §5.5, §18.2, §22.2). It judges nothing:
//! a valid signature proves that a key was held, not that its holder may do anything. It reads no clock, no
//! environment and no file: keys come in as arguments. Hashes and signatures are computed over the document that was
//! received, never over a typed value that was written out again.
//!
//! Start reading at [`canonical`], then [`verify_envelope`] and [`verify_chain`].
#![no_std]

extern crate alloc;

mod canonical;
mod did;
mod hash;
mod key;
mod receipt;
pub mod session;
mod signature;

pub use canonical::canonical;
pub use did::{Did, DidFault};
pub use hash::{Governed, hash, input_hash, policy_hash, sha256_hex};
pub use key::{KeyFault, SigningKey};
pub use receipt::{
    ChainFault, ChainFaultKind, receipt_hash, root_hash, seal, seal_value, verify_chain, verify_chain_value,
};
pub use signature::{SignatureFault, sign_envelope, signing_text, verify_envelope};
