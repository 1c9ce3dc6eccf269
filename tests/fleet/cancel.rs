//! Cancellation from outside (AIP 1.0 §11.8): a request, never a claim; races with completion end one way for everybody.

use std::{collections::BTreeMap, time::Duration};

use futures::future::join_all;
use serde_json::{Value, json};

use crate::{
    caller::{Http, action, body_of, code_of, envelope},
    harness::{Fleet, Plan},
};

const WITHIN: Duration = Duration::from_secs(60);
const NOTE: &str = "cap:demo:note:append";

async fn start(http: &Http, mut action: Value) -> String {
    action["mode"] = json!("async");
    let answer = http.post("/aip/v1/actions", &envelope(json!({ "action": action }))).await.unwrap();
    assert_eq!(answer.body()["ack"]["status"], "queued", "{}", answer.text);
    action["id"].as_str().unwrap().to_owned()
}

async fn cancel(http: &Http, id: &str) -> Value {
    let path = format!("/aip/v1/actions/{id}/cancel");
    http.post(&path, &json!({ "reason": "not wanted any more" })).await.unwrap().body()
}

/// Waits for the end of an action, as its status tells.
async fn end(http: &Http, id: &str) -> Value {
    let path = format!("/aip/v1/actions/{id}?wait_ms=20000&include_receipts=true");
    loop {
        let status = http.within(WITHIN).get_surely(&path, WITHIN).await.body()["action_status"].clone();
        assert_ne!(status["queued_state"], "outcome_unknown", "{status}");
        match status["state"].as_str().unwrap() {
            "completed" | "cancelled" | "failed" => return status,
            "queued" | "running" | "streaming" | "cancelling" => {}
            other => panic!("{id} is {other}"),
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn work_that_is_cancelled_stops_and_says_so() {
    let fleet = Fleet::start(Plan { schedulers: 2, ..Plan::default() }).await;
    let http = fleet.http();
    let id = start(&http, action("cap:demo:slow", None, json!({ "seconds": 55 }))).await;
    let accepted = cancel(&http, &id).await;
    assert_eq!(accepted["ack"]["status"], "accepted", "{accepted}");
    let status = end(&http, &id).await;
    assert_eq!((&status["state"], &status["result_status"]), (&json!("cancelled"), &json!("cancelled")));
    let result = http.get(&format!("/aip/v1/actions/{id}/result")).await.unwrap().body();
    assert_eq!(result["action_result"]["error"]["code"], "aip.action.cancelled", "{result}");

    // Over NATS, and again: it is over.
    let again = envelope(json!({ "cancel": { "target": { "action": id } } }));
    let answer = fleet.nats_user().await.ask(&again).await.unwrap();
    assert_eq!(body_of(&answer)["ack"]["status"], "rejected", "{answer}");

    // A stranger's answer is that of an unknown action.
    let (foreign, unknown) = (cancel(&fleet.http_other(), &id).await, cancel(&fleet.http_other(), "act_none").await);
    assert_eq!(code_of(&foreign), "aip.action.not_found");
    assert_eq!(foreign["error"]["error"], unknown["error"]["error"]);
    let unauthenticated = fleet.stranger().post(&format!("/aip/v1/actions/{id}/cancel"), &json!({})).await.unwrap();
    assert_eq!(unauthenticated.status, 401);
    for body in [json!({ "why": "x" }), json!({ "reason": 1 }), json!({ "reason": null }), json!(["x"]), json!([])] {
        let broken = http.post(&format!("/aip/v1/actions/{id}/cancel"), &body).await.unwrap();
        assert_eq!((broken.status, broken.code()), (400, "aip.envelope.invalid".to_owned()), "{body}");
    }

    // Nobody can stop what may have happened already.
    let unsure = start(&http, action("cap:demo:fail", Some("unsure"), json!({ "uncertain": true }))).await;
    let path = format!("/aip/v1/actions/{unsure}?wait_ms=20000");
    let status = http.within(WITHIN).get_surely(&path, WITHIN).await.body();
    assert_eq!(status["action_status"]["queued_state"], "outcome_unknown", "{status}");
    assert_eq!(cancel(&http, &unsure).await["ack"]["status"], "rejected");
}

/// A thousand wishes that race the work: each action ends once, and its caller, its receipts and the handler's log agree.
#[tokio::test(flavor = "multi_thread")]
async fn a_cancellation_that_races_completion_ends_one_way_for_everybody() {
    let fleet = Fleet::start(Plan { schedulers: 2, ..Plan::default() }).await;
    let http = fleet.http().within(WITHIN);
    let mut ends: BTreeMap<String, String> = BTreeMap::new();
    for round in 0..20 {
        let race = |number: usize| {
            let (http, key) = (http.clone(), format!("race-{round}-{number}"));
            async move {
                let id = start(&http, action(NOTE, Some(&key), json!({ "text": "x" }))).await;
                tokio::time::sleep(Duration::from_millis(u64::try_from(number).unwrap() % 25)).await;
                let answer = cancel(&http, &id).await;
                assert!(["accepted", "rejected"].contains(&answer["ack"]["status"].as_str().unwrap()), "{answer}");
                let status = end(&http, &id).await;
                let last = status["receipt_chain"]["receipts"].as_array().unwrap().last().unwrap().clone();
                assert_eq!(last["data"]["status"], status["state"], "{status}");
                (key, status["state"].as_str().unwrap().to_owned())
            }
        };
        ends.extend(join_all((0..50).map(race)).await);
    }
    let mut written: BTreeMap<String, usize> = BTreeMap::new();
    for (key, _) in fleet.notes("notes-demo.txt") {
        *written.entry(key).or_default() += 1;
    }
    for (key, state) in &ends {
        let expected = usize::from(state == "completed");
        assert_eq!(written.get(key).copied().unwrap_or_default(), expected, "{key} is {state}");
    }
    let cancelled = ends.values().filter(|state| *state == "cancelled").count();
    eprintln!("{} actions: {cancelled} cancelled, {} completed", ends.len(), ends.len() - cancelled);
    assert_eq!(ends.len(), 1_000);
}
