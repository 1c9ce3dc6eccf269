//! A bus that fails on demand: acknowledgements that are lost, writes that come late, live messages that never come.

use std::{
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use aip_bus::{Append, BusError, Headers, Inbound, Messages, Port, Received, Sequence, Source, Stored, Watched};
use async_trait::async_trait;
use bytes::Bytes;
use futures::StreamExt;
use tokio::sync::watch;

/// What happens to one write.
#[derive(Clone, Debug)]
pub enum Fate {
    /// It is stored and acknowledged.
    Pass,
    /// It is stored, and the acknowledgement is lost.
    LoseAck,
    /// It is stored; the acknowledgement is lost once the gate opens.
    LoseAckAt(Gate),
    /// It never arrives.
    Lose,
    /// Its writer stops before it, as if by SIGSTOP, until the gate opens.
    Hold(Gate),
}

/// Where a writer stands until it may go on.
#[derive(Clone, Debug)]
pub struct Gate {
    place: Arc<watch::Sender<Place>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Place {
    Empty,
    Waiting,
    Open,
}

impl Gate {
    /// A closed gate.
    #[must_use]
    pub fn new() -> Self {
        Self { place: Arc::new(watch::Sender::new(Place::Empty)) }
    }

    /// Resolves when a writer stands before it.
    pub async fn reached(&self) {
        self.until(Place::Waiting).await;
    }

    /// Lets all writers go on.
    pub fn open(&self) {
        self.place.send_replace(Place::Open);
    }

    async fn pass(&self) {
        self.place.send_if_modified(|place| {
            let first = *place == Place::Empty;
            if first {
                *place = Place::Waiting;
            }
            first
        });
        self.until(Place::Open).await;
    }

    async fn until(&self, at_least: Place) {
        // The sender lives in `self`, so the watch cannot end.
        drop(self.place.subscribe().wait_for(|place| *place >= at_least).await);
    }
}

impl Default for Gate {
    fn default() -> Self {
        Self::new()
    }
}

type Plan = Box<dyn FnMut(&Append) -> Fate + Send>;

/// A port over another that fails as it is told.
#[derive(Clone)]
pub struct Faulty {
    inner: Arc<dyn Port>,
    plan: Arc<Mutex<Plan>>,
    deaf_to: Arc<Mutex<Option<String>>>,
    forgetful: Arc<AtomicBool>,
}

impl Faulty {
    /// A port that does not fail yet.
    #[must_use]
    pub fn new(inner: Arc<dyn Port>) -> Self {
        Self {
            inner,
            plan: Arc::new(Mutex::new(Box::new(|_| Fate::Pass))),
            deaf_to: Arc::default(),
            forgetful: Arc::default(),
        }
    }

    /// Decides about every write from now on.
    pub fn on_append(&self, plan: impl FnMut(&Append) -> Fate + Send + 'static) {
        *lock(&self.plan) = Box::new(plan);
    }

    /// The next write whose subject ends so has this fate; every other passes.
    pub fn once(&self, ending: &str, fate: Fate) {
        let (ending, mut fate) = (ending.to_owned(), Some(fate));
        self.on_append(
            move |append| {
                if append.subject.ends_with(&ending) { fate.take().unwrap_or(Fate::Pass) } else { Fate::Pass }
            },
        );
    }

    /// Subscriptions made from now on to subjects that start so get nothing.
    pub fn deaf_to(&self, prefix: &str) {
        *lock(&self.deaf_to) = Some(prefix.to_owned());
    }

    /// From now on every message of a lane is pulled as if for the first time, as after a server lost its consumer's state.
    pub fn forget_deliveries(&self) {
        self.forgetful.store(true, Ordering::Relaxed);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[async_trait]
impl Port for Faulty {
    async fn append(&self, append: Append) -> Result<Sequence, BusError> {
        let fate = (lock(&self.plan))(&append);
        match fate {
            Fate::Pass => self.inner.append(append).await,
            Fate::LoseAck => self.inner.append(append).await.and(Err(BusError::unavailable())),
            Fate::LoseAckAt(gate) => {
                let stored = self.inner.append(append).await;
                gate.pass().await;
                stored.and(Err(BusError::unavailable()))
            }
            Fate::Lose => Err(BusError::unavailable()),
            Fate::Hold(gate) => {
                gate.pass().await;
                self.inner.append(append).await
            }
        }
    }

    async fn last(&self, stream: &str, filter: &str, source: Source) -> Result<Option<Stored>, BusError> {
        self.inner.last(stream, filter, source).await
    }

    async fn get(&self, stream: &str, sequence: Sequence, source: Source) -> Result<Option<Stored>, BusError> {
        self.inner.get(stream, sequence, source).await
    }

    async fn page(&self, stream: &str, filter: &str, from: Sequence, limit: usize) -> Result<Vec<Stored>, BusError> {
        self.inner.page(stream, filter, from, limit).await
    }

    async fn request(
        &self,
        subject: &str,
        headers: Headers,
        payload: Bytes,
        within: Duration,
    ) -> Result<Inbound, BusError> {
        self.inner.request(subject, headers, payload, within).await
    }

    async fn publish(
        &self,
        subject: &str,
        reply: Option<&str>,
        headers: Headers,
        payload: Bytes,
    ) -> Result<(), BusError> {
        self.inner.publish(subject, reply, headers, payload).await
    }

    async fn subscribe(&self, subject: &str, queue: Option<&str>) -> Result<Messages<Inbound>, BusError> {
        let deaf = lock(&self.deaf_to).as_ref().is_some_and(|prefix| subject.starts_with(prefix));
        if deaf { Ok(Box::pin(futures::stream::pending())) } else { self.inner.subscribe(subject, queue).await }
    }

    async fn pull(&self, stream: &str, consumer: &str, in_flight: usize) -> Result<Messages<Received>, BusError> {
        let (received, forgetful) = (self.inner.pull(stream, consumer, in_flight).await?, Arc::clone(&self.forgetful));
        Ok(Box::pin(received.map(move |mut received| {
            if forgetful.load(Ordering::Relaxed) {
                received.deliveries = 1;
            }
            received
        })))
    }

    async fn watch(&self, stream: &str, filter: &str) -> Result<Messages<Watched>, BusError> {
        self.inner.watch(stream, filter).await
    }

    fn connected_for(&self) -> Duration {
        self.inner.connected_for()
    }

    fn inbox(&self) -> String {
        self.inner.inbox()
    }
}
