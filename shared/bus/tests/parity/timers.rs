use std::time::Duration;

use aip_bus::{Append, BusError, Messages, Received, Schedule, Sequence};
use aip_testkit::eventually;
use aip_types::Millis;

use crate::world::{SOON, World, next, nothing, text};

const TIMER: &str = "aipt.01.action.acme.a1.deadline.n1";
const DUE: &str = "aipd.01.action.acme.a1.deadline.n1";

/// The server's clock, from a message of its own: the tests trust no other.
async fn server_now(world: &World) -> Millis {
    let stored = world.put("aipa.clock", "x").await;
    world.port.get("AIP_AUDIT", stored, aip_bus::Source::Leader).await.unwrap().unwrap().at
}

fn timer(payload: &str, at: Millis) -> Append {
    Append { schedule: Some(Schedule { at, target: DUE.to_owned() }), ..Append::new(TIMER, payload.to_owned()) }
}

async fn due(world: &World) -> Messages<Received> {
    world.port.pull("AIP_TRIGGERS", "due_action", 8).await.unwrap()
}

pub(crate) async fn a_schedule_fires_once_at_its_target(world: &World) {
    let at = server_now(world).await.plus(1_000);
    world.port.append(timer("wake", at)).await.unwrap();
    let mut due = due(world).await;
    let received = next(&mut due).await;
    assert_eq!((received.stored.subject.as_str(), text(&received.stored.payload)), (DUE, "wake"));
    assert!(received.stored.at >= at, "{} before {at}", received.stored.at);
    received.handle.ack().await.unwrap();
    nothing(&mut due).await;
    eventually(SOON, || async { world.last("AIP_TRIGGERS", ">").await.is_none() }).await;
}

pub(crate) async fn a_schedule_of_the_past_fires_at_once(world: &World) {
    let at = server_now(world).await.minus(60_000);
    world.port.append(timer("late", at)).await.unwrap();
    assert_eq!(text(&next(&mut due(world).await).await.stored.payload), "late");
}

pub(crate) async fn a_replaced_schedule_fires_at_its_new_time_only(world: &World) {
    let now = server_now(world).await;
    let second = now.plus(2_000);
    world.port.append(timer("first", now.plus(1_000))).await.unwrap();
    world.port.append(timer("second", second)).await.unwrap();
    let mut due = due(world).await;
    let received = next(&mut due).await;
    assert_eq!(text(&received.stored.payload), "second");
    assert!(received.stored.at >= second);
    received.handle.ack().await.unwrap();
    nothing(&mut due).await;
}

pub(crate) async fn a_cancelled_schedule_does_not_fire(world: &World) {
    let now = server_now(world).await;
    world.port.append(timer("cancelled", now.plus(1_000))).await.unwrap();
    world.put(TIMER, "").await;
    // A later timer of another record tells when the first would have fired.
    let other = "aipd.01.action.acme.a2.deadline.n1";
    let later = Schedule { at: now.plus(2_000), target: other.to_owned() };
    world
        .port
        .append(Append { schedule: Some(later), ..Append::new("aipt.01.action.acme.a2.deadline.n1", "later") })
        .await
        .unwrap();
    assert_eq!(next(&mut due(world).await).await.stored.subject, other);
    assert!(world.port.page("AIP_TRIGGERS", DUE, Sequence(1), 10).await.unwrap().is_empty());
}

pub(crate) async fn a_schedule_where_none_is_allowed_is_refused(world: &World) {
    let at = server_now(world).await.plus(Duration::from_secs(60).as_secs() * 1_000);
    let schedule = Schedule { at, target: "aipj.01.action.acme.a1.started".to_owned() };
    let append = Append { schedule: Some(schedule), ..Append::new("aipj.01.action.acme.a1.queued", "x") };
    let outcome = world.port.append(append).await;
    assert!(matches!(outcome, Err(BusError::Refused { code: 10_188 })), "{outcome:?}");
    let outside = Schedule { at, target: "aipj.01.action.acme.a1.started".to_owned() };
    let outcome = world.port.append(Append { schedule: Some(outside), ..Append::new(TIMER, "x") }).await;
    assert!(matches!(outcome, Err(BusError::Refused { code: 10_190 })), "{outcome:?}");
}
