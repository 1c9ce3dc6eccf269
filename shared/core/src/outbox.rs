//! What sending a stored message to somebody else has in common: the lease of an attempt, and the wait before the next.

use aip_types::{Millis, limits};
use alloc::string::String;
use serde::{Deserialize, Serialize};

/// The right of one attempt to send. It ends by itself, so a dead worker holds nothing up.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lease {
    /// Revision given by the service; each lease of a record has a higher one.
    pub fence: u64,
    /// The process that sends.
    pub worker: String,
    /// When it ends.
    pub expires_at: Millis,
}

impl Lease {
    /// A lease that outlives one attempt of `timeout_ms` by the ordinary time of a lease.
    pub(crate) fn new(fence: u64, worker: String, timeout_ms: u64, at: Millis) -> Self {
        Self { fence, worker, expires_at: at.plus(timeout_ms).plus(limits::LEASE_MS) }
    }
}

/// Milliseconds to wait after `made` attempts: the list in order, its last value from then on.
pub(crate) fn backoff_ms(list: &[u64], made: u32) -> u64 {
    let place = usize::try_from(made.saturating_sub(1)).unwrap_or(usize::MAX);
    list.get(place).or(list.last()).copied().unwrap_or(limits::RETRY_AFTER_MS).min(limits::BACKOFF_MS_MAX)
}

/// A reason of bounded length, cut between characters.
pub(crate) fn bounded(mut reason: String) -> String {
    let mut end = reason.len().min(limits::REASON_BYTES_MAX);
    while !reason.is_char_boundary(end) {
        end = end.saturating_sub(1);
    }
    reason.truncate(end);
    reason
}
