//! The simulated bus: [`Port`] in memory, with the server's semantics as far as the parity suite in `tests/parity` lists them.
//!
//! Time is tokio's: under a paused clock, expiries, schedules and redeliveries happen in virtual time. There is no task of its
//! own: whoever calls or waits first carries out what has come due. Clones share one server, like connections do.

mod live;
mod stream;

use std::{
    collections::{BTreeMap, VecDeque},
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use aip_types::Millis;
use async_trait::async_trait;
use bytes::Bytes;
use futures::{StreamExt, stream as futures_stream};
use serde_json::{Value, json};
use tokio::{
    sync::watch,
    time::{Instant, sleep_until, timeout},
};

use self::{
    live::{Live, matches_subject},
    stream::{Lane, Stream},
};
use crate::{
    BusError,
    port::{Acknowledge, Append, Headers, Inbound, Messages, Port, Received, Sequence, Source, Stored, Watched},
    topology::{LaneSpec, StreamSpec, Topology},
};

const STREAM_NOT_FOUND: u64 = 10_059;
const CONSUMER_NOT_FOUND: u64 = 10_014;
const BAD_REQUEST: u64 = 400;
/// The wall clock at the start of a simulation: 2026-01-01T00:00:00Z.
const EPOCH: Millis = Millis(1_767_225_600_000);

/// A simulated server and a connection to it.
#[derive(Clone)]
pub struct Sim {
    shared: Arc<Shared>,
}

impl fmt::Debug for Sim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Sim")
    }
}

struct Shared {
    state: Mutex<State>,
    /// Raised with every change; whoever waits looks again.
    changes: watch::Sender<u64>,
    started: Instant,
}

#[derive(Default)]
struct State {
    streams: BTreeMap<String, Stream>,
    live: Live,
    inboxes: u64,
}

impl Sim {
    /// A server with everything that the topology names.
    #[must_use]
    pub fn new(topology: &Topology) -> Self {
        let (changes, _) = watch::channel(0);
        let streams = topology.streams().into_iter().map(|spec| (spec.name.clone(), Stream::new(spec))).collect();
        let state = Mutex::new(State { streams, ..State::default() });
        let sim = Self { shared: Arc::new(Shared { state, changes, started: Instant::now() }) };
        for lane in topology.lanes() {
            sim.with(|state, _| state.create_lane(&lane)).unwrap_or_default();
        }
        sim
    }

    /// One more stream.
    pub fn create_stream(&self, spec: StreamSpec) {
        self.with(|state, _| state.streams.entry(spec.name.clone()).or_insert_with(|| Stream::new(spec)).last());
    }

    /// One more lane.
    ///
    /// # Errors
    /// [`BusError::Refused`]: there is no such stream.
    pub fn create_lane(&self, lane: &LaneSpec) -> Result<(), BusError> {
        self.with(|state, _| state.create_lane(lane))
    }

