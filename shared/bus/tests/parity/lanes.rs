use std::time::Duration;

use aip_bus::{BusError, Messages, Received};
use futures::StreamExt;
use tokio::time::{Instant, timeout};

use crate::world::{QUIET, SOON, World, next, nothing, text};

const ACK_WAIT: Duration = Duration::from_secs(1);
const MANY: usize = 1_000;

async fn queue(world: &World, count: u32) {
    for n in 0..count {
        world.put(&format!("aipj.{:02}.action.acme.a{n}.queued", 1 + n % 2), &n.to_string()).await;
    }
}

async fn take(lane: &mut Messages<Received>, count: usize) -> Vec<Received> {
    let mut taken = Vec::new();
    while taken.len() < count {
        taken.push(next(lane).await);
    }
    taken
}

pub(crate) async fn a_lane_brings_what_its_filters_name(world: &World) {
    world.put("aipj.03.action.acme.a1.queued", "other partition").await;
    world.put("aipj.01.action.acme.a1.started", "other event").await;
    world.put("aipj.01.session.acme.s1.queued", "other kind").await;
    queue(world, 20).await;
    let mut lane = world.pull(world.lane(ACK_WAIT, MANY).await, 7).await;
    let taken = take(&mut lane, 20).await;
    let numbers: Vec<u32> = taken.iter().map(|received| text(&received.stored.payload).parse().unwrap()).collect();
    assert_eq!(numbers, (0..20).collect::<Vec<_>>());
    assert!(taken.iter().all(|received| received.deliveries == 1 && !received.stored.marker));
    assert_eq!(taken[0].stored, world.last("AIP_JOURNAL", "aipj.01.action.acme.a0.queued").await.unwrap());
}

pub(crate) async fn a_message_not_answered_comes_again(world: &World) {
    queue(world, 1).await;
    let mut lane = world.pull(world.lane(ACK_WAIT, MANY).await, 8).await;
    let first = next(&mut lane).await;
    let before = Instant::now();
    let second = next(&mut lane).await;
    assert!(before.elapsed() > ACK_WAIT / 2);
    assert_eq!((second.deliveries, second.stored), (2, first.stored));
}

pub(crate) async fn a_nak_brings_the_message_after_its_delay(world: &World) {
    queue(world, 2).await;
    let mut lane = world.pull(world.lane(Duration::from_secs(30), MANY).await, 8).await;
    let first = next(&mut lane).await;
    let before = Instant::now();
    first.handle.nak(Duration::from_millis(700)).await.unwrap();
    assert_eq!(text(&next(&mut lane).await.stored.payload), "1");
    let again = next(&mut lane).await;
    assert!(before.elapsed() >= Duration::from_millis(690), "{:?}", before.elapsed());
    assert_eq!((again.deliveries, again.stored), (2, first.stored));
}

pub(crate) async fn progress_puts_the_redelivery_off(world: &World) {
    queue(world, 1).await;
    let mut lane = world.pull(world.lane(ACK_WAIT, MANY).await, 8).await;
    let first = next(&mut lane).await;
    let before = Instant::now();
    while before.elapsed() < ACK_WAIT * 3 {
        first.handle.progress().await.unwrap();
        let early = timeout(ACK_WAIT / 4, lane.next()).await;
        assert!(early.is_err(), "delivered again after {:?}", before.elapsed());
    }
    assert_eq!(next(&mut lane).await.deliveries, 2);
}

pub(crate) async fn an_acknowledged_message_does_not_come_again(world: &World) {
    queue(world, 1).await;
    let mut lane = world.pull(world.lane(ACK_WAIT, MANY).await, 8).await;
    next(&mut lane).await.handle.ack().await.unwrap();
    assert!(timeout(ACK_WAIT + QUIET, lane.next()).await.is_err());
    // The journal keeps it.
    assert!(world.last("AIP_JOURNAL", "aipj.01.action.acme.a0.queued").await.is_some());
}

pub(crate) async fn a_terminated_message_does_not_come_again(world: &World) {
    queue(world, 1).await;
    let mut lane = world.pull(world.lane(ACK_WAIT, MANY).await, 8).await;
    next(&mut lane).await.handle.term().await.unwrap();
    assert!(timeout(ACK_WAIT + QUIET, lane.next()).await.is_err());
}

pub(crate) async fn two_pullers_share_a_lane(world: &World) {
    let name = world.lane(Duration::from_secs(30), MANY).await;
    let mut both = futures::stream::select(world.pull(name, 3).await, world.pull(name, 3).await);
    queue(world, 30).await;
    let mut seen = Vec::new();
    while seen.len() < 30 {
        let received = timeout(SOON, both.next()).await.unwrap().unwrap();
        received.handle.ack().await.unwrap();
        seen.push(received.stored.sequence);
    }
    seen.sort();
    seen.dedup();
    assert_eq!(seen.len(), 30);
}

pub(crate) async fn a_lane_stops_at_its_bound_of_unanswered_messages(world: &World) {
    queue(world, 4).await;
    let mut lane = world.pull(world.lane(Duration::from_secs(30), 2).await, 8).await;
    let taken = take(&mut lane, 2).await;
    nothing(&mut lane).await;
    // A naked message counts until it is delivered again and answered.
    taken[0].handle.nak(Duration::from_secs(30)).await.unwrap();
    nothing(&mut lane).await;
    taken[1].handle.ack().await.unwrap();
    assert_eq!(text(&next(&mut lane).await.stored.payload), "2");
    nothing(&mut lane).await;
}

pub(crate) async fn an_acknowledged_trigger_leaves_its_stream(world: &World) {
    world.put("aipd.01.action.acme.a1.cancel.n1", "x").await;
    let mut due = world.port.pull("AIP_TRIGGERS", "due_action", 8).await.unwrap();
    let received = next(&mut due).await;
    assert!(world.last("AIP_TRIGGERS", "aipd.>").await.is_some());
    received.handle.ack().await.unwrap();
    aip_testkit::eventually(SOON, || async { world.last("AIP_TRIGGERS", "aipd.>").await.is_none() }).await;
}

pub(crate) async fn a_lane_that_does_not_exist_is_refused(world: &World) {
    assert!(matches!(world.port.pull("AIP_JOURNAL", "nobody", 8).await, Err(BusError::Refused { code: 10_014 })));
    assert!(matches!(world.port.pull("NOWHERE", "nobody", 8).await, Err(BusError::Refused { code: 10_059 })));
}
