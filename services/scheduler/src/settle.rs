//! The end of an attempt: the output is checked, the terminal entry stored, and everybody told.

use std::time::Duration;

use aip_bus::{
    BusError, Headers, Inbound, Loaded, Messages,
    subjects::{EntrySubject, RecordKey, RecordKind, Token, correlation, live_events},
    work::Outcome,
};
use aip_core::action::{self, ActionRecord, Settled};
use aip_service::{Correlation, envelope, transport};
use aip_types::{ErrorCode, MessageBody, ProtocolError, StreamChunk, document, limits};
use anyhow::Context as _;
use futures::StreamExt;

use crate::{Scheduler, attempt::tenant};

/// How long the news of a settlement waits for the word of this process itself.
const OWN_SETTLEMENT: Duration = Duration::from_millis(20);
/// Events that a holder must hear of: after them its lane message is not needed any more, or its work is not wanted.
const HEARD: [&str; 8] =
    ["completed", "failed", "cancelled", "expired", "dead_lettered", "outcome_unknown", "input_required", "cancelling"];

impl Scheduler {
    /// What a handler answered, as the record takes it: an output that violates its schema is a failure (AIP 1.0 §11.7).
    pub(crate) async fn settled(&self, record: &ActionRecord, outcome: Outcome) -> Result<Settled, BusError> {
        let output = match outcome {
            Outcome::Completed { output } => output,
            Outcome::Failed { error, uncertain } => return Ok(Settled::Failed { error: bounded(error), uncertain }),
            Outcome::Cancelled {} => return Ok(Settled::Cancelled {}),
        };
        let bytes = serde_json::to_vec(&output).map_or(usize::MAX, |text| text.len());
        if bytes > limits::OUTPUT_BYTES_MAX || document::deeper_than(&output, limits::OUTPUT_DEPTH_MAX) {
            let error = ProtocolError::from(ErrorCode::OutputInvalid).with_finding("", "output_bounds");
            return Ok(Settled::Failed { error, uncertain: false });
        }
        let snapshot = self.catalogue.now();
        let schema = snapshot.find(&record.capability_id).and_then(|(offered, _)| offered.output.clone());
        if let Some(fault) = schema.and_then(|schema| schema.check(&output).err()) {
            let error = ProtocolError::from(ErrorCode::OutputInvalid).with_finding(&fault.pointer, &fault.rule);
            return Ok(Settled::Failed { error, uncertain: false });
        }
        Ok(Settled::Completed { output: self.bus.hold(&tenant(record)?, output).await? })
    }

    /// Tells of a settled or parked record, after it was stored: the first caller's process, the holder in this process,
    /// and the correlation stream of the tenant.
    pub(crate) async fn announce(&self, key: &RecordKey, saved: &Loaded<ActionRecord>) -> Result<(), BusError> {
        if let Some(holding) = self.holdings.get(key) {
            holding.learn(saved);
        }
        metrics::counter!("aip_actions_settled_total", "event" => event(&saved.entry.state)).increment(1);
        if let Some(inbox) = &saved.entry.notify {
            self.bus.port().publish(inbox, None, Headers::new(), saved.text.clone()).await?;
        }
        let record = &saved.entry.state;
        if record.correlation_id.is_some() && record.phase.is_terminal() {
            let output = match &record.output {
                Some(held) => Some(self.bus.held(&key.tenant, held).await?),
                None => None,
            };
            if let Ok(result) = action::result(record, output) {
                self.correlate(key, record, MessageBody::from(result)).await?;
            }
        }
        Ok(())
    }

    /// Puts a stored chunk on the correlation stream.
    pub(crate) async fn announce_chunk(
        &self,
        key: &RecordKey,
        record: &ActionRecord,
        chunk: StreamChunk,
    ) -> Result<(), BusError> {
        if record.correlation_id.is_none() {
            return Ok(());
        }
        self.correlate(key, record, MessageBody::from(chunk)).await
    }

    async fn correlate(&self, key: &RecordKey, record: &ActionRecord, body: MessageBody) -> Result<(), BusError> {
        let Some(Ok(token)) = record.correlation_id.as_ref().map(|id| Token::new(id.as_str())) else { return Ok(()) };
        let correlation_of = Correlation {
            message_id: Some(record.request.clone()),
            correlation_id: record.correlation_id.clone(),
            session_id: record.session_id.clone(),
            to: Some(record.principal.clone()),
        };
        let (headers, payload) = transport(&envelope(&correlation_of, body))?;
        self.bus.port().publish(&correlation(&key.tenant, &token), None, headers, payload).await
    }

    /// Learns of settlements and cancellations by others from the live republish, one subscription an event for the whole process.
    pub(crate) async fn follow_settlements(&self) -> anyhow::Result<()> {
        for event in HEARD {
            let subject = live_events(RecordKind::Action, event);
            let live =
                self.bus.port().subscribe(&subject, None).await.with_context(|| format!("subscribing {subject}"))?;
            let scheduler = self.clone();
            self.tasks.spawn_until_drain(async move { scheduler.learn(live).await });
        }
        Ok(())
    }

    async fn learn(&self, mut live: Messages<Inbound>) {
        while let Some(message) = live.next().await {
            let Some(EntrySubject { key, .. }) = EntrySubject::parse(&message.subject) else { continue };
            let Some(holding) = self.holdings.get(&key) else { continue };
            if holding.latest().entry.state.phase.is_settled_or_parked() {
                continue;
            }
            // The live copy of what this process settles itself tends to overtake the acknowledgement.
            self.tasks.spawn(async move {
                tokio::time::sleep(OWN_SETTLEMENT).await;
                if holding.latest().entry.state.phase.is_settled_or_parked() {
                    return;
                }
                match Loaded::decode_live(&message) {
                    Ok(loaded) => holding.learn(&loaded),
                    Err(fault) => tracing::warn!(%fault, "a settlement is not understood"),
                }
            });
        }
    }
}

/// A connector's error as a record can keep it: one that is too large loses what only explains it.
fn bounded(mut error: ProtocolError) -> ProtocolError {
    let bytes = |error: &ProtocolError| serde_json::to_vec(error).map_or(usize::MAX, |text| text.len());
    if bytes(&error) > limits::ERROR_BYTES_MAX {
        (error.details, error.source) = (None, None);
    }
    if bytes(&error) > limits::ERROR_BYTES_MAX { ErrorCode::ConnectorFailed.into() } else { error }
}

fn event(record: &ActionRecord) -> &'static str {
    if record.phase.is_settled_or_parked() { record.phase.name() } else { "open" }
}
