//! Keys: reserved, replayed, refused, adopted, given up (AIP 1.0 §9.5; `design.md` §5).

use aip_bus::Reserved;
use aip_core::idempotency::{Reservation, reservation};
use aip_testkit::{Fate, Gate, eventually};
use aip_types::{
    ActionId, ActionMode, Capability, CapabilityId, CapabilityKind, ErrorCode, IdempotencyKeyScope, MessageId, Millis,
    PrincipalId,
};
use futures::future::join_all;
use serde_json::json;
use std::time::Duration;

use crate::world::{OF_TENANT, ORIGINAL, REJECT, REVALIDATE, SOON, World, acme, completed, keyed, refused, said};

/// Done when 4 of the issue, for one process: one execution, fifty equal answers, and nobody is told to look later.
#[tokio::test]
async fn fifty_calls_with_one_key_are_one_action_with_fifty_equal_answers() {
    let world = World::start().await;
    let actions: Vec<_> =
        (0..50).map(|number| keyed(&format!("act_{number}"), REVALIDATE, "k", json!({"a": 1}))).collect();
    let calls = join_all(actions.iter().map(|action| world.call(action)));
    let settle = async {
        eventually(SOON, || async { world.stored("AIP_JOURNAL").await > 0 }).await;
        let last = world.bus.port().last("AIP_JOURNAL", ">", aip_bus::Source::Leader).await.unwrap().unwrap();
        let id = last.subject.split('.').nth(4).unwrap().to_owned();
        // Everybody has asked before it ends, so that they race for the id and for its end.
        tokio::time::sleep(Duration::from_millis(500)).await;
        world.complete(&id, true).await;
        id
    };
    let (answers, id) = tokio::join!(calls, settle);
    for answer in &answers {
        assert_eq!(said(answer), completed(&id));
    }
    assert_eq!(world.stored("AIP_JOURNAL").await, 3);
    assert_eq!(world.stored("KV_AIP_IDEMPOTENCY").await, 1);
}

/// What is stored needs no handler; what is new does.
#[tokio::test]
async fn a_repeat_is_answered_while_nobody_serves_the_capability() {
    let world = World::start().await;
    let first = keyed("act_1", REVALIDATE, "k", json!({"a": 1}));
    let (answer, ()) = tokio::join!(world.call(&first), world.complete("act_1", true));
    assert_eq!(said(&answer), completed("act_1"));
    world.connector_dies().await;
    let new = keyed("act_2", REVALIDATE, "other", json!({"a": 1}));
    eventually(SOON, || async { said(&world.call(&new).await) == refused(ErrorCode::CapabilityUnavailable) }).await;
    let repeat = keyed("act_3", REVALIDATE, "k", json!({"a": 1}));
    assert_eq!(said(&world.call(&repeat).await), completed("act_1"));
    let conflict = keyed("act_4", REVALIDATE, "k", json!({"a": 2}));
    assert_eq!(said(&world.call(&conflict).await), refused(ErrorCode::IdempotencyInputMismatch));
    assert_eq!(world.stored("KV_AIP_IDEMPOTENCY").await, 1);
}

#[tokio::test]
async fn a_repeated_key_is_answered_by_its_collision_behaviour() {
    let world = World::start().await;
    let table = [
        (REVALIDATE, true, None),
        (REVALIDATE, false, Some(ErrorCode::IdempotencyInputMismatch)),
        (ORIGINAL, true, None),
        (ORIGINAL, false, None),
        (REJECT, true, Some(ErrorCode::IdempotencyConflict)),
        (REJECT, false, Some(ErrorCode::IdempotencyConflict)),
    ];
    for capability in [REVALIDATE, ORIGINAL, REJECT] {
        let id = format!("act_{}", &capability[9..]);
        let first = keyed(&id, capability, "k", json!({"a": 1}));
        let (answer, ()) = tokio::join!(world.call(&first), world.complete(&id, true));
        assert_eq!(said(&answer), completed(&id));
        assert_eq!(answer.extensions, None);
    }
    for (number, (capability, same, expected)) in table.into_iter().enumerate() {
        let first = format!("act_{}", &capability[9..]);
        let input = if same { json!({"a": 1}) } else { json!({"a": 2}) };
        let answer = world.call(&keyed(&format!("act_again_{number}"), capability, "k", input)).await;
        match expected {
            Some(code) => assert_eq!(said(&answer), refused(code), "{capability} {same}"),
            None => {
                assert_eq!(said(&answer), completed(&first), "{capability} {same}");
                assert_eq!(answer.extensions, Some(json!({"dev.aip-fleet": {"idempotent_replay": true}})));
            }
        }
        assert!(world.record(&format!("act_again_{number}")).await.is_none());
    }
    // A late acknowledgement of the same.
    let mut later = keyed("act_later", REVALIDATE, "k", json!({"a": 1}));
    later.mode = Some(ActionMode::Async);
    assert_eq!(said(&world.call(&later).await), ("act_revalidate".to_owned(), json!("cached")));
}

