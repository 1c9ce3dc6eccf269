//! Reading stored messages: one by sequence or by subject, or a page in order.

use async_nats::Message;
use bytes::Bytes;
use futures::StreamExt;
use serde_json::json;
use tokio::time::timeout;

use super::{NatsPort, wire};
use crate::{
    BusError,
    port::{Sequence, Source, Stored},
};

/// Bytes of one page: the server ends it earlier rather than pass this.
const PAGE_BYTES_MAX: u64 = 8 * 1_024 * 1_024;
/// Messages of one page: they all lie in the subscription's buffer at once.
const PAGE_LEN_MAX: usize = 4_096;
const END_OF_PAGE: u16 = 204;
const NO_RESPONDERS: u16 = 503;

/// Which message to read.
pub(super) enum Which<'a> {
    Last(&'a str),
    At(Sequence),
}

impl Which<'_> {
    fn request(&self) -> Bytes {
        wire::json(&match self {
            Self::Last(filter) => json!({ "last_by_subj": filter }),
            Self::At(sequence) => json!({ "seq": sequence.0 }),
        })
    }
}

pub(super) async fn one(
    port: &NatsPort,
    stream: &str,
    which: &Which<'_>,
    source: Source,
) -> Result<Option<Stored>, BusError> {
    if let Which::At(Sequence::NONE) = which {
        return Ok(None);
    }
    match source {
        Source::Nearest => {
            wire::direct_message(port.link.api(format!("$JS.API.DIRECT.GET.{stream}"), which.request()).await?)
        }
        Source::Leader => {
            let answer = port.link.api(format!("$JS.API.STREAM.MSG.GET.{stream}"), which.request()).await?;
            wire::leader_message(&answer.payload)
        }
    }
}

pub(super) async fn page(
    port: &NatsPort,
    stream: &str,
    filter: &str,
    from: Sequence,
    limit: usize,
) -> Result<Vec<Stored>, BusError> {
    if limit == 0 {
        return Ok(Vec::new());
    }
    let request = json!({
        "seq": from.0.max(1),
        "batch": limit.min(PAGE_LEN_MAX),
        "max_bytes": PAGE_BYTES_MAX,
        "next_by_subj": filter,
    });
    let client = &port.link.client;
    let inbox = client.new_inbox();
    let mut answers = timeout(port.link.within, client.subscribe(inbox.clone()))
        .await
        .map_err(wire::unavailable)?
        .map_err(wire::unavailable)?;
    let subject = format!("$JS.API.DIRECT.GET.{stream}");
    port.link.publish(subject, Some(inbox), async_nats::HeaderMap::new(), wire::json(&request)).await?;
    let mut page = Vec::new();
    loop {
        // Each answer has the whole time: a page is long, and what counts is that it goes on.
        let answer = timeout(port.link.within, answers.next()).await.map_err(wire::unavailable)?;
        let answer = answer.ok_or_else(BusError::unavailable)?;
        match status(&answer) {
            None => page.extend(wire::direct_message(answer)?),
            Some(END_OF_PAGE | wire::NOT_FOUND) => return Ok(page),
            Some(NO_RESPONDERS) => return Err(BusError::unavailable()),
            Some(code) => return Err(BusError::Refused { code: code.into() }),
        }
    }
}

fn status(message: &Message) -> Option<u16> {
    message.status.map(|status| status.as_u16())
}
