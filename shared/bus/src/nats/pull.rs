//! Pulling from a consumer: one inbox, and as many messages asked for as the caller has room for.

use std::time::Duration;

use async_nats::{Message, Subscriber};
use futures::{FutureExt, StreamExt};
use serde_json::json;
use tokio::time::{sleep, timeout};

use super::{
    connect::{Link, jittered},
    wire::{self, Delivery},
};
use crate::BusError;

/// The server says this often that a pull is still known to it.
const HEARTBEAT: Duration = Duration::from_secs(2);
/// Silence after which a pull counts as lost.
const SILENCE_MAX: Duration = Duration::from_secs(5);
/// The server forgets a pull after this time.
const PULL_EXPIRES: Duration = Duration::from_secs(30);
const BACKOFF_MIN: Duration = Duration::from_millis(25);
const BACKOFF_MAX: Duration = Duration::from_secs(2);

const HEARTBEAT_STATUS: u16 = 100;
const REQUEST_TIMEOUT: u16 = 408;

/// What a pull brings.
pub(super) enum Pulled {
    /// A message and what its reply subject says.
    Message(Message, Delivery),
    /// The server has nothing to send; the consumer's last delivery, where it says so.
    Idle(Option<u64>),
    /// What was asked for will not come, or not all of it.
    Lost(String),
}

/// The pulls of one consumer.
pub(super) struct Puller {
    link: Link,
    subject: String,
    capacity: usize,
    inbox: Option<(String, Subscriber)>,
    outstanding: usize,
}

impl Puller {
    pub(super) fn new(link: &Link, stream: &str, consumer: &str, capacity: usize) -> Self {
        let subject = format!("$JS.API.CONSUMER.MSG.NEXT.{stream}.{consumer}");
        Self { link: link.clone(), subject, capacity: capacity.max(1), inbox: None, outstanding: 0 }
    }

    /// The next thing that happens. After [`Pulled::Lost`] the next call starts on a new inbox, so nothing asked before counts.
    pub(super) async fn next(&mut self) -> Pulled {
        let pulled = self.ask_and_wait().await.unwrap_or_else(|fault| Pulled::Lost(describe(&fault)));
        if matches!(pulled, Pulled::Lost(_)) {
            self.inbox = None;
        }
        pulled
    }

    /// Messages that have arrived and were not taken. Nothing more comes afterwards.
    pub(super) fn leftovers(&mut self) -> Vec<Message> {
        let Some((_, mut messages)) = self.inbox.take() else { return Vec::new() };
        std::iter::from_fn(|| messages.next().now_or_never().flatten())
            .filter(|message| message.status.is_none())
            .collect()
    }

    async fn ask_and_wait(&mut self) -> Result<Pulled, BusError> {
        loop {
            if self.inbox.is_none() {
                self.open().await?;
            }
            if self.outstanding <= self.capacity / 2 {
                self.ask().await?;
            }
            let Some((_, messages)) = &mut self.inbox else { continue };
            // Messages first: what has arrived is taken before a lost connection or a silence is looked at.
            let message = tokio::select! {
                biased;
                message = timeout(SILENCE_MAX, messages.next()) => message,
                _ = self.link.epochs.changed() => return Ok(Pulled::Lost("the connection was made anew".to_owned())),
            };
            let Ok(message) = message else { return Ok(Pulled::Lost("no heartbeat".to_owned())) };
            let Some(message) = message else { return Ok(Pulled::Lost("the subscription ended".to_owned())) };
            if let Some(pulled) = self.classify(message) {
                return Ok(pulled);
            }
        }
    }

    async fn open(&mut self) -> Result<(), BusError> {
        self.link.epochs.mark_unchanged();
        let inbox = self.link.client.new_inbox();
        let opening = self.link.client.subscribe(inbox.clone());
        let messages =
            timeout(self.link.within, opening).await.map_err(wire::unavailable)?.map_err(wire::unavailable)?;
        self.inbox = Some((inbox, messages));
        self.outstanding = 0;
        Ok(())
    }

    async fn ask(&mut self) -> Result<(), BusError> {
        let Some((inbox, _)) = &self.inbox else { return Ok(()) };
        let batch = self.capacity.saturating_sub(self.outstanding);
        let request = json!({ "batch": batch, "expires": nanos(PULL_EXPIRES), "idle_heartbeat": nanos(HEARTBEAT) });
        let reply = Some(inbox.clone());
        self.link.publish(self.subject.clone(), reply, async_nats::HeaderMap::new(), wire::json(&request)).await?;
        self.outstanding = self.capacity;
        Ok(())
    }

    fn classify(&mut self, message: Message) -> Option<Pulled> {
        let Some(status) = message.status.map(|status| status.as_u16()) else {
            self.outstanding = self.outstanding.saturating_sub(1);
            let delivery = message.reply.as_ref().and_then(|reply| Delivery::parse(reply));
            return Some(match delivery {
                Some(delivery) => Pulled::Message(message, delivery),
                None => Pulled::Lost("a delivery without its reply subject".to_owned()),
            });
        };
        match status {
            HEARTBEAT_STATUS => Some(Pulled::Idle(wire::header_number(&message, wire::LAST_CONSUMER))),
            REQUEST_TIMEOUT | wire::NOT_FOUND => {
                let unsent =
                    wire::header_number(&message, wire::PENDING_MESSAGES).and_then(|count| usize::try_from(count).ok());
                self.outstanding = unsent.map_or(0, |count| self.outstanding.saturating_sub(count));
                None
            }
            code => Some(Pulled::Lost(format!("{code} {}", message.description.unwrap_or_default()))),
        }
    }
}

fn describe(fault: &BusError) -> String {
    std::error::Error::source(fault).map_or_else(|| fault.to_string(), |source| format!("{fault}: {source}"))
}

pub(super) fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// Waits longer after each failure in a row, for ever.
#[derive(Debug, Default)]
pub(super) struct Backoff {
    failures: u32,
}

impl Backoff {
    pub(super) fn reset(&mut self) {
        self.failures = 0;
    }

    pub(super) async fn wait(&mut self) {
        let whole = BACKOFF_MIN.saturating_mul(1 << self.failures.min(8)).min(BACKOFF_MAX);
        self.failures = self.failures.saturating_add(1);
        sleep(jittered(whole)).await;
    }
}
