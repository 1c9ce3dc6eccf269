//! What the real adapter does when its server is killed, restarted, paused, or loses a consumer.
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

use std::{collections::BTreeSet, time::Duration};

use aip_bus::{
    Append, BusError, Expect, Headers, Messages, Port, Sequence, Source, Watched,
    nats::{Connect, NatsPort, Seed},
};
use aip_testkit::{Nats, eventually};
use bytes::Bytes;
use futures::StreamExt;
use tokio::time::{Instant, timeout};

const SOON: Duration = Duration::from_secs(30);
const KEY: &str = "$KV.AIP_LIVENESS.demo.i1";
const KEYS: &str = "$KV.AIP_LIVENESS.>";

async fn next<T>(messages: &mut Messages<T>) -> T {
    timeout(SOON, messages.next()).await.expect("something comes").expect("it goes on for ever")
}

async fn queue(port: &NatsPort, id: &str) -> Sequence {
    let subject = format!("aipj.01.action.acme.{id}.queued");
    let expect = || Expect::LastUnder { filter: format!("aipj.01.action.acme.{id}.*"), sequence: Sequence::NONE };
    loop {
        match port.append(Append::new(subject.clone(), id.to_owned()).expecting(expect())).await {
            Ok(sequence) => return sequence,
            Err(BusError::Conflict) => {
                return port.last("AIP_JOURNAL", &subject, Source::Leader).await.unwrap().unwrap().sequence;
            }
            Err(fault) => assert!(fault.is_passing(), "{fault}"),
        }
    }
}

/// Changes up to the next `Caught`: subject and whether it is a marker.
async fn until_caught(watch: &mut Messages<Watched>) -> Vec<(String, bool)> {
    let mut seen = Vec::new();
    loop {
        match next(watch).await {
            Watched::Change(stored) => seen.push((stored.subject, stored.marker)),
            Watched::Caught => return seen,
        }
    }
}

#[tokio::test]
async fn a_lane_goes_on_after_the_server_was_killed() {
    let mut nats = Nats::start().await.bootstrapped().await;
    let port = nats.port().await;
    let mut lane = port.pull("AIP_JOURNAL", "queued", 8).await.unwrap();
    queue(&port, "before").await;
    next(&mut lane).await.handle.ack().await.unwrap();
    port.flush().await.unwrap();
    for round in 0..3 {
        nats.server.kill9().await.unwrap();
        nats.server.restart().await.unwrap();
        let id = format!("after{round}");
        let stored = queue(&port, &id).await;
        let before = Instant::now();
        // An acknowledgement just before the kill may be lost: then that message comes again, first.
        loop {
            let received = next(&mut lane).await;
            received.handle.ack().await.unwrap();
            if received.stored.sequence == stored {
                break;
            }
        }
        assert!(before.elapsed() < Duration::from_secs(5), "{:?}", before.elapsed());
    }
    assert_eq!((port.counters().connects, port.counters().disconnects), (4, 3));
    assert!(port.appends() >= 4);
}

#[tokio::test]
async fn a_lane_survives_an_outage_in_which_nobody_polls_it() {
    let mut nats = Nats::start().await.bootstrapped().await;
    let port = nats.port().await;
    let mut lane = port.pull("AIP_JOURNAL", "queued", 4).await.unwrap();
    let mut stored = BTreeSet::new();
    for n in 0..10 {
        stored.insert(queue(&port, &format!("a{n}")).await);
    }
    let first = next(&mut lane).await; // three more lie in the client
    nats.server.kill9().await.unwrap();
    nats.server.restart().await.unwrap();
    let mut seen = BTreeSet::from([first.stored.sequence]);
    while seen.len() < stored.len() {
        let received = next(&mut lane).await;
        received.handle.ack().await.unwrap();
        seen.insert(received.stored.sequence);
    }
    assert_eq!(seen, stored);
}

