//! The other side of the ceilings, in a process of its own: what a connector would be.

use std::{path::Path, sync::Arc, time::Duration};

use aip_bus::{Headers, Inbound, Port as _, Sequence, nats::NatsPort};
use aip_service::Tasks;
use anyhow::{Context as _, anyhow};
use bytes::Bytes;
use futures::StreamExt as _;

use super::{fleet::Kind, names, target};
use crate::{failure::Failure, serve};

const WITHIN: Duration = Duration::from_secs(30);

/// Answers until standard input closes.
pub(super) async fn serve(url: Option<&str>, seed: Option<&Path>) -> Result<(), Failure> {
    let (Some(url), Some(seed)) = (url, seed) else {
        return Err(Failure::Usage("--responder is for `aip bench` itself".to_owned()));
    };
    let orphaned = serve::input_closed();
    let port = Arc::new(target::connect(url, seed, None).await?);
    let tasks = Tasks::default();
    for (subject, on) in [(names::APPEND, What::Append), (names::WORK, What::Work), (names::CORE, What::Core)] {
        let mut inbound = port.subscribe(subject, Some(names::QUEUE)).await.context("subscribing")?;
        let (port, spawning) = (Arc::clone(&port), tasks.clone());
        tasks.spawn(async move {
            while let Some(message) = inbound.next().await {
                let port = Arc::clone(&port);
                spawning.spawn(async move {
                    if let Err(fault) = on_message(&port, on, message).await {
                        tracing::error!(%fault, "the responder failed");
                    }
                });
            }
        });
    }
    drop(orphaned.await);
    Ok(())
}

#[derive(Clone, Copy)]
enum What {
    Core,
    Append,
    Work,
}

async fn on_message(port: &NatsPort, what: What, message: Inbound) -> anyhow::Result<()> {
    match what {
        What::Core => answer(port, &message, message.payload.clone()).await,
        What::Append => {
            let id = names::id_in(&message.payload).ok_or_else(|| anyhow!("a request without id"))?;
            let entry = names::entry(id, "single", names::bytes_of::QUEUED, Sequence::NONE);
            names::store(port, entry).await?;
            answer(port, &message, names::message(id, names::bytes_of::REPLY)).await
        }
        What::Work => work(port, &message).await,
    }
}

/// A plain read is answered with its result. Anything else is accepted, begun by a request, and reported by another.
async fn work(port: &NatsPort, offer: &Inbound) -> anyhow::Result<()> {
    let id = names::id_in(&offer.payload).ok_or_else(|| anyhow!("an offer without id"))?;
    match names::kind_of(id) {
        Kind::Read => answer(port, offer, names::message(id, names::bytes_of::RESULT)).await,
        Kind::Mutation => {
            answer(port, offer, names::message(id, names::bytes_of::ACCEPTED)).await?;
            for (subject, bytes) in [(names::BEGIN, names::bytes_of::BEGIN), (names::RESULT, names::bytes_of::RESULT)] {
                port.request(subject, Headers::new(), names::message(id, bytes), WITHIN).await?;
            }
            Ok(())
        }
    }
}

async fn answer(port: &NatsPort, message: &Inbound, payload: Bytes) -> anyhow::Result<()> {
    let Some(inbox) = &message.reply else { return Ok(()) };
    Ok(port.publish(inbox, None, Headers::new(), payload).await?)
}
