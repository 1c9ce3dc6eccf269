//! Who was stopped past its lease cannot settle (issue 2, done when 5), and no lane message stays behind.

use std::time::Duration;

use aip_testkit::eventually;
use futures::future::join_all;
use serde_json::{Value, json};

use crate::{
    caller::{action, body_of, envelope},
    harness::{Fleet, Plan},
    trial,
};

/// For a lease to end, its lane message to come again and a second attempt to begin, with room for a busy machine.
const SECOND_ATTEMPT_WITHIN: Duration = Duration::from_secs(90);
const WITHIN: Duration = Duration::from_secs(30);
/// Issue 2, done when 5.
const ACKED_WITHIN: Duration = Duration::from_secs(1);
const KEY: &str = "k";

/// Starts the slow action with a closed gate and returns its id once its first attempt runs.
async fn start_slow(fleet: &Fleet) -> String {
    let mut slow = action(trial::SLOW, Some(KEY), json!({ "gate": "g" }));
    slow["mode"] = json!("async");
    let id = slow["id"].as_str().unwrap().to_owned();
    let acked = fleet.http().post("/aip/v1/actions", &envelope(json!({ "action": slow }))).await.unwrap();
    assert_eq!(acked.body()["ack"]["status"], "queued", "{}", acked.text);
    eventually(WITHIN, || async { fences(fleet).len() == 1 }).await;
    id
}

/// The fences of the attempts that ran, in order.
fn fences(fleet: &Fleet) -> Vec<u64> {
    fleet.notes(&trial::notes(trial::SLOW)).into_iter().map(|(_, fence)| fence).collect()
}

async fn status(fleet: &Fleet, id: &str) -> Value {
    let path = format!("/aip/v1/actions/{id}?include_result=true");
    fleet.http().get_surely(&path, WITHIN).await.body()["action_status"].take()
}

/// The result of the second attempt stands, and the events tell of both.
async fn check_second_stands(fleet: &Fleet, id: &str) {
    let ran = fences(fleet);
    assert!(ran.len() == 2 && ran[0] < ran[1], "{ran:?}");
    let status = status(fleet, id).await;
    assert_eq!(status["state"], "completed", "{status}");
    assert_eq!(status["result"]["output"]["fence"], ran[1]);
    let events = fleet.http().get_surely(&format!("/aip/v1/actions/{id}/events"), WITHIN).await.body();
    let events = events["action_events"]["events"].as_array().unwrap().clone();
    let kinds: Vec<&str> = events.iter().map(|event| event["kind"].as_str().unwrap()).collect();
    let told = ["accepted", "started", "attempt_lost", "started", "completed"].map(|kind| format!("aip.action.{kind}"));
    assert_eq!(kinds, told);
    assert_eq!((&events[1]["data"]["fence"], &events[3]["data"]["fence"]), (&json!(ran[0]), &json!(ran[1])));
}

