//! The rules that hold for every wire type: closed objects, null, absence, tags and numbers.
#![expect(clippy::unwrap_used, reason = "tests")]

use aip_types::{
    Action, ActionId, ActionMode, ActionStatusRequest, ApprovalPolicy, ApprovalRule, Binding, CancelTarget, Capability,
    CorrelationId, Envelope, ErrorCode, MessageBody, MessageId, MessagePart, MessageReference, MessageType, Millis,
    ProtocolError, RiskLevel, StreamChunk, Timestamp,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// The value survives the type unchanged, read from text and from a document alike.
#[track_caller]
fn survives<T: DeserializeOwned + Serialize + PartialEq + std::fmt::Debug>(wire: &Value) -> T {
    let typed: T = serde_json::from_value(wire.clone()).unwrap();
    let from_text: T = serde_json::from_str(&wire.to_string()).unwrap();
    assert_eq!(typed, from_text);
    assert_eq!(&serde_json::to_value(&typed).unwrap(), wire);
    typed
}

#[track_caller]
fn refused<T: DeserializeOwned + std::fmt::Debug>(wire: Value) {
    assert!(serde_json::from_str::<T>(&wire.to_string()).is_err(), "{wire}");
    assert!(serde_json::from_value::<T>(wire).is_err());
}

fn action() -> Value {
    json!({ "id": "act_1", "capability_id": "cap:demo:echo", "input": { "n": 18_446_744_073_709_551_615_u64 } })
}

#[test]
fn an_envelope_survives_with_large_numbers_inside() {
    let mut body = action();
    body["timeout_ms"] = json!(u64::MAX);
    body["mode"] = json!("sync");
    let wire = json!({
        "aip_version": "1.0", "message_type": "aip.core.v1.action", "message_id": "msg_1", "sent_at": "2026-11-29T16:00:00+04:00",
        "body": { "action": body }, "extensions": { "org.example/x": [1.5, null] },
    });
    let envelope: Envelope = survives(&wire);
    let MessageBody::Action(action) = envelope.body else { panic!("another body") };
    assert_eq!((action.timeout_ms, action.mode), (Some(u64::MAX), Some(ActionMode::Sync)));
}

#[test]
fn objects_are_closed() {
    let mut wire = action();
    wire["zz"] = json!(1);
    refused::<Action>(wire);
    refused::<MessagePart>(json!({ "type": "text", "text": "t", "zz": 1 }));
    refused::<ApprovalRule>(json!({ "operator": "role", "name": "n", "zz": 1 }));
}

#[test]
fn null_stands_for_an_absent_scalar_but_for_no_array_map_or_flag() {
    let with = |name: &str| {
        let mut wire = action();
        wire[name] = Value::Null;
        wire
    };
    for name in ["mode", "idempotency_key", "timeout_ms", "identity", "approval", "memory_context"] {
        let typed: Action = serde_json::from_value(with(name)).unwrap();
        assert_eq!(serde_json::to_value(typed).unwrap(), action(), "{name} is left out again");
    }
    refused::<Action>(with("delegation_chain"));
    refused::<ActionStatusRequest>(json!({ "action_id": "act_1", "include_result": null }));
    let policy = |extra: Value| {
        let mut wire = json!({ "required": true, "approver_selector": { "type": "tenant_policy" } });
        wire.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        wire
    };
    let plain: ApprovalPolicy = survives(&policy(json!({})));
    assert_eq!(plain.minimum_distinct_principals, 1);
    survives::<ApprovalPolicy>(&policy(
        json!({ "minimum_distinct_principals": 2, "separation_of_duties": { "allow_self_approval": true } }),
    ));
    refused::<ApprovalPolicy>(policy(json!({ "minimum_distinct_principals": null })));
    refused::<ApprovalPolicy>(policy(json!({ "separation_of_duties": null })));
}

#[test]
fn a_required_untyped_member_may_be_null_but_not_absent() {
    let mut wire = action();
    wire["input"] = Value::Null;
    assert_eq!(serde_json::from_value::<Action>(wire.clone()).unwrap().input, Value::Null);
    wire.as_object_mut().unwrap().remove("input");
    refused::<Action>(wire);
}

#[test]
fn unions_are_told_apart_by_their_tag() {
    let MessagePart::File(file) =
        survives(&json!({ "type": "file", "mime_type": "a/b", "filename": "f", "size_bytes": u64::MAX }))
    else {
        panic!("another part")
    };
    assert_eq!(file.size_bytes, Some(u64::MAX));
    survives::<MessagePart>(&json!({ "type": "json", "data": { "n": 123_456_789_012_345_678_901_234_567_890_u128 } }));
    let rule = json!({ "operator": "quorum", "required": 2, "distinct_principals": false, "rules": [
        { "operator": "all", "rules": [{ "operator": "principal", "id": "p" }], "allow_decision_reuse": true },
        { "operator": "delegated_authority", "scope": "s", "max_risk": "high", "max_value": u64::MAX },
    ] });
    survives::<ApprovalRule>(&rule);
    survives::<ApprovalRule>(&json!({ "operator": "quorum", "required": 0, "rules": [] }));
    survives::<StreamChunk>(
        &json!({ "action_id": "act_1", "sequence": u64::MAX, "kind": "data", "part": { "type": "text", "text": "t" } }),
    );
    refused::<MessagePart>(json!({ "text": "t" }));
    refused::<MessagePart>(json!({ "type": "video", "text": "t" }));
    refused::<MessagePart>(json!({ "type": 7, "text": "t" }));
}

#[test]
fn a_body_has_exactly_one_known_member() {
    let beat = json!({ "sequence": u64::MAX });
    let body: MessageBody = survives(&json!({ "heartbeat": beat }));
    assert_eq!(body.message_type(), MessageType::Heartbeat);
    refused::<MessageBody>(json!({}));
    refused::<MessageBody>(
        json!({ "heartbeat": beat, "heartbeat_ack": { "sequence": 1, "received_at": "2026-11-29T12:00:00Z" } }),
    );
    refused::<MessageBody>(json!({ "nonsense": {} }));
    refused::<MessageBody>(json!("heartbeat"));
    survives::<CancelTarget>(&json!({ "action": "act_1" }));
    refused::<CancelTarget>(json!({ "action": "act_1", "session": "sess_1" }));
    refused::<CancelTarget>(json!({}));
}

#[test]
fn a_binding_keeps_its_further_members() {
    let binding: Binding =
        survives(&json!({ "profile": "aip.native.nats.v1", "subject": "s", "n": 123_456_789_012_345_678_901_u128 }));
    assert_eq!(binding.members.len(), 2);
    refused::<Binding>(json!({ "subject": "s" }));
    refused::<Binding>(json!({ "profile": null }));
}

#[test]
fn the_registry_is_consistent() {
    assert_eq!(MessageType::ALL.len(), 58);
    for &kind in MessageType::ALL {
        assert_eq!(MessageType::from_wire(kind.as_str()), Some(kind));
        assert_eq!(MessageType::from_body_key(kind.body_key()), Some(kind));
        assert_eq!(MessageType::from_subject_token(kind.subject_token()), Some(kind));
        assert_eq!(kind.subject_token(), kind.as_str().replace('.', "_"));
    }
    assert_eq!(MessageType::Manifest.as_str(), "aip.discovery.v1.manifest_response");
    assert!(RiskLevel::Low < RiskLevel::Critical);
}

#[test]
fn a_response_refers_to_its_request() {
    let at = Timestamp::from_millis(Millis(1_795_953_600_000));
    let action = Action::new(ActionId::new("act_1"), aip_types::CapabilityId::new("cap:demo:echo"), json!({}));
    let request = Envelope {
        correlation_id: Some(CorrelationId::new("corr_1")),
        ..Envelope::new(MessageId::new("msg_1"), at.clone(), action)
    };
    let error = aip_types::ErrorBody { error: ProtocolError::from(ErrorCode::PolicyDenied).with_retry_after_ms(5) };
    let response = request.response(MessageId::new("msg_2"), at, error);
    assert_eq!(response.message_type, MessageType::Error);
    assert_eq!(response.in_response_to, Some(MessageReference::new("msg_1")));
    assert_eq!(response.correlation_id, request.correlation_id);
    let wire = serde_json::to_value(&response).unwrap();
    assert_eq!(wire["body"]["error"]["error"]["code"], "aip.policy.denied");
    assert_eq!(wire["body"]["error"]["error"]["retry_after_ms"], 5);
    assert!(wire.get("idempotency_key").is_none());
}

#[test]
fn generated_ids_have_prefix_time_and_randomness() {
    let id = ActionId::generate(Millis(0x0190_c42f_2d5a), [0xab; 16]);
    assert_eq!(id.as_str(), format!("act_0190c42f2d5a{}", "ab".repeat(16)));
    assert!(ActionId::generate(Millis(1), [0xff; 16]) < ActionId::generate(Millis(2), [0; 16]));
    assert_eq!(aip_types::ids::id("plan_", Millis(u64::MAX), [0; 16]).len(), 5 + 12 + 32);
}

#[test]
fn a_capability_needs_its_four_members() {
    let wire = json!({ "id": "cap:x", "name": "X", "kind": "tool", "input_schema": { "type": "object" } });
    survives::<Capability>(&wire);
    for name in ["id", "name", "kind", "input_schema"] {
        let mut short = wire.clone();
        short.as_object_mut().unwrap().remove(name);
        refused::<Capability>(short);
    }
}
