//! The bus: every subject, stream, consumer, bucket and header of the fleet, the port and its two adapters.
//!
//! It owns all names ([`subjects`]), the primitives ([`port`]), the stores over them ([`Bus`]: journal, leases, keys,
//! chunks, timers, registry) and what must exist on the server ([`topology`], [`accounts`]). It decides nothing about
//! actions. Start reading at [`Bus`].

mod backoff;
mod error;
mod journal;
mod keys;
mod lease;
mod registry;
mod streams;

pub mod accounts;
pub mod nats;
pub mod port;
#[cfg(feature = "sim")]
pub mod sim;
pub mod subjects;
pub mod topology;
pub mod work;

use std::{fmt, sync::Arc};

use bytes::Bytes;
use sha2::{Digest, Sha256};

pub use backoff::Backoff;
pub use error::BusError;
pub use journal::{Draft, Entry, Loaded, Record};
pub use keys::Reserved;
pub use lease::Lease;
pub use port::{
    Acknowledge, Append, Expect, Headers, Inbound, Messages, Port, Received, Schedule, Sequence, Source, Stored,
    Watched,
};
pub use registry::{Admitted, Living};
pub use streams::{CANCEL, CancelAsked, DEADLINE, Due, StoredChunk};

/// The stores of the fleet over one connection. Cheap to clone.
#[derive(Clone)]
pub struct Bus {
    port: Arc<dyn Port>,
}

impl Bus {
    /// The stores over a port.
    #[must_use]
    pub fn new(port: Arc<dyn Port>) -> Self {
        Self { port }
    }

    /// Answers a message, where it asks for an answer and names an inbox for it. Any other place is ignored: a caller could
    /// have us write where it may not.
    ///
    /// # Errors
    /// [`BusError::Unavailable`].
    pub async fn reply(&self, message: &Inbound, headers: Headers, payload: Bytes) -> Result<(), BusError> {
        match &message.reply {
            Some(reply) if subjects::is_inbox(reply) => self.port().publish(reply, None, headers, payload).await,
            Some(_) | None => Ok(()),
        }
    }

    /// The primitives below.
    #[must_use]
    pub fn port(&self) -> &dyn Port {
        &*self.port
    }
}

impl fmt::Debug for Bus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Bus")
    }
}

/// 16 random bytes.
///
/// # Panics
/// Never: where the operating system has no randomness the process ends, since no id would be safe.
#[must_use]
pub fn random() -> [u8; 16] {
    let mut bytes = [0; 16];
    if getrandom::fill(&mut bytes).is_err() {
        std::process::abort();
    }
    bytes
}

/// A random name for one write or one message.
#[must_use]
pub fn nonce() -> String {
    hex::encode(random())
}

pub(crate) fn sha256_hex(bytes: &[u8]) -> String {
    hex::encode(Sha256::digest(bytes))
}
