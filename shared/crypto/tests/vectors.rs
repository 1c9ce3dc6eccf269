//! The published vectors of `schemas/vectors`, by our code and by an implementation that shares nothing with it.
#![expect(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

use std::path::{Path, PathBuf};
use std::process::Command;

use aip_crypto::{
    Did, SigningKey, canonical, hash, input_hash, receipt_hash, root_hash, seal_value, sha256_hex, sign_envelope,
    signing_text, verify_chain_value, verify_envelope,
};
use serde_json::{Value, json};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../schemas/vectors")
}

fn vectors(file: &str) -> Vec<Value> {
    let text = std::fs::read_to_string(folder().join(file)).unwrap();
    let document: Value = serde_json::from_str(&text).unwrap();
    let vectors = document["vectors"].as_array().unwrap().clone();
    assert!(!vectors.is_empty(), "{file} is empty");
    vectors
}

fn text<'v>(vector: &'v Value, member: &str) -> &'v str {
    vector[member].as_str().unwrap_or_else(|| panic!("{member} is missing in {}", vector["name"]))
}

fn document(vector: &Value, member: &str) -> Value {
    serde_json::from_str(text(vector, member)).unwrap()
}

#[test]
fn canonical_text_and_hash_are_the_published_ones() {
    for vector in vectors("canonical.json") {
        let value = document(&vector, "input_text");
        assert_eq!(canonical(&value), text(&vector, "canonical"), "{}", vector["name"]);
        assert_eq!(hash(&value), text(&vector, "sha256"), "{}", vector["name"]);
    }
}

#[test]
fn input_hashes_are_the_published_ones() {
    for vector in vectors("input-hash.json") {
        let transaction = vector.get("transaction_text").map(|_| document(&vector, "transaction_text"));
        let computed =
            input_hash(text(&vector, "capability_id"), &document(&vector, "input_text"), transaction.as_ref());
        assert_eq!(computed, text(&vector, "input_hash"), "{}", vector["name"]);
        assert_eq!(sha256_hex(text(&vector, "canonical").as_bytes()), computed, "{}", vector["name"]);
    }
}

#[test]
fn receipt_chains_are_the_published_ones() {
    for vector in vectors("receipts.json") {
        let mut hashes: Vec<String> = Vec::new();
        let mut receipts = Vec::new();
        for (unsealed, sealed) in
            vector["receipt_texts"].as_array().unwrap().iter().zip(vector["sealed"].as_array().unwrap())
        {
            let mut receipt: Value = serde_json::from_str(unsealed.as_str().unwrap()).unwrap();
            seal_value(&mut receipt, hashes.last().map(String::as_str));
            assert_eq!(canonical(&receipt), sealed.as_str().unwrap(), "{}", vector["name"]);
            hashes.push(receipt_hash(&receipt));
            receipts.push(receipt);
        }
        assert_eq!(json!(hashes), vector["hashes"], "{}", vector["name"]);
        assert_eq!(root_hash(&hashes), text(&vector, "root_hash"), "{}", vector["name"]);
        let chain = json!({"chain_id": "c", "receipts": receipts, "root_hash": vector["root_hash"]});
        assert_eq!(verify_chain_value(&chain), Ok(()), "{}", vector["name"]);
    }
}

#[test]
fn signatures_are_the_published_ones() {
    for vector in vectors("signature.json") {
        let Ok(key) = SigningKey::from_file_text(text(&vector, "seed_hex")) else { panic!("{}", vector["name"]) };
        let mut envelope = document(&vector, "envelope_text");
        sign_envelope(&mut envelope, &key).unwrap();
        assert_eq!(signing_text(&envelope), text(&vector, "signing_text"), "{}", vector["name"]);
        assert_eq!(envelope["security"]["signature"], vector["signature"], "{}", vector["name"]);
        assert_eq!(canonical(&envelope), text(&vector, "signed"), "{}", vector["name"]);
        let did = verify_envelope(&document(&vector, "signed")).unwrap();
        assert_eq!(did, Did::parse(text(&vector, "did")).unwrap(), "{}", vector["name"]);
    }
}

#[test]
fn an_independent_implementation_computes_the_same() {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/independent.py");
    let Ok(run) = Command::new("python3").arg(script).arg("check").arg(folder()).output() else {
        println!("skipped: no python3");
        return;
    };
    print!("{}", String::from_utf8_lossy(&run.stdout));
    assert!(run.status.success(), "{}{}", String::from_utf8_lossy(&run.stdout), String::from_utf8_lossy(&run.stderr));
}
