//! What an owner is sent, and how its answer looks to the caller.

use std::time::Duration;

use aip_testkit::eventually;
use aip_types::{
    Ack, AckStatus, ActionEvents, ActionId, ActionLifecycleState, ActionResult, ActionResultStatus, ActionStatus,
    ErrorBody, ErrorCode, Manifest, MessageType, Millis, Principal, PrincipalId, PrincipalKind, ProtocolError,
    ReceiptChain, Timestamp,
};
use serde_json::{Value, json};

use crate::{AIP, Rig, TOKEN, action};

fn result() -> ActionResult {
    serde_json::from_value(json!({"action_id": "act_1", "status": ActionResultStatus::Completed, "output": {"n": 1}}))
        .unwrap()
}

#[tokio::test]
async fn a_posted_envelope_reaches_its_owner_byte_for_byte() {
    let rig = Rig::start().await;
    let owner = rig.owner(MessageType::Action, result().into()).await;
    let text = action("");
    let answer =
        rig.post("/aip/v1/actions", &[TOKEN, ("content-type", "application/json; charset=utf-8")], &text).await;

    let asked = owner.only();
    assert_eq!(asked.subject, "aip.v1.example_org.fleet.v1.aip_core_v1_action");
    assert_eq!(asked.payload, format!("{{\"envelope\":{text}}}").as_bytes());
    let header = |name: &str| asked.headers.get(name).map(String::as_str);
    assert_eq!(header("AIP-Version"), Some("1.0"));
    assert_eq!(header("AIP-Message-Type"), Some("aip.core.v1.action"));
    assert_eq!(header("AIP-Message-Id"), Some("msg_1"));
    assert_eq!(header("AIP-Correlation-Id"), Some("corr_1"));
    assert_eq!(header("AIP-Session-Id"), None);
    assert_eq!(header("AIP-Context"), Some(r#"{"principal":"service:billing","method":"token"}"#));

    assert_eq!(answer.status, 200);
    assert_eq!(answer.headers["content-type"], "application/json");
    let envelope = answer.json();
    assert_eq!(envelope["message_type"], "aip.core.v1.action_result");
    assert_eq!(envelope["body"]["action_result"]["output"], json!({"n": 1}));
}

#[tokio::test]
async fn without_a_token_the_owner_is_told_that_nobody_is_known() {
    let rig = Rig::start().await;
    let owner = rig.owner(MessageType::Action, result().into()).await;
    for path in ["/aip/v1/messages", "/aip/v1/actions"] {
        assert_eq!(rig.post(path, &[AIP], &action("")).await.status, 200);
    }
    for asked in owner.asked.lock().unwrap().iter() {
        assert_eq!(asked.headers["AIP-Context"], r#"{"method":"none"}"#);
    }
    assert_eq!(owner.count(), 2);
}

#[tokio::test]
async fn a_caller_cannot_speak_for_the_edge() {
    let rig = Rig::start().await;
    let owner = rig.owner(MessageType::Action, result().into()).await;
    rig.post(
        "/aip/v1/messages",
        &[AIP, ("aip-context", r#"{"principal":"service:other","method":"token"}"#)],
        &action(""),
    )
    .await;
    assert_eq!(owner.only().headers["AIP-Context"], r#"{"method":"none"}"#);
}

#[tokio::test]
async fn an_acknowledgement_is_accepted_and_an_error_has_its_status() {
    let rig = Rig::start().await;
    let ack = Ack::new(ActionId::new("act_1"), AckStatus::Queued);
    rig.owner(MessageType::Action, ack.into()).await;
    let answer = rig.post("/aip/v1/messages", &[TOKEN, AIP], &action("")).await;
    assert_eq!((answer.status, answer.headers["content-type"].as_str()), (202, "application/aip+json"));
    assert_eq!(answer.json()["body"]["ack"]["status"], "queued");

    let error = ProtocolError::from(ErrorCode::TenantQueueFull).with_retry_after_ms(1_500);
    rig.owner(MessageType::ManifestRequest, ErrorBody { error }.into()).await;
    let request =
        r#"{"message_type":"aip.discovery.v1.manifest_request","message_id":"msg_2","body":{"manifest_request":{}}}"#;
    let answer = rig.post("/aip/v1/messages", &[TOKEN, AIP], request).await;
    assert_eq!(
        (answer.status, answer.code().as_str(), answer.headers["retry-after"].as_str()),
        (429, "aip.capacity.tenant_queue", "2")
    );
    let answer = rig.get("/aip/v1/manifest", &[TOKEN]).await;
    assert_eq!(
        (answer.status, answer.code().as_str(), answer.headers["retry-after"].as_str()),
        (429, "aip.capacity.tenant_queue", "2")
    );
}

#[tokio::test]
async fn a_convenience_read_is_a_message_and_shows_the_body_alone() {
    let rig = Rig::start().await;
    let id = || ActionId::new("act/1 ü");
    let status = ActionStatus::new(id(), ActionLifecycleState::Running, Timestamp::from_millis(Millis(0)));
    let owners = [
        rig.owner(MessageType::ActionStatusRequest, status.into()).await,
        rig.owner(MessageType::ActionResultRequest, result().into()).await,
        rig.owner(MessageType::ActionEventsRequest, ActionEvents::new(id(), Vec::new(), true).into()).await,
        rig.owner(MessageType::ReceiptQueryRequest, ReceiptChain::new("act/1 ü".to_owned(), Vec::new()).into()).await,
        rig.owner(
            MessageType::ManifestRequest,
            Manifest::new(
                "aip-manifest/v1".to_owned(),
                Principal::new(PrincipalId::new("agent:a"), PrincipalKind::Agent),
                Vec::new(),
            )
            .into(),
        )
        .await,
    ];
    let reads = [
        (
            "/aip/v1/actions/act%2F1%20%C3%BC?include_result=true&wait_ms=10&tenant_id=acme",
            "action_status",
            json!({"action_status_request": {"action_id": "act/1 ü", "tenant_id": "acme", "include_result": true, "wait_ms": 10}}),
        ),
        (
            "/aip/v1/actions/act%2F1%20%C3%BC/result?include_receipt=true",
            "action_result",
            json!({"action_result_request": {"action_id": "act/1 ü", "include_receipt": true}}),
        ),
        (
            "/aip/v1/actions/act%2F1%20%C3%BC/events?kinds=a,b&limit=5",
            "action_events",
            json!({"action_events_request": {"action_id": "act/1 ü", "limit": 5, "kinds": ["a", "b"]}}),
        ),
        (
            "/aip/v1/receipts/act%2F1%20%C3%BC",
            "receipt_chain",
            json!({"receipt_query_request": {"chain_id": "act/1 ü"}}),
        ),
        (
            "/aip/v1/manifest?risk=low&requires_approval=false",
            "manifest",
            json!({"manifest_request": {"filter": {"risk": ["low"], "requires_approval": false}}}),
        ),
    ];
    for ((target, key, request), owner) in reads.iter().zip(&owners) {
        let answer = rig.get(target, &[TOKEN]).await;
        assert_eq!((answer.status, answer.headers["content-type"].as_str()), (200, "application/aip+json"), "{target}");
        let shown = answer.json();
        assert_eq!(shown.as_object().unwrap().keys().collect::<Vec<_>>(), [key], "{target}");
        let asked = owner.only();
        let envelope: Value = serde_json::from_slice::<Value>(&asked.payload).unwrap()["envelope"].clone();
        assert_eq!(&envelope["body"], request, "{target}");
        assert_eq!(asked.headers["AIP-Context"], r#"{"principal":"service:billing","method":"token"}"#);
        assert_eq!(asked.headers["AIP-Message-Id"], envelope["message_id"].as_str().unwrap());
        assert!(envelope.get("from").is_none() && envelope["message_id"].as_str().unwrap().starts_with("msg_"));
    }
}

#[tokio::test]
async fn answers_stay_out_of_caches_and_carry_the_request_id() {
    let rig = Rig::start().await;
    for (target, status) in [("/aip/v1/manifest", 401), ("/nothing", 404), ("/healthz", 200)] {
        let answer = rig.get(target, &[("x-request-id", "req-1"), ("origin", "https://elsewhere.example")]).await;
        assert_eq!(answer.status, status);
        assert_eq!(answer.headers["x-request-id"], "req-1");
        assert_eq!(answer.headers["cache-control"], "no-store");
        assert_eq!(answer.headers["x-content-type-options"], "nosniff");
        assert!(!answer.headers.keys().any(|name| name.starts_with("access-control")), "CORS is off");
    }
    assert_eq!(rig.get("/nothing", &[]).await.headers["x-request-id"].len(), 32);
}

#[tokio::test]
async fn health_readiness_and_metrics_are_served() {
    let rig = Rig::start().await;
    assert_eq!(rig.get("/readyz", &[]).await.status, 503);
    rig.ctx.ops.set_ready(true);
    assert_eq!(rig.get("/readyz", &[]).await.status, 200);
    assert_eq!(rig.get("/metrics", &[]).await.status, 200); // the recorder stands from now on
    rig.get("/aip/v1/actions/some-id/result", &[]).await;
    let text = String::from_utf8(rig.get("/metrics", &[]).await.body).unwrap();
    assert!(
        text.contains(r#"aip_http_requests_total{route="/aip/v1/actions/{action_id}/result",status="401"}"#),
        "{text}"
    );
    assert!(text.contains("aip_http_request_seconds"), "{text}");
    assert!(!text.contains("some-id"), "labels come from closed sets");
}

#[tokio::test]
async fn a_draining_edge_answers_what_it_has_and_takes_no_more() {
    let rig = Rig::start().await;
    let bus = aip_bus::Bus::new(std::sync::Arc::new(rig.nats.port().await));
    let mut inbound = bus.port().subscribe(&rig.ctx.peer.subject(MessageType::Action), None).await.unwrap();
    drop(bus.port().request("nobody.there", Default::default(), Default::default(), crate::WITHIN).await);
    let mut client = rig.client().await;
    let text = action("");
    let owner = async {
        let asked = futures::StreamExt::next(&mut inbound).await.unwrap();
        tokio::join!(rig.ctx.tasks.drain(Duration::from_secs(20)), async {
            eventually(Duration::from_secs(10), || async {
                tokio::net::TcpStream::connect(rig.address).await.is_err()
            })
            .await;
            aip_service::answer(&bus, &asked, &aip_service::Correlation::default(), result()).await.unwrap();
        });
    };
    let (answer, ()) = tokio::join!(client.send("POST", "/aip/v1/actions", &[TOKEN, AIP], text.as_bytes()), owner);
    assert_eq!(answer.status, 200);
}
