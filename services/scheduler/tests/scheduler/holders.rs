//! Holders of lane messages: what they do when others settle, and what becomes of their message when they die (`design.md` §4.1).

use std::time::Duration;

use aip_bus::{Draft, Loaded, subjects::RecordKey, work::Verdict};
use aip_core::action::{ActionRecord, Held, Phase, Settled, Trigger, step};
use aip_service::{now, since_start};
use aip_testkit::Faulty;
use serde_json::json;

use crate::world::{SAFE, SOON, UNSAFE, World, grant, is_running};

/// One second, and room for a machine that is busy with other tests.
const AT_ONCE: Duration = Duration::from_secs(3);

/// Settles an attempt as another scheduler does: it stores the terminal entry and tells no holder.
async fn settle_elsewhere(world: &World, key: &RecordKey) -> Loaded<ActionRecord> {
    let current = world.record(key).await;
    let settled = Settled::Completed { output: Held::Inline(json!({"n": 1})) };
    let grant = current.entry.state.grant().cloned();
    let trigger = Trigger::Settle { grant, settled, chunks_last: None };
    let step = step(&current.entry.state, trigger, now()).unwrap();
    world.bus.save(key, Draft::of(step, "result", None), current.sequence).await.unwrap()
}

async fn a_holder_lets_go(fail: impl FnOnce(&Faulty)) {
    let world = World::start().await;
    let mut connector = world.connector().await;
    let _scheduler = world.scheduler_over(fail).await;
    let key = world.queue("act_1", UNSAFE, 60_000).await;
    connector.begun().await;
    world.reaches(&key, is_running).await;
    assert_eq!(world.unacknowledged().await, 1);
    settle_elsewhere(&world, &key).await;
    world.lane_is_empty(AT_ONCE).await;
    connector.nothing_is_offered().await;
}

#[tokio::test]
async fn a_holder_learns_at_once_that_another_has_settled() {
    a_holder_lets_go(|_| {}).await;
}

#[tokio::test]
async fn a_holder_learns_it_also_where_the_live_message_is_lost() {
    a_holder_lets_go(|faulty| faulty.deaf_to("aipl.")).await;
}

/// Killing a scheduler loses nothing: its message comes again, and the attempt that was begun under it settles through another.
#[tokio::test]
async fn a_message_of_a_dead_holder_is_acknowledged_at_once_where_its_record_is_settled() {
    let world = World::start().await;
    let mut connector = world.connector().await;
    let dead = world.scheduler().await;
    let key = world.queue("act_1", SAFE, 60_000).await;
    let attempt = connector.begun().await;
    dead.kill();
    let _other = world.scheduler().await;
    assert_eq!(connector.complete(&attempt, json!({"n": 1})).await, Verdict::Go);
    assert_eq!(world.record(&key).await.entry.state.phase, Phase::Completed {});
    world.lane_is_empty(SOON).await;
    connector.nothing_is_offered().await;
    assert_eq!(world.steps(&key).await, ["queued", "started", "completed"]);
}

/// A message that comes again while its attempt runs is held, not worked on: the attempt has its lease.
#[tokio::test]
async fn a_message_that_comes_again_watches_the_attempt_of_its_dead_holder() {
    let world = World::start().await;
    let mut connector = world.connector().await;
    let dead = world.scheduler().await;
    let key = world.queue("act_1", SAFE, 120_000).await;
    let attempt = connector.begun().await;
    dead.kill();
    let _other = world.scheduler().await;
    let began = since_start();
    aip_testkit::eventually(SOON, || async {
        connector.beat(&attempt).await;
        tokio::time::sleep(Duration::from_secs(2)).await;
        since_start().duration_since(began) > Duration::from_secs(18)
    })
    .await;
    assert_eq!(world.record(&key).await.entry.state.phase, Phase::Running(grant(&attempt)));
    assert_eq!(connector.complete(&attempt, json!({"n": 1})).await, Verdict::Go);
    world.lane_is_empty(SOON).await;
    assert_eq!(world.record(&key).await.entry.state.attempts, 1);
}
