//! Action ids that are seen again, and requests that leave nothing behind (AIP 1.0 §11.3; `design.md` §5).

use aip_types::{ActionMode, ErrorCode};
use serde_json::json;

use crate::world::{REVALIDATE, World, completed, keyed, refused, said, unkeyed};

#[tokio::test]
async fn an_id_seen_again_without_a_key_is_the_same_action_or_a_conflict() {
    let world = World::start().await;
    let action = unkeyed("act_1", REVALIDATE, json!({"a": 1}));
    let (answer, ()) = tokio::join!(world.call(&action), world.complete("act_1", true));
    assert_eq!(said(&answer), completed("act_1"));
    assert_eq!(said(&world.call(&action).await), completed("act_1"));
    let conflict = refused(ErrorCode::ActionIdConflict);
    assert_eq!(said(&world.call(&unkeyed("act_1", REVALIDATE, json!({"a": 2}))).await), conflict);
    assert_eq!(said(&world.call(&unkeyed("act_1", crate::world::ORIGINAL, json!({"a": 1}))).await), conflict);
    assert_eq!(said(&world.call(&keyed("act_1", REVALIDATE, "k", json!({"a": 1}))).await), conflict);
    assert_eq!(said(&world.send("service:second", &action).await), conflict);
    assert_eq!(world.stored("AIP_JOURNAL").await, 3);
    // Another tenant's id is another action.
    let mut foreign = action;
    foreign.mode = Some(ActionMode::Async);
    assert_eq!(said(&world.send("service:stranger", &foreign).await), ("act_1".to_owned(), json!("queued")));
}

#[tokio::test]
async fn a_refused_action_leaves_no_record_and_no_key() {
    let world = World::start().await;
    let mut late = keyed("act_1", REVALIDATE, "k", json!({"a": 1}));
    late.timeout_ms = Some(0);
    assert_eq!(said(&world.call(&late).await), refused(ErrorCode::TimeoutInvalid));
    let unknown = keyed("act_2", "cap:demo:nothing", "k", json!({"a": 1}));
    assert_eq!(said(&world.call(&unknown).await), refused(ErrorCode::CapabilityNotFound));
    let wrong = keyed("act_3", REVALIDATE, "k", json!([1]));
    assert_eq!(said(&world.call(&wrong).await), refused(ErrorCode::InputInvalid));
    for stream in ["AIP_JOURNAL", "KV_AIP_IDEMPOTENCY", "AIP_BLOBS"] {
        assert_eq!(world.stored(stream).await, 0, "{stream}");
    }
}
