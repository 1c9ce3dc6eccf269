//! What streams hold by the server's own counters, and the removal of one that is not the fleet's.

use serde::Deserialize;
use serde_json::{Value, json};

use super::{STREAM_NOT_FOUND, answer};
use crate::{BusError, port::Port};

/// A stream as the server counts it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Held {
    /// Its name.
    pub name: String,
    /// Its copies.
    pub replicas: u8,
    /// Messages that it has stored since it was made: its last sequence.
    pub stored_ever: u64,
    /// Messages in it now.
    pub messages: u64,
    /// Bytes in it now, as the server counts them: payload, headers, subject.
    pub bytes: u64,
}

#[derive(Deserialize)]
struct Page {
    #[serde(default)]
    total: usize,
    #[serde(default)]
    streams: Option<Vec<Info>>,
}

#[derive(Deserialize)]
struct Info {
    config: Config,
    state: State,
}

#[derive(Deserialize)]
struct Config {
    name: String,
    num_replicas: u8,
}

#[derive(Deserialize)]
struct State {
    messages: u64,
    bytes: u64,
    last_seq: u64,
}

/// Every stream of the connection's account. The right to it is `accounts::ServiceUser::Observer`'s.
///
/// # Errors
/// [`BusError::Unavailable`], [`BusError::Refused`].
pub async fn held(port: &dyn Port) -> Result<Vec<Held>, BusError> {
    let mut all = Vec::new();
    loop {
        let page = answer(port, "$JS.API.STREAM.LIST", &json!({ "offset": all.len() })).await?;
        let page: Page =
            serde_json::from_value(Value::Object(page)).map_err(|fault| BusError::Undecodable(Box::new(fault)))?;
        let streams = page.streams.unwrap_or_default();
        let is_last = streams.is_empty();
        all.extend(streams.into_iter().map(|Info { config, state }| Held {
            name: config.name,
            replicas: config.num_replicas,
            stored_ever: state.last_seq,
            messages: state.messages,
            bytes: state.bytes,
        }));
        if is_last || all.len() >= page.total {
            return Ok(all);
        }
    }
}

/// Removes a stream with all that it holds. No user of account `AIP` has the right to it.
///
/// # Errors
/// [`BusError::Unavailable`], [`BusError::Refused`]. A stream that does not exist is removed already.
pub async fn delete_stream(port: &dyn Port, name: &str) -> Result<(), BusError> {
    match answer(port, &format!("$JS.API.STREAM.DELETE.{name}"), &Value::Null).await {
        Ok(_) | Err(BusError::Refused { code: STREAM_NOT_FOUND }) => Ok(()),
        Err(fault) => Err(fault),
    }
}
