//! Every refusal of the edge is a full error envelope with a stable code, and reaches no owner.

use aip_bus::Bus;
use aip_types::{Manifest, MessageType, Principal, PrincipalId, PrincipalKind, limits};
use futures::StreamExt;
use std::sync::Arc;

use crate::{AIP, Rig, TOKEN, action};

fn manifest() -> Manifest {
    Manifest::new(
        "aip-manifest/v1".to_owned(),
        Principal::new(PrincipalId::new("agent:a"), PrincipalKind::Agent),
        Vec::new(),
    )
}

/// An action's envelope of exactly this many bytes.
fn sized(bytes: usize) -> String {
    let text = action("");
    format!("{text}{}", " ".repeat(bytes - text.len()))
}

#[tokio::test]
async fn an_envelope_of_one_mebibyte_passes_and_one_byte_more_is_refused_on_a_connection_that_goes_on() {
    let rig = Rig::start().await;
    let owner = rig.owner(MessageType::Action, manifest().into()).await;
    let mut client = rig.client().await;
    let headers = [TOKEN, AIP];
    let largest = sized(limits::ENVELOPE_BYTES_MAX);
    let answer = client.send("POST", "/aip/v1/messages", &headers, largest.as_bytes()).await;
    assert_eq!((answer.status, owner.count()), (200, 1));

    let larger = sized(limits::ENVELOPE_BYTES_MAX + 1);
    let answer = client.send("POST", "/aip/v1/messages", &headers, larger.as_bytes()).await;
    assert_eq!((answer.status, answer.code().as_str()), (413, "aip.envelope.too_large"));

    let chunked = format!("{:x}\r\n{larger}\r\n0\r\n\r\n", larger.len());
    let answer = client
        .raw("POST", "/aip/v1/messages", &[TOKEN, AIP, ("transfer-encoding", "chunked")], chunked.as_bytes())
        .await;
    assert_eq!((answer.status, answer.code().as_str()), (413, "aip.envelope.too_large"));

    let answer = client.send("POST", "/aip/v1/messages", &headers, action("").as_bytes()).await;
    assert_eq!((answer.status, owner.count()), (200, 2), "the connection goes on");
}

#[tokio::test]
async fn a_sender_that_asks_for_leave_to_send_too_much_gets_none() {
    let rig = Rig::start().await;
    let length = (limits::ENVELOPE_BYTES_MAX + 1).to_string();
    let headers = [TOKEN, AIP, ("content-length", length.as_str()), ("expect", "100-continue")];
    let answer = rig.client().await.raw("POST", "/aip/v1/messages", &headers, b"").await;
    assert_eq!((answer.status, answer.code().as_str()), (413, "aip.envelope.too_large"));
}

