//! The real bus: [`Port`] over one connection to nats-server (2.12 or newer).
//!
//! JetStream is spoken by its API subjects; nothing here creates or changes a durable stream or consumer (`topology` does).
//! What a user needs, besides the business subjects that it publishes and subscribes:
//!
//! | call | publish | subscribe |
//! |---|---|---|
//! | every call with an answer | – | `<inbox prefix>.>` |
//! | `append` | the subject, and the target of a schedule is **not** needed (the server publishes it) | |
//! | `last`, `get` with [`Source::Nearest`]; `page` | `$JS.API.DIRECT.GET.<stream>` | |
//! | `last`, `get` with [`Source::Leader`] | `$JS.API.STREAM.MSG.GET.<stream>` | |
//! | `pull` | `$JS.API.CONSUMER.INFO.<stream>.<consumer>`, `$JS.API.CONSUMER.MSG.NEXT.<stream>.<consumer>`, `$JS.ACK.<stream>.<consumer>.>` and, for the longer shape since 2.14, `$JS.ACK.*.*.<stream>.<consumer>.>` | |
//! | `watch` | `$JS.API.CONSUMER.CREATE.<stream>.*.<filter>`, `$JS.API.CONSUMER.MSG.NEXT.<stream>.*`; the consumer ends by itself when nobody has pulled for half a minute | |
//! | `topology::verify` | `$JS.API.STREAM.INFO.<stream>`, `$JS.API.CONSUMER.INFO.<stream>.<consumer>` | |
//! | `topology::bootstrap` | `$JS.API.STREAM.{INFO,CREATE,UPDATE}.>`, `$JS.API.CONSUMER.{INFO,CREATE,DURABLE.CREATE}.>` | |
//!
//! A publish that the server forbids is seen as [`BusError::Unavailable`] (no answer) and a `server_error` in the log.

mod connect;
mod lane;
mod outgoing;
mod pull;
mod read;
mod watch;
mod wire;

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use async_nats::{Client, HeaderMap, Request, client::RequestErrorKind};
use async_trait::async_trait;
use bytes::Bytes;
use futures::StreamExt;
use tokio::time::timeout;

use self::connect::Link;
pub use self::connect::{Connect, Counters, Seed};
use crate::{
    BusError,
    port::{Append, Expect, Headers, Inbound, Messages, Port, Received, Sequence, Source, Stored, Watched},
};

/// How long a call waits for the server unless it is told otherwise.
pub const BUS_TIMEOUT_MS: u64 = 2_000;

/// One connection. Cheap to clone into an `Arc`; dropping the last user closes it.
#[derive(Debug)]
pub struct NatsPort {
    link: Link,
    appends: AtomicU64,
}

impl NatsPort {
    /// Connects, or gives up after `connect.within`. Once connected, it reconnects for ever.
    ///
    /// # Errors
    /// [`BusError::Unavailable`]: no server, or none that admits this user, in time. The log says which.
    /// [`BusError::Refused`]: the seed cannot be used.
    pub async fn connect(connect: Connect) -> Result<Self, BusError> {
        Ok(Self { link: connect.open().await?, appends: AtomicU64::new(0) })
    }

    /// Appends sent so far, whatever came of them: what an action costs is counted with it.
    #[must_use]
    pub fn appends(&self) -> u64 {
        self.appends.load(Ordering::Relaxed)
    }

    /// What has happened to the connection so far.
    #[must_use]
    pub fn counters(&self) -> Counters {
        self.link.counters()
    }

    /// True while the connection stands.
    #[must_use]
    pub fn is_connected(&self) -> bool {
        self.client().connection_state() == async_nats::connection::State::Connected
    }

    /// Waits until everything that was published has reached the server.
    ///
    /// # Errors
    /// [`BusError::Unavailable`].
    pub async fn flush(&self) -> Result<(), BusError> {
        timeout(self.link.within, self.client().flush()).await.map_err(wire::unavailable)?.map_err(wire::unavailable)
    }

    fn client(&self) -> &Client {
        &self.link.client
    }
}

impl Link {
    /// One request, one answer. The bound holds while the connection is down, too.
    async fn ask(
        &self,
        subject: String,
        headers: Option<HeaderMap>,
        payload: Bytes,
        within: Duration,
    ) -> Result<async_nats::Message, BusError> {
        let request = Request { payload: Some(payload), headers, timeout: Some(None), inbox: None };
        let client = self.client.clone();
        let asking = async move { timeout(within, client.send_request(subject, request)).await };
        let sent = self.outgoing.run(asking).await?.map_err(wire::unavailable)?;
        sent.map_err(|fault| match fault.kind() {
            RequestErrorKind::NoResponders => BusError::NoResponders,
            RequestErrorKind::InvalidSubject => BusError::Refused { code: wire::BAD_REQUEST },
            RequestErrorKind::MaxPayloadExceeded => BusError::Refused { code: wire::TOO_LARGE },
            RequestErrorKind::TimedOut | RequestErrorKind::Other => wire::unavailable(fault),
        })
    }

