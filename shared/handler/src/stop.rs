//! Telling an attempt to stop.

use aip_bus::work::StopReason;
use tokio::sync::watch;

/// One attempt's signal. The first reason stands.
#[derive(Debug)]
pub(crate) struct Stop {
    reason: watch::Sender<Option<StopReason>>,
}

impl Stop {
    pub(crate) fn new() -> Self {
        Self { reason: watch::Sender::new(None) }
    }

    pub(crate) fn signal(&self, why: StopReason) {
        self.reason.send_if_modified(|reason| {
            let first = reason.is_none();
            reason.get_or_insert(why);
            first
        });
    }

    pub(crate) fn reason(&self) -> Option<StopReason> {
        *self.reason.borrow()
    }

    /// Resolves once there is a reason.
    pub(crate) async fn signalled(&self) -> StopReason {
        let mut reason = self.reason.subscribe();
        loop {
            if let Some(why) = *reason.borrow_and_update() {
                return why;
            }
            if reason.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }
}
