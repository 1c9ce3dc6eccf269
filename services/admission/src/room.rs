//! How much unfinished work each tenant has given this process: a bound, not an account (`design.md` §4.8).

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use aip_bus::subjects::{RecordKey, Tenant};
use aip_types::{Millis, limits};

#[derive(Default)]
pub(crate) struct Room {
    open: Mutex<HashMap<Tenant, HashMap<RecordKey, Millis>>>,
}

impl Room {
    /// Whether a tenant may add work. Work whose end was not heard of is forgotten after its deadline.
    pub(crate) fn has_room(&self, tenant: &Tenant, at: Millis) -> bool {
        let mut open = self.lock();
        let Some(work) = open.get_mut(tenant) else { return true };
        if work.len() >= limits::QUEUED_PER_TENANT_MAX {
            work.retain(|_, deadline| *deadline > at);
        }
        work.len() < limits::QUEUED_PER_TENANT_MAX
    }

    /// Counts work. `false`: it was counted already.
    pub(crate) fn enter(&self, tenant: &Tenant, key: &RecordKey, deadline: Millis) -> bool {
        self.lock().entry(tenant.clone()).or_default().insert(key.clone(), deadline).is_none()
    }

    pub(crate) fn leave(&self, key: &RecordKey) {
        let mut open = self.lock();
        if let Some(work) = open.get_mut(&key.tenant) {
            work.remove(key);
            if work.is_empty() {
                open.remove(&key.tenant);
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Tenant, HashMap<RecordKey, Millis>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
