//! The only clock. Everything below a service gets its time as an argument.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use aip_types::Millis;
use tokio::time::Instant;

/// The wall clock.
#[must_use]
#[expect(clippy::disallowed_methods, reason = "the one place that reads the wall clock")]
pub fn now() -> Millis {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
    Millis(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}

/// A monotonic reading, for measuring how long something took.
#[must_use]
pub fn since_start() -> Instant {
    Instant::now()
}
