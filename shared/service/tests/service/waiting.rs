//! Waiting for a record to settle (`design.md` §5).

use std::time::Duration;

use aip_core::action::Phase;
use aip_service::{since_start, wait_settled};

use crate::world::{World, complete, key, start};

const SOON: Duration = Duration::from_secs(30);

async fn a_waiter_sees_the_end(world: World) {
    let queued = world.queued().await;
    let settle = async {
        let running = world.apply(&queued, start(5)).await;
        world.apply(&running, complete(5)).await;
    };
    let (at, place) = (queued.clone(), key());
    let (settled, ()) = tokio::join!(wait_settled(&world.bus, &place, at, SOON), settle);
    assert_eq!(settled.entry.state.phase, Phase::Completed {});
}

#[tokio::test]
async fn a_waiter_sees_the_end_live() {
    a_waiter_sees_the_end(World::new()).await;
}

#[tokio::test]
async fn a_waiter_sees_the_end_where_the_live_message_is_lost() {
    let world = World::new();
    world.faulty.deaf_to("aipl.");
    a_waiter_sees_the_end(world).await;
}

#[tokio::test]
async fn a_waiter_that_runs_out_of_time_gets_the_record_as_it_stands() {
    let world = World::new();
    let queued = world.queued().await;
    world.apply(&queued, start(5)).await;
    let began = since_start();
    let place = key();
    let seen = wait_settled(&world.bus, &place, queued, Duration::from_millis(300)).await;
    assert!(matches!(seen.entry.state.phase, Phase::Running(_)));
    assert!(since_start().duration_since(began) >= Duration::from_millis(300));
}

#[tokio::test]
async fn a_settled_record_is_not_waited_for() {
    let world = World::new();
    let queued = world.queued().await;
    let running = world.apply(&queued, start(5)).await;
    let done = world.apply(&running, complete(5)).await;
    let place = key();
    let seen = wait_settled(&world.bus, &place, done.clone(), Duration::ZERO).await;
    assert_eq!(seen.entry, done.entry);
}
