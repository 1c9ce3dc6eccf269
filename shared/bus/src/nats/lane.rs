//! A durable consumer's deliveries, for ever.

use std::time::Duration;

use async_nats::HeaderMap;
use async_trait::async_trait;
use bytes::Bytes;
use futures::{FutureExt, stream};

use super::{
    connect::Link,
    pull::{Backoff, Pulled, Puller, nanos},
    wire,
};
use crate::{
    BusError,
    port::{Acknowledge, Messages, Received},
};

/// A delay that the server does not take for "at once".
const NAK_DELAY_MIN: Duration = Duration::from_millis(1);

struct Lane {
    link: Link,
    stream: String,
    consumer: String,
    puller: Puller,
    backoff: Backoff,
}

pub(super) async fn open(
    link: &Link,
    stream: &str,
    consumer: &str,
    in_flight: usize,
) -> Result<Messages<Received>, BusError> {
    // A server that is not ready now will be: only a plain refusal ends here.
    match link.api(format!("$JS.API.CONSUMER.INFO.{stream}.{consumer}"), Bytes::new()).await {
        Ok(answer) => drop(wire::consumer_pending(&answer.payload)?),
        Err(fault) if fault.is_passing() => tracing::warn!(stream, consumer, %fault, "lane not confirmed yet"),
        Err(fault) => return Err(fault),
    }
    let lane = Lane {
        link: link.clone(),
        stream: stream.to_owned(),
        consumer: consumer.to_owned(),
        puller: Puller::new(link, stream, consumer, in_flight),
        backoff: Backoff::default(),
    };
    Ok(Box::pin(stream::unfold(lane, |mut lane| async move {
        let received = lane.next().await;
        Some((received, lane))
    })))
}

impl Lane {
    async fn next(&mut self) -> Received {
        loop {
            match self.puller.next().await {
                Pulled::Message(message, delivery) => {
                    self.backoff.reset();
                    let reply = message.reply.clone().map(async_nats::Subject::into_string).unwrap_or_default();
                    let handle = Box::new(Handle { link: self.link.clone(), reply });
                    return Received { deliveries: delivery.deliveries, stored: delivery.stored(message), handle };
                }
                Pulled::Idle(_) => self.backoff.reset(),
                Pulled::Lost(reason) => {
                    tracing::warn!(stream = %self.stream, consumer = %self.consumer, reason, "pulling anew");
                    self.backoff.wait().await;
                }
            }
        }
    }
}

/// What lies in the client and was never handed out is given back at once, rather than when its wait ends.
impl Drop for Lane {
    fn drop(&mut self) {
        for message in self.puller.leftovers() {
            if let Some(reply) = message.reply {
                let payload = nak(NAK_DELAY_MIN);
                drop(self.link.client.publish(reply, payload).now_or_never());
            }
        }
    }
}

fn nak(delay: Duration) -> Bytes {
    format!("-NAK {{\"delay\": {}}}", nanos(delay.max(NAK_DELAY_MIN))).into()
}

/// Answers go to the reply subject of the delivery; nobody confirms them.
struct Handle {
    link: Link,
    reply: String,
}

impl Handle {
    async fn tell(&self, payload: Bytes) -> Result<(), BusError> {
        self.link.publish(self.reply.clone(), None, HeaderMap::new(), payload).await
    }
}

#[async_trait]
impl Acknowledge for Handle {
    async fn ack(&self) -> Result<(), BusError> {
        self.tell(Bytes::from_static(b"+ACK")).await
    }

    async fn nak(&self, delay: Duration) -> Result<(), BusError> {
        self.tell(nak(delay)).await
    }

    async fn progress(&self) -> Result<(), BusError> {
        self.tell(Bytes::from_static(b"+WPI")).await
    }

    async fn term(&self) -> Result<(), BusError> {
        self.tell(Bytes::from_static(b"+TERM")).await
    }
}
