//! Holding a lane message: resume by state, go on until the action is settled or parked, then acknowledge (`design.md` §4.1).

use std::time::Duration;

use aip_bus::{
    BusError, Loaded, Received, Source,
    subjects::{EntrySubject, RecordKey},
    work::{Fence, StopReason},
};
use aip_core::action::{ActionRecord, Phase, Settled, Trigger};
use aip_service::{Driven, drive, now, since_start};
use aip_types::{Millis, limits};
use tokio::time::{Instant, MissedTickBehavior};

use crate::{
    Scheduler,
    holdings::{Guard, Holding},
};

/// How often a holder says that it is at work.
const PROGRESS: Duration = Duration::from_millis(limits::ACK_WAIT_MS / 3);
/// How long a holder goes on when its process is told to end.
const DRAIN: Duration = Duration::from_secs(2);
/// When a message that a draining process lets go of comes to another.
const HANDED_ON: Duration = Duration::from_millis(100);
/// No lease of an entry of this age, in milliseconds, can be over; half a lease is left for clocks that differ.
const YOUNG_MS: u64 = limits::LEASE_MS / 2;
/// How often a holder looks for a settlement that it was not told of.
const LOOK: Duration = Duration::from_millis(700);

/// What a holder does next.
pub(crate) enum Next {
    /// Look at the record again and go on.
    Again,
    /// Look again, with a lease of ours in hand: every earlier one is over.
    AgainWith(Fence),
    /// Nothing can be done now: let go, and come back after this time.
    Later(Duration),
}

