//! What connectors say about their attempts: begin, chunk, result, heartbeat. Bound to the record by connector, fence and
//! instance (`design.md` §4.4); whichever scheduler gets it decides.

use std::{collections::HashMap, sync::Arc};

use aip_bus::{
    BusError, Headers, Inbound, Loaded, Source,
    subjects::{ConnectorName, RecordKey, Report, Tenant, parse_report, report_all},
    work::{Attempt, Begin, ChunkReport, Heartbeats, ResultReport, Verdict},
};
use aip_core::action::{ActionRecord, Grant, Phase, Rejection, Trigger};
use aip_service::{Context, Driven, drive};
use aip_types::{ActionId, StreamChunk, document, exact, limits};
use anyhow::Context as _;
use futures::StreamExt;
use serde::de::DeserializeOwned;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::Scheduler;

/// Reports of one kind that one connector may have in work here; more must be repeated, so that none can fill the process.
const IN_WORK_MAX: usize = limits::IN_FLIGHT_MAX;

impl Scheduler {
    pub(crate) async fn answer_reports(&self, ctx: &Context) -> anyhow::Result<()> {
        for report in [Report::Begin, Report::Chunk, Report::Result, Report::Heartbeat] {
            let subject = report_all(report);
            let mut inbound = self
                .front
                .port()
                .subscribe(&subject, Some(ctx.name))
                .await
                .with_context(|| format!("subscribing {subject}"))?;
            let scheduler = self.clone();
            self.tasks.spawn_until_drain(async move {
                let mut rooms: HashMap<ConnectorName, Arc<Semaphore>> = HashMap::new();
                while let Some(message) = inbound.next().await {
                    let Some((connector, report)) = parse_report(&message.subject) else { continue };
                    let room = rooms.entry(connector.clone()).or_insert_with(|| Arc::new(Semaphore::new(IN_WORK_MAX)));
                    let permit = Arc::clone(room).try_acquire_owned().ok();
                    let reporting = scheduler.clone();
                    scheduler.tasks.spawn(async move { reporting.on_report(message, connector, report, permit).await });
                }
            });
        }
        Ok(())
    }

    async fn on_report(
        &self,
        message: Inbound,
        connector: ConnectorName,
        report: Report,
        permit: Option<OwnedSemaphorePermit>,
    ) {
        let verdict = match report {
            Report::Register | Report::Alive => return,
            Report::Begin | Report::Chunk | Report::Result | Report::Heartbeat if permit.is_none() => {
                Ok(Verdict::Later)
            }
            Report::Begin => self.decode(&message, |begin: Begin| self.on_begin(&connector, begin.attempt)).await,
            Report::Chunk => self.decode(&message, |chunk| self.on_chunk(&connector, chunk)).await,
            Report::Result => self.decode(&message, |result| self.on_outcome(&connector, result)).await,
            Report::Heartbeat => self.decode(&message, |beats| self.on_heartbeats(&connector, beats)).await,
        };
        let verdict = verdict.unwrap_or_else(|fault| {
            let verdict = match fault {
                BusError::Busy | BusError::NoResponders | BusError::Unavailable(_) | BusError::Conflict => Verdict::Later,
                BusError::Undecodable(_) => Verdict::Invalid,
                BusError::Refused { .. } => Verdict::Stale,
            };
            tracing::warn!(%fault, connector = connector.as_str(), ?report, verdict = verdict.as_str(), "a report failed");
            verdict
        });
        metrics::counter!("aip_connector_reports_total", "report" => report.as_str(), "verdict" => verdict.as_str())
            .increment(1);
        let answered = match serde_json::to_vec(&verdict) {
            Ok(payload) => self.bus.reply(&message, Headers::new(), payload.into()).await,
            Err(fault) => Err(BusError::Undecodable(Box::new(fault))),
        };
        if let Err(fault) = answered {
            tracing::debug!(%fault, "answering a report");
        }
    }

