//! Tracked tasks: every task of a process is counted, and told when to end.

use std::{future::Future, panic::AssertUnwindSafe, time::Duration};

use futures::FutureExt as _;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

/// The tasks of one service.
#[derive(Clone, Debug, Default)]
pub struct Tasks {
    tracker: TaskTracker,
    token: CancellationToken,
}

impl Tasks {
    /// Starts a task. A panic in it ends that task only; it is logged and counted.
    #[expect(clippy::disallowed_methods, reason = "the one place that starts tasks")]
    pub fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        // Boxed first: the futures of requests have many kilobytes, and each layer here would copy them.
        let task = AssertUnwindSafe(Box::pin(task)).catch_unwind().map(|ended| {
            if ended.is_err() {
                metrics::counter!("aip_task_panics_total").increment(1);
                tracing::error!("a task panicked");
            }
        });
        drop(tokio::spawn(self.tracker.track_future(task)));
    }

    /// Starts a task that ends when the service drains.
    pub fn spawn_until_drain(&self, task: impl Future<Output = ()> + Send + 'static) {
        let token = self.token.clone();
        self.spawn(async move { token.run_until_cancelled(task).await.unwrap_or_default() });
    }

    /// Resolves when the service must end.
    pub async fn draining(&self) {
        self.token.cancelled().await;
    }

    /// Whether the service must end.
    #[must_use]
    pub fn is_draining(&self) -> bool {
        self.token.is_cancelled()
    }

    /// Tells all tasks to end and waits for them, at most this long.
    pub async fn drain(&self, within: Duration) {
        self.token.cancel();
        self.tracker.close();
        if tokio::time::timeout(within, self.tracker.wait()).await.is_err() {
            tracing::warn!(left = self.tracker.len(), "drained with tasks at work");
        }
    }
}
