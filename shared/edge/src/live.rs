//! News of an action: that something about it was stored. What it is, its owner tells.

use std::sync::Arc;

use aip_bus::{Inbound, Messages, subjects::RecordKey};
use aip_service::receive::EdgeContext;
use aip_types::ActionId;
use futures::{StreamExt, stream::select};
use tokio::sync::{Notify, oneshot};

use crate::Edge;

/// News of one action, since the last look: however much came, it is one piece of news. Dropping it ends the subscription.
#[derive(Debug)]
pub struct News {
    came: Arc<Notify>,
    _following: Option<oneshot::Sender<()>>,
}

impl News {
    /// Resolves when something was stored since the last call, or since it was subscribed.
    pub async fn came(&self) {
        self.came.notified().await;
    }
}

impl Edge {
    /// Resolves when the process must end.
    pub async fn draining(&self) {
        self.tasks.draining().await;
    }

    /// Whether the process must end.
    #[must_use]
    pub fn is_draining(&self) -> bool {
        self.tasks.is_draining()
    }

    /// Subscribes news of an action of the caller's tenant. Where that fails, none come: whoever waits looks anyway, at times.
    pub async fn news(&self, context: &EdgeContext, action: &ActionId) -> News {
        let came = Arc::new(Notify::new());
        let Some(tenant) = self.tenant(context) else { return News { came, _following: None } };
        let key = RecordKey::action(tenant, action.as_str());
        let (entries, chunks) = (key.live(), key.live_chunks());
        let port = self.bus().port();
        let live = futures::future::try_join(port.subscribe(&entries, None), port.subscribe(&chunks, None)).await;
        let (following, gone) = oneshot::channel();
        match live {
            Ok((entries, chunks)) => self.tasks.spawn_until_drain(tell(entries, chunks, Arc::clone(&came), gone)),
            Err(fault) => tracing::warn!(%fault, "following an action"),
        }
        News { came, _following: Some(following) }
    }
}

/// Drained here and at once, so that a follower that reads slowly holds nothing.
async fn tell(entries: Messages<Inbound>, chunks: Messages<Inbound>, came: Arc<Notify>, gone: oneshot::Receiver<()>) {
    let mut live = select(entries, chunks);
    let telling = async {
        while live.next().await.is_some() {
            came.notify_one();
        }
    };
    tokio::select! { () = telling => {} _ = gone => {} }
}
