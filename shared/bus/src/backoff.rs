//! The one way to wait before trying again: growing, jittered, and with an end.

use std::time::Duration;

/// Delays that double from 5 ms to 500 ms, each shortened by up to a half at random.
#[derive(Debug)]
pub struct Backoff {
    left: u32,
    next_ms: u64,
}

const FIRST_MS: u64 = 5;
const LAST_MS: u64 = 500;

impl Backoff {
    /// At most this many waits.
    #[must_use]
    pub const fn new(waits: u32) -> Self {
        Self { left: waits, next_ms: FIRST_MS }
    }

    /// The next delay, `None` at the end.
    pub fn delay(&mut self) -> Option<Duration> {
        self.left = self.left.checked_sub(1)?;
        let whole = self.next_ms;
        self.next_ms = whole.saturating_mul(2).min(LAST_MS);
        let [random, ..] = crate::random();
        let shorter = whole.saturating_mul(u64::from(random)) / 512;
        Some(Duration::from_millis(whole.saturating_sub(shorter)))
    }

    /// Waits for the next delay. `false` at the end, at once.
    pub async fn wait(&mut self) -> bool {
        match self.delay() {
            Some(delay) => {
                tokio::time::sleep(delay).await;
                true
            }
            None => false,
        }
    }
}