#[tokio::test]
async fn a_dropped_lane_gives_back_what_it_had_not_handed_out() {
    let nats = Nats::start().await.bootstrapped().await;
    let port = nats.port().await;
    for n in 0..5 {
        queue(&port, &format!("a{n}")).await;
    }
    let mut lane = port.pull("AIP_JOURNAL", "queued", 5).await.unwrap();
    next(&mut lane).await.handle.ack().await.unwrap();
    port.flush().await.unwrap(); // by now the other four have arrived
    drop(lane);
    let mut lane = port.pull("AIP_JOURNAL", "queued", 5).await.unwrap();
    let before = Instant::now();
    for _ in 0..4 {
        assert_eq!(next(&mut lane).await.deliveries, 2);
    }
    assert!(before.elapsed() < Duration::from_secs(6), "{:?}", before.elapsed());
}

#[tokio::test]
async fn a_lane_goes_on_when_its_consumer_was_made_anew() {
    let nats = Nats::start().await.bootstrapped().await;
    let port = nats.port().await;
    let mut lane = port.pull("AIP_JOURNAL", "queued", 8).await.unwrap();
    queue(&port, "a1").await;
    next(&mut lane).await.handle.ack().await.unwrap();
    let delete = "$JS.API.CONSUMER.DELETE.AIP_JOURNAL.queued";
    port.request(delete, Headers::new(), Bytes::new(), SOON).await.unwrap();
    assert!(timeout(Duration::from_millis(300), lane.next()).await.is_err());
    aip_bus::topology::Topology::default().bootstrap(&nats.connect()).await.unwrap();
    // A new consumer begins at the beginning: work is delivered again rather than lost.
    assert_eq!(next(&mut lane).await.stored.payload, "a1");
}

#[tokio::test]
async fn a_call_ends_in_time_while_the_server_is_away() {
    let mut nats = Nats::start().await.bootstrapped().await;
    let port = NatsPort::connect(Connect { timeout: Duration::from_millis(400), ..nats.connect() }).await.unwrap();
    queue(&port, "a1").await;
    nats.server.stop_signal().await.unwrap();
    let before = Instant::now();
    let record = "aipj.01.action.acme.a1.*";
    for source in [Source::Nearest, Source::Leader] {
        assert!(matches!(port.last("AIP_JOURNAL", record, source).await, Err(BusError::Unavailable(_))));
    }
    assert!(matches!(port.page("AIP_JOURNAL", record, Sequence(1), 10).await, Err(BusError::Unavailable(_))));
    assert!(matches!(port.append(Append::new("aipa.x", "x")).await, Err(BusError::Unavailable(_))));
    assert!(before.elapsed() < Duration::from_secs(5), "{:?}", before.elapsed());
    nats.server.cont_signal().await.unwrap();
    eventually(SOON, || async { port.last("AIP_JOURNAL", record, Source::Leader).await.is_ok() }).await;
    nats.server.kill9().await.unwrap();
    assert!(matches!(port.append(Append::new("aipa.x", "x")).await, Err(BusError::Unavailable(_))));
}

#[tokio::test]
async fn a_paused_server_costs_a_lane_nothing() {
    let nats = Nats::start().await.bootstrapped().await;
    let port = nats.port().await;
    let mut lane = port.pull("AIP_JOURNAL", "queued", 8).await.unwrap();
    nats.server.stop_signal().await.unwrap();
    // Longer than the silence after which a pull counts as lost.
    assert!(timeout(Duration::from_secs(6), lane.next()).await.is_err());
    nats.server.cont_signal().await.unwrap();
    let stored = queue(&port, "a1").await;
    assert_eq!(next(&mut lane).await.stored.sequence, stored);
}

