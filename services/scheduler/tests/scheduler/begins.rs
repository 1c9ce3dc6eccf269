//! Nothing runs before its `started` is stored, and nothing counts of what did not begin (`design.md` §4.2, §4.4).

use aip_bus::subjects::Report;
use aip_bus::work::{Attempt, Begin, Fence, OfferReply, Verdict};
use aip_core::action::Phase;
use serde_json::json;

use crate::world::{READ, SAFE, SOON, UNSAFE, World, attempt};

#[tokio::test]
async fn a_mutation_is_begun_settled_and_its_lane_is_empty() {
    let world = World::start().await;
    let mut connector = world.connector().await;
    let _scheduler = world.scheduler().await;
    let key = world.queue("act_1", UNSAFE, 60_000).await;
    let attempt = connector.begun().await;
    assert_eq!(connector.complete(&attempt, json!({"n": 1})).await, Verdict::Go);
    world.reaches(&key, Phase::is_terminal).await;
    world.lane_is_empty(SOON).await;
    assert_eq!(world.steps(&key).await, ["queued", "started", "completed"]);
}

#[tokio::test]
async fn a_result_of_what_was_not_begun_is_stale() {
    let world = World::start().await;
    let mut connector = world.connector().await;
    let _scheduler = world.scheduler().await;
    let key = world.queue("act_1", UNSAFE, 60_000).await;
    let attempt = connector.accepted().await;
    assert_eq!(connector.complete(&attempt, json!({"n": 1})).await, Verdict::Stale);
    assert_eq!(world.steps(&key).await, ["queued"]);
    assert_eq!(connector.begin(&attempt).await, Verdict::Go);
    assert_eq!(connector.complete(&attempt, json!({"n": 1})).await, Verdict::Go);
}

/// The answer to the first `begin` may be lost, so the same attempt may ask again; nobody else may.
#[tokio::test]
async fn only_the_same_attempt_may_begin_again() {
    let world = World::start().await;
    let mut connector = world.connector().await;
    let _scheduler = world.scheduler().await;
    let key = world.queue("act_1", SAFE, 60_000).await;
    let attempt = connector.begun().await;
    assert_eq!(connector.begin(&attempt).await, Verdict::Go);
    let twin = Attempt { instance: "two".to_owned(), ..attempt.clone() };
    let older = Attempt { fence: Fence(attempt.fence.0 - 1), ..attempt.clone() };
    let newer = Attempt { fence: Fence(attempt.fence.0 + 1), ..attempt.clone() };
    let foreign = Attempt { tenant: "other".to_owned(), ..attempt.clone() };
    for wrong in [&twin, &older, &newer, &foreign] {
        assert_eq!(connector.begin(wrong).await, Verdict::Stale, "{wrong:?}");
        assert_eq!(connector.complete(wrong, json!({"n": 9})).await, Verdict::Stale, "{wrong:?}");
    }
    // Another connector names the right attempt on a subject of its own.
    let begin = Begin { attempt: attempt.clone() };
    assert_eq!(connector.report_as("rogue", Report::Begin, &begin).await, Verdict::Stale);
    assert_eq!(world.steps(&key).await, ["queued", "started"]);
    assert_eq!(connector.complete(&attempt, json!({"n": 1})).await, Verdict::Go);
    // It answers twice.
    assert_eq!(connector.complete(&attempt, json!({"n": 2})).await, Verdict::Stale);
    assert_eq!(world.steps(&key).await, ["queued", "started", "completed"]);
}

#[tokio::test]
async fn a_begin_after_the_lease_was_given_back_is_stale() {
    let world = World::start().await;
    let mut connector = world.connector().await;
    let _scheduler = world.scheduler().await;
    let key = world.queue("act_1", UNSAFE, 60_000).await;
    let (inbound, offer) = connector.offered().await;
    connector.answer(&inbound, &OfferReply::Busy { retry_after_ms: 1_000 }).await;
    let late = attempt(&offer);
    aip_testkit::eventually(SOON, || async { world.bus.lease(&key).await.unwrap().is_none() }).await;
    assert_eq!(connector.begin(&late).await, Verdict::Stale);
    assert_eq!(world.steps(&key).await, ["queued"]);
    // It comes again under a larger fence, and the late one stays outdated.
    let next = connector.accepted().await;
    assert!(next.fence > late.fence);
    assert_eq!(connector.begin(&late).await, Verdict::Stale);
    assert_eq!(connector.begin(&next).await, Verdict::Go);
    assert_eq!(connector.begin(&late).await, Verdict::Stale);
    assert_eq!(connector.complete(&late, json!({"n": 9})).await, Verdict::Stale);
    assert_eq!(connector.complete(&next, json!({"n": 1})).await, Verdict::Go);
}

/// An offer is the go of a plain read and its answer the result: one write, and no lease (`design.md` §4.5).
#[tokio::test]
async fn a_plain_read_has_no_lease_and_cannot_be_settled_from_outside() {
    let world = World::start().await;
    let mut connector = world.connector().await;
    let _scheduler = world.scheduler().await;
    let key = world.queue("act_1", READ, 60_000).await;
    let (inbound, offer) = connector.offered().await;
    assert_eq!(offer.fence, None);
    assert_eq!(world.bus.lease(&key).await.unwrap(), None);
    assert_eq!(connector.complete(&attempt(&offer), json!({"n": 9})).await, Verdict::Stale);
    let outcome = aip_bus::work::Outcome::Completed { output: json!({"n": 1}) };
    connector.answer(&inbound, &OfferReply::Result { instance: "one".to_owned(), outcome }).await;
    world.reaches(&key, |phase| *phase == Phase::Completed {}).await;
    world.lane_is_empty(SOON).await;
    assert_eq!(world.steps(&key).await, ["queued", "completed"]);
}
