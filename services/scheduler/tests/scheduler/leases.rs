//! Attempts that are lost, and writers that wake up late (`design.md` §4.2, §4.3, §4.6).

use std::time::Duration;

use aip_bus::subjects::Report;
use aip_bus::work::{Begin, Verdict};
use aip_core::action::{Held, Phase};
use aip_service::since_start;
use aip_testkit::{Fate, Faulty, Gate, eventually};
use aip_types::limits;
use serde_json::json;

use crate::world::{SAFE, SOON, UNSAFE, World, grant, is_running, is_unknown};

const LEASE: Duration = Duration::from_millis(limits::LEASE_MS);

/// The next attempt goes on under the lease whose taking proved the first one lost: one lease passes, not two.
#[tokio::test]
async fn a_lost_attempt_is_repeated_after_one_lease_and_its_result_is_stale() {
    let world = World::start().await;
    let mut connector = world.connector().await;
    let _scheduler = world.scheduler().await;
    let key = world.queue("act_1", SAFE, 120_000).await;
    let first = connector.begun().await;
    let began = since_start();
    let second = connector.accepted().await;
    let passed = since_start().duration_since(began);
    assert!(passed < LEASE + LEASE / 2, "{passed:?}");
    assert!(second.fence > first.fence);
    // It was proved over, so its answers are stale before and after the second one begins.
    assert_eq!(connector.begin(&first).await, Verdict::Stale);
    assert_eq!(connector.complete(&first, json!({"n": 1})).await, Verdict::Stale);
    assert_eq!(connector.begin(&second).await, Verdict::Go);
    assert_eq!(connector.complete(&first, json!({"n": 1})).await, Verdict::Stale);
    assert_eq!(connector.complete(&second, json!({"n": 2})).await, Verdict::Go);
    let record = world.record(&key).await.entry.state.clone();
    assert_eq!((record.attempts, record.output), (2, Some(Held::Inline(json!({"n": 2})))));
    assert_eq!(world.steps(&key).await, ["queued", "started", "retry_due", "started", "completed"]);
}

/// AIP 1.0 §13.6: it is parked, never repeated, and its late answer is the reconciliation.
#[tokio::test]
async fn a_lost_attempt_that_may_not_be_repeated_is_parked_and_settled_by_its_late_answer() {
    let world = World::start().await;
    let mut connector = world.connector().await;
    let _scheduler = world.scheduler().await;
    let key = world.queue("act_1", UNSAFE, 120_000).await;
    let attempt = connector.begun().await;
    world.reaches(&key, is_unknown).await;
    world.lane_is_empty(SOON).await;
    connector.nothing_is_offered().await;
    assert_eq!(connector.begin(&attempt).await, Verdict::Stale);
    assert_eq!(connector.complete(&attempt, json!({"n": 1})).await, Verdict::Go);
    assert_eq!(world.steps(&key).await, ["queued", "started", "outcome_unknown", "completed"]);
}

#[tokio::test]
async fn an_attempt_with_a_heartbeat_keeps_its_lease() {
    let world = World::start().await;
    let mut connector = world.connector().await;
    let _scheduler = world.scheduler().await;
    let key = world.queue("act_1", UNSAFE, 120_000).await;
    let attempt = connector.begun().await;
    let began = since_start();
    eventually(SOON, || async {
        connector.beat(&attempt).await;
        tokio::time::sleep(Duration::from_millis(limits::LEASE_RENEW_MS)).await;
        since_start().duration_since(began) > LEASE + LEASE / 2
    })
    .await;
    assert_eq!(world.record(&key).await.entry.state.phase, Phase::Running(grant(&attempt)));
    assert_eq!(world.bus.lease(&key).await.unwrap().unwrap().fence, attempt.fence);
    assert_eq!(connector.complete(&attempt, json!({"n": 1})).await, Verdict::Go);
}

