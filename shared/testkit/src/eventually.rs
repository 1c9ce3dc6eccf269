//! Waiting for a condition.

use std::time::Duration;

use tokio::time::{sleep, timeout};

const POLL: Duration = Duration::from_millis(10);

/// Waits until the condition holds.
///
/// # Panics
/// It does not hold `within` that time.
#[track_caller]
pub fn eventually<F>(within: Duration, mut condition: impl FnMut() -> F) -> impl Future<Output = ()>
where
    F: Future<Output = bool>,
{
    let caller = std::panic::Location::caller();
    async move {
        let held = timeout(within, async {
            while !condition().await {
                sleep(POLL).await;
            }
        });
        if held.await.is_err() {
            panic!("the condition at {caller} did not hold within {within:?}");
        }
    }
}
