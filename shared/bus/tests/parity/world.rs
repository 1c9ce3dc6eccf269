//! One bus under test, with everything that the fleet has on it.

use std::{sync::Arc, time::Duration};

use aip_bus::{
    Append, BusError, Expect, Inbound, Messages, Port, Received, Sequence, Source, Stored, Watched,
    sim::Sim,
    topology::{LaneSpec, Topology, create_lane},
};
use aip_testkit::Nats;
use bytes::Bytes;
use futures::StreamExt;
use tokio::time::timeout;

/// Time for anything that should happen. Generous: the machine may be busy.
pub(crate) const SOON: Duration = Duration::from_secs(20);
/// Time in which something that must not happen would have happened.
pub(crate) const QUIET: Duration = Duration::from_millis(600);

pub(crate) struct World {
    pub(crate) port: Arc<dyn Port>,
    kind: Kind,
}

enum Kind {
    Real { _nats: Box<Nats> },
    Sim(Sim),
}

impl World {
    pub(crate) async fn real() -> Self {
        let nats = Nats::start().await.bootstrapped().await;
        Self { port: Arc::new(nats.port().await), kind: Kind::Real { _nats: Box::new(nats) } }
    }

    pub(crate) fn sim() -> Self {
        let sim = Sim::new(&Topology::default());
        Self { port: Arc::new(sim.clone()), kind: Kind::Sim(sim) }
    }

    /// A lane beside those of the topology, on the journal.
    pub(crate) async fn lane(&self, ack_wait: Duration, ack_pending_max: usize) -> &'static str {
        let lane = LaneSpec {
            stream: "AIP_JOURNAL".to_owned(),
            name: "short".to_owned(),
            filters: vec!["aipj.01.action.*.*.queued".to_owned(), "aipj.02.action.*.*.queued".to_owned()],
            ack_wait,
            ack_pending_max,
        };
        match &self.kind {
            Kind::Real { .. } => create_lane(&*self.port, &lane).await.unwrap(),
            Kind::Sim(sim) => sim.create_lane(&lane).unwrap(),
        }
        "short"
    }

    pub(crate) async fn put(&self, subject: &str, payload: &str) -> Sequence {
        self.port.append(Append::new(subject, payload.to_owned())).await.unwrap()
    }

    pub(crate) async fn save(&self, subject: &str, payload: &str, expect: Expect) -> Result<Sequence, BusError> {
        self.port.append(Append::new(subject, payload.to_owned()).expecting(expect)).await
    }

    pub(crate) async fn last(&self, stream: &str, filter: &str) -> Option<Stored> {
        self.port.last(stream, filter, Source::Leader).await.unwrap()
    }

    pub(crate) async fn pull(&self, consumer: &str, in_flight: usize) -> Messages<Received> {
        self.port.pull("AIP_JOURNAL", consumer, in_flight).await.unwrap()
    }
}

pub(crate) async fn next<T>(messages: &mut Messages<T>) -> T {
    timeout(SOON, messages.next()).await.expect("something comes").expect("it goes on for ever")
}

/// Nothing comes for a while.
pub(crate) async fn nothing<T>(messages: &mut Messages<T>) {
    if timeout(QUIET, messages.next()).await.is_ok() {
        panic!("something came");
    }
}

pub(crate) async fn next_change(watch: &mut Messages<Watched>) -> Stored {
    match next(watch).await {
        Watched::Change(stored) => stored,
        Watched::Caught => panic!("a change was expected"),
    }
}

pub(crate) fn text(payload: &Bytes) -> &str {
    std::str::from_utf8(payload).unwrap()
}

pub(crate) fn said(inbound: &Inbound) -> &str {
    text(&inbound.payload)
}
