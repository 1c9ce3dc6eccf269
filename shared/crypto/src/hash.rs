//! SHA-256 over canonical JSON, and the governed-data hashes.

use alloc::string::{String, ToString as _};

use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};

use crate::canonical::canonical;

/// SHA-256 of `bytes` as 64 lower-case hexadecimal digits.
#[must_use]
pub fn sha256_hex(bytes: &[u8]) -> String {
    hex::encode(Sha256::digest(bytes))
}

/// SHA-256 of the canonical text of `value`, as 64 lower-case hexadecimal digits (AIP 1.0 §5.5).
#[must_use]
pub fn hash(value: &Value) -> String {
    sha256_hex(canonical(value).as_bytes())
}

/// The action input hash: [`hash`] of `{capability_id, input, transaction}`, with `transaction: null` when there is none.
///
/// The one hash that approvals, dry runs and evidence name, and that a keyed repeat is compared by.
///
/// Source: AIP 1.0 §13.3, §16.6 ("canonical input hash").
#[must_use]
pub fn input_hash(capability_id: &str, input: &Value, transaction: Option<&Value>) -> String {
    let mut members = Map::new();
    members.insert("capability_id".to_string(), Value::String(capability_id.to_string()));
    members.insert("input".to_string(), input.clone());
    members.insert("transaction".to_string(), transaction.cloned().unwrap_or(Value::Null));
    hash(&Value::Object(members))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn sha256_of_the_published_test_string() {
        assert_eq!(sha256_hex(b"abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    }

    #[test]
    fn an_absent_transaction_hashes_as_null() {
        let expected = sha256_hex(br#"{"capability_id":"cap:demo:echo","input":{"a":1},"transaction":null}"#);
        assert_eq!(input_hash("cap:demo:echo", &json!({"a": 1}), None), expected);
        assert_eq!(input_hash("cap:demo:echo", &json!({"a": 1}), Some(&Value::Null)), expected);
        assert_ne!(input_hash("cap:demo:echo", &json!({"a": 1}), Some(&json!({}))), expected);
    }
}