    /// The server's clock.
    #[must_use]
    pub fn now(&self) -> Millis {
        let elapsed = Instant::now().saturating_duration_since(self.shared.started);
        EPOCH.plus(u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.shared.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Carries out what is due, then a call, then wakes whoever waits.
    fn with<T>(&self, call: impl FnOnce(&mut State, Millis) -> T) -> T {
        let now = self.now();
        let mut state = self.lock();
        state.advance(now);
        let outcome = call(&mut state, now);
        drop(state);
        self.shared.changes.send_modify(|count| *count = count.wrapping_add(1));
        outcome
    }

    /// The first outcome of a look, taken again after each change and each thing that comes due.
    async fn wait_for<T>(&self, mut look: impl FnMut(&mut State, Millis) -> Option<T>) -> T {
        let mut changes = self.shared.changes.subscribe();
        loop {
            changes.mark_unchanged();
            let now = self.now();
            let (found, changed, due) = {
                let mut state = self.lock();
                let changed = state.advance(now);
                (look(&mut state, now), changed, state.next_due())
            };
            if changed {
                self.shared.changes.send_modify(|count| *count = count.wrapping_add(1));
            }
            if let Some(found) = found {
                return found;
            }
            let due = due.map(|at| self.shared.started + Duration::from_millis(at.since(EPOCH)));
            tokio::select! {
                changed = changes.changed() => drop(changed),
                () = async { if let Some(due) = due { sleep_until(due).await } else { std::future::pending().await } } => {}
            }
        }
    }
}

impl State {
    fn create_lane(&mut self, lane: &LaneSpec) -> Result<(), BusError> {
        let stream = self.streams.get_mut(&lane.stream).ok_or(BusError::Refused { code: STREAM_NOT_FOUND })?;
        stream.lanes.entry(lane.name.clone()).or_insert_with(|| Lane::new(lane.clone()));
        Ok(())
    }

    fn stream(&mut self, name: &str) -> Result<&mut Stream, BusError> {
        // A read of a stream that is not there is answered by nobody.
        self.streams.get_mut(name).ok_or_else(BusError::unavailable)
    }

    fn capturing(&mut self, subject: &str) -> Option<&mut Stream> {
        self.streams
            .values_mut()
            .find(|stream| stream.spec.subjects.iter().any(|filter| matches_subject(filter, subject)))
    }

    fn store(&mut self, append: Append, now: Millis) -> Result<Sequence, BusError> {
        let stream = self.capturing(&append.subject).ok_or_else(BusError::unavailable)?;
        let sequence = stream.append(append, now)?;
        self.republish();
        Ok(sequence)
    }

    /// What was stored and has a live copy goes out now: stored first, then told.
    fn republish(&mut self) {
        for stream in self.streams.values_mut() {
            for copy in stream.copies.drain(..) {
                self.live.deliver(&copy);
            }
        }
    }

    fn advance(&mut self, now: Millis) -> bool {
        let mut changed = false;
        for stream in self.streams.values_mut() {
            changed |= stream.advance(now);
        }
        if changed {
            self.republish();
        }
        changed
    }

    fn next_due(&self) -> Option<Millis> {
        self.streams.values().filter_map(Stream::next_due).min()
    }

    /// The few API calls that are answered: about a stream or a lane.
    fn api(&self, subject: &str) -> Option<Value> {
        let found = if let Some(name) = subject.strip_prefix("$JS.API.STREAM.INFO.") {
            self.streams.get(name).map(|stream| stream.spec.config()).ok_or(STREAM_NOT_FOUND)
        } else {
            let (stream, lane) = subject.strip_prefix("$JS.API.CONSUMER.INFO.")?.split_once('.')?;
            let stream = self.streams.get(stream).ok_or(STREAM_NOT_FOUND);
            stream.and_then(|stream| stream.lanes.get(lane).map(|lane| lane.spec.config()).ok_or(CONSUMER_NOT_FOUND))
        };
        Some(found.map_or_else(
            |code| json!({ "error": { "code": 404, "err_code": code } }),
            |config| json!({ "config": config }),
        ))
    }
}

#[async_trait]
impl Port for Sim {
    async fn append(&self, append: Append) -> Result<Sequence, BusError> {
        self.with(|state, now| state.store(append, now))
    }

    async fn last(&self, stream: &str, filter: &str, _source: Source) -> Result<Option<Stored>, BusError> {
        self.with(|state, _| Ok(state.stream(stream)?.last_under(filter)))
    }

    async fn get(&self, stream: &str, sequence: Sequence, _source: Source) -> Result<Option<Stored>, BusError> {
        self.with(|state, _| Ok(state.stream(stream)?.at(sequence)))
    }

    async fn page(&self, stream: &str, filter: &str, from: Sequence, limit: usize) -> Result<Vec<Stored>, BusError> {
        self.with(|state, _| Ok(state.stream(stream)?.from(filter, from).take(limit).collect()))
    }

    async fn request(
        &self,
        subject: &str,
        headers: Headers,
        payload: Bytes,
        within: Duration,
    ) -> Result<Inbound, BusError> {
        if let Some(answer) = self.with(|state, _| state.api(subject)) {
            let payload = Bytes::from(answer.to_string());
            return Ok(Inbound { subject: subject.to_owned(), reply: None, headers: Headers::new(), payload });
        }
        let inbox = self.inbox();
        let mut answers = self.subscribe(&inbox, None).await?;
        let request = Inbound { subject: subject.to_owned(), reply: Some(inbox), headers, payload };
        if self.with(|state, now| state.send(request, now)) == 0 {
            return Err(BusError::NoResponders);
        }
        match timeout(within, answers.next()).await {
            Ok(Some(answer)) => Ok(answer),
            Ok(None) | Err(_) => Err(BusError::unavailable()),
        }
    }

    async fn publish(
        &self,
        subject: &str,
        reply: Option<&str>,
        headers: Headers,
        payload: Bytes,
    ) -> Result<(), BusError> {
        let breaks_out = |text: &String| text.contains(['\r', '\n']);
        if headers.iter().any(|(name, value)| breaks_out(name) || breaks_out(value)) {
            return Err(BusError::Refused { code: BAD_REQUEST });
        }
        let message = Inbound { subject: subject.to_owned(), reply: reply.map(str::to_owned), headers, payload };
        self.with(|state, now| state.send(message, now));
        Ok(())
    }

    async fn subscribe(&self, subject: &str, queue: Option<&str>) -> Result<Messages<Inbound>, BusError> {
        let id = self.with(|state, _| state.live.subscribe(subject, queue));
        let subscription = Subscription { sim: self.clone(), id };
        Ok(Box::pin(futures_stream::unfold(subscription, |subscription| async move {
            let id = subscription.id;
            let message = subscription.sim.wait_for(|state, _| state.live.take(id)).await;
            Some((message, subscription))
        })))
    }

    async fn pull(&self, stream: &str, consumer: &str, _in_flight: usize) -> Result<Messages<Received>, BusError> {
        self.with(|state, _| {
            let stream = state.streams.get(stream).ok_or(BusError::Refused { code: STREAM_NOT_FOUND })?;
            stream.lanes.get(consumer).map(drop).ok_or(BusError::Refused { code: CONSUMER_NOT_FOUND })
        })?;
        let lane = LaneOf { sim: self.clone(), stream: stream.to_owned(), lane: consumer.to_owned() };
        Ok(Box::pin(futures_stream::unfold(lane, |lane| async move {
            let look = |state: &mut State, now| state.streams.get_mut(&lane.stream)?.deliver(&lane.lane, now);
            let (stored, deliveries) = lane.sim.wait_for(look).await;
            let handle = Box::new(Handle { lane: lane.clone(), sequence: stored.sequence });
            Some((Received { stored, deliveries, handle }, lane))
        })))
    }

    async fn watch(&self, stream: &str, filter: &str) -> Result<Messages<Watched>, BusError> {
        let (replay, last) = self.with(|state, _| {
            let stream = state.streams.get(stream).ok_or(BusError::Refused { code: STREAM_NOT_FOUND })?;
            Ok::<_, BusError>((stream.newest_under(filter), stream.last()))
        })?;
        let watch = Watch {
            sim: self.clone(),
            stream: stream.to_owned(),
            filter: filter.to_owned(),
            replay: Some(replay),
            last,
        };
        Ok(Box::pin(futures_stream::unfold(watch, |mut watch| async move {
            let watched = watch.next().await;
            Some((watched, watch))
        })))
    }

    fn inbox(&self) -> String {
        let mut state = self.lock();
        state.inboxes = state.inboxes.saturating_add(1);
        format!("_INBOX.sim.{}", state.inboxes)
    }
}

impl State {
    /// To everybody who listens, and into the stream that captures it; the count of listeners.
    fn send(&mut self, message: Inbound, now: Millis) -> usize {
        let told = self.live.deliver(&message);
        let append = Append::new(message.subject, message.payload);
        told.saturating_add(usize::from(self.store(append, now).is_ok()))
    }
}

struct Subscription {
    sim: Sim,
    id: u64,
}

impl Drop for Subscription {
    fn drop(&mut self) {
        self.sim.lock().live.unsubscribe(self.id);
    }
}

#[derive(Clone)]
struct LaneOf {
    sim: Sim,
    stream: String,
    lane: String,
}

struct Handle {
    lane: LaneOf,
    sequence: Sequence,
}

impl Handle {
    fn tell(&self, tell: impl FnOnce(&mut Stream, &str, Millis)) -> Result<(), BusError> {
        let LaneOf { sim, stream, lane } = &self.lane;
        sim.with(|state, now| state.streams.get_mut(stream).map(|stream| tell(stream, lane, now)).unwrap_or_default());
        Ok(())
    }
}

#[async_trait]
impl Acknowledge for Handle {
    async fn ack(&self) -> Result<(), BusError> {
        self.tell(|stream, lane, _| stream.finish(lane, self.sequence))
    }

    async fn nak(&self, delay: Duration) -> Result<(), BusError> {
        self.tell(|stream, lane, now| stream.postpone(lane, self.sequence, now, Some(delay)))
    }

    async fn progress(&self) -> Result<(), BusError> {
        self.tell(|stream, lane, now| stream.postpone(lane, self.sequence, now, None))
    }

    async fn term(&self) -> Result<(), BusError> {
        self.tell(|stream, lane, _| stream.finish(lane, self.sequence))
    }
}

struct Watch {
    sim: Sim,
    stream: String,
    filter: String,
    replay: Option<VecDeque<Sequence>>,
    last: Sequence,
}

impl Watch {
    async fn next(&mut self) -> Watched {
        let Self { sim, stream, filter, replay, last } = self;
        sim.wait_for(|state, _| {
            let stream = state.streams.get_mut(stream)?;
            while let Some(sequence) = replay.as_mut().and_then(VecDeque::pop_front) {
                // What was replaced meanwhile comes with the changes.
                if let Some(stored) = stream.at(sequence) {
                    return Some(Watched::Change(stored));
                }
            }
            if replay.take().is_some() {
                return Some(Watched::Caught);
            }
            let change = stream.from(filter, Sequence(last.0.saturating_add(1))).next()?;
            *last = change.sequence;
            Some(Watched::Change(change))
        })
        .await
    }
}