    async fn decode<M: DeserializeOwned, F: Future<Output = Result<Verdict, BusError>>>(
        &self,
        message: &Inbound,
        on: impl FnOnce(M) -> F,
    ) -> Result<Verdict, BusError> {
        let body = exact::read(&message.payload).map_err(|fault| BusError::Undecodable(Box::new(fault)))?;
        on(body).await
    }

    /// Nothing runs before its `started` is stored, and it is stored only while the lease carries the fence.
    async fn on_begin(&self, connector: &ConnectorName, attempt: Attempt) -> Result<Verdict, BusError> {
        let Some((key, known)) = self.attempted(connector, &attempt).await? else { return Ok(Verdict::Stale) };
        let holding = self.holdings.get(&key);
        let sure = holding.as_ref().is_some_and(|holding| holding.surely_has(attempt.fence));
        // Asked again: it has begun already, and only a newer entry of the record would make it stale.
        let leased = sure
            || runs(&known, &attempt)
            || self.bus.lease(&key).await?.is_some_and(|lease| lease.fence == attempt.fence);
        let known = if leased {
            known
        } else {
            // The lease may have run out after `started` was stored, in an outage that kept its answer from everybody.
            match self.bus.load(&key, Source::Leader).await? {
                Some(loaded) if runs(&loaded, &attempt) => loaded,
                Some(_) | None => return Ok(Verdict::Stale),
            }
        };
        let chunk_base = if known.entry.state.attempts == 0 { 0 } else { self.bus.next_chunk(&key).await? };
        // The key carries this fence, and a key is taken only when every earlier lease is over.
        let trigger = Trigger::Start { grant: grant(&attempt), over: true, chunk_base };
        match drive(&self.bus, &key, "begin", &trigger, Some(known)).await? {
            Driven::Saved(saved) => {
                if let Some(holding) = holding {
                    holding.learn(&saved);
                }
                Ok(Verdict::Go)
            }
            Driven::Refused(Rejection::Repeated, _) => Ok(Verdict::Go),
            Driven::Refused(..) | Driven::Absent => Ok(Verdict::Stale),
        }
    }

    async fn on_chunk(&self, connector: &ConnectorName, report: ChunkReport) -> Result<Verdict, BusError> {
        let ChunkReport { attempt, sequence, kind, data } = report;
        let Some((key, loaded)) = self.attempted(connector, &attempt).await? else { return Ok(Verdict::Stale) };
        let loaded = if runs(&loaded, &attempt) {
            Some(loaded)
        } else {
            self.bus.load::<ActionRecord>(&key, Source::Leader).await?
        };
        let Some(loaded) = loaded.filter(|loaded| runs(loaded, &attempt)) else { return Ok(Verdict::Stale) };
        let bytes = data.as_ref().map_or(0, |data| data.to_string().len());
        let base = loaded.entry.state.chunk_base;
        let numbers = base..base.saturating_add(limits::CHUNKS_PER_ATTEMPT_MAX);
        let deep = data.as_ref().is_some_and(|data| document::deeper_than(data, limits::OUTPUT_DEPTH_MAX));
        if bytes > limits::CHUNK_BYTES_MAX || deep || !numbers.contains(&sequence) {
            return Ok(Verdict::Stale);
        }
        let chunk = StreamChunk { action_id: ActionId::new(attempt.action), sequence, kind, data, part: None };
        self.bus.append_chunk(&key, attempt.fence, &chunk).await?;
        self.announce_chunk(&key, &loaded.entry.state, chunk).await?;
        Ok(Verdict::Go)
    }

