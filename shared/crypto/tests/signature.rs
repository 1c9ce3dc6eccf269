//! What a signature covers, and every form that is refused.
#![expect(clippy::unwrap_used, clippy::panic, reason = "tests")]

use aip_crypto::{DidFault, SignatureFault, SigningKey, canonical, sign_envelope, verify_envelope};
use aip_types::document::{Bounds, parse};
use proptest::prelude::*;
use serde_json::{Value, json};

fn key(byte: u8) -> SigningKey {
    SigningKey::from_seed(&[byte; 32]).unwrap_or_else(|_| panic!("seed"))
}

fn envelope() -> Value {
    json!({
        "aip_version": "1.0",
        "message_id": "msg_1",
        "body": {"action": {"input": {"signature": "inside", "security": {"signature": "also"}}}},
        "security": {"trust_domain": "dev.local"}
    })
}

fn signed() -> Value {
    let mut envelope = envelope();
    sign_envelope(&mut envelope, &key(7)).unwrap();
    envelope
}

#[test]
fn a_signed_envelope_names_its_key() {
    assert_eq!(verify_envelope(&signed()).unwrap(), *key(7).did());
}

#[test]
fn signing_again_replaces_the_signature() {
    let mut twice = signed();
    sign_envelope(&mut twice, &key(7)).unwrap();
    assert_eq!(twice, signed());
    sign_envelope(&mut twice, &key(8)).unwrap();
    assert_eq!(verify_envelope(&twice).unwrap(), *key(8).did());
}

#[test]
fn what_cannot_carry_a_signature_is_not_signed() {
    assert_eq!(sign_envelope(&mut json!([]), &key(7)), Err(SignatureFault::NotAnObject));
    assert_eq!(sign_envelope(&mut json!({"security": "s"}), &key(7)), Err(SignatureFault::Security));
}

#[test]
fn every_change_outside_the_signature_is_seen() {
    let changes: [fn(&mut Value); 7] = [
        |e| e["message_id"] = json!("msg_2"),
        |e| e["body"]["action"]["input"]["signature"] = json!("other"),
        |e| e["body"]["action"]["input"]["security"]["signature"] = json!("other"),
        |e| e["security"]["trust_domain"] = json!("prod"),
        |e| e["security"]["extra"] = Value::Null,
        |e| e["extensions"] = json!({}),
        |e| e["security"]["did"] = json!(key(8).did().as_str()),
    ];
    for (number, change) in changes.into_iter().enumerate() {
        let mut envelope = signed();
        change(&mut envelope);
        assert_eq!(verify_envelope(&envelope), Err(SignatureFault::Mismatch), "change {number}");
    }
}

#[test]
fn every_malformed_form_is_refused() {
    let signature = signed()["security"]["signature"].as_str().unwrap().to_owned();
    let with = |member: &str, value: Value| {
        let mut envelope = signed();
        envelope["security"][member] = value;
        envelope
    };
    let without = |member: &str| {
        let mut envelope = signed();
        envelope["security"].as_object_mut().unwrap().remove(member);
        envelope
    };
    let url_safe = format!("-_{}", signature.get(2..).unwrap());
    let trailing_bits = signature.replace("==", "").chars().take(85).chain("/==".chars()).collect::<String>();
    let cases = [
        (json!("text"), SignatureFault::NotAnObject),
        (json!({}), SignatureFault::Security),
        (json!({"security": null}), SignatureFault::Security),
        (json!({"security": [signature]}), SignatureFault::Security),
        (without("did"), SignatureFault::DidMissing),
        (with("did", json!(7)), SignatureFault::DidMissing),
        (with("did", json!("did:web:example.org")), SignatureFault::Did(DidFault::Prefix)),
        (without("signature"), SignatureFault::SignatureMissing),
        (with("signature", Value::Null), SignatureFault::SignatureMissing),
        (with("signature", json!("")), SignatureFault::Encoding),
        (with("signature", json!(signature.trim_end_matches('='))), SignatureFault::Encoding),
        (with("signature", json!(format!("{signature}\n"))), SignatureFault::Encoding),
        (with("signature", json!(url_safe)), SignatureFault::Encoding),
        (with("signature", json!(trailing_bits)), SignatureFault::Encoding),
        (with("signature", json!("A".repeat(88))), SignatureFault::Encoding),
        (with("signature", json!(format!("{}==", "A".repeat(86)))), SignatureFault::Mismatch),
    ];
    for (envelope, fault) in cases {
        assert_eq!(verify_envelope(&envelope), Err(fault), "{envelope}");
    }
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        (-1e300..1e300_f64).prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 48, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::btree_map(any::<String>(), inner, 0..6).prop_map(|map| json!(map)),
        ]
    })
}

proptest! {
    /// AIP §5.5: the text says the same as the value, and writing it again changes nothing.
    #[test]
    fn canonical_text_reads_back_to_its_value(value in any_json()) {
        let text = canonical(&value);
        let read = parse(text.as_bytes(), Bounds::ENVELOPE).unwrap();
        prop_assert_eq!(&read, &value);
        prop_assert_eq!(canonical(&read), text);
    }

    /// Spaces and the order of members in the received text do not reach the hash.
    #[test]
    fn layout_does_not_matter(value in any_json()) {
        let pretty = parse(serde_json::to_string_pretty(&value).unwrap().as_bytes(), Bounds::ENVELOPE).unwrap();
        prop_assert_eq!(canonical(&pretty), canonical(&value));
    }

}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))] // unoptimised Ed25519 is slow

    /// AIP §22.2: whatever the body, a signature holds for it and for no other.
    #[test]
    fn a_signature_holds_for_its_own_body_only(body in any_json(), other in any_json(), seed in any::<u8>()) {
        let mut envelope = json!({"body": body});
        sign_envelope(&mut envelope, &key(seed)).unwrap();
        prop_assert_eq!(verify_envelope(&envelope), Ok(key(seed).did().clone()));
        prop_assume!(canonical(&body) != canonical(&other));
        envelope["body"] = other;
        prop_assert_eq!(verify_envelope(&envelope), Err(SignatureFault::Mismatch));
    }
}