#[tokio::test]
async fn a_key_is_another_one_for_another_principal_capability_or_tenant() {
    let world = World::start().await;
    let mut ids = Vec::new();
    for (principal, capability) in
        [("service:caller", REVALIDATE), ("service:second", REVALIDATE), ("service:caller", ORIGINAL)]
    {
        let id = format!("act_{}", ids.len());
        let mut action = keyed(&id, capability, "k", json!({"a": 1}));
        action.mode = Some(ActionMode::Async);
        assert_eq!(said(&world.send(principal, &action).await), (id.clone(), json!("queued")));
        ids.push(id);
    }
    let mut foreign = keyed("act_0", REVALIDATE, "k", json!({"a": 1}));
    foreign.mode = Some(ActionMode::Async);
    assert_eq!(said(&world.send("service:stranger", &foreign).await), ("act_0".to_owned(), json!("queued")));
    assert_eq!(world.stored("AIP_JOURNAL").await, 4);
}

/// A hit is authorised as a read: whose action it is gets the result, another of the tenant a refusal without content.
#[tokio::test]
async fn a_hit_on_the_action_of_another_tells_nothing_of_it() {
    let world = World::start().await;
    let first = keyed("act_1", OF_TENANT, "k", json!({"a": 1}));
    let (answer, ()) = tokio::join!(world.call(&first), world.complete("act_1", true));
    assert_eq!(said(&answer), completed("act_1"));
    let repeat = keyed("act_2", OF_TENANT, "k", json!({"a": 1}));
    let answer = world.send("service:second", &repeat).await;
    assert_eq!(said(&answer), refused(ErrorCode::IdempotencyConflict));
    assert!(!serde_json::to_string(&answer).unwrap().contains("act_1"));
}

fn hash(capability: &str, key: &str) -> String {
    let mut described = Capability::new(CapabilityId::new(capability), "x".to_owned(), CapabilityKind::Tool, json!({}));
    described.contract = None; // no contract reads as the scope of the principal, as the capabilities of the world declare
    assert_eq!(IdempotencyKeyScope::Principal.as_str(), "principal");
    let action = keyed("act_x", capability, key, json!({}));
    reservation(&action, &described, "acme", &PrincipalId::new("service:caller"), key)
}

/// Whoever reserved it died before it wrote: the next caller writes under the reserved id, in its own name and time.
#[tokio::test]
async fn a_reservation_without_a_record_is_adopted_under_its_id() {
    let world = World::start().await;
    let action = keyed("act_new", REVALIDATE, "k", json!({"a": 1}));
    let input_hash = aip_crypto::input_hash(REVALIDATE, &action.input, None);
    let dead = Reservation { action_id: ActionId::new("act_dead"), input_hash, at: Millis(1) };
    let day = Duration::from_secs(86_400);
    let reserved = world.bus.reserve(&acme(), &hash(REVALIDATE, "k"), &dead, day).await.unwrap();
    assert_eq!(reserved, Reserved::New);
    let (answer, ()) = tokio::join!(world.call(&action), world.complete("act_dead", true));
    assert_eq!(said(&answer), completed("act_dead"));
    assert!(world.record("act_new").await.is_none());
    // Another input is not what was reserved.
    let other = keyed("act_other", REVALIDATE, "k", json!({"a": 2}));
    assert_eq!(said(&world.call(&other).await), refused(ErrorCode::IdempotencyInputMismatch));
}

