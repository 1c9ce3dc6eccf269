//! What an action costs the server: messages ever stored, by the server's own counters.

use std::collections::BTreeMap;

use aip_bus::{
    nats::NatsPort,
    subjects::{AIP_JOURNAL, KV_AIP_LIVENESS},
    topology::{Held, held},
};
use aip_service::since_start;
use anyhow::Context as _;
use serde_json::{Value, json};

use super::{
    fleet::{Kind, OverNats},
    target::Target,
};
use crate::failure::Failure;

/// Looks at all streams of account `AIP`.
pub(super) struct Census {
    port: NatsPort,
}

/// The writes of actions of one kind, by stream.
#[derive(Clone, Debug)]
pub(super) struct Writes {
    pub(super) kind: Kind,
    pub(super) actions: u32,
    /// Of the actions.
    pub(super) streams: BTreeMap<String, u64>,
    /// Keep-alives of connectors in the same time, which come with or without actions, a second.
    pub(super) liveness_rate: f64,
    /// Mean bytes of an entry of the journal.
    pub(super) entry_bytes: u64,
}

impl Writes {
    pub(super) fn per_action(&self, writes: u64) -> f64 {
        per(writes, f64::from(self.actions))
    }

    pub(super) fn total(&self) -> f64 {
        self.per_action(self.streams.values().sum())
    }

    pub(super) fn document(&self) -> Value {
        json!({
            "kind": self.kind.name(),
            "capability_id": self.kind.capability(),
            "actions": self.actions,
            "writes": self.streams,
            "writes_per_action": self.total(),
            "liveness_writes_per_second": self.liveness_rate,
            "journal_entry_bytes": self.entry_bytes,
        })
    }
}

#[expect(clippy::cast_precision_loss, reason = "a mean for people")]
fn per(writes: u64, of: f64) -> f64 {
    writes as f64 / of
}

impl Census {
    pub(super) async fn open(target: &Target) -> Result<Self, Failure> {
        Ok(Self { port: target.as_observer().await? })
    }

    /// Copies of the journal.
    pub(super) async fn replicas(&self) -> Result<u8, Failure> {
        Ok(self.look().await?.get(AIP_JOURNAL).map_or(1, |journal| journal.replicas))
    }

    async fn look(&self) -> Result<BTreeMap<String, Held>, Failure> {
        let all = held(&self.port).await.context("reading the server's counters as `observer`")?;
        Ok(all.into_iter().map(|stream| (stream.name.clone(), stream)).collect())
    }

    /// Calls so many times, one after another, and tells what every stream has stored since.
    pub(super) async fn count(&self, caller: &OverNats, kind: Kind, actions: u32) -> Result<Writes, Failure> {
        let caller = caller.anew()?;
        let (before, began) = (self.look().await?, since_start());
        for _ in 0..actions {
            caller.call(kind, super::load::fresh()).await?;
        }
        let (after, took) = (self.look().await?, began.elapsed());
        let grown = |name: &str, of: fn(&Held) -> u64| {
            let was = before.get(name).map_or(0, of);
            after.get(name).map_or(0, of).saturating_sub(was)
        };
        let mut streams = BTreeMap::new();
        for name in after.keys().filter(|name| *name != KV_AIP_LIVENESS) {
            let writes = grown(name, |stream| stream.stored_ever);
            if writes > 0 {
                streams.insert(name.clone(), writes);
            }
        }
        let bytes = grown(AIP_JOURNAL, |journal| journal.bytes);
        let entry_bytes = bytes.checked_div(streams.get(AIP_JOURNAL).copied().unwrap_or_default()).unwrap_or_default();
        let liveness_rate = per(grown(KV_AIP_LIVENESS, |stream| stream.stored_ever), took.as_secs_f64());
        Ok(Writes { kind, actions, streams, liveness_rate, entry_bytes })
    }
}
