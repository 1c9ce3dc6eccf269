//! How actions end (AIP 1.0 §11.5, §11.7, §13.6).

use aip_bus::{
    Append, Source,
    subjects::{AIP_QUARANTINE, RecordKey, Tenant},
    work::{Outcome, Verdict},
};
use aip_core::action::Phase;
use aip_testkit::eventually;
use aip_types::{ErrorCode, ProtocolError, limits};
use serde_json::{Value, json};

use crate::world::{READ, SAFE, SOON, UNSAFE, World, is_unknown};

fn failed(details: Value, uncertain: bool) -> Outcome {
    Outcome::Failed { error: ProtocolError::from(ErrorCode::ConnectorFailed).with_details(details), uncertain }
}

#[tokio::test]
async fn an_output_that_violates_its_schema_fails_the_action() {
    let world = World::start().await;
    let mut connector = world.connector().await;
    let _scheduler = world.scheduler().await;
    let key = world.queue("act_1", SAFE, 60_000).await;
    let attempt = connector.begun().await;
    assert_eq!(connector.complete(&attempt, json!({"n": "x"})).await, Verdict::Go);
    let record = world.record(&key).await.entry.state.clone();
    assert_eq!(record.phase, Phase::Failed {});
    let error = record.error.unwrap();
    assert_eq!(error.error_code(), Some(ErrorCode::OutputInvalid));
    assert_eq!(error.details.unwrap()["pointer"], json!("/n"));
    assert_eq!(record.output, None);
}

/// AIP 1.0 §13.6, §19.3: the operation reference is kept; a repeated report adds nothing; a definite one ends it.
#[tokio::test]
async fn an_uncertain_failure_of_a_mutation_is_parked_with_its_reference() {
    let world = World::start().await;
    let mut connector = world.connector().await;
    let _scheduler = world.scheduler().await;
    let key = world.queue("act_1", UNSAFE, 60_000).await;
    let attempt = connector.begun().await;
    assert_eq!(connector.end(&attempt, failed(json!({"operation": "op_1"}), true)).await, Verdict::Go);
    let record = world.record(&key).await.entry.state.clone();
    assert!(is_unknown(&record.phase));
    assert_eq!(record.error.unwrap().details, Some(json!({"operation": "op_1"})));
    world.lane_is_empty(SOON).await;
    connector.end(&attempt, failed(json!({"operation": "op_1"}), true)).await;
    assert_eq!(world.steps(&key).await, ["queued", "started", "outcome_unknown"]);
    assert_eq!(connector.end(&attempt, failed(json!({"operation": "op_1"}), false)).await, Verdict::Go);
    assert_eq!(world.record(&key).await.entry.state.phase, Phase::Failed {});
}

#[tokio::test]
async fn an_error_at_the_bound_is_kept_and_one_past_it_loses_its_details() {
    let world = World::start().await;
    let mut connector = world.connector().await;
    let _scheduler = world.scheduler().await;
    let bare = serde_json::to_vec(&ProtocolError::from(ErrorCode::ConnectorFailed).with_details(json!(""))).unwrap();
    let room = limits::ERROR_BYTES_MAX - bare.len();
    for (id, bytes) in [("act_1", room), ("act_2", room + 1)] {
        let key = world.queue(id, SAFE, 60_000).await;
        let attempt = connector.begun().await;
        assert_eq!(connector.end(&attempt, failed(json!("x".repeat(bytes)), false)).await, Verdict::Go);
        let error = world.record(&key).await.entry.state.error.clone().unwrap();
        assert_eq!(error.details.is_some(), bytes == room);
        assert_eq!(error.error_code(), Some(ErrorCode::ConnectorFailed));
    }
}

#[tokio::test]
async fn what_nobody_can_take_before_its_deadline_expires() {
    let world = World::start().await;
    let _scheduler = world.scheduler().await;
    let keys = [world.queue("act_1", UNSAFE, 1_500).await, world.queue("act_2", READ, 1_500).await];
    for key in keys {
        world.reaches(&key, Phase::is_terminal).await;
        assert_eq!(world.steps(&key).await, ["queued", "expired"]);
    }
    world.lane_is_empty(SOON).await;
}

/// A poisoned message does not come for ever, and is not lost.
#[tokio::test]
async fn a_message_that_cannot_be_decoded_is_put_aside() {
    let world = World::start().await;
    let _scheduler = world.scheduler().await;
    let key = RecordKey::action(Tenant::new("acme").unwrap(), "act_1");
    world.bus.port().append(Append::new(key.entry("queued"), "{}")).await.unwrap();
    eventually(SOON, || async { world.bus.port().last(AIP_QUARANTINE, ">", Source::Leader).await.unwrap().is_some() })
        .await;
    world.lane_is_empty(SOON).await;
}