/// SIGSTOP between reserve and append: who wakes up late makes no second action, and gets the answer of the first.
#[tokio::test]
async fn a_holder_that_wakes_up_late_makes_no_second_action() {
    let world = World::empty().await;
    let stopped = world.admission().await;
    let gate = Gate::new();
    stopped.once(".queued", Fate::Hold(gate.clone()));
    let (first, second) =
        (keyed("act_1", REVALIDATE, "k", json!({"a": 1})), keyed("act_2", REVALIDATE, "k", json!({"a": 1})));
    let late = world.call(&first);
    let others = async {
        gate.reached().await;
        let (answer, ()) = tokio::join!(world.call(&second), world.complete("act_1", true));
        assert_eq!(said(&answer), completed("act_1"));
        gate.open();
    };
    let (late, ()) = tokio::join!(late, others);
    assert_eq!(said(&late), completed("act_1"));
    assert!(world.record("act_2").await.is_none());
    assert_eq!(world.stored("AIP_JOURNAL").await, 3);
}

/// The acknowledgement is lost and the scheduler is quick: the caller's own action is no conflict of his.
#[tokio::test]
async fn a_caller_whose_write_was_not_acknowledged_is_not_in_conflict_with_himself() {
    let world = World::empty().await;
    let faulty = world.admission().await;
    for (number, capability) in [REJECT, REVALIDATE].into_iter().enumerate() {
        let gate = Gate::new();
        faulty.once(".queued", Fate::LoseAckAt(gate.clone()));
        let id = format!("act_{number}");
        let action = keyed(&id, capability, "k", json!({"a": 1}));
        let settle = async {
            gate.reached().await;
            world.complete(&id, false).await;
            gate.open();
        };
        let (answer, ()) = tokio::join!(world.call(&action), settle);
        assert_eq!(said(&answer), completed(&id), "{capability}");
    }
}

#[tokio::test]
async fn a_reservation_whose_acknowledgement_is_lost_is_the_callers_own() {
    let world = World::empty().await;
    let faulty = world.admission().await;
    faulty.once(&hash(REJECT, "k"), Fate::LoseAck);
    let action = keyed("act_1", REJECT, "k", json!({"a": 1}));
    let (answer, ()) = tokio::join!(world.call(&action), world.complete("act_1", true));
    assert_eq!(said(&answer), completed("act_1"));
}

/// A key must not point to an action that it did not make.
#[tokio::test]
async fn a_key_whose_id_is_taken_by_another_action_is_given_up() {
    let world = World::start().await;
    let mut unkeyed = crate::world::unkeyed("act_1", REVALIDATE, json!({"a": 1}));
    unkeyed.mode = Some(ActionMode::Async);
    assert_eq!(said(&world.call(&unkeyed).await), ("act_1".to_owned(), json!("queued")));
    let taken = keyed("act_1", REVALIDATE, "k", json!({"a": 1}));
    assert_eq!(said(&world.call(&taken).await), refused(ErrorCode::ActionIdConflict));
    let mut free = keyed("act_2", REVALIDATE, "k", json!({"a": 1}));
    free.mode = Some(ActionMode::Async);
    assert_eq!(said(&world.call(&free).await), ("act_2".to_owned(), json!("queued")));
}

/// The same message once more, from a caller that got no answer.
#[tokio::test]
async fn a_message_sent_again_before_its_end_names_its_own_action() {
    let world = World::start().await;
    let mut action = keyed("act_1", REVALIDATE, "k", json!({"a": 1}));
    action.mode = Some(ActionMode::Async);
    let id = MessageId::new("msg_same");
    assert_eq!(said(&world.send_as("service:caller", id.clone(), &action).await).1, json!("queued"));
    assert_eq!(said(&world.send_as("service:caller", id, &action).await), ("act_1".to_owned(), json!("accepted")));
    assert_eq!(world.stored("AIP_JOURNAL").await, 1);
}
