//! Receipt chains: what is sealed verifies, what was changed does not (AIP 1.0 §18.2).
#![expect(clippy::unwrap_used, reason = "tests")]

use aip_crypto::{ChainFault, ChainFaultKind, root_hash, seal, seal_value, verify_chain, verify_chain_value};
use aip_types::{Receipt, ReceiptChain};
use proptest::prelude::*;
use serde_json::{Value, json};

fn receipt(number: usize) -> Value {
    json!({
        "id": format!("rcpt_{number}"),
        "receipt_type": "action_accepted",
        "actor": {"id": "svc:aip", "kind": "service"},
        "occurred_at": "2026-01-02T03:04:05Z",
        "data": {"action_id": "act_1", "n": number}
    })
}

fn chain(len: usize) -> Value {
    let mut receipts: Vec<Value> = Vec::new();
    for number in 0..len {
        let mut next = receipt(number);
        seal_value(&mut next, receipts.last().map(|last| last["hash"].as_str().unwrap()));
        receipts.push(next);
    }
    let root = root_hash(receipts.iter().map(|receipt| receipt["hash"].as_str().unwrap()));
    json!({"chain_id": "action:act_1", "receipts": receipts, "root_hash": root})
}

fn fault(index: usize, kind: ChainFaultKind) -> Result<(), ChainFault> {
    Err(ChainFault { index, kind })
}

#[test]
fn a_sealed_chain_verifies_as_value_and_as_type() {
    for len in 0..4 {
        let chain = chain(len);
        assert_eq!(verify_chain_value(&chain), Ok(()));
        let typed: ReceiptChain = serde_json::from_value(chain).unwrap();
        assert_eq!(verify_chain(&typed), Ok(()));
    }
}

#[test]
fn sealing_a_typed_receipt_gives_the_hashes_of_its_document() {
    let mut typed: Vec<Receipt> = Vec::new();
    for number in 0..3 {
        let next: Receipt = serde_json::from_value(receipt(number)).unwrap();
        let previous = typed.last().and_then(|last| last.hash.clone());
        typed.push(seal(next, previous.as_deref()));
    }
    assert_eq!(json!(typed), chain(3)["receipts"]);
}

#[test]
fn an_empty_chain_needs_no_root_but_a_wrong_one_is_refused() {
    assert_eq!(verify_chain_value(&json!({"receipts": []})), Ok(()));
    assert_eq!(verify_chain_value(&json!({"receipts": [], "root_hash": "00"})), fault(0, ChainFaultKind::RootMismatch));
}

#[test]
fn every_way_to_break_a_chain_is_named() {
    type Case = (fn(&mut Value), usize, ChainFaultKind);
    let cases: [Case; 12] = [
        (|c| c["receipts"] = json!("none"), 0, ChainFaultKind::Malformed),
        (|c| c["receipts"][1] = json!("text"), 1, ChainFaultKind::Malformed),
        (|c| drop(c["receipts"][1].as_object_mut().unwrap().remove("hash")), 1, ChainFaultKind::HashMissing),
        (|c| c["receipts"][1]["data"]["n"] = json!(9), 1, ChainFaultKind::HashMismatch),
        (|c| c["receipts"][0]["correlation_id"] = Value::Null, 0, ChainFaultKind::HashMismatch),
        (|c| drop(c["receipts"].as_array_mut().unwrap().remove(0)), 0, ChainFaultKind::LinkMismatch),
        (|c| drop(c["receipts"].as_array_mut().unwrap().remove(1)), 1, ChainFaultKind::LinkMismatch),
        (|c| c["receipts"].as_array_mut().unwrap().swap(1, 2), 1, ChainFaultKind::LinkMismatch),
        (|c| seal_value(&mut c["receipts"][1], None), 1, ChainFaultKind::LinkMismatch),
        (|c| drop(c["receipts"].as_array_mut().unwrap().pop()), 2, ChainFaultKind::RootMismatch),
        (|c| drop(c.as_object_mut().unwrap().remove("root_hash")), 3, ChainFaultKind::RootMissing),
        (|c| c["root_hash"] = json!(7), 3, ChainFaultKind::RootMismatch),
    ];
    for (number, (spoil, index, kind)) in cases.into_iter().enumerate() {
        let mut chain = chain(3);
        spoil(&mut chain);
        assert_eq!(verify_chain_value(&chain), fault(index, kind), "case {number}");
    }
}

proptest! {
    /// AIP §18.2: no member of any receipt can be changed without the chain showing it.
    #[test]
    fn a_changed_member_is_always_seen(len in 1_usize..6, at in 0_usize..6, member in 0_usize..6, text in "[a-z]{1,8}") {
        let mut chain = chain(len);
        let at = at % len;
        let names = ["id", "receipt_type", "actor", "occurred_at", "data", "hash"];
        chain["receipts"][at][names[member]] = json!(text);
        prop_assert_eq!(verify_chain_value(&chain).unwrap_err().index, at);
    }
}
