//! The harness stands: one keyed action over each edge, and one on the trial connector.

use std::time::Duration;

use serde_json::json;

use crate::{
    caller::{End, action, body_of, envelope},
    harness::{Fleet, Plan},
    trial,
};

const WITHIN: Duration = Duration::from_secs(30);

#[tokio::test(flavor = "multi_thread")]
async fn a_fleet_of_separate_processes_runs_an_action_over_each_edge() {
    let fleet = Fleet::start(Plan { schedulers: 2, trials: 1, rogue: true, ..Plan::default() }).await;

    let note = action("cap:demo:note:append", Some("k1"), json!({ "text": "over http" }));
    assert_eq!(fleet.http().run(&note, WITHIN).await.completed()["output"]["key"], "k1");
    let note = action("cap:demo:note:append", Some("k2"), json!({ "text": "over nats" }));
    let answer = fleet.nats_user().await.ask(&envelope(json!({ "action": note }))).await.unwrap();
    assert_eq!(End::of(&body_of(&answer)).unwrap().completed()["output"]["key"], "k2");
    let slow = action(trial::SLOW, Some("k3"), json!({ "gate": "g" }));
    trial::open(&fleet.dir(), "g", 1);
    assert_eq!(fleet.http_other().run(&slow, WITHIN).await.completed()["output"]["key"], "k3");

    let keys = |notes: Vec<(String, u64)>| notes.into_iter().map(|(key, _)| key).collect::<Vec<_>>();
    assert_eq!(keys(fleet.notes("notes-demo.txt")), ["k1", "k2"]);
    assert_eq!(keys(fleet.notes(&trial::notes(trial::SLOW))), ["k3"]);
}