/// Messages that the server has delivered to a subscription of a process, whichever of its connections has it.
async fn delivered(fleet: &Fleet, process: &str, subject: &str) -> u64 {
    let page = fleet.monitor("/connz?subs=detail").await;
    let connections = page["connections"].as_array().unwrap().iter();
    let subscriptions = connections
        .filter(|one| one["name"].as_str().is_some_and(|name| name.starts_with(process)))
        .filter_map(|one| one["subscriptions_list_detail"].as_array())
        .flatten();
    subscriptions.filter(|one| one["subject"] == subject).filter_map(|one| one["msgs"].as_u64()).sum()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_scheduler_that_slept_past_the_lease_cannot_settle_and_the_newer_result_stands() {
    let mut fleet = Fleet::start(Plan { schedulers: 2, trials: 1, ..Plan::default() }).await;
    // Only one scheduler, so that it is the one that holds the action and hears of the result.
    fleet.process("scheduler-2").kill9().await;
    let id = start_slow(&fleet).await;
    fleet.process("scheduler").stop().await;

    // The first attempt ends while its scheduler sleeps; its report waits there, and its connector dies.
    trial::open(&fleet.dir(), "g", 1);
    eventually(WITHIN, || async { delivered(&fleet, "scheduler", "aipr.*.result").await > 0 }).await;
    fleet.process("trial").kill9().await;
    // Others take over once the lease is over.
    fleet.process("scheduler-2").start().await;
    fleet.process("trial").start().await;
    trial::open(&fleet.dir(), "g", 2);
    eventually(SECOND_ATTEMPT_WITHIN, || async { status(&fleet, &id).await["state"] == "completed" }).await;
    check_second_stands(&fleet, &id).await;

    // It wakes up, and saves what it was told: refused, since another entry stands.
    fleet.process("scheduler").resume().await;
    let refused = "aip_connector_reports_total{report=\"result\",verdict=\"stale\"}";
    let process = &*fleet.process("scheduler");
    eventually(WITHIN, || async { process.metric(refused).await > 0.0 }).await;
    let settled = process.metric("aip_actions_settled_total").await;
    assert!(settled.abs() < 0.5, "it settled {settled} actions");
    check_second_stands(&fleet, &id).await;
    nothing_is_unacked(&fleet, WITHIN).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connector_that_slept_past_the_lease_cannot_settle_and_the_newer_result_stands() {
    let mut fleet = Fleet::start(Plan { schedulers: 2, trials: 1, ..Plan::default() }).await;
    let id = start_slow(&fleet).await;
    fleet.process("trial").stop().await;
    // The server gives up on its connections, so that offers go to the living; it will connect anew when it wakes up.
    fleet.kick(trial::NAME).await;

    // Another process of the same connector does the work again, under a newer fence.
    fleet.add_trial().await;
    trial::open(&fleet.dir(), "g", 2);
    eventually(SECOND_ATTEMPT_WITHIN, || async { status(&fleet, &id).await["state"] == "completed" }).await;
    check_second_stands(&fleet, &id).await;

    // It wakes up, finishes what it was at, and is told that nothing of it counts.
    trial::open(&fleet.dir(), "g", 1);
    fleet.process("trial").resume().await;
    let process = &*fleet.process("trial");
    eventually(WITHIN, || async { process.logged().contains("its result is stale") }).await;
    check_second_stands(&fleet, &id).await;
}

/// Waits until no lane has a message that was delivered and not acknowledged.
async fn nothing_is_unacked(fleet: &Fleet, within: Duration) {
    eventually(within, || async { unacked(fleet).await == 0 }).await;
}

async fn unacked(fleet: &Fleet) -> u64 {
    let page = fleet.monitor("/jsz?accounts=true&consumers=true").await;
    let streams = page["account_details"].as_array().unwrap().iter();
    let streams = streams.filter_map(|account| account["stream_detail"].as_array()).flatten();
    let lanes = streams.filter(|stream| stream["name"] == "AIP_JOURNAL");
    let lanes = lanes.filter_map(|stream| stream["consumer_detail"].as_array()).flatten();
    lanes.map(|lane| lane["num_ack_pending"].as_u64().unwrap()).sum()
}

/// Many actions settle, half of them by the scheduler that does not hold them; then no lane message is left.
async fn settle_by_both(plan: Plan) {
    let mut fleet = Fleet::start(Plan { schedulers: 2, alone: true, ..plan }).await;
    let user = fleet.nats_user().await;
    let calls = (0..40).map(|number| {
        let note = action("cap:demo:note:append", Some(&format!("k{number}")), json!({}));
        let user = user.clone();
        async move { body_of(&user.ask(&envelope(json!({ "action": note }))).await.unwrap()) }
    });
    for body in join_all(calls).await {
        assert_eq!(body["action_result"]["status"], "completed", "{body}");
    }
    nothing_is_unacked(&fleet, ACKED_WITHIN).await;
    for name in ["scheduler", "scheduler-2"] {
        let settled = fleet.process(name).metric("aip_actions_settled_total").await;
        assert!(settled > 0.5, "{name} settled nothing");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn no_lane_message_stays_unacked_when_another_scheduler_settles() {
    settle_by_both(Plan::default()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_lane_message_stays_unacked_when_the_live_message_is_dropped_too() {
    settle_by_both(Plan { nats_config: without_live_messages, ..Plan::default() }).await;
}

/// The scheduler's user may not subscribe the live republish, so that nothing of it arrives.
fn without_live_messages(config: String) -> String {
    let start = config.find("# scheduler").expect("the scheduler's user");
    let end = start + config[start..].find("# edge-http").expect("the next user");
    let scheduler = config[start..end].replace("\"aipl.>\"", "");
    assert_ne!(scheduler, config[start..end]);
    format!("{}{scheduler}{}", &config[..start], &config[end..])
}
