//! Waiting for a record to settle: live first, and the leader again and again, since interest takes time to cross a cluster.

use std::time::Duration;

use aip_bus::{Bus, Loaded, Source, subjects::RecordKey};
use aip_core::action::ActionRecord;
use futures::StreamExt;

const FIRST_LOOK: Duration = Duration::from_millis(250);
const LAST_LOOK: Duration = Duration::from_secs(2);

/// The record when it is settled or parked, or as it stands after this time.
pub async fn wait_settled(
    bus: &Bus,
    key: &RecordKey,
    record: Loaded<ActionRecord>,
    within: Duration,
) -> Loaded<ActionRecord> {
    let mut latest = record;
    let look = async {
        let mut live = match bus.port().subscribe(&key.live(), None).await {
            Ok(live) => live,
            Err(fault) => {
                tracing::warn!(%fault, "following a record");
                Box::pin(futures::stream::pending())
            }
        };
        let mut delay = Duration::ZERO;
        while !latest.entry.state.phase.is_settled_or_parked() {
            if !delay.is_zero() {
                tokio::select! { _ = live.next() => {} () = tokio::time::sleep(delay) => {} }
            }
            delay = (delay * 2).clamp(FIRST_LOOK, LAST_LOOK);
            match bus.load::<ActionRecord>(key, Source::Leader).await {
                Ok(Some(loaded)) => latest = loaded,
                Ok(None) => {}
                Err(fault) => tracing::debug!(%fault, "looking at a record again"),
            }
        }
    };
    // Out of time is an answer too: the record as it stands.
    drop(tokio::time::timeout(within, look).await);
    latest
}
