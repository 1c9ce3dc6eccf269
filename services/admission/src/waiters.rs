//! The inbox of this process: whoever settles an action publishes its last entry here (`design.md` §5).

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use aip_bus::{
    Bus, Entry, Loaded, Sequence, Source,
    subjects::{RecordKey, Tenant},
};
use aip_core::action::ActionRecord;
use aip_service::Context;
use futures::StreamExt;
use tokio::sync::oneshot;

use crate::room::Room;

type Settled = Loaded<ActionRecord>;
/// Several may wait for one record: those who race for its id do so until the race is decided.
type Waiting = HashMap<RecordKey, Vec<oneshot::Sender<Settled>>>;

#[derive(Clone)]
pub(crate) struct Waiters {
    bus: Bus,
    inbox: String,
    waiting: Arc<Mutex<Waiting>>,
}

impl Waiters {
    pub(crate) async fn start(ctx: &Context, room: Arc<Room>) -> anyhow::Result<Self> {
        let inbox = ctx.bus.port().inbox();
        let mut settled = ctx.bus.port().subscribe(&inbox, None).await?;
        let waiters = Self { bus: ctx.bus.clone(), inbox, waiting: Arc::default() };
        let waiting = Arc::clone(&waiters.waiting);
        ctx.tasks.spawn_until_drain(async move {
            while let Some(message) = settled.next().await {
                let Ok(entry) = aip_types::exact::read::<Entry<ActionRecord>>(&message.payload) else {
                    tracing::warn!("an undecodable notification");
                    continue;
                };
                let Ok(tenant) = Tenant::new(&entry.state.tenant) else { continue };
                let key = RecordKey::action(tenant, entry.state.id.as_str());
                room.leave(&key);
                let waiters = lock(&waiting).remove(&key).unwrap_or_default();
                let at = entry.state.updated_at;
                let settled = Loaded { entry: Arc::new(entry), text: message.payload, sequence: Sequence::NONE, at };
                for waiter in waiters {
                    // The caller may have stopped waiting: nobody misses it then.
                    drop(waiter.send(settled.clone()));
                }
            }
        });
        Ok(waiters)
    }

    /// Where settlements are announced.
    pub(crate) fn inbox(&self) -> &str {
        &self.inbox
    }

    /// Waits for a record from now on. Call it before the record is written.
    pub(crate) fn expect(&self, key: &RecordKey) -> Expected {
        let (sender, receiver) = oneshot::channel();
        lock(&self.waiting).entry(key.clone()).or_default().push(sender);
        Expected { bus: self.bus.clone(), key: key.clone(), receiver, waiting: Arc::clone(&self.waiting) }
    }
}

fn lock(waiting: &Mutex<Waiting>) -> MutexGuard<'_, Waiting> {
    waiting.lock().unwrap_or_else(PoisonError::into_inner)
}

/// One expectation. Dropping it forgets it.
pub(crate) struct Expected {
    bus: Bus,
    key: RecordKey,
    receiver: oneshot::Receiver<Settled>,
    waiting: Arc<Mutex<Waiting>>,
}

/// A notification is sent at most once; where none came for this long, the record itself is read.
const LOOK_AGAIN: Duration = Duration::from_secs(2);

impl Expected {
    /// The settled record, or `None` when it is still open after this time.
    pub(crate) async fn settled(mut self, within: Duration) -> Option<Settled> {
        let look = async {
            loop {
                match tokio::time::timeout(LOOK_AGAIN, &mut self.receiver).await {
                    Ok(settled) => return settled.ok(),
                    Err(_) => match self.bus.load::<ActionRecord>(&self.key, Source::Leader).await {
                        Ok(Some(loaded)) if loaded.entry.state.phase.is_settled_or_parked() => return Some(loaded),
                        Ok(_) => {}
                        Err(fault) => tracing::debug!(%fault, "looking again"),
                    },
                }
            }
        };
        tokio::time::timeout(within, look).await.ok().flatten()
    }
}

impl Drop for Expected {
    fn drop(&mut self) {
        self.receiver.close();
        let mut waiting = lock(&self.waiting);
        if let Some(waiters) = waiting.get_mut(&self.key) {
            waiters.retain(|waiter| !waiter.is_closed());
            if waiters.is_empty() {
                waiting.remove(&self.key);
            }
        }
    }
}
