//! The audit line of a refusal: bounded for each principal, so that nobody can fill the stream by being refused.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use aip_bus::Bus;
use aip_types::{Millis, limits};
use serde_json::json;

use crate::{clock::now, receive::Refused};

/// Lines that a principal may cause in one window.
const LINES_MAX: u32 = 10;
/// The window.
const WINDOW_MS: u64 = 60_000;
/// Principals that are counted apart; all others share one count.
const PRINCIPALS_MAX: usize = 4_096;

/// Writes the lines of one process.
#[derive(Clone, Debug)]
pub(crate) struct Audit {
    bus: Bus,
    service: &'static str,
    counts: Arc<Mutex<HashMap<String, (Millis, u32)>>>,
}

impl Audit {
    pub(crate) fn new(bus: Bus, service: &'static str) -> Self {
        Self { bus, service, counts: Arc::default() }
    }

    /// Adds the line of a refusal, if its principal has caused few lately.
    pub(crate) async fn refused(&self, refused: &Refused) {
        let principal = refused.caller.as_ref().map_or("=", |known| known.principal.id.as_str());
        let at = now();
        if !self.admits(principal, at) {
            metrics::counter!("aip_audit_suppressed_total").increment(1);
            return;
        }
        let line = json!({
            "at": at.0,
            "service": self.service,
            "principal": principal,
            "code": refused.error.code,
            "message_id": refused.correlation.message_id,
            "correlation_id": refused.correlation.correlation_id,
        });
        let tenant = refused.caller.as_ref().map(|known| &known.tenant);
        if let Err(fault) = self.bus.audit(tenant, "refused", &line).await {
            tracing::warn!(%fault, "writing an audit line");
        }
    }

    fn admits(&self, principal: &str, at: Millis) -> bool {
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        if counts.len() >= PRINCIPALS_MAX && !counts.contains_key(principal) {
            counts.retain(|_, (since, _)| since.plus(WINDOW_MS) > at);
        }
        let name = if counts.len() >= PRINCIPALS_MAX && !counts.contains_key(principal) { "=" } else { principal };
        let (since, count) = counts.entry(name.to_owned()).or_insert((at, 0));
        if since.plus(WINDOW_MS) <= at {
            (*since, *count) = (at, 0);
        }
        *count = count.saturating_add(1);
        *count <= LINES_MAX
    }
}

/// Bytes of an id that stands in an audit line are bounded where the id was read.
const _: () = assert!(limits::ID_BYTES_MAX <= limits::RECORD_INLINE_BYTES_MAX);
