//! What a reader may not see answers as what does not exist (issue 2, done when 6; AIP 1.0 §16.3): the same bytes, ids apart.

use std::time::Duration;

use serde_json::{Value, json};

use crate::{
    caller::{Http, TenantUser, action, envelope, new_id},
    harness::{Fleet, Plan},
};

const WITHIN: Duration = Duration::from_secs(30);

/// An answer with what must differ replaced: the id that was asked for, message ids and times.
#[derive(Debug, PartialEq)]
struct Seen {
    head: String,
    text: String,
}

fn normalised(head: String, text: &str, asked: &str) -> Seen {
    let document: Value = serde_json::from_str(text).unwrap();
    let envelope = document.get("envelope").unwrap_or(&document);
    let mut text = text.replace(asked, "<id>");
    for member in ["message_id", "in_response_to", "correlation_id", "sent_at"] {
        if let Some(value) = envelope.get(member).and_then(Value::as_str) {
            text = text.replace(value, &format!("<{member}>"));
        }
    }
    Seen { head, text }
}

/// All ways to ask for an action by its id, as messages. Each in every form that shows or hides something.
fn questions(id: &str) -> Vec<Value> {
    let chain = format!("action:{id}");
    vec![
        json!({ "action_status_request": { "action_id": id } }),
        json!({ "action_status_request": {
            "action_id": id, "include_result": true, "include_receipts": true, "include_chunks": true, "wait_ms": 1 } }),
        json!({ "action_status_request": { "action_id": id, "tenant_id": "demo" } }),
        json!({ "action_status_request": { "action_id": id, "tenant_id": "other" } }),
        json!({ "action_result_request": { "action_id": id } }),
        json!({ "action_result_request": { "action_id": id, "include_receipt": true, "wait_ms": 1 } }),
        json!({ "action_events_request": { "action_id": id } }),
        json!({ "action_events_request": { "action_id": id, "include_chunks": true, "limit": 1 } }),
        json!({ "action_events_request": { "action_id": id, "cursor": "e1-1-0-0000000000000000" } }),
        json!({ "receipt_query_request": { "chain_id": chain } }),
        json!({ "receipt_query_request": { "chain_id": chain, "receipt_id": "rcpt_1" } }),
    ]
}

async fn over_http(http: &Http, id: &str) -> Vec<Seen> {
    let mut seen = Vec::new();
    for path in [
        format!("/aip/v1/actions/{id}"),
        format!("/aip/v1/actions/{id}?include_result=true&include_receipts=true&include_chunks=true&wait_ms=1"),
        format!("/aip/v1/actions/{id}?tenant_id=demo"),
        format!("/aip/v1/actions/{id}/result?wait_ms=1"),
        format!("/aip/v1/actions/{id}/events?limit=1"),
        format!("/aip/v1/receipts/action:{id}"),
    ] {
        let request = http.request(reqwest::Method::GET, &path);
        seen.push(answer(request, id).await);
    }
    for question in questions(id) {
        let request = http.request(reqwest::Method::POST, "/aip/v1/messages");
        let request = request.header("content-type", "application/aip+json").body(envelope(question).to_string());
        seen.push(answer(request, id).await);
    }
    seen
}

/// An answer with its status and all headers but the time.
async fn answer(request: reqwest::RequestBuilder, id: &str) -> Seen {
    let mut response = request.send().await.unwrap();
    let mut headers: Vec<String> = response
        .headers()
        .iter()
        .filter(|(name, _)| !matches!(name.as_str(), "date" | "x-request-id"))
        .map(|(name, value)| format!("{name}: {}", value.to_str().unwrap()))
        .collect();
    headers.sort();
    let head = format!("{} {}", response.status(), headers.join(", "));
    let mut text = Vec::new();
    while let Some(chunk) = response.chunk().await.unwrap() {
        text.extend_from_slice(&chunk);
    }
    normalised(head, &String::from_utf8(text).unwrap(), id)
}

async fn over_nats(user: &TenantUser, id: &str) -> Vec<Seen> {
    let mut seen = Vec::new();
    for question in questions(id) {
        let message = envelope(question);
        let answer = user.client().request(user.subject_of(&message), message.to_string().into()).await.unwrap();
        let mut headers: Vec<String> = answer
            .headers
            .iter()
            .flat_map(|headers| headers.iter())
            .filter(|(name, _)| !matches!(name.as_ref(), "AIP-Message-Id" | "AIP-Correlation-Id"))
            .map(|(name, values)| format!("{name}: {values:?}"))
            .collect();
        headers.sort();
        seen.push(normalised(headers.join(", "), std::str::from_utf8(&answer.payload).unwrap(), id));
    }
    seen
}

#[tokio::test(flavor = "multi_thread")]
async fn what_belongs_to_another_answers_byte_for_byte_as_what_never_was() {
    let fleet = Fleet::start(Plan::default()).await;
    let note = action("cap:demo:note:append", Some("k"), json!({ "text": "not yours" }));
    let result = fleet.http().run(&note, WITHIN).await.completed();
    let (id, absent) = (result["action_id"].as_str().unwrap().to_owned(), new_id());

    // The owner sees it: so there is something to hide.
    for path in ["", "/result", "/events"] {
        assert_eq!(fleet.http().get(&format!("/aip/v1/actions/{id}{path}")).await.unwrap().status, 200);
    }
    assert_eq!(fleet.http().get(&format!("/aip/v1/receipts/action:{id}")).await.unwrap().status, 200);

    // Another tenant, and a colleague without the scope to read what others started.
    let colleague = fleet.stranger().with_token(fleet.variable("AIP_TOKEN_DEMO_OTHER"));
    for http in [fleet.http_other(), colleague] {
        let (hidden, never) = (over_http(&http, &id).await, over_http(&http, &absent).await);
        assert_eq!(hidden, never);
        assert!(hidden.iter().all(|seen| seen.head.starts_with('4') && seen.text.contains("\"error\"")), "{hidden:?}");
    }
    let users = [fleet.nats_user_other().await, fleet.user("AIP_NATS_CREDS_DEMO_OTHER").await];
    for user in users {
        let (hidden, never) = (over_nats(&user, &id).await, over_nats(&user, &absent).await);
        assert_eq!(hidden, never);
        assert!(hidden.iter().all(|seen| seen.text.contains("\"error\"")), "{hidden:?}");
    }
}