/// A scheduler that is first between its look at the lease and its write of `started` (SIGSTOP), and wakes up after another
/// attempt has begun: its write loses, and its answer is not a go.
#[tokio::test]
async fn a_start_that_wakes_up_after_another_has_begun_is_stale() {
    let world = World::start().await;
    let mut connector = world.connector().await;
    let gate = Gate::new();
    let _scheduler = world.scheduler_over(|faulty| faulty.once(".started", Fate::Hold(gate.clone()))).await;
    let key = world.queue("act_1", UNSAFE, 120_000).await;
    let first = connector.accepted().await;
    let begin = Begin { attempt: first.clone() };
    {
        let late = connector.report(Report::Begin, &begin);
        tokio::pin!(late);
        tokio::select! {
            verdict = &mut late => panic!("answered before its time: {verdict:?}"),
            () = gate.reached() => {}
        }
    }
    let second = connector.begun().await;
    gate.open();
    assert_eq!(connector.begin(&first).await, Verdict::Stale);
    assert_eq!(connector.complete(&second, json!({"n": 2})).await, Verdict::Go);
    assert_eq!(connector.complete(&first, json!({"n": 1})).await, Verdict::Stale);
    assert_eq!(world.steps(&key).await, ["queued", "started", "completed"]);
}

/// The same, but it wakes up while the other attempt is only offered: whichever is stored first has begun, and the other never
/// does where the contract allows no repeat.
#[tokio::test]
async fn of_a_late_start_and_another_offer_only_one_begins() {
    let world = World::start().await;
    let mut connector = world.connector().await;
    let gate = Gate::new();
    let _scheduler = world.scheduler_over(|faulty| faulty.once(".started", Fate::Hold(gate.clone()))).await;
    let key = world.queue("act_1", UNSAFE, 120_000).await;
    let first = connector.accepted().await;
    let begin = Begin { attempt: first.clone() };
    {
        let late = connector.report(Report::Begin, &begin);
        tokio::pin!(late);
        tokio::select! {
            verdict = &mut late => panic!("answered before its time: {verdict:?}"),
            () = gate.reached() => {}
        }
    }
    let second = connector.accepted().await;
    assert!(second.fence > first.fence);
    gate.open();
    world.reaches(&key, is_running).await;
    assert_eq!(world.record(&key).await.entry.state.phase, Phase::Running(grant(&first)));
    assert_eq!(connector.begin(&second).await, Verdict::Stale);
    assert_eq!(world.steps(&key).await, ["queued", "started"]);
    assert_eq!(connector.complete(&second, json!({"n": 2})).await, Verdict::Stale);
    assert_eq!(connector.complete(&first, json!({"n": 1})).await, Verdict::Go);
}

/// Work outlives an outage that is longer than its lease: nobody took the lease, so its next heartbeat writes it anew.
#[tokio::test]
async fn an_outage_longer_than_a_lease_loses_no_attempt() {
    let mut world = World::start().await;
    let mut connector = world.connector().await;
    let _scheduler = world.scheduler().await;
    let key = world.queue("act_1", UNSAFE, 120_000).await;
    let attempt = connector.begun().await;
    world.nats.server.kill9().await.unwrap();
    tokio::time::sleep(LEASE + Duration::from_secs(2)).await;
    world.nats.server.restart().await.unwrap();
    let began = since_start();
    eventually(SOON, || async {
        connector.beat(&attempt).await;
        tokio::time::sleep(Duration::from_secs(2)).await;
        since_start().duration_since(began) > LEASE + Duration::from_secs(6)
    })
    .await;
    assert_eq!(world.record(&key).await.entry.state.phase, Phase::Running(grant(&attempt)));
    assert_eq!(connector.complete(&attempt, json!({"n": 1})).await, Verdict::Go);
    world.lane_is_empty(SOON).await;
    assert_eq!(world.steps(&key).await, ["queued", "started", "completed"]);
}

/// A server that was killed may have lost that a message was delivered: it comes again as if for the first time, with the record as
/// it was before its attempt began, and the lease has run out meanwhile.
#[tokio::test]
async fn a_message_that_seems_new_after_an_outage_ends_no_attempt() {
    let world = World::start().await;
    let mut connector = world.connector().await;
    let dead = world.scheduler().await;
    let key = world.queue("act_1", UNSAFE, 120_000).await;
    let attempt = connector.begun().await;
    dead.kill();
    let _other = world.scheduler_over(Faulty::forget_deliveries).await;
    eventually(SOON, || async { world.bus.lease(&key).await.unwrap().is_none() }).await;
    // Longer than the rest of the time to its redelivery.
    connector.nothing_is_offered_within(Duration::from_millis(limits::ACK_WAIT_MS - limits::LEASE_MS) * 2).await;
    connector.beat(&attempt).await;
    assert_eq!(connector.complete(&attempt, json!({"n": 1})).await, Verdict::Go);
    world.lane_is_empty(SOON).await;
    assert_eq!(world.steps(&key).await, ["queued", "started", "completed"]);
}
