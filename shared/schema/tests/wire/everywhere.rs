//! A rule about a type holds wherever the type stands in a body. The places are found in the schemas, not listed by hand.

use aip_schema::inspect;
use aip_types::MessageType;
use serde_json::{Value, json};

use crate::shapes::{Shapes, envelope};

/// A way to a value: member names, `true` where the member is a list of such values.
type Way = Vec<(String, bool)>;

/// Every way from a type to another one, without going round in circles.
fn ways(shapes: &Shapes, from: &str, to: &str, seen: &mut Vec<String>) -> Vec<Way> {
    if from == to {
        return vec![Vec::new()];
    }
    if seen.iter().any(|name| name == from) {
        return Vec::new();
    }
    seen.push(from.to_owned());
    let mut found = Vec::new();
    for (member, schema) in shapes.definition(from)["properties"].as_object().into_iter().flatten() {
        let (list, inner) = match schema.get("items") {
            Some(items) => (true, items),
            None => (false, schema),
        };
        let Some(name) = shapes.referred(inner) else { continue };
        for mut way in ways(shapes, name, to, seen) {
            way.insert(0, (member.clone(), list));
            found.push(way);
        }
    }
    seen.pop();
    found
}

/// A smallest value of a type with `inner` at the end of a way.
fn planted(shapes: &Shapes, from: &str, way: &[(String, bool)], inner: &Value) -> Value {
    let Some(((member, list), rest)) = way.split_first() else { return inner.clone() };
    let mut value = shapes.smallest(shapes.definition(from));
    let schema = &shapes.definition(from)["properties"][member];
    let name = shapes.referred(if *list { &schema["items"] } else { schema }).unwrap();
    let child = planted(shapes, name, rest, inner);
    value[member] = if *list { json!([child]) } else { child };
    value
}

/// Plants a broken value of a type at every place of every body, and wants the finding there. Gives the count of places.
fn holds_everywhere(kind: &str, broken: &Value, below: &str, rules: &[&str]) -> usize {
    let shapes = Shapes::read();
    let mut value = shapes.smallest(shapes.definition(kind));
    broken.as_object().unwrap().iter().for_each(|(name, member)| value[name] = member.clone());
    let mut places = 0;
    for message in MessageType::ALL {
        let body = shapes.body(*message);
        for way in ways(&shapes, &body, kind, &mut Vec::new()) {
            let document = envelope(*message, &planted(&shapes, &body, &way, &value));
            let steps: String =
                way.iter().map(|(name, list)| format!("/{name}{}", if *list { "/0" } else { "" })).collect();
            let pointer = format!("/body/{}{steps}{below}", message.body_key());
            let findings = inspect(document.to_string().as_bytes()).findings;
            let found = findings.iter().any(|fault| fault.pointer == pointer && rules.contains(&fault.rule.as_ref()));
            assert!(found, "{message}: wanted {rules:?} at {pointer}, got {findings:?}");
            places += 1;
        }
    }
    places
}

#[test]
fn a_rule_holds_wherever_its_type_stands() {
    let receipt = json!({ "id": "r", "receipt_type": "result_returned", "actor": { "id": "a", "kind": "system" },
        "occurred_at": "2026-11-29T12:00:00Z", "hash": "0" });
    let decision = json!({ "approval_id": "x", "decision": "denied", "approver": { "id": "a", "kind": "human" },
        "decided_at": "2026-11-29T12:00:00Z" });
    let chunk = json!({ "action_id": "another", "sequence": 1, "kind": "data" });
    let hop = json!({ "from": { "id": "a", "kind": "agent" }, "to": { "id": "a", "kind": "agent" }, "scope": "s",
        "delegated_at": "2026-11-29T12:00:00Z" });
    let places = [
        holds_everywhere("Action", &json!({ "input": null }), "/input", &["action_input"]),
        holds_everywhere("Action", &json!({ "timeout_ms": 0 }), "/timeout_ms", &["action_timeout"]),
        holds_everywhere("Action", &json!({ "idempotency_key": "" }), "/idempotency_key", &["action_key_not_empty"]),
        holds_everywhere("Action", &json!({ "id": "x".repeat(1_025) }), "/id", &["id_bytes_max"]),
        holds_everywhere("Action", &json!({ "approval": decision }), "/approval/decision", &["action_approval"]),
        holds_everywhere(
            "Action",
            &json!({ "delegation_chain": [hop] }),
            "/delegation_chain/0/to/id",
            &["delegation_loop"],
        ),
        holds_everywhere(
            "Action",
            &json!({ "delegation_chain": vec![hop; 11] }),
            "/delegation_chain",
            &["delegation_chain_max"],
        ),
        holds_everywhere("ActionTransaction", &json!({ "mode": "commit" }), "/plan_id", &["commit_plan"]),
        holds_everywhere(
            "ActionTransaction",
            &json!({ "mode": "compensate" }),
            "/compensation_for",
            &["compensated_action"],
        ),
        holds_everywhere("ActionResult", &json!({ "status": "failed" }), "/error", &["result_error"]),
        holds_everywhere("ActionStatus", &json!({ "chunks": [chunk] }), "/chunks/0/action_id", &["chunk_of_action"]),
        holds_everywhere(
            "ApprovalPolicy",
            &json!({ "ttl_ms": 0 }),
            "/ttl_ms",
            &["policy_ttl", "contract_approval_ttl"],
        ),
        holds_everywhere(
            "CompensationContract",
            &json!({ "mode": "supported" }),
            "/compensation_capability_id",
            &["contract_compensation", "plan_compensation"],
        ),
        holds_everywhere(
            "CompensationContract",
            &json!({ "compensation_window_ms": 0 }),
            "/compensation_window_ms",
            &["compensation_window", "plan_compensation_window"],
        ),
        holds_everywhere(
            "Capability",
            &json!({ "input_schema": { "type": "string" } }),
            "/input_schema",
            &["input_schema_object"],
        ),
        holds_everywhere("Manifest", &json!({ "profiles": [] }), "/profiles", &["manifest_profiles"]),
        holds_everywhere(
            "ReceiptChain",
            &json!({ "receipts": [receipt], "root_hash": "0" }),
            "/receipts/0/hash",
            &["receipt_hash"],
        ),
        holds_everywhere("ReceiptChain", &json!({ "receipts": [receipt] }), "/root_hash", &["chain_root_required"]),
        holds_everywhere("ReceiptChain", &json!({ "receipts": [], "root_hash": "0" }), "/root_hash", &["chain_root"]),
        holds_everywhere("TransactionResult", &json!({ "status": "failed" }), "/error", &["transaction_error"]),
        holds_everywhere("TransactionResult", &json!({ "status": "planned" }), "/plan", &["plan_of_result"]),
        holds_everywhere("DelegationResult", &json!({ "status": "completed" }), "/result", &["delegation_outcome"]),
    ];
    // How many places each of them has; a new one in the schemas is seen here.
    assert_eq!(places, [3, 3, 3, 3, 3, 3, 3, 9, 9, 8, 4, 6, 3, 3, 1, 1, 13, 13, 13, 1, 1, 1]);
}
