//! The port: the few primitives of a bus that everything else here is built on.
//!
//! Two adapters implement it: `nats` (the real server) and `sim` (in memory, feature `sim`). The parity suite in
//! `tests/` runs one list of expectations over both; what it does not cover the simulation may not rely on.

use std::{collections::BTreeMap, pin::Pin, time::Duration};

use aip_types::Millis;
use async_trait::async_trait;
use bytes::Bytes;
use futures::Stream;

use crate::BusError;

/// Header names (as sent) to their first value.
pub type Headers = BTreeMap<String, String>;

/// Position of a message in its stream. 0 stands for "no message".
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
#[serde(transparent)]
pub struct Sequence(pub u64);

impl Sequence {
    /// What a save of a new record expects.
    pub const NONE: Self = Self(0);
}

/// Who answers a read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// Any replica: quick, and possibly stale on a replicated stream (`design.md` §2).
    Nearest,
    /// The stream's leader.
    Leader,
}

/// The compare-and-set guard of an append.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expect {
    /// No guard.
    Any,
    /// The last message on the append's own subject has this sequence.
    LastOnSubject(Sequence),
    /// The last message under this filter has this sequence.
    LastUnder {
        /// A subject, wildcards allowed.
        filter: String,
        /// Its last sequence, [`Sequence::NONE`] for none.
        sequence: Sequence,
    },
}

/// One durable write.
#[derive(Clone, Debug)]
pub struct Append {
    /// The subject, captured by exactly one stream.
    pub subject: String,
    /// The message.
    pub payload: Bytes,
    /// Its guard.
    pub expect: Expect,
    /// The server removes the message after this time (whole seconds, at least one).
    pub ttl: Option<Duration>,
    /// Lets the server drop a repeat inside its deduplication window. Saves traffic, proves nothing.
    pub message_id: Option<String>,
    /// Instead of standing for itself, the message is published on `target` at `at`, once.
    pub schedule: Option<Schedule>,
}

impl Append {
    /// A plain append without guard.
    #[must_use]
    pub fn new(subject: impl Into<String>, payload: impl Into<Bytes>) -> Self {
        Self {
            subject: subject.into(),
            payload: payload.into(),
            expect: Expect::Any,
            ttl: None,
            message_id: None,
            schedule: None,
        }
    }

    /// Adds a guard.
    #[must_use]
    pub fn expecting(mut self, expect: Expect) -> Self {
        self.expect = expect;
        self
    }

    /// Adds an expiry.
    #[must_use]
    pub fn expiring(mut self, ttl: Duration) -> Self {
        self.ttl = Some(ttl);
        self
    }
}

/// When and where a scheduled message appears.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Schedule {
    /// The time of delivery.
    pub at: Millis,
    /// The subject of delivery, in the same stream.
    pub target: String,
}

/// One message read from a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stored {
    /// Its subject.
    pub subject: String,
    /// Its sequence.
    pub sequence: Sequence,
    /// The server's time of storing.
    pub at: Millis,
    /// Its payload; empty for a marker.
    pub payload: Bytes,
    /// True where the server left it to tell of an expiry or a removal.
    pub marker: bool,
}

/// One core message: a request, a reply, or a live copy.
#[derive(Clone, Debug)]
pub struct Inbound {
    /// The subject that it came on.
    pub subject: String,
    /// Where an answer goes.
    pub reply: Option<String>,
    /// Its headers.
    pub headers: Headers,
    /// Its payload.
    pub payload: Bytes,
}

/// One delivery of a lane's message, with the means to answer the stream.
pub struct Received {
    /// The message.
    pub stored: Stored,
    /// 1 for the first delivery.
    pub deliveries: u64,
    /// How to acknowledge it.
    pub handle: Box<dyn Acknowledge>,
}