    /// A JetStream API call: nobody there means "not now".
    async fn api(&self, subject: String, payload: Bytes) -> Result<async_nats::Message, BusError> {
        self.ask(subject, None, payload, self.within).await.map_err(absent_is_passing)
    }

    async fn publish(
        &self,
        subject: String,
        reply: Option<String>,
        headers: HeaderMap,
        payload: Bytes,
    ) -> Result<(), BusError> {
        let (client, within) = (self.client.clone(), self.within);
        let sending = async move {
            let sent = async {
                match (reply, headers.is_empty()) {
                    (None, true) => client.publish(subject, payload).await,
                    (None, false) => client.publish_with_headers(subject, headers, payload).await,
                    (Some(reply), true) => client.publish_with_reply(subject, reply, payload).await,
                    (Some(reply), false) => {
                        client.publish_with_reply_and_headers(subject, reply, headers, payload).await
                    }
                }
            };
            timeout(within, sent).await
        };
        self.outgoing.run(sending).await?.map_err(wire::unavailable)?.map_err(wire::publish_fault)
    }
}

fn absent_is_passing(fault: BusError) -> BusError {
    if matches!(fault, BusError::NoResponders) { BusError::unavailable() } else { fault }
}

#[async_trait]
impl Port for NatsPort {
    async fn append(&self, append: Append) -> Result<Sequence, BusError> {
        self.appends.fetch_add(1, Ordering::Relaxed);
        let headers = append_headers(&append)?;
        let headers = (!headers.is_empty()).then_some(headers);
        let answer = self
            .link
            .ask(append.subject, headers, append.payload, self.link.within)
            .await
            .map_err(absent_is_passing)?;
        wire::stored_at(&answer.payload)
    }

    async fn last(&self, stream: &str, filter: &str, source: Source) -> Result<Option<Stored>, BusError> {
        read::one(self, stream, &read::Which::Last(filter), source).await
    }

    async fn get(&self, stream: &str, sequence: Sequence, source: Source) -> Result<Option<Stored>, BusError> {
        read::one(self, stream, &read::Which::At(sequence), source).await
    }

    async fn page(&self, stream: &str, filter: &str, from: Sequence, limit: usize) -> Result<Vec<Stored>, BusError> {
        read::page(self, stream, filter, from, limit).await
    }

    async fn request(
        &self,
        subject: &str,
        headers: Headers,
        payload: Bytes,
        within: Duration,
    ) -> Result<Inbound, BusError> {
        let headers = wire::header_map(headers)?;
        let headers = (!headers.is_empty()).then_some(headers);
        self.link.ask(subject.to_owned(), headers, payload, within).await.map(wire::inbound)
    }

    async fn publish(
        &self,
        subject: &str,
        reply: Option<&str>,
        headers: Headers,
        payload: Bytes,
    ) -> Result<(), BusError> {
        self.link.publish(subject.to_owned(), reply.map(str::to_owned), wire::header_map(headers)?, payload).await
    }

    async fn subscribe(&self, subject: &str, queue: Option<&str>) -> Result<Messages<Inbound>, BusError> {
        let opened = async {
            match queue {
                None => self.client().subscribe(subject.to_owned()).await,
                Some(queue) => self.client().queue_subscribe(subject.to_owned(), queue.to_owned()).await,
            }
        };
        let messages =
            timeout(self.link.within, opened).await.map_err(wire::unavailable)?.map_err(wire::unavailable)?;
        // On its way before anything that this connection sends later: who subscribes and then asks misses nothing.
        self.flush().await?;
        Ok(Box::pin(messages.map(wire::inbound)))
    }

    async fn pull(&self, stream: &str, consumer: &str, in_flight: usize) -> Result<Messages<Received>, BusError> {
        lane::open(&self.link, stream, consumer, in_flight).await
    }

    async fn watch(&self, stream: &str, filter: &str) -> Result<Messages<Watched>, BusError> {
        watch::open(&self.link, stream, filter).await
    }

    fn connected_for(&self) -> Duration {
        self.link.connected_for()
    }

    fn inbox(&self) -> String {
        self.client().new_inbox()
    }
}

/// The guards of an append as the server reads them.
fn append_headers(append: &Append) -> Result<HeaderMap, BusError> {
    let mut headers = Headers::new();
    let mut set = |name: &str, value: String| headers.insert(name.to_owned(), value);
    match &append.expect {
        Expect::Any => {}
        Expect::LastOnSubject(sequence) => {
            set(wire::EXPECTED, sequence.0.to_string());
        }
        Expect::LastUnder { filter, sequence } => {
            set(wire::EXPECTED, sequence.0.to_string());
            set(wire::EXPECTED_SUBJECT, filter.clone());
        }
    }
    if let Some(ttl) = append.ttl {
        set(wire::TTL, format!("{}s", wire::whole_seconds(ttl)));
    }
    if let Some(id) = &append.message_id {
        set(wire::MESSAGE_ID, id.clone());
    }
    if let Some(schedule) = &append.schedule {
        set(wire::SCHEDULE, format!("@at {}", aip_types::Timestamp::from_millis(schedule.at)));
        set(wire::SCHEDULE_TARGET, schedule.target.clone());
    }
    wire::header_map(headers)
}