#[tokio::test]
async fn a_watch_starts_anew_and_tells_what_has_gone_meanwhile() {
    let mut nats = Nats::start().await.bootstrapped().await;
    let port = nats.port().await;
    let alive = |key: &str, seconds| Append::new(key.to_owned(), "alive").expiring(Duration::from_secs(seconds));
    let stays = "$KV.AIP_LEASES.stays";
    let goes = "$KV.AIP_LEASES.goes";
    port.append(alive(stays, 600)).await.unwrap();
    port.append(alive(goes, 2)).await.unwrap();
    let mut watch = port.watch("KV_AIP_LEASES", "$KV.AIP_LEASES.>").await.unwrap();
    assert_eq!(until_caught(&mut watch).await, [(stays.to_owned(), false), (goes.to_owned(), false)]);
    nats.server.kill9().await.unwrap();
    nats.server.restart().await.unwrap();
    // This bucket leaves no markers: the watch itself says that the key has gone.
    let other = nats.port().await;
    eventually(SOON, || async { matches!(other.last("KV_AIP_LEASES", goes, Source::Leader).await, Ok(None)) }).await;
    assert_eq!(until_caught(&mut watch).await, [(stays.to_owned(), false), (goes.to_owned(), true)]);
    let last = other.append(alive(goes, 600)).await.unwrap();
    match next(&mut watch).await {
        Watched::Change(stored) => assert_eq!((stored.sequence, stored.marker), (last, false)),
        Watched::Caught => panic!("a change was expected"),
    }
}

#[tokio::test]
async fn a_watch_whose_consumer_was_removed_starts_anew() {
    let nats = Nats::start().await.bootstrapped().await;
    let port = nats.port().await;
    port.append(Append::new(KEY, "alive")).await.unwrap();
    let mut watch = port.watch("KV_AIP_LIVENESS", KEYS).await.unwrap();
    until_caught(&mut watch).await;
    let names =
        port.request("$JS.API.CONSUMER.NAMES.KV_AIP_LIVENESS", Headers::new(), Bytes::new(), SOON).await.unwrap();
    let names: serde_json::Value = serde_json::from_slice(&names.payload).unwrap();
    let name = names["consumers"][0].as_str().unwrap();
    let delete = format!("$JS.API.CONSUMER.DELETE.KV_AIP_LIVENESS.{name}");
    port.request(&delete, Headers::new(), Bytes::new(), SOON).await.unwrap();
    assert_eq!(until_caught(&mut watch).await, [(KEY.to_owned(), false)]);
}

#[tokio::test]
async fn no_server_is_told_in_time() {
    let connect = Connect { within: Duration::from_millis(300), ..Connect::new("nats://127.0.0.1:9", "test") };
    assert!(matches!(NatsPort::connect(connect).await, Err(BusError::Unavailable(_))));
}

#[tokio::test]
async fn a_seed_admits_and_another_does_not() {
    let user = nkeys::KeyPair::new_user();
    let nats = Nats::with_config(&format!("authorization {{ users = [ {{ nkey: {} }} ] }}", user.public_key())).await;
    let file = nats.folder().write("seed", &format!("{}\n", user.seed().unwrap()));
    let connect = nats.connect().with_inbox_prefix("_INBOX_test");
    let port = NatsPort::connect(connect.clone().with_seed(Seed::File(file))).await.unwrap();
    assert!(port.inbox().starts_with("_INBOX_test."));
    let stranger = Seed::Text(nkeys::KeyPair::new_user().seed().unwrap().into());
    let refused = Connect { within: Duration::from_millis(500), ..connect.with_seed(stranger) };
    assert!(!format!("{refused:?}").contains("SU"));
    assert!(matches!(NatsPort::connect(refused).await, Err(BusError::Unavailable(_))));
}

/// A lease may be found to be over only when the connection has stood for a lease: an outage must start the count anew.
#[tokio::test]
async fn a_connection_counts_its_age_from_its_last_start() {
    let mut nats = Nats::start().await.bootstrapped().await;
    let port = nats.port().await;
    eventually(SOON, || async { port.connected_for() > Duration::from_millis(300) }).await;
    nats.server.kill9().await.unwrap();
    eventually(SOON, || async { port.connected_for() == Duration::ZERO }).await;
    let killed = Instant::now();
    nats.server.restart().await.unwrap();
    eventually(SOON, || async { port.connected_for() > Duration::ZERO }).await;
    assert!(port.connected_for() <= killed.elapsed());
}