impl Scheduler {
    pub(crate) async fn hold(&self, received: &Received, stream: &str, consumer: &str) -> Result<(), BusError> {
        let (Some(EntrySubject { key, .. }), Ok(first)) =
            (EntrySubject::parse(&received.stored.subject), Loaded::<ActionRecord>::decode(&received.stored))
        else {
            self.bus.quarantine(stream, consumer, &received.stored, "undecodable").await?;
            return received.handle.term().await;
        };
        // On its first delivery the message is the record, or somebody was faster and the save will say so. But a server that was
        // killed forgets deliveries: what is old enough for a lease to have run out in an outage is read anew.
        let young = now().since(first.entry.state.updated_at) < YOUNG_MS;
        let current =
            if received.deliveries <= 1 && young { Some(first) } else { self.bus.load(&key, Source::Leader).await? };
        let Some(current) = current else { return received.handle.ack().await };
        let guard = self.holdings.hold(&key, current);
        let work = self.go_on(&key, &guard, received.deliveries);
        let draining = async {
            self.tasks.draining().await;
            tokio::time::sleep(DRAIN).await;
        };
        tokio::pin!(work, draining);
        let mut progress = tokio::time::interval_at(since_start() + PROGRESS, PROGRESS);
        progress.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                done = &mut work => return match done? {
                    None => received.handle.ack().await,
                    Some(later) => received.handle.nak(later).await,
                },
                _ = progress.tick() => received.handle.progress().await?,
                // What is left resumes by its state, elsewhere, at once.
                () = &mut draining => return received.handle.nak(HANDED_ON).await,
            }
        }
    }

    /// Works on an action until it is settled or parked (`None`), or must be let go for a time.
    async fn go_on(&self, key: &RecordKey, guard: &Guard, deliveries: u64) -> Result<Option<Duration>, BusError> {
        let holding = &guard.holding;
        let mut leased = None;
        loop {
            let current = holding.latest();
            let record = &current.entry.state;
            let next = match &record.phase {
                phase if phase.is_settled_or_parked() => return Ok(None),
                Phase::Queued {} | Phase::RetryDue(_) if now() >= record.deadline => {
                    self.end(key, holding, "deadline", Trigger::DeadlineDue).await?
                }
                Phase::Queued {} | Phase::RetryDue(_) if !record.attempts_left() => {
                    self.end(key, holding, "exhausted", Trigger::Exhausted).await?
                }
                Phase::RetryDue(_) if record.retry_at.is_some_and(|due| now() < due) => {
                    let wait = record.retry_at.map_or(0, |due| due.0.saturating_sub(now().0));
                    return Ok(Some(Duration::from_millis(wait.max(1))));
                }
                Phase::Queued {} if record.is_plain_read() => self.read(key, holding, &current).await?,
                Phase::Queued {} | Phase::RetryDue(_) => self.attempt(key, holding, &current, leased.take()).await?,
                // The offer of a plain read has been answered, or was never made.
                Phase::Cancelling(None) => {
                    let trigger = Trigger::Settle { grant: None, settled: Settled::Cancelled {}, chunks_last: None };
                    self.end(key, holding, "cancelled", trigger).await?
                }
                Phase::Running(grant) | Phase::Cancelling(Some(grant)) => match leased.take() {
                    // Taking ours proved every earlier one over, and the next attempt needs no other.
                    Some(fence) if grant.fence < fence.0 => {
                        self.stop(record, StopReason::LeaseLost).await?;
                        let over = Trigger::LeaseOver { fence: grant.fence };
                        self.end(key, holding, "lease", over).await.map(|_| Next::AgainWith(fence))?
                    }
                    Some(_) | None => self.watch(key, holding, &current).await?,
                },
                Phase::PendingApproval { .. }
                | Phase::InputRequired { .. }
                | Phase::OutcomeUnknown(_)
                | Phase::Completed {}
                | Phase::Failed {}
                | Phase::Cancelled {}
                | Phase::Expired {}
                | Phase::DeadLettered {} => return Ok(None),
            };
            match next {
                Next::Again => {}
                Next::AgainWith(fence) => leased = Some(fence),
                Next::Later(delay) => return Ok(Some(later(delay, deliveries, record.deadline))),
            }
        }
    }

    /// Drives a trigger that needs nobody else, and learns what came of it.
    async fn end(&self, key: &RecordKey, holding: &Holding, cause: &str, trigger: Trigger) -> Result<Next, BusError> {
        match drive(&self.bus, key, cause, &trigger, Some(holding.latest())).await? {
            Driven::Saved(saved) => {
                holding.learn(&saved);
                if saved.entry.state.phase.is_settled_or_parked() {
                    self.announce(key, &saved).await?;
                }
            }
            Driven::Refused(_, loaded) => holding.learn(&loaded),
            Driven::Absent => return Err(BusError::unavailable()),
        }
        Ok(Next::Again)
    }

    /// Watches an attempt: until the record moves, or its lease is over.
    pub(crate) async fn watch(
        &self,
        key: &RecordKey,
        holding: &Holding,
        current: &Loaded<ActionRecord>,
    ) -> Result<Next, BusError> {
        let began = since_start();
        let mut changes = holding.follow();
        let mut armed = false;
        let mut lease_ends = began + Duration::from_millis(limits::LEASE_MS);
        loop {
            // Subscribed after the copy was made: whatever came between is seen here.
            if changes.borrow_and_update().sequence != current.sequence {
                return Ok(Next::Again);
            }
            let settled_or_not = tokio::time::timeout(LOOK, changes.changed()).await;
            if settled_or_not.is_ok() {
                continue;
            }
            // Not told for a while: a nearest read is enough, since what it shows has happened.
            if let Some(loaded) = self.bus.load::<ActionRecord>(key, Source::Nearest).await? {
                holding.learn(&loaded);
            }
            if !armed && since_start().duration_since(began) > Duration::from_millis(limits::LEASE_RENEW_MS) {
                self.arm_deadline(key, &current.entry.state).await?;
                armed = true;
            }
            if since_start() >= lease_ends {
                let asked = since_start();
                match self.lease_is_over(key).await? {
                    Some(fence) => {
                        holding.leased(fence, asked);
                        return self.reload(key, holding).await.map(|()| Next::AgainWith(fence));
                    }
                    None => lease_ends = self.next_look_at_lease(key).await?,
                }
            }
        }
    }

    /// Proves that the lease is over by taking it. After an outage of the server one full lease passes first: its holder
    /// could not renew it (`design.md` §4.3).
    async fn lease_is_over(&self, key: &RecordKey) -> Result<Option<Fence>, BusError> {
        if self.bus.port().connected_for() < Duration::from_millis(limits::LEASE_MS) {
            return Ok(None);
        }
        self.bus.take_lease(key).await
    }

    async fn next_look_at_lease(&self, key: &RecordKey) -> Result<Instant, BusError> {
        let ends = self.bus.lease(key).await?.map_or(Millis(0), |lease| lease.at.plus(limits::LEASE_MS));
        let left = ends.0.saturating_sub(now().0).clamp(limits::LEASE_LOOK_MS_MIN, limits::LEASE_MS);
        Ok(since_start() + Duration::from_millis(left))
    }

    async fn reload(&self, key: &RecordKey, holding: &Holding) -> Result<(), BusError> {
        let loaded = self.bus.load::<ActionRecord>(key, Source::Leader).await?.ok_or_else(BusError::unavailable)?;
        holding.learn(&loaded);
        Ok(())
    }
}

/// Longer and longer, but never past the deadline by much.
fn later(delay: Duration, deliveries: u64, deadline: Millis) -> Duration {
    let doubled = delay.saturating_mul(1 << u32::try_from(deliveries.saturating_sub(1)).unwrap_or(u32::MAX).min(4));
    let left = Duration::from_millis(deadline.0.saturating_sub(now().0).max(limits::LEASE_LOOK_MS_MIN));
    doubled.min(Duration::from_secs(5)).min(left)
}
