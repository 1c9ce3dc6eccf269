//! The harness stands: one keyed action over each edge, and one on the trial connector.

use std::time::Duration;

use serde_json::json;

use crate::{
    caller::{self, End, action, body_of, envelope},
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

/// AIP 1.0 §5.5, §22.2: hashes cover the text of a number, so it stays as it was written, on the way in and out.
#[tokio::test(flavor = "multi_thread")]
async fn numbers_come_back_as_they_were_written() {
    let fleet = Fleet::start(Plan::default()).await;
    for (mode, written) in [("sync", "1e0"), ("sync", "0.50"), ("async", "5e-1"), ("async", "1E0")] {
        let mut slow = action("cap:demo:slow", None, json!({ "seconds": "written" }));
        slow["mode"] = json!(mode);
        let id = slow["id"].as_str().unwrap().to_owned();
        let text = envelope(json!({ "action": slow })).to_string().replace("\"written\"", written);
        let request = fleet.http().within(WITHIN).request(reqwest::Method::POST, "/aip/v1/actions");
        let answer = caller::read(request.header("content-type", "application/json").body(text)).await.unwrap();
        assert!(answer.code().is_empty(), "{}", answer.text);
        let result = format!("/aip/v1/actions/{id}/result?wait_ms=20000");
        let result = fleet.http().within(WITHIN).get_surely(&result, WITHIN).await;
        assert!(result.text.contains(&format!("{{\"seconds\":{written}}}")), "{written}: {}", result.text);
    }
}
