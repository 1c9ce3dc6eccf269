//! Receipt hashing and chains (AIP 1.0 §18.2).

use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;

use aip_types::{Receipt, ReceiptChain};
use serde_json::Value;

use crate::canonical::canonical_without;
use crate::hash::sha256_hex;

/// The hash of one receipt: SHA-256 over its canonical text without `hash`, in lower-case hexadecimal.
///
/// Computed over the members as they stand: an omitted and a null member hash differently.
///
/// Source: AIP 1.0 §18.2.
#[must_use]
pub fn receipt_hash(receipt: &Value) -> String {
    sha256_hex(canonical_without(receipt, &["hash"]).as_bytes())
}

/// The root of a chain: SHA-256 over the receipt hashes, joined in order without a separator (AIP 1.0 §18.2).
pub fn root_hash<S: AsRef<str>>(hashes: impl IntoIterator<Item = S>) -> String {
    let mut joined = String::new();
    hashes.into_iter().for_each(|hash| joined.push_str(hash.as_ref()));
    sha256_hex(joined.as_bytes())
}

/// Sets `previous_hash` (absent for the first receipt of a chain) and then `hash`. A value that is no object stays as
/// it is.
///
/// Source: AIP 1.0 §18.2.
pub fn seal_value(receipt: &mut Value, previous: Option<&str>) {
    if let Some(members) = receipt.as_object_mut() {
        match previous {
            Some(hash) => members.insert("previous_hash".to_string(), Value::String(hash.to_string())),
            None => members.remove("previous_hash"),
        };
    }
    let hash = receipt_hash(receipt);
    if let Some(members) = receipt.as_object_mut() {
        members.insert("hash".to_string(), Value::String(hash));
    }
}

/// Where a chain breaks, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("receipt {index}: {kind}")]
pub struct ChainFault {
    /// The position of the first bad receipt, from 0; for a fault of the root, the number of receipts.
    pub index: usize,
    /// What is wrong there.
    pub kind: ChainFaultKind,
}

/// What is wrong with a receipt or with the root of its chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChainFaultKind {
    /// The chain is no object with an array `receipts`, or the receipt is no object.
    Malformed,
    /// `hash` is absent or no string.
    HashMissing,
    /// `hash` is not the hash of the receipt.
    HashMismatch,
    /// `previous_hash` is not the hash of the receipt before, or stands on the first one.
    LinkMismatch,
    /// A non-empty chain has no `root_hash`.
    RootMissing,
    /// `root_hash` is not the root of the receipts.
    RootMismatch,
}

impl fmt::Display for ChainFaultKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Malformed => "not a receipt",
            Self::HashMissing => "hash is missing",
            Self::HashMismatch => "hash does not match the receipt",
            Self::LinkMismatch => "previous_hash does not match the receipt before",
            Self::RootMissing => "root_hash is missing",
            Self::RootMismatch => "root_hash does not match the receipts",
        })
    }
}

/// Recomputes every hash, every link and the root of a `receipt_chain` body as it was received.
///
/// Shows that what is kept was not changed; it does not say who wrote it. An empty chain needs no root.
///
/// # Errors
/// The first [`ChainFault`], in the order of the receipts; the root comes last.
///
/// Source: AIP 1.0 §18.2.
pub fn verify_chain_value(chain: &Value) -> Result<(), ChainFault> {
    let malformed = ChainFault { index: 0, kind: ChainFaultKind::Malformed };
    let receipts = chain.get("receipts").and_then(Value::as_array).ok_or(malformed)?;
    let root = chain.get("root_hash").filter(|root| !root.is_null());
    verify_receipts(receipts, root.map(|root| root.as_str().unwrap_or_default()))
}

fn verify_receipts(receipts: &[Value], root: Option<&str>) -> Result<(), ChainFault> {
    let mut previous: Option<&str> = None;
    let mut joined = String::new();
    for (index, receipt) in receipts.iter().enumerate() {
        let hash = verify_receipt(receipt, previous).map_err(|kind| ChainFault { index, kind })?;
        joined.push_str(hash);
        previous = Some(hash);
    }
    let fault = |kind| Err(ChainFault { index: receipts.len(), kind });
    match root {
        None if receipts.is_empty() => Ok(()),
        None => fault(ChainFaultKind::RootMissing),
        Some(root) if root == sha256_hex(joined.as_bytes()) => Ok(()),
        Some(_) => fault(ChainFaultKind::RootMismatch),
    }
}

fn verify_receipt<'r>(receipt: &'r Value, previous: Option<&str>) -> Result<&'r str, ChainFaultKind> {
    let members = receipt.as_object().ok_or(ChainFaultKind::Malformed)?;
    let hash = members.get("hash").and_then(Value::as_str).ok_or(ChainFaultKind::HashMissing)?;
    if hash != receipt_hash(receipt) {
        return Err(ChainFaultKind::HashMismatch);
    }
    let link = members.get("previous_hash").filter(|link| !link.is_null());
    match (link, previous) {
        (None, None) => Ok(hash),
        (Some(Value::String(link)), Some(previous)) if link == previous => Ok(hash),
        (Some(_), _) | (None, Some(_)) => Err(ChainFaultKind::LinkMismatch),
    }
}

/// Seals a receipt of ours: sets its `previous_hash` (absent for the first of a chain) and its `hash`.
///
/// Source: AIP 1.0 §18.2.
#[must_use]
pub fn seal(mut receipt: Receipt, previous: Option<&str>) -> Receipt {
    receipt.previous_hash = previous.map(ToString::to_string);
    receipt.hash = None;
    receipt.hash = Some(receipt_hash(&written(&receipt)));
    receipt
}

/// Recomputes a chain of typed receipts, as [`verify_chain_value`] does.
///
/// Right for chains that [`seal`] made. A chain of a foreign peer is verified as the document that it sent, with
/// [`verify_chain_value`]: a typed receipt no longer knows a null member or the spelling of a time.
///
/// # Errors
/// The first [`ChainFault`], in the order of the receipts; the root comes last.
///
/// Source: AIP 1.0 §18.2.
pub fn verify_chain(chain: &ReceiptChain) -> Result<(), ChainFault> {
    let receipts: Vec<Value> = chain.receipts.iter().map(written).collect();
    verify_receipts(&receipts, chain.root_hash.as_deref())
}

/// The receipt as it goes out. Writing one cannot fail: its members are texts, enums and JSON values.
fn written(receipt: &Receipt) -> Value {
    serde_json::to_value(receipt).unwrap_or_else(|fault| {
        debug_assert!(false, "a receipt was not written: {fault}");
        Value::Null
    })
}