#[tokio::test]
async fn what_cannot_be_routed_is_refused_by_its_code() {
    let rig = Rig::start().await;
    let owner = rig.owner(MessageType::Action, manifest().into()).await;
    let deep = |depth: usize| {
        format!(r#"{{"message_type":"aip.core.v1.action","x":{}{}}}"#, "[".repeat(depth - 1), "]".repeat(depth - 1))
    };
    let rows: [(&str, String, u16, &str); 13] = [
        ("/aip/v1/messages", "not json".to_owned(), 400, "aip.envelope.not_json"),
        ("/aip/v1/messages", String::new(), 400, "aip.envelope.not_json"),
        ("/aip/v1/messages", format!("{0}{0}", action("")), 400, "aip.envelope.not_json"),
        ("/aip/v1/messages", deep(limits::DEPTH_MAX + 1), 400, "aip.envelope.too_deep"),
        (
            "/aip/v1/messages",
            r#"{"message_type":"a","message_type":"b"}"#.to_owned(),
            400,
            "aip.envelope.duplicate_member",
        ),
        ("/aip/v1/messages", "[]".to_owned(), 400, "aip.envelope.invalid"),
        ("/aip/v1/messages", "{}".to_owned(), 400, "aip.envelope.invalid"),
        ("/aip/v1/messages", r#"{"message_type":"aip.core.v1.odd"}"#.to_owned(), 400, "aip.message.unsupported"),
        ("/aip/v1/messages", r#"{"message_type":"aip.core.v1.ack"}"#.to_owned(), 400, "aip.message.unsupported"),
        (
            "/aip/v1/messages",
            r#"{"message_type":"aip.core.v1.action_result"}"#.to_owned(),
            400,
            "aip.message.unsupported",
        ),
        (
            "/aip/v1/actions",
            r#"{"message_type":"aip.discovery.v1.manifest_request"}"#.to_owned(),
            400,
            "aip.message.unsupported",
        ),
        ("/aip/v1/messages?token=secret", action(""), 400, "aip.query.invalid"),
        ("/aip/v1/nothing", action(""), 404, "aip.http.not_found"),
    ];
    let mut client = rig.client().await; // one for all: every refusal leaves it usable
    for (target, text, status, code) in &rows {
        let answer = client.send("POST", target, &[TOKEN, AIP], text.as_bytes()).await;
        assert_eq!((answer.status, answer.code().as_str()), (*status, *code), "{target} {text:.80}");
        assert_eq!(answer.headers["content-type"], "application/aip+json");
    }
    assert_eq!(
        client.send("POST", "/aip/v1/messages", &[TOKEN, AIP], deep(limits::DEPTH_MAX).as_bytes()).await.status,
        200
    );
    assert_eq!(owner.count(), 1, "only what is within the bounds was sent on");
}

#[tokio::test]
async fn a_refusal_is_correlated_and_in_the_type_that_came() {
    let rig = Rig::start().await;
    let text = r#"{"message_type":"odd","message_id":"msg_7","correlation_id":"corr_7","session_id":"sess_7"}"#;
    let answer = rig.post("/aip/v1/messages", &[TOKEN, ("content-type", "application/vnd.x+json")], text).await;
    assert_eq!(answer.headers["content-type"], "application/vnd.x+json");
    let envelope = answer.json();
    assert_eq!(envelope["in_response_to"], "msg_7");
    assert_eq!(envelope["correlation_id"], "corr_7");
    assert_eq!(envelope["session_id"], "sess_7");
    assert_eq!(envelope["body"]["error"]["error"]["details"]["pointer"], "/message_type");
}

#[tokio::test]
async fn whoever_cannot_be_known_is_refused_before_anything_is_sent() {
    let rig = Rig::start().await;
    let owner = rig.owner(MessageType::ManifestRequest, manifest().into()).await;
    let request = r#"{"message_type":"aip.discovery.v1.manifest_request"}"#;
    for (header, code) in [
        ("Bearer other", "aip.auth.token_invalid"),
        ("bearer ", "aip.auth.token_invalid"),
        ("Basic c2VjcmV0", "aip.auth.required"),
    ] {
        let header = ("authorization", header);
        let answer = rig.get("/aip/v1/manifest?odd=1", &[header]).await;
        assert_eq!((answer.status, answer.code().as_str()), (401, code));
        assert_eq!(answer.headers["www-authenticate"], "Bearer");
        let answer = rig.post("/aip/v1/messages", &[header, AIP], request).await;
        assert_eq!((answer.status, answer.code().as_str()), (401, code));
    }
    for target in [
        "/aip/v1/manifest",
        "/aip/v1/actions/a",
        "/aip/v1/actions/a/result",
        "/aip/v1/actions/a/events",
        "/aip/v1/receipts/a",
    ] {
        let answer = rig.get(target, &[]).await;
        assert_eq!((answer.status, answer.code().as_str()), (401, "aip.auth.required"), "{target}");
    }
    assert_eq!(owner.count(), 0);
    assert_eq!(rig.get("/aip/v1/manifest", &[("authorization", "bEARER secret")]).await.status, 200);
}

#[tokio::test]
async fn media_types_paths_methods_and_queries_are_refused_with_what_to_change() {
    let rig = Rig::start().await;
    for kind in [None, Some("text/plain"), Some("application/json; charset=latin1")] {
        let headers: Vec<_> = [Some(TOKEN), kind.map(|kind| ("content-type", kind))].into_iter().flatten().collect();
        let answer = rig.post("/aip/v1/messages", &headers, &action("")).await;
        assert_eq!((answer.status, answer.code().as_str()), (415, "aip.media.unsupported"), "{kind:?}");
    }
    for (method, target, allowed) in [
        ("GET", "/aip/v1/messages", "POST"),
        ("DELETE", "/aip/v1/actions/a", "GET,HEAD"),
        ("POST", "/healthz", "GET,HEAD"),
    ] {
        let answer = rig.client().await.send(method, target, &[TOKEN], b"").await;
        assert_eq!((answer.status, answer.code().as_str()), (405, "aip.http.method_not_allowed"), "{method} {target}");
        assert_eq!(answer.headers["allow"], allowed);
    }
    for (target, pointer) in
        [("a?wait_ms=x", "/wait_ms"), ("a?odd=1", "/odd"), ("a/events?follow=yes", "/follow"), ("%FF", "/action_id")]
    {
        let answer = rig.get(&format!("/aip/v1/actions/{target}"), &[TOKEN]).await;
        assert_eq!((answer.status, answer.code().as_str()), (400, "aip.query.invalid"), "{target}");
        assert_eq!(answer.json()["body"]["error"]["error"]["details"]["pointer"], pointer);
    }
    for target in ["/", "/aip/v1", "/aip/v1/actions/", "/aip/v1/actions/a/b"] {
        let answer = rig.get(target, &[TOKEN]).await;
        assert_eq!((answer.status, answer.code().as_str()), (404, "aip.http.not_found"), "{target}");
    }
}

#[tokio::test]
async fn an_absent_owner_is_told_at_once_and_a_silent_one_in_time() {
    let rig = Rig::start().await;
    let answer = rig.post("/aip/v1/messages", &[TOKEN, AIP], &action("")).await;
    assert_eq!((answer.status, answer.code().as_str()), (503, "aip.transport.unavailable"));
    assert_eq!(
        (answer.headers["retry-after"].as_str(), answer.json()["in_response_to"].as_str()),
        ("1", Some("msg_1"))
    );

    let bus = Bus::new(Arc::new(rig.nats.port().await));
    let mut silent = bus.port().subscribe(&rig.ctx.peer.subject(MessageType::Action), None).await.unwrap();
    drop(bus.port().request("nobody.there", Default::default(), Default::default(), crate::WITHIN).await);
    let answer = rig.post("/aip/v1/messages", &[TOKEN, AIP], &action(r#", "timeout_ms": 1"#)).await;
    assert_eq!((answer.status, answer.code().as_str()), (503, "aip.transport.timeout"));
    assert!(silent.next().await.is_some());
}

#[tokio::test]
async fn an_answer_that_is_none_is_a_fault_of_the_fleet() {
    let rig = Rig::start().await;
    let bus = Bus::new(Arc::new(rig.nats.port().await));
    let mut inbound = bus.port().subscribe(&rig.ctx.peer.subject(MessageType::Action), None).await.unwrap();
    drop(bus.port().request("nobody.there", Default::default(), Default::default(), crate::WITHIN).await);
    rig.ctx.tasks.spawn_until_drain(async move {
        while let Some(asked) = inbound.next().await {
            bus.port().publish(&asked.reply.unwrap(), None, Default::default(), "nonsense".into()).await.unwrap();
        }
    });
    let answer = rig.post("/aip/v1/messages", &[TOKEN, AIP], &action("")).await;
    assert_eq!((answer.status, answer.code().as_str()), (503, "aip.internal"));
}
