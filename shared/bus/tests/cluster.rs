//! Three servers, three copies: what the adapter does when one of them is killed.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use aip_bus::{Append, BusError, Expect, Headers, Port, Sequence, Source, Watched, nats::NatsPort};
use aip_testkit::{Cluster, eventually};
use bytes::Bytes;
use futures::{StreamExt, future::join_all};
use tokio::time::timeout;

const SOON: Duration = Duration::from_secs(60);

/// Saves until it is certain that the record is stored, as a service does.
async fn queue(port: &NatsPort, id: &str) -> Sequence {
    let subject = format!("aipj.01.action.acme.{id}.queued");
    let filter = format!("aipj.01.action.acme.{id}.*");
    loop {
        let expect = Expect::LastUnder { filter: filter.clone(), sequence: Sequence::NONE };
        match port.append(Append::new(subject.clone(), id.to_owned()).expecting(expect)).await {
            Ok(sequence) => return sequence,
            Err(BusError::Conflict) => {
                if let Ok(Some(stored)) = port.last("AIP_JOURNAL", &filter, Source::Leader).await {
                    return stored.sequence;
                }
            }
            Err(fault) => assert!(fault.is_passing(), "{fault}"),
        }
    }
}

/// The node that leads a stream, or a lane of it.
async fn leader(port: &NatsPort, info: &str) -> Option<usize> {
    let answer = port.request(info, Headers::new(), Bytes::new(), Duration::from_secs(2)).await.ok()?;
    let answer: serde_json::Value = serde_json::from_slice(&answer.payload).ok()?;
    answer.get("cluster")?.get("leader")?.as_str()?.strip_prefix('n')?.parse().ok()
}

#[tokio::test]
async fn no_work_is_lost_when_leaders_are_killed() {
    let mut cluster = Cluster::start().await.bootstrapped().await;
    let port = NatsPort::connect(cluster.connect()).await.unwrap();
    let mut lane = port.pull("AIP_JOURNAL", "queued", 16).await.unwrap();
    let mut watch = port.watch("KV_AIP_REGISTRY", "$KV.AIP_REGISTRY.>").await.unwrap();
    assert_eq!(timeout(SOON, watch.next()).await.unwrap(), Some(Watched::Caught));

    let (mut stored, mut seen) = (BTreeMap::new(), BTreeSet::new());
    for (round, info) in
        ["$JS.API.STREAM.INFO.AIP_JOURNAL", "$JS.API.CONSUMER.INFO.AIP_JOURNAL.queued"].into_iter().enumerate()
    {
        let mut node = None;
        while node.is_none() {
            node = leader(&port, info).await;
        }
        let killed = cluster.nodes.get_mut(node.unwrap()).unwrap();
        killed.server.kill9().await.unwrap();
        for n in 0..30 {
            let id = format!("r{round}a{n}");
            stored.insert(queue(&port, &id).await, id);
        }
        while seen.len() < stored.len() {
            let received = timeout(SOON, lane.next()).await.expect("the lane goes on").unwrap();
            received.handle.ack().await.unwrap();
            assert_eq!(stored.get(&received.stored.sequence).map(String::as_bytes), Some(&*received.stored.payload));
            seen.insert(received.stored.sequence);
        }
        killed.server.restart().await.unwrap();
        eventually(SOON, || async { killed.server.is_healthy().await }).await;
    }
    for stored in stored.keys() {
        assert!(port.get("AIP_JOURNAL", *stored, Source::Leader).await.unwrap().is_some());
    }
    let last = eventually_stored(&port, "$KV.AIP_REGISTRY.demo").await;
    let told = timeout(SOON, async {
        while let Some(watched) = watch.next().await {
            if matches!(&watched, Watched::Change(change) if change.sequence == last) {
                return;
            }
        }
    });
    told.await.expect("the watch goes on");
}

async fn eventually_stored(port: &NatsPort, subject: &str) -> Sequence {
    loop {
        match port.append(Append::new(subject.to_owned(), "x")).await {
            Ok(sequence) => return sequence,
            Err(fault) => assert!(fault.is_passing(), "{fault}"),
        }
    }
}

#[tokio::test]
async fn of_many_creates_over_all_servers_one_is_stored() {
    let cluster = Cluster::start().await.bootstrapped().await;
    let ports = join_all(cluster.nodes.iter().map(|node| async { node.port().await })).await;
    let filter = "aipj.01.action.acme.a1.*";
    let saves = (0..60).zip(ports.iter().cycle()).map(|(n, port)| async move {
        loop {
            let expect = Expect::LastUnder { filter: filter.to_owned(), sequence: Sequence::NONE };
            match port.append(Append::new("aipj.01.action.acme.a1.queued", format!("{n}")).expecting(expect)).await {
                Err(BusError::Busy) => tokio::time::sleep(Duration::from_millis(5)).await,
                outcome => return outcome,
            }
        }
    });
    let (stored, refused): (Vec<_>, Vec<_>) = join_all(saves).await.into_iter().partition(Result::is_ok);
    assert_eq!(stored.len(), 1);
    assert!(refused.iter().all(|save| matches!(save, Err(BusError::Conflict))), "{refused:?}");
    let reader = ports.first().unwrap();
    assert_eq!(reader.last("AIP_JOURNAL", filter, Source::Leader).await.unwrap().unwrap().sequence, Sequence(1));
}
