//! The published vectors of `schemas/vectors`, by our code and by an implementation that shares nothing with it.
#![expect(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

use std::path::{Path, PathBuf};
use std::process::Command;

use aip_crypto::session::{Channel, Ephemeral, Lifetime, Side, Terms};
use aip_crypto::{
    Did, Governed, SigningKey, canonical, hash, input_hash, policy_hash, receipt_hash, root_hash, seal_value,
    sha256_hex, sign_envelope, signing_text, verify_chain_value, verify_envelope,
};
use aip_types::Millis;
use aip_types::document::{Bounds, parse};
use serde_json::{Value, json};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../schemas/vectors")
}

fn vectors(file: &str) -> Vec<Value> {
    list(file, "vectors")
}

fn list(file: &str, name: &str) -> Vec<Value> {
    let text = std::fs::read_to_string(folder().join(file)).unwrap();
    let document: Value = serde_json::from_str(&text).unwrap();
    let vectors = document[name].as_array().unwrap().clone();
    assert!(!vectors.is_empty(), "{file}: {name} is empty");
    vectors
}

fn text<'v>(vector: &'v Value, member: &str) -> &'v str {
    vector[member].as_str().unwrap_or_else(|| panic!("{member} is missing in {}", vector["name"]))
}

/// As a message from outside is read: `serde_json` itself would rewrite `1e16` and take the last of two equal members.
fn read(text: &str) -> Value {
    parse(text.as_bytes(), Bounds::ENVELOPE).unwrap_or_else(|fault| panic!("{fault}: {text}"))
}

fn document(vector: &Value, member: &str) -> Value {
    read(text(vector, member))
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
fn canonical_text_is_its_own_canonical_text() {
    for vector in vectors("canonical.json") {
        let text = text(&vector, "canonical");
        assert_eq!(canonical(&read(text)), text, "{}", vector["name"]);
    }
}

#[test]
fn what_two_readers_could_read_differently_is_refused() {
    for vector in list("canonical.json", "refused") {
        let bytes = match vector.get("input_hex").and_then(Value::as_str) {
            Some(digits) => hex::decode(digits).unwrap(),
            None => text(&vector, "input_text").as_bytes().to_vec(),
        };
        let fault = parse(&bytes, Bounds::ENVELOPE).err().unwrap_or_else(|| panic!("{} is read", vector["name"]));
        assert_eq!(fault.code.as_str(), text(&vector, "code"), "{}", vector["name"]);
    }
}

#[test]
fn dids_are_the_published_ones_and_nothing_else_is_a_did() {
    for vector in vectors("did.json") {
        let key = <[u8; 32]>::try_from(hex::decode(text(&vector, "key_hex")).unwrap()).unwrap();
        assert_eq!(Did::from_key(key).unwrap().as_str(), text(&vector, "did"), "{}", vector["name"]);
        assert_eq!(Did::parse(text(&vector, "did")).unwrap().key(), key, "{}", vector["name"]);
    }
    for vector in list("did.json", "refused") {
        assert!(Did::parse(text(&vector, "did")).is_err(), "{}", vector["name"]);
    }
}

#[test]
fn policy_hashes_are_the_published_ones() {
    for vector in vectors("policy-hash.json") {
        let computed = policy_hash(&Governed {
            policy: &document(&vector, "policy_text"),
            action_id: text(&vector, "action_id"),
            capability_id: text(&vector, "capability_id"),
            requester_id: text(&vector, "requester_id"),
            subject_id: vector["subject_id"].as_str(),
            input_hash: text(&vector, "input_hash"),
        });
        assert_eq!(computed, text(&vector, "policy_hash"), "{}", vector["name"]);
        assert_eq!(sha256_hex(text(&vector, "canonical").as_bytes()), computed, "{}", vector["name"]);
    }
}

#[test]
fn sealed_messages_are_the_published_ones() {
    for vector in vectors("session.json") {
        let bytes = |member: &str| <[u8; 32]>::try_from(hex::decode(text(&vector, member)).unwrap()).unwrap();
        let end = |side: Side| {
            let lifetime = Lifetime::new(100, 1_000).unwrap();
            let terms = Terms { session_id: text(&vector, "session_id"), side, lifetime };
            let (own, peer) = (side.as_str(), side.other().as_str());
            let own = Ephemeral::new(&bytes(&format!("{own}_secret_hex")));
            Channel::establish(own, &bytes(&format!("{peer}_key_hex")), terms, Millis(0))
                .unwrap_or_else(|fault| panic!("{fault}"))
        };
        let (mut initiator, mut responder) = (end(Side::Initiator), end(Side::Responder));
        for message in vector["messages"].as_array().unwrap() {
            let (from, to) = match text(message, "direction") {
                "initiator" => (&mut initiator, &mut responder),
                _ => (&mut responder, &mut initiator),
            };
            let plaintext = text(message, "plaintext").as_bytes();
            let sealed = from.seal(text(message, "message_type"), plaintext, Millis(1)).unwrap();
            let frame = sealed.to_value();
            for member in ["sequence", "message_type", "ciphertext"] {
                assert_eq!(frame[member], message[member], "{}", vector["name"]);
            }
            assert_eq!(to.open(&sealed, Millis(1)).unwrap(), plaintext, "{}", vector["name"]);
        }
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
            let mut receipt = read(unsealed.as_str().unwrap());
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

/// Runs `tests/independent.py` on the vectors, with the implementation that it finds or the one that is asked for.
fn independent(by: Option<&str>) -> String {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let packages = Path::new(env!("CARGO_TARGET_TMPDIR")).join("python");
    let mut command = Command::new("python3");
    command.arg(tests.join("independent.py")).arg("check").arg(folder()).arg(packages);
    command.envs(by.map(|name| ("AIP_VECTORS_BY", name)));
    let run = command.output().unwrap_or_else(|fault| panic!("the vectors are checked by python3: {fault}"));
    let said = format!("{}{}", String::from_utf8_lossy(&run.stdout), String::from_utf8_lossy(&run.stderr));
    assert!(run.status.success(), "{said}");
    said
}

#[test]
fn an_independent_implementation_computes_the_same() {
    let said = independent(None);
    assert!(said.contains("values checked by "), "{said}");
}

/// The second way, for machines without the package, must not rot where the package is.
#[test]
fn openssl_computes_the_same() {
    if Command::new("openssl").arg("version").output().is_ok() {
        let said = independent(Some("openssl"));
        assert!(said.contains("values checked by openssl"), "{said}");
    }
}
