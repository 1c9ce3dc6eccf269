//! The rules of receipts and their chains (AIP 1.0 §18.2).

use aip_crypto::ChainFaultKind;
use aip_types::ReceiptChain;

use super::place::{At, Findings};
use super::registry::Rule;

/// A chain, wherever it stands. Hashes are taken over the receipts as received.
pub(super) fn chain(found: &mut Findings<'_>, it: &ReceiptChain, at: At<'_>) {
    if it.receipts.is_empty() && it.root_hash.is_none() {
        return;
    }
    found.require(it.root_hash.is_some(), Rule::ChainRootRequired, at.member("root_hash"));
    if found.is_full() {
        return;
    }
    let Some(received) = found.received(at) else { return };
    let Err(fault) = aip_crypto::verify_chain_value(received) else { return };
    let receipts = at.member("receipts");
    let receipt = receipts.item(fault.index);
    match fault.kind {
        ChainFaultKind::Malformed | ChainFaultKind::HashMissing | ChainFaultKind::HashMismatch => {
            found.require(false, Rule::ReceiptHash, receipt.member("hash"));
        }
        ChainFaultKind::LinkMismatch => found.require(false, Rule::ReceiptLink, receipt.member("previous_hash")),
        ChainFaultKind::RootMissing => {}
        ChainFaultKind::RootMismatch => found.require(false, Rule::ChainRoot, at.member("root_hash")),
    }
}
