//! Callers that wait for the end of their action (`design.md` §5).

use aip_core::action::{Grant, Trigger};
use aip_testkit::Fate;
use aip_types::{ActionMode, ErrorCode};
use serde_json::json;

use crate::world::{REVALIDATE, World, completed, keyed, refused, said, unkeyed};

/// A notification is sent at most once; who gets none reads the record.
#[tokio::test]
async fn a_caller_whose_notification_is_lost_gets_the_result_all_the_same() {
    let world = World::start().await;
    let action = unkeyed("act_1", REVALIDATE, json!({"a": 1}));
    let (answer, ()) = tokio::join!(world.call(&action), world.complete("act_1", false));
    assert_eq!(said(&answer), completed("act_1"));
}

#[tokio::test]
async fn an_asynchronous_caller_is_answered_when_its_action_is_queued() {
    let world = World::start().await;
    let mut action = keyed("act_1", REVALIDATE, "k", json!({"a": 1}));
    action.mode = Some(ActionMode::Async);
    assert_eq!(said(&world.call(&action).await), ("act_1".to_owned(), json!("queued")));
    assert_eq!(said(&world.call(&action).await), ("act_1".to_owned(), json!("accepted")));
    world.complete("act_1", true).await;
    assert_eq!(said(&world.call(&action).await), ("act_1".to_owned(), json!("cached")));
}

#[tokio::test]
async fn a_caller_of_an_action_that_outlives_its_wait_is_told_where_it_stands() {
    let world = World::start().await;
    let mut action = unkeyed("act_1", REVALIDATE, json!({"a": 1}));
    action.timeout_ms = Some(500);
    assert_eq!(said(&world.call(&action).await), ("act_1".to_owned(), json!("accepted")));
}

/// AIP 1.0 §13.6: nobody knows, and the caller is told so.
#[tokio::test]
async fn a_caller_is_told_of_an_unknown_outcome() {
    let world = World::start().await;
    let action = unkeyed("act_1", REVALIDATE, json!({"a": 1}));
    let lose = async {
        let grant = Grant { fence: 5, instance: "one".to_owned() };
        let queued = world.queued("act_1").await;
        let running = world.apply("act_1", &queued, Trigger::Start { grant, over: true, chunk_base: 0 }).await;
        world.apply("act_1", &running, Trigger::LeaseOver { fence: 5 }).await;
    };
    let (answer, ()) = tokio::join!(world.call(&action), lose);
    assert_eq!(said(&answer), refused(ErrorCode::OutcomeUnknown));
    assert_eq!(said(&world.call(&action).await), refused(ErrorCode::OutcomeUnknown));
}

/// Nothing is promised when the journal does not answer, and a repeat with the same key is safe.
#[tokio::test]
async fn a_caller_of_a_bus_that_is_gone_may_ask_again() {
    let world = World::empty().await;
    let faulty = world.admission().await;
    faulty.on_append(|append| if append.subject.starts_with("aipj.") { Fate::Lose } else { Fate::Pass });
    let action = keyed("act_1", REVALIDATE, "k", json!({"a": 1}));
    let answer = world.call(&action).await;
    assert_eq!(said(&answer), refused(ErrorCode::TransportUnavailable));
    faulty.on_append(|_| Fate::Pass);
    let (answer, ()) = tokio::join!(world.call(&action), world.complete("act_1", true));
    assert_eq!(said(&answer), completed("act_1"));
}
