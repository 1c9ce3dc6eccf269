//! The lanes: what is queued, and what came due.

use std::{sync::Arc, time::Duration};

use aip_bus::{
    BusError, CANCEL, CancelAsked, DEADLINE, Loaded, Messages, Received,
    subjects::{AIP_TRIGGERS, DueSubject, Lane, LaneKind, RecordKey, lane},
    work::{Control, Fence, StopReason},
};
use aip_core::action::{ActionRecord, Rejection, Trigger};
use aip_service::{Driven, drive, now};
use aip_types::limits;
use anyhow::Context as _;
use futures::StreamExt;
use tokio::sync::Semaphore;

use crate::Scheduler;

/// Redelivery of a message whose processing failed.
const AGAIN: Duration = Duration::from_secs(1);

impl Scheduler {
    /// Pulls every lane, each message in a task of its own, at most `in_flight_max` at once.
    pub(crate) async fn pull_lanes(&self, in_flight_max: usize) -> anyhow::Result<()> {
        let room = Arc::new(Semaphore::new(in_flight_max));
        let (scheduler, queued) = (self.clone(), lane(LaneKind::Queued));
        let messages = self.pull(queued, limits::LANE_PREFETCH_MAX).await?;
        self.tasks.spawn_until_drain(async move { scheduler.take_queued(queued, messages, room).await });
        let (scheduler, due) = (self.clone(), lane(LaneKind::DueAction));
        let messages = self.pull(due, limits::DUE_IN_FLIGHT_MAX).await?;
        self.tasks.spawn_until_drain(async move { scheduler.take_due(messages).await });
        Ok(())
    }

    async fn pull(&self, lane: Lane, in_flight: usize) -> anyhow::Result<Messages<Received>> {
        self.bus
            .port()
            .pull(lane.stream, lane.consumer, in_flight)
            .await
            .with_context(|| format!("pulling {}", lane.consumer))
    }

    async fn take_queued(&self, lane: Lane, mut messages: Messages<Received>, room: Arc<Semaphore>) {
        while let Some(received) = messages.next().await {
            let Ok(permit) = Arc::clone(&room).acquire_owned().await else { return };
            let scheduler = self.clone();
            self.tasks.spawn(async move {
                if let Err(fault) = scheduler.hold(&received, lane.stream, lane.consumer).await {
                    tracing::warn!(%fault, subject = received.stored.subject, "a queued action waits for its redelivery");
                    metrics::counter!("aip_lane_faults_total").increment(1);
                    if let Err(fault) = received.handle.nak(AGAIN).await {
                        tracing::debug!(%fault, "asking for the redelivery");
                    }
                }
                drop(permit);
            });
        }
    }

    async fn take_due(&self, mut messages: Messages<Received>) {
        while let Some(received) = messages.next().await {
            let scheduler = self.clone();
            self.tasks.spawn(async move {
                let done = match scheduler.on_due(&received).await {
                    Ok(()) => received.handle.ack().await,
                    Err(fault) => {
                        tracing::warn!(%fault, subject = received.stored.subject, "a timer waits for its redelivery");
                        received.handle.nak(AGAIN).await
                    }
                };
                if let Err(fault) = done {
                    tracing::debug!(%fault, "acknowledging a timer");
                }
            });
        }
    }

    /// What came due for an action, or was asked for.
    async fn on_due(&self, received: &Received) -> Result<(), BusError> {
        let Some(DueSubject { key, purpose, nonce }) = DueSubject::parse(&received.stored.subject) else {
            return self.bus.quarantine(AIP_TRIGGERS, "due", &received.stored, "subject").await;
        };
        match purpose.as_str() {
            DEADLINE => self.on_deadline(&key, &nonce).await,
            CANCEL => match serde_json::from_slice::<CancelAsked>(&received.stored.payload) {
                Ok(asked) => self.on_cancel(&key, asked).await,
                Err(_) => self.bus.quarantine(AIP_TRIGGERS, "due", &received.stored, "undecodable").await,
            },
            _ => self.bus.quarantine(AIP_TRIGGERS, "due", &received.stored, "purpose").await,
        }
    }

    /// Somebody wants it stopped: the wish is recorded, then whoever works is told (AIP 1.0 §11.8).
    async fn on_cancel(&self, key: &RecordKey, asked: CancelAsked) -> Result<(), BusError> {
        let CancelAsked { message, by, reason } = asked;
        match drive(&self.bus, key, message.as_str(), &Trigger::Cancel { by, reason }, None).await? {
            Driven::Saved(saved) => {
                self.stop(&saved.entry.state, StopReason::Cancelled).await?;
                self.heard(key, &saved).await
            }
            // Told again, where it was not heard the first time.
            Driven::Refused(Rejection::Repeated, loaded) => self.stop(&loaded.entry.state, StopReason::Cancelled).await,
            Driven::Refused(..) | Driven::Absent => Ok(()),
        }
    }

    /// What a trigger made of a record is told to whom it concerns.
    async fn heard(&self, key: &RecordKey, saved: &Loaded<ActionRecord>) -> Result<(), BusError> {
        if saved.entry.state.phase.is_settled_or_parked() {
            return self.announce(key, saved).await;
        }
        if let Some(holding) = self.holdings.get(key) {
            holding.learn(saved);
        }
        Ok(())
    }

    /// A deadline came. A timer that is not the one in the record is ignored.
    async fn on_deadline(&self, key: &RecordKey, nonce: &str) -> Result<(), BusError> {
        let Some(loaded) = self.bus.load::<ActionRecord>(key, aip_bus::Source::Leader).await? else { return Ok(()) };
        if nonce != deadline_nonce(&loaded.entry.state) || loaded.entry.state.phase.is_settled_or_parked() {
            return Ok(());
        }
        let driven = drive(&self.bus, key, DEADLINE, &Trigger::DeadlineDue, Some(loaded.clone())).await?;
        // After the step: a handler that stops at once is believed only then.
        self.stop(&loaded.entry.state, StopReason::DeadlinePassed).await?;
        match driven {
            Driven::Saved(saved) => self.heard(key, &saved).await,
            Driven::Refused(..) | Driven::Absent => Ok(()),
        }
    }

    /// Tells the connector of a running attempt to stop. Nobody need hear it: the lease ends anyway.
    pub(crate) async fn stop(&self, record: &ActionRecord, reason: StopReason) -> Result<(), BusError> {
        let (Some(grant), Ok(connector)) = (record.grant(), aip_bus::subjects::ConnectorName::new(&record.connector))
        else {
            return Ok(());
        };
        let control = Control { fence: Fence(grant.fence), reason };
        let payload = serde_json::to_vec(&control).map_err(|fault| BusError::Undecodable(Box::new(fault)))?;
        let subject = aip_bus::subjects::control(&connector, record.id.as_str());
        self.bus.port().publish(&subject, None, aip_bus::Headers::new(), payload.into()).await
    }

    /// Makes the deadline durable, once the work outlives a part of its first lease (`design.md` §4.9).
    pub(crate) async fn arm_deadline(&self, key: &RecordKey, record: &ActionRecord) -> Result<(), BusError> {
        if record.deadline <= now() {
            return Ok(());
        }
        self.bus.arm(key, DEADLINE, &deadline_nonce(record), record.deadline).await
    }
}

/// The deadline never moves, so it names its one timer.
fn deadline_nonce(record: &ActionRecord) -> String {
    format!("{:x}", record.deadline.0)
}
