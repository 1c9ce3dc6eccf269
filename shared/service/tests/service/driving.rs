//! Driving a record: only a successful save may rest on what somebody knew before (`design.md` §2).

use aip_bus::{BusError, Loaded};
use aip_core::action::{ActionRecord, Phase, Rejection, Trigger};
use aip_service::{Driven, drive};
use aip_testkit::Fate;
use futures::future::join_all;

use crate::world::{World, complete, key, start};

async fn driven(world: &World, trigger: Trigger, known: Option<Loaded<ActionRecord>>) -> Driven<ActionRecord> {
    drive(&world.bus, &key(), "test", &trigger, known).await.unwrap()
}

fn refused(driven: &Driven<ActionRecord>) -> Option<Rejection> {
    match driven {
        Driven::Refused(rejection, _) => Some(*rejection),
        Driven::Saved(_) | Driven::Absent => None,
    }
}

fn is_saved(driven: &Driven<ActionRecord>) -> bool {
    matches!(driven, Driven::Saved(_))
}

#[tokio::test]
async fn a_record_that_does_not_exist_is_absent() {
    let world = World::new();
    assert!(matches!(driven(&world, start(5), None).await, Driven::Absent));
}

#[tokio::test]
async fn a_step_is_saved_over_what_was_known_and_carries_the_inbox_on() {
    let world = World::new();
    let queued = world.queued().await;
    let Driven::Saved(saved) = driven(&world, start(5), Some(queued.clone())).await else { panic!("refused") };
    assert_eq!((saved.entry.prev, saved.entry.notify.as_deref()), (queued.sequence, Some("_INBOX.x")));
    assert_eq!(saved.entry.cause, "test");
}

#[tokio::test]
async fn what_old_knowledge_refuses_is_decided_again_on_the_leader() {
    let world = World::new();
    let queued = world.queued().await;
    world.apply(&queued, start(5)).await;
    // A queued record has no lease to be over; the running one has.
    let outcome = driven(&world, Trigger::LeaseOver { fence: 5 }, Some(queued)).await;
    assert!(matches!(outcome, Driven::Saved(saved) if matches!(saved.entry.state.phase, Phase::RetryDue(_))));
}

#[tokio::test]
async fn what_old_knowledge_admits_is_decided_again_after_the_conflict() {
    let world = World::new();
    let queued = world.queued().await;
    let running = world.apply(&queued, start(5)).await;
    world.apply(&running, complete(5)).await;
    let outcome = driven(&world, start(9), Some(queued.clone())).await;
    assert_eq!(refused(&outcome), Some(Rejection::Terminal));
    // The refusal shows the record that it rests on.
    assert!(matches!(outcome, Driven::Refused(_, loaded) if loaded.entry.state.phase == Phase::Completed {}));
    let outcome = driven(&world, complete(5), Some(running)).await;
    assert_eq!(refused(&outcome), Some(Rejection::Terminal));
    assert_eq!(world.entries().await, 3);
}

#[tokio::test]
async fn a_step_whose_acknowledgement_is_lost_is_saved_once() {
    let world = World::new();
    let queued = world.queued().await;
    world.faulty.once(".started", Fate::LoseAck);
    assert!(is_saved(&driven(&world, start(5), Some(queued)).await));
    assert_eq!(world.entries().await, 2);
}

#[tokio::test]
async fn a_bus_that_is_gone_is_said_so() {
    let world = World::new();
    let queued = world.queued().await;
    world.faulty.on_append(|_| Fate::Lose);
    let outcome = drive(&world.bus, &key(), "test", &start(5), Some(queued)).await;
    assert!(matches!(outcome, Err(BusError::Unavailable(_))));
    assert_eq!(world.entries().await, 1);
}

#[tokio::test]
async fn of_fifty_that_begin_the_same_attempt_one_begins_and_of_fifty_that_settle_it_one_settles() {
    let world = World::new();
    let queued = world.queued().await;
    let begun = join_all((0..50).map(|_| driven(&world, start(5), Some(queued.clone())))).await;
    assert_eq!(begun.iter().filter(|driven| is_saved(driven)).count(), 1);
    assert_eq!(begun.iter().filter(|driven| refused(driven) == Some(Rejection::Repeated)).count(), 49);
    let ended = join_all((0..50).map(|_| driven(&world, complete(5), Some(queued.clone())))).await;
    assert_eq!(ended.iter().filter(|driven| is_saved(driven)).count(), 1);
    assert_eq!(ended.iter().filter(|driven| refused(driven) == Some(Rejection::Terminal)).count(), 49);
    assert_eq!(world.entries().await, 3);
}