/// What a lane's stream can be told. A negative acknowledgement always carries a delay (`style.md` §8).
#[async_trait]
pub trait Acknowledge: Send + Sync {
    /// Done: no redelivery.
    async fn ack(&self) -> Result<(), BusError>;
    /// Again, not before this delay.
    async fn nak(&self, delay: Duration) -> Result<(), BusError>;
    /// Still at work: the redelivery clock starts anew.
    async fn progress(&self) -> Result<(), BusError>;
    /// Never again.
    async fn term(&self) -> Result<(), BusError>;
}

/// A boxed stream of messages.
pub type Messages<T> = Pin<Box<dyn Stream<Item = T> + Send>>;

/// The primitives. Every call has a deadline of its own inside the adapter (`limits::BUS_TIMEOUT_MS`) unless it takes one.
#[async_trait]
pub trait Port: Send + Sync + 'static {
    /// Stores a message and returns its sequence.
    ///
    /// # Errors
    /// [`BusError::Conflict`], [`BusError::Busy`], [`BusError::Unavailable`] (stored or not: read to know), [`BusError::Refused`].
    async fn append(&self, append: Append) -> Result<Sequence, BusError>;

    /// The last message under a filter (wildcards allowed), markers included.
    ///
    /// # Errors
    /// [`BusError::Unavailable`], [`BusError::Refused`].
    async fn last(&self, stream: &str, filter: &str, source: Source) -> Result<Option<Stored>, BusError>;

    /// The message at a sequence.
    ///
    /// # Errors
    /// [`BusError::Unavailable`], [`BusError::Refused`].
    async fn get(&self, stream: &str, sequence: Sequence, source: Source) -> Result<Option<Stored>, BusError>;

    /// Up to `limit` messages under a filter from a sequence on, in order. An empty page is the end.
    ///
    /// # Errors
    /// [`BusError::Unavailable`], [`BusError::Refused`].
    async fn page(&self, stream: &str, filter: &str, from: Sequence, limit: usize) -> Result<Vec<Stored>, BusError>;

    /// A core request with one answer.
    ///
    /// # Errors
    /// [`BusError::NoResponders`], [`BusError::Unavailable`].
    async fn request(
        &self,
        subject: &str,
        headers: Headers,
        payload: Bytes,
        within: Duration,
    ) -> Result<Inbound, BusError>;

    /// A core publish: at most once, nobody need listen.
    ///
    /// # Errors
    /// [`BusError::Unavailable`] when the connection is closed for good.
    async fn publish(
        &self,
        subject: &str,
        reply: Option<&str>,
        headers: Headers,
        payload: Bytes,
    ) -> Result<(), BusError>;

    /// Core messages on a subject from now on; with a queue group, each goes to one member.
    ///
    /// # Errors
    /// [`BusError::Unavailable`].
    async fn subscribe(&self, subject: &str, queue: Option<&str>) -> Result<Messages<Inbound>, BusError>;

    /// The deliveries of a durable consumer, for ever: the adapter reconnects and pulls again by itself.
    ///
    /// `in_flight` bounds what is delivered and not yet taken from the stream by the caller.
    ///
    /// # Errors
    /// [`BusError::Refused`] when the consumer does not exist.
    async fn pull(&self, stream: &str, consumer: &str, in_flight: usize) -> Result<Messages<Received>, BusError>;

    /// The newest message of every subject under a filter, then each change, markers included, for ever.
    /// [`Watched::Caught`] is sent once per (re)start when everything that was stored at that time has been sent.
    ///
    /// # Errors
    /// [`BusError::Refused`].
    async fn watch(&self, stream: &str, filter: &str) -> Result<Messages<Watched>, BusError>;

    /// How long the present connection has stood; zero without one.
    fn connected_for(&self) -> Duration {
        Duration::MAX
    }

    /// A fresh subject under this connection's own inbox prefix.
    fn inbox(&self) -> String;
}

/// What a watch tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Watched {
    /// A value or a marker.
    Change(Stored),
    /// All that was stored when the watch (re)started has been sent.
    Caught,
}
