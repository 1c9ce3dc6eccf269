//! What can go wrong between a service and the bus.

use std::error::Error as StdError;

/// The kinds of failure a caller may match on. Context stays in the source and is for logs only.
#[derive(Debug, thiserror::Error)]
pub enum BusError {
    /// The subject's last sequence is not the expected one (server error 10071): load from the leader, decide again.
    #[error("the record was saved by somebody else")]
    Conflict,
    /// Another write under the same filter is still in flight (server error 10164): repeat the same save.
    #[error("another write of the record is in flight")]
    Busy,
    /// Nobody listens on the subject.
    #[error("nobody answers on the subject")]
    NoResponders,
    /// No answer in time, or no connection. The write may have been stored.
    #[error("the bus did not answer in time")]
    Unavailable(#[source] Option<Box<dyn StdError + Send + Sync>>),
    /// The server refused the request for a reason that a repeat does not change (no space, no permission, bad stream).
    #[error("the server refused the request with code {code}")]
    Refused {
        /// The server's `err_code`, or the HTTP-like code where it gave none.
        code: u64,
    },
    /// What was read is not what the type says.
    #[error("a stored message cannot be decoded")]
    Undecodable(#[source] Box<dyn StdError + Send + Sync>),
}

impl BusError {
    /// A failure without a cause to show.
    #[must_use]
    pub fn unavailable() -> Self {
        Self::Unavailable(None)
    }

    /// Whether a later repeat of the same request may succeed.
    #[must_use]
    pub fn is_passing(&self) -> bool {
        match self {
            Self::Busy | Self::NoResponders | Self::Unavailable(_) => true,
            Self::Conflict | Self::Refused { .. } | Self::Undecodable(_) => false,
        }
    }
}
