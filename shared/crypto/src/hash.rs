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

/// What an approval is asked for: the policy and the one action that it governs.
#[derive(Clone, Copy, Debug)]
pub struct Governed<'a> {
    /// The policy as it stood when the approval was asked for, as a document.
    pub policy: &'a Value,
    /// The action that waits.
    pub action_id: &'a str,
    /// Its capability.
    pub capability_id: &'a str,
    /// Who asked for it.
    pub requester_id: &'a str,
    /// On whose behalf, if that is somebody else.
    pub subject_id: Option<&'a str>,
    /// [`input_hash`] of the action.
    pub input_hash: &'a str,
}

/// The policy hash: [`hash`] of `{action_id, capability_id, input_hash, policy, requester_id, subject_id}`, with
/// `subject_id: null` when the requester acts for itself.
///
/// What an approval decision repeats and what is compared again before dispatch: the same policy over the same action, by
/// the same people, on the same input.
///
/// Source: AIP 1.0 §12.3 ("canonical policy/governed-subject hash").
#[must_use]
pub fn policy_hash(governed: &Governed<'_>) -> String {
    let Governed { policy, action_id, capability_id, requester_id, subject_id, input_hash } = *governed;
    let text = |text: &str| Value::String(text.to_string());
    let mut members = Map::new();
    members.insert("action_id".to_string(), text(action_id));
    members.insert("capability_id".to_string(), text(capability_id));
    members.insert("input_hash".to_string(), text(input_hash));
    members.insert("policy".to_string(), policy.clone());
    members.insert("requester_id".to_string(), text(requester_id));
    members.insert("subject_id".to_string(), subject_id.map_or(Value::Null, text));
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
