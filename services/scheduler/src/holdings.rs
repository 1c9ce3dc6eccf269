//! The actions whose lane message this process holds, with what it last knew of each.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use aip_bus::{Loaded, subjects::RecordKey, work::Fence};
use aip_core::action::{ActionRecord, Phase};
use aip_service::since_start;
use aip_types::limits;
use tokio::{
    sync::watch,
    time::{Duration, Instant},
};

/// A lease taken this recently needs no look at its key: it cannot be over (`design.md` §4.3).
const SURELY_HELD: Duration = Duration::from_millis(limits::LEASE_MS - 2 * limits::LEASE_RENEW_MS);

/// One held action.
#[derive(Debug)]
pub(crate) struct Holding {
    latest: watch::Sender<Loaded<ActionRecord>>,
    lease: Mutex<Option<(Fence, Instant)>>,
}

impl Holding {
    /// The record as this process last knew it. Others may have moved it since.
    pub(crate) fn latest(&self) -> Loaded<ActionRecord> {
        self.latest.borrow().clone()
    }

    /// Learns a newer entry; older ones change nothing.
    pub(crate) fn learn(&self, loaded: &Loaded<ActionRecord>) {
        self.latest.send_if_modified(|latest| {
            let newer = loaded.sequence > latest.sequence;
            if newer {
                *latest = loaded.clone();
            }
            newer
        });
    }

    /// Tells of every change from now on.
    pub(crate) fn follow(&self) -> watch::Receiver<Loaded<ActionRecord>> {
        self.latest.subscribe()
    }

    /// Resolves when nobody wants the work any more: it is to be stopped, or over.
    pub(crate) async fn unwanted(&self) {
        let mut changes = self.follow();
        loop {
            let phase = changes.borrow_and_update().entry.state.phase.clone();
            if phase.is_terminal() || matches!(phase, Phase::Cancelling(_)) {
                return;
            }
            if changes.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }

    /// Remembers a lease that was asked for at this time and given.
    pub(crate) fn leased(&self, fence: Fence, asked: Instant) {
        *lock(&self.lease) = Some((fence, asked));
    }

    /// Whether the lease with this fence can only be ours still.
    pub(crate) fn surely_has(&self, fence: Fence) -> bool {
        lock(&self.lease)
            .is_some_and(|(held, asked)| held == fence && since_start().duration_since(asked) < SURELY_HELD)
    }
}

/// All of them. Bounded by the lanes' in-flight bound.
#[derive(Clone, Debug, Default)]
pub(crate) struct Holdings {
    held: Arc<Mutex<HashMap<RecordKey, Arc<Holding>>>>,
}

impl Holdings {
    /// Holds an action until the guard is dropped.
    pub(crate) fn hold(&self, key: &RecordKey, loaded: Loaded<ActionRecord>) -> Guard {
        let holding = Arc::new(Holding { latest: watch::Sender::new(loaded), lease: Mutex::new(None) });
        lock(&self.held).insert(key.clone(), Arc::clone(&holding));
        Guard { holdings: self.clone(), key: key.clone(), holding }
    }

    pub(crate) fn get(&self, key: &RecordKey) -> Option<Arc<Holding>> {
        lock(&self.held).get(key).cloned()
    }
}

/// Holds one action while it lives.
pub(crate) struct Guard {
    holdings: Holdings,
    key: RecordKey,
    pub(crate) holding: Arc<Holding>,
}

impl Drop for Guard {
    fn drop(&mut self) {
        let mut held = lock(&self.holdings.held);
        if held.get(&self.key).is_some_and(|holding| Arc::ptr_eq(holding, &self.holding)) {
            held.remove(&self.key);
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
