//! What is gone for a while: a connector, and the server itself (issue 2, "Bad input", last sentence).

use std::{collections::BTreeSet, time::Duration};

use aip_testkit::eventually;
use futures::future::join_all;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use crate::{
    caller::{End, Http, action, envelope},
    harness::{Fleet, Plan, shows},
    trial,
};

const WITHIN: Duration = Duration::from_secs(60);
/// Issue 2, "Build", connectors.
const GONE_WITHIN: Duration = Duration::from_secs(5);
/// What a caller hears whose patience ends before the edge's.
const SILENCE: &str = "silence";
const OUTAGE: Duration = Duration::from_secs(10);

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_connector_leaves_the_manifest_within_five_seconds_and_comes_back() {
    let mut fleet = Fleet::start(Plan::default()).await;
    let http = fleet.http();
    fleet.process("demo").kill9().await;
    eventually(GONE_WITHIN, || async { !shows(&http, "cap:demo:echo").await }).await;
    let refused = http
        .post("/aip/v1/actions", &envelope(json!({ "action": action("cap:demo:echo", None, json!({ "text": "x" })) })));
    assert_eq!(refused.await.unwrap().code(), "aip.capability.unavailable");

    fleet.process("demo").start().await;
    eventually(WITHIN, || async { shows(&http, "cap:demo:echo").await }).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn capabilities_stay_while_one_process_of_their_connector_lives() {
    let mut fleet = Fleet::start(Plan { trials: 1, ..Plan::default() }).await;
    fleet.add_trial().await;
    let http = fleet.http();
    fleet.process("trial").kill9().await;
    let until = Instant::now() + GONE_WITHIN;
    while Instant::now() < until {
        let answer = http.get("/aip/v1/manifest").await.unwrap().text;
        assert!(answer.contains(trial::SLOW), "{answer}");
        sleep(Duration::from_millis(50)).await; // between two looks
    }
    let slow = action(trial::SLOW, Some("k"), json!({}));
    http.run(&slow, WITHIN).await.completed();
}

/// Calls until there is an end; everything before it is a typed refusal of the transport, or silence.
async fn call_through(http: Http, action: Value) -> (Value, BTreeSet<String>) {
    let mut seen = BTreeSet::new();
    loop {
        match http.post("/aip/v1/actions", &envelope(json!({ "action": action }))).await {
            Ok(answer) => {
                let body = answer.body();
                match End::of(&body) {
                    Some(end) => return (end.completed(), seen),
                    None if body.get("ack").is_some() => {}
                    None => {
                        assert_eq!(answer.status, 503, "{}", answer.text);
                        seen.insert(answer.code());
                    }
                }
            }
            Err(fault) => {
                assert!(fault.is_timeout(), "{fault:?}");
                seen.insert(SILENCE.to_owned());
            }
        }
        sleep(Duration::from_millis(100)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_lost_when_the_server_is_gone_for_ten_seconds_while_work_is_in_flight() {
    let mut fleet = Fleet::start(Plan { schedulers: 2, trials: 1, ..Plan::default() }).await;
    // One attempt runs through the outage.
    let slow = action(trial::SLOW, Some("slow"), json!({ "gate": "g" }));
    let mut calls = vec![call_through(fleet.http(), slow)];
    let notes = (0..64).map(|number| action("cap:demo:note:append-unsafe", Some(&format!("k{number}")), json!({})));
    calls.extend(notes.map(|note| call_through(fleet.http(), note)));
    let (http, dir, slow_notes) = (fleet.http(), fleet.dir(), trial::notes(trial::SLOW));

    let outage = async {
        eventually(WITHIN, || async { !fleet.notes(&slow_notes).is_empty() }).await;
        fleet.nats().kill9().await.unwrap();
        // A reader with patience is told; a caller may be told or wait.
        let reader = http.within(WITHIN);
        let late = call_through(http.clone(), action("cap:demo:note:append", Some("late"), json!({})));
        let restarted = async {
            let (read, ()) = futures::join!(reader.get("/aip/v1/actions/act_1"), sleep(OUTAGE));
            fleet.nats().restart().await.unwrap();
            trial::open(&dir, "g", 1);
            read.unwrap()
        };
        futures::join!(restarted, late)
    };
    let (ends, (read, (_, late))) = futures::join!(join_all(calls), outage);

    let transport = ["aip.transport.unavailable", "aip.transport.timeout"];
    assert!(read.status == 503 && transport.contains(&read.code().as_str()), "{}", read.text);
    assert!(!late.is_empty(), "an answer while the server was gone");
    let told: BTreeSet<&String> = ends.iter().flat_map(|(_, seen)| seen).chain(&late).collect();
    assert!(told.iter().all(|code| *code == SILENCE || transport.contains(&code.as_str())), "{told:?}");
    for process in fleet.processes() {
        assert!(process.is_running(), "{} ended by itself", process.name());
    }
    assert_eq!(fleet.notes("notes-unsafe-demo.txt").len(), 64);
    assert_eq!(fleet.notes("notes-demo.txt").len(), 1);
    assert_eq!(fleet.notes(&slow_notes).len(), 1, "the attempt went on through the outage");
}
