//! Heartbeats: they keep the leases of what runs here (`design.md` §4.3).

use std::{sync::Arc, time::Duration};

use aip_types::limits;

use crate::{attempts::Attempts, wire::Wire};

/// An attempt's lease is renewed when its last renewal is this old.
const RENEW: Duration = Duration::from_millis(limits::LEASE_RENEW_MS);
/// How often is looked.
const TICK: Duration = Duration::from_millis(limits::LEASE_RENEW_MS / 4);

/// Renews leases for ever.
pub(crate) async fn keep(wire: Wire, attempts: Arc<Attempts>) {
    loop {
        tokio::time::sleep(TICK).await;
        let due = attempts.due(RENEW, aip_service::since_start());
        if let Err(fault) = wire.beat(&due).await {
            tracing::warn!(%fault, attempts = due.len(), "heartbeats");
        }
    }
}
