//! Making the topology on a real server, again and differently.

use aip_bus::{
    Append, BusError,
    topology::{DIFFERENT, StreamSpec, Topology, create_stream, verify},
};
use aip_testkit::Nats;
use futures::future::try_join_all;

const JOURNAL: &str = "AIP_JOURNAL";

#[tokio::test]
async fn it_may_be_made_by_several_at_once_and_again() {
    let nats = Nats::start().await;
    let topology = Topology::default();
    let connect = nats.connect();
    try_join_all((0..3).map(|_| topology.bootstrap(&connect))).await.unwrap();
    topology.bootstrap(&connect).await.unwrap();
    topology.verify(&nats.port().await).await.unwrap();
}

#[tokio::test]
async fn a_missing_stream_is_found_out() {
    let nats = Nats::start().await;
    let port = nats.port().await;
    assert!(matches!(verify(&port, &[JOURNAL]).await, Err(BusError::Refused { code: 10_059 })));
    create_stream(&port, &StreamSpec::new(JOURNAL, &["aipj.>"])).await.unwrap();
    assert!(matches!(verify(&port, &[JOURNAL]).await, Err(BusError::Refused { code: DIFFERENT })));
}

#[tokio::test]
async fn what_may_be_changed_is_changed_and_keeps_its_messages() {
    use aip_bus::{Port, Sequence};
    let nats = Nats::start().await.bootstrapped().await;
    let port = nats.port().await;
    port.append(Append::new("aipj.01.action.acme.a1.queued", "x")).await.unwrap();
    let larger = Topology { journal_bytes: Some(1 << 20), ..Topology::default() };
    larger.bootstrap(&nats.connect()).await.unwrap();
    larger.verify(&port).await.unwrap();
    verify(&port, &[JOURNAL]).await.unwrap(); // a deployment may choose its bytes
    assert_eq!(port.page(JOURNAL, "aipj.>", Sequence(1), 10).await.unwrap().len(), 1);
}

#[tokio::test]
async fn what_cannot_be_changed_is_refused() {
    let nats = Nats::start().await;
    let port = nats.port().await;
    let work_queue = StreamSpec { work_queue: true, ..StreamSpec::new(JOURNAL, &["aipj.>"]) };
    create_stream(&port, &work_queue).await.unwrap();
    assert!(matches!(Topology::default().bootstrap(&nats.connect()).await, Err(BusError::Refused { .. })));
}

#[tokio::test]
async fn a_full_journal_refuses_new_entries() {
    use aip_bus::Port;
    let nats = Nats::start().await;
    let topology = Topology { journal_bytes: Some(4_096), ..Topology::default() };
    topology.bootstrap(&nats.connect()).await.unwrap();
    let port = nats.port().await;
    let entry = || Append::new("aipj.01.action.acme.a1.queued", vec![b'x'; 3_000]);
    port.append(entry()).await.unwrap();
    assert!(matches!(port.append(entry()).await, Err(BusError::Refused { code: 10_077 })));
}