    async fn on_outcome(&self, connector: &ConnectorName, report: ResultReport) -> Result<Verdict, BusError> {
        let ResultReport { attempt, outcome } = report;
        let Some((key, known)) = self.attempted(connector, &attempt).await? else { return Ok(Verdict::Stale) };
        // Judged before anything of it is kept: a stale result leaves nothing behind.
        let known = if awaits(&known, &attempt) { Some(known) } else { self.bus.load(&key, Source::Leader).await? };
        let Some(known) = known.filter(|known| awaits(known, &attempt)) else { return Ok(Verdict::Stale) };
        let settled = self.settled(&known.entry.state, outcome).await?;
        let chunks_last = if known.entry.state.is_plain_read() { None } else { self.chunks_last(&key, &known).await? };
        let trigger = Trigger::Settle { grant: Some(grant(&attempt)), settled, chunks_last };
        match drive(&self.bus, &key, "result", &trigger, Some(known)).await? {
            Driven::Saved(saved) => {
                // It is stored, so nothing is asked for again; whoever was not told looks by himself.
                if let Err(fault) = self.announce(&key, &saved).await {
                    tracing::warn!(%fault, "announcing a result");
                }
                Ok(Verdict::Go)
            }
            Driven::Refused(..) | Driven::Absent => Ok(Verdict::Stale),
        }
    }

    /// Number of the last chunk, so that a follower knows where to end. Only streaming work is worth the read.
    async fn chunks_last(&self, key: &RecordKey, known: &Loaded<ActionRecord>) -> Result<Option<u64>, BusError> {
        let snapshot = self.catalogue.now();
        let contract = snapshot
            .find(&known.entry.state.capability_id)
            .and_then(|(offered, _)| offered.capability.contract.clone());
        if !contract.is_some_and(|contract| contract.execution.supports_streaming) {
            return Ok(None);
        }
        Ok(self.bus.next_chunk(key).await?.checked_sub(1))
    }

    async fn on_heartbeats(&self, connector: &ConnectorName, beats: Heartbeats) -> Result<Verdict, BusError> {
        for attempt in beats.attempts.into_iter().take(usize::try_from(limits::LIST_PAGE_MAX).unwrap_or(usize::MAX)) {
            let Some((key, known)) = self.attempted(connector, &attempt).await? else { continue };
            if !runs(&known, &attempt) {
                continue;
            }
            if !self.bus.renew_lease(&key, attempt.fence).await? {
                tracing::info!(
                    action = attempt.action,
                    fence = attempt.fence.0,
                    "a heartbeat came for a lease that is lost"
                );
            }
        }
        Ok(Verdict::Go)
    }

    /// The record that an attempt is about, as this process knows it or as the nearest replica has it. `None`: there is none, or
    /// it is not this connector's; a record never changes its connector, so a stale copy tells as much.
    async fn attempted(
        &self,
        connector: &ConnectorName,
        attempt: &Attempt,
    ) -> Result<Option<(RecordKey, Loaded<ActionRecord>)>, BusError> {
        if attempt.instance.len() > limits::ID_BYTES_MAX || attempt.action.len() > limits::ID_BYTES_MAX {
            return Ok(None);
        }
        let Ok(tenant) = Tenant::new(&attempt.tenant) else { return Ok(None) };
        let key = RecordKey::action(tenant, &attempt.action);
        let known = match self.holdings.get(&key) {
            Some(holding) => Some(holding.latest()),
            None => match self.bus.load(&key, Source::Nearest).await? {
                Some(loaded) => Some(loaded),
                None => self.bus.load(&key, Source::Leader).await?,
            },
        };
        Ok(known.filter(|known| known.entry.state.connector == connector.as_str()).map(|known| (key, known)))
    }
}

fn grant(attempt: &Attempt) -> Grant {
    Grant { fence: attempt.fence.0, instance: attempt.instance.clone() }
}

/// Whether a result of this attempt can settle the record.
fn awaits(loaded: &Loaded<ActionRecord>, attempt: &Attempt) -> bool {
    let phase = &loaded.entry.state.phase;
    let open = matches!(phase, Phase::Running(_) | Phase::Cancelling(_) | Phase::OutcomeUnknown(_));
    open && phase.grant() == Some(&grant(attempt))
}

fn runs(loaded: &Loaded<ActionRecord>, attempt: &Attempt) -> bool {
    let phase = &loaded.entry.state.phase;
    matches!(phase, Phase::Running(_) | Phase::Cancelling(_)) && phase.grant() == Some(&grant(attempt))
}
