//! The contract fixtures of `schemas/fixtures`: one file a body, with what is valid and what is refused, where and why.
#![expect(clippy::unwrap_used, clippy::panic, reason = "tests")]

use std::path::Path;

use aip_schema::{Fault, Form, Received, inspect, receive};
use aip_types::MessageType;
use serde_json::Value;

/// Every body of the protocol has a file.
fn bodies() -> impl Iterator<Item = &'static str> {
    MessageType::ALL.iter().map(|kind| kind.body_key())
}

fn fixture(body: &str) -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../schemas/fixtures").join(body).with_extension("json");
    serde_json::from_slice(&std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))).unwrap()
}

fn cases(fixture: &Value, kind: &str) -> Vec<Value> {
    fixture[kind].as_array().unwrap().clone()
}

fn received(case: &Value) -> Result<Received, Fault> {
    receive(case["envelope"].to_string().as_bytes())
}

#[test]
fn what_is_valid_is_received_and_survives_its_type() {
    let mut wrong = Vec::new();
    for body in bodies() {
        let valid = cases(&fixture(body), "valid");
        assert!(!valid.is_empty(), "{body}");
        for case in valid {
            match received(&case) {
                Ok(received) => {
                    assert_eq!(received.document, case["envelope"], "{body}, {}", case["name"]);
                    let again = serde_json::to_value(&received.envelope).unwrap();
                    if again != case["envelope"] {
                        wrong.push(format!("{body}, {}: came out as {again}", case["name"]));
                    }
                    assert_eq!(received.envelope.message_type, MessageType::from_body_key(body).unwrap());
                }
                Err(fault) => wrong.push(format!("{body}, {}: {fault}", case["name"])),
            }
            let bare = inspect(case["envelope"]["body"].to_string().as_bytes());
            assert_eq!(bare.form, Form::Body(MessageType::from_body_key(body).unwrap()));
            wrong.extend(bare.findings.iter().map(|fault| format!("{body}, {}, bare: {fault}", case["name"])));
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
}

#[test]
fn what_is_invalid_is_refused_with_one_precise_finding() {
    let mut wrong = Vec::new();
    for body in bodies() {
        let invalid = cases(&fixture(body), "invalid");
        assert!(invalid.len() >= 3, "{body}");
        for case in invalid {
            let wanted = [&case["code"], &case["pointer"], &case["rule"]].map(|text| text.as_str().unwrap());
            let Err(fault) = received(&case) else {
                wrong.push(format!("{body}, {}: was taken", case["name"]));
                continue;
            };
            if <[&str; 3]>::from((fault.code.as_str(), fault.pointer.as_str(), fault.rule.as_ref())) != wanted {
                wrong.push(format!("{body}, {}: wanted {wanted:?}, got {fault}", case["name"]));
            }
            assert_eq!(serde_json::to_value(fault.error()).unwrap()["details"]["pointer"], fault.pointer);
            let whole = inspect(case["envelope"].to_string().as_bytes());
            assert_eq!(whole.findings.first(), Some(&fault), "{body}, {}: {:?}", case["name"], whole.findings);
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
}

#[test]
fn a_fault_never_repeats_a_received_value() {
    let secret = "hunter2";
    for body in ["action", "manifest", "error"] {
        for case in cases(&fixture(body), "valid") {
            let text = case["envelope"].to_string();
            for (from, to) in [
                ("\"aip_version\":\"1.0\"", "\"aip_version\":\"hunter2\""),
                ("\"kind\":\"service\"", "\"kind\":\"hunter2\""),
                ("\"mode\":\"async\"", "\"mode\":\"hunter2\""),
                ("\"category\":\"connector\"", "\"category\":\"hunter2\""),
                ("\"timeout_ms\":30000", "\"timeout_ms\":\"hunter2\""),
            ] {
                if let Err(fault) = receive(text.replace(from, to).as_bytes()) {
                    assert!(!format!("{fault} {fault:?} {:?}", fault.error()).contains(secret), "{fault}");
                }
            }
        }
    }
}

#[test]
fn what_no_integer_type_holds_is_refused() {
    let text = fixture("action")["valid"][1]["envelope"].to_string();
    for number in ["30000.0", "3e4"] {
        let fault =
            receive(text.replace("\"timeout_ms\":30000", &format!("\"timeout_ms\":{number}")).as_bytes()).unwrap_err();
        assert_eq!((fault.code.as_str(), fault.rule.as_ref()), ("aip.envelope.invalid", "plain_integers"));
    }
}

#[test]
fn the_strict_reader_comes_first() {
    for (bytes, code) in [
        (&b"{"[..], "aip.envelope.not_json"),
        (b"[]", "aip.envelope.invalid"),
        (b"{\"a\":1,\"a\":2}", "aip.envelope.duplicate_member"),
        (&b"[".repeat(65), "aip.envelope.too_deep"),
        (&b" ".repeat(1_048_577), "aip.envelope.too_large"),
    ] {
        assert_eq!(receive(bytes).unwrap_err().code.as_str(), code);
    }
}

#[test]
fn rules_inside_rules_are_checked_once_a_level() {
    let leaf = serde_json::json!({ "operator": "role" });
    let rule = (0..20).fold(leaf, |inner, _| serde_json::json!({ "operator": "all", "rules": [inner] }));
    let request = serde_json::json!({
        "aip_version": "1.0", "message_type": "aip.policy.v1.approval_request", "message_id": "msg_1", "sent_at": "2026-11-29T12:00:00Z",
        "body": { "approval_request": {
            "id": "appr_1", "action_id": "act_1", "capability_id": "cap", "reason": "r", "approver_selector": { "type": "tenant_policy" },
            "requester": { "id": "a", "kind": "human" }, "subject": { "id": "a", "kind": "human" },
            "policy_snapshot": { "required": true, "approver_selector": { "type": "tenant_policy" }, "rule": rule },
        } },
    });
    let fault = receive(request.to_string().as_bytes()).unwrap_err();
    assert!(fault.pointer.ends_with("/rules/0/name"), "{fault}");
    assert_eq!(fault.rule, "required");
}

#[test]
fn an_answer_does_not_grow_with_the_names_of_the_sender() {
    let mut envelope = fixture("action")["valid"][0]["envelope"].clone();
    envelope["body"]["action"]["z".repeat(2_000)] = Value::Bool(true);
    let fault = receive(envelope.to_string().as_bytes()).unwrap_err();
    assert_eq!((fault.pointer.as_str(), fault.rule.as_ref()), ("/body/action", "additionalProperties"));
    let twice = format!("{{\"{0}\":1,\"{0}\":1}}", "z".repeat(2_000));
    assert_eq!(receive(twice.as_bytes()).unwrap_err().pointer, "");
}
