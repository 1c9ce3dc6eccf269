//! Cancellation, deadlines of work in progress, and delayed retries (AIP 1.0 §11.1, §11.8, §19.2).

use aip_bus::{
    CancelAsked,
    subjects::RecordKey,
    work::{Outcome, Verdict},
};
use aip_core::action::Phase;
use aip_types::{ErrorCode, MessageId, Principal, PrincipalId, PrincipalKind, ProtocolError};
use serde_json::json;

use crate::world::{READ, SAFE, SOON, UNSAFE, World, is_unknown};

async fn cancel(world: &World, key: &RecordKey, message: &str) {
    let by = Principal::new(PrincipalId::new("human:ada"), PrincipalKind::Human);
    let asked = CancelAsked { message: MessageId::new(message), by, reason: None };
    world.bus.ask_to_cancel(key, &asked).await.unwrap();
}

#[tokio::test]
async fn an_action_that_has_not_begun_is_cancelled_at_once_and_its_offer_is_stale() {
    let world = World::start().await;
    let mut connector = world.connector().await;
    let _scheduler = world.scheduler().await;
    let key = world.queue("act_1", SAFE, 60_000).await;
    let attempt = connector.accepted().await;
    cancel(&world, &key, "msg_c").await;
    world.reaches(&key, |phase| *phase == Phase::Cancelled {}).await;
    assert_eq!(connector.begin(&attempt).await, Verdict::Stale);
    world.lane_is_empty(SOON).await;
    assert_eq!(world.steps(&key).await, ["queued", "cancelled"]);
}

#[tokio::test]
async fn a_running_action_is_cancelled_when_its_handler_says_so_and_not_before() {
    let world = World::start().await;
    let mut connector = world.connector().await;
    let _scheduler = world.scheduler().await;
    let key = world.queue("act_1", UNSAFE, 60_000).await;
    let attempt = connector.begun().await;
    cancel(&world, &key, "msg_c").await;
    world.reaches(&key, |phase| matches!(phase, Phase::Cancelling(_))).await;
    assert!(world.unacknowledged().await > 0, "somebody watches it still");
    cancel(&world, &key, "msg_d").await;
    assert_eq!(connector.end(&attempt, Outcome::Cancelled {}).await, Verdict::Go);
    world.lane_is_empty(SOON).await;
    assert_eq!(world.steps(&key).await, ["queued", "started", "cancelling", "cancelled"]);
    let record = world.record(&key).await.entry.state.clone();
    assert_eq!(record.error.unwrap().error_code(), Some(ErrorCode::ActionCancelled));
}

#[tokio::test]
async fn a_result_that_overtakes_the_cancellation_stands() {
    let world = World::start().await;
    let mut connector = world.connector().await;
    let _scheduler = world.scheduler().await;
    let key = world.queue("act_1", UNSAFE, 60_000).await;
    let attempt = connector.begun().await;
    cancel(&world, &key, "msg_c").await;
    world.reaches(&key, |phase| matches!(phase, Phase::Cancelling(_))).await;
    assert_eq!(connector.complete(&attempt, json!({"n": 1})).await, Verdict::Go);
    world.reaches(&key, |phase| *phase == Phase::Completed {}).await;
    cancel(&world, &key, "msg_d").await;
    world.lane_is_empty(SOON).await;
    assert_eq!(world.steps(&key).await, ["queued", "started", "cancelling", "completed"]);
}

/// AIP 1.0 §11.8: the provider may have committed, so it is not labelled cancelled.
#[tokio::test]
async fn a_cancelled_mutation_whose_handler_dies_has_an_unknown_outcome() {
    let world = World::start().await;
    let mut connector = world.connector().await;
    let _scheduler = world.scheduler().await;
    let key = world.queue("act_1", SAFE, 60_000).await;
    connector.begun().await;
    cancel(&world, &key, "msg_c").await;
    world.reaches(&key, is_unknown).await;
    world.lane_is_empty(SOON).await;
}

#[tokio::test]
async fn a_plain_read_that_is_cancelled_is_not_waited_for() {
    let world = World::start().await;
    let mut connector = world.connector().await;
    let _scheduler = world.scheduler().await;
    let key = world.queue("act_1", READ, 60_000).await;
    let _unanswered = connector.offered().await;
    cancel(&world, &key, "msg_c").await;
    world.reaches(&key, |phase| *phase == Phase::Cancelled {}).await;
    world.lane_is_empty(SOON).await;
    assert_eq!(world.steps(&key).await, ["queued", "cancelling", "cancelled"]);
}

/// AIP 1.0 §19.2: the error, the contract and the time allow it; the fence of the next attempt is a new one.
#[tokio::test]
async fn a_retryable_failure_is_offered_again_after_its_delay() {
    let world = World::start().await;
    let mut connector = world.connector().await;
    let _scheduler = world.scheduler().await;
    let key = world.queue("act_1", SAFE, 60_000).await;
    let first = connector.begun().await;
    let mut error = ProtocolError::from(ErrorCode::ConnectorFailed);
    (error.retryable, error.retry_after_ms) = (Some(true), Some(600));
    assert_eq!(connector.end(&first, Outcome::Failed { error, uncertain: false }).await, Verdict::Go);
    let due = world.record(&key).await.entry.state.retry_at.unwrap();
    let second = connector.begun().await;
    assert!(aip_service::now() >= due && second.fence > first.fence);
    assert_eq!(connector.complete(&second, json!({"n": 1})).await, Verdict::Go);
    assert_eq!(world.steps(&key).await, ["queued", "started", "retry_due", "started", "completed"]);
}
