//! One offer, from its arrival to its stored result.

use std::{collections::BTreeMap, panic::AssertUnwindSafe, sync::Arc, time::Duration};

use aip_bus::{
    Inbound,
    subjects::Report,
    work::{Attempt, Begin, Offer, OfferReply, Outcome, ResultReport, StopReason},
};
use aip_service::Tasks;
use aip_types::{CapabilityId, Millis, limits};
use futures::FutureExt;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::task::{TaskTracker, task_tracker::TaskTrackerToken};
use tracing::Instrument;

use crate::{
    attempts::{Attempts, Entered},
    chunks::Chunks,
    connector::Implementation,
    failure::{Failure, broken, outcome},
    stop::Stop,
    wire::{Decided, Wire},
    work::Work,
};

/// How long a result is repeated. Longer than any outage that ends by itself.
const REPORT_WITHIN: Duration = Duration::from_secs(10 * 60);
/// What a handler has after `cancelled` for a deadline before its future is dropped.
const CANCEL_GRACE: Duration = Duration::from_secs(1);
/// What an offer waits for room here.
const BUSY_MS: u64 = 50;

/// A connector at work.
pub(crate) struct Running {
    pub(crate) wire: Wire,
    pub(crate) handlers: BTreeMap<CapabilityId, Implementation>,
    pub(crate) attempts: Arc<Attempts>,
    pub(crate) room: Arc<Semaphore>,
    pub(crate) tasks: Tasks,
    pub(crate) at_work: TaskTracker,
}

/// What a call in work holds; released together.
struct Seat {
    _permit: OwnedSemaphorePermit,
    _at_work: TaskTrackerToken,
}

impl Running {
    /// Takes an offer, or says why not. Returns when it is answered or a task has it.
    pub(crate) async fn take(self: &Arc<Self>, inbound: Inbound) {
        let offer = match aip_types::exact::read::<Offer>(&inbound.payload) {
            Ok(offer) => offer,
            Err(fault) => {
                // The text of the fault may quote the input.
                tracing::warn!(line = fault.line(), column = fault.column(), "an undecodable offer");
                return;
            }
        };
        if !self.handlers.contains_key(&CapabilityId::new(offer.capability_id.clone())) {
            return self.answer(&inbound, &OfferReply::Unknown {}).await;
        }
        let attempt = offer.fence.map(|fence| Attempt {
            tenant: offer.tenant.clone(),
            action: offer.action.clone(),
            fence,
            instance: self.wire.instance().to_owned(),
        });
        if attempt.as_ref().is_some_and(|attempt| self.attempts.knows(attempt)) {
            return self.accept(&inbound).await;
        }
        let Ok(permit) = Arc::clone(&self.room).try_acquire_owned() else {
            return self.refuse(&inbound).await;
        };
        let seat = Seat { _permit: permit, _at_work: self.at_work.token() };
        let span = tracing::info_span!("attempt", action_id = offer.action, fence = offer.fence.map(|fence| fence.0));
        let running = Arc::clone(self);
        match attempt {
            None => self.tasks.spawn(async move { running.read(inbound, offer, seat).await }.instrument(span)),
            Some(attempt) => match self.attempts.enter(&attempt, aip_service::since_start()) {
                Entered::Known => self.accept(&inbound).await,
                Entered::New(stop) => {
                    self.accept(&inbound).await;
                    let guard = Leave { attempts: Arc::clone(&self.attempts), attempt };
                    self.tasks.spawn(async move { running.attempt(offer, guard, stop, seat).await }.instrument(span));
                }
            },
        }
    }

    /// Has no room for an offer.
    pub(crate) async fn refuse(&self, inbound: &Inbound) {
        self.answer(inbound, &OfferReply::Busy { retry_after_ms: BUSY_MS }).await;
    }

    async fn accept(&self, inbound: &Inbound) {
        self.answer(inbound, &OfferReply::Accepted { instance: self.wire.instance().to_owned() }).await;
    }

    async fn answer(&self, inbound: &Inbound, reply: &OfferReply) {
        if let Err(fault) = self.wire.answer(inbound, reply).await {
            tracing::warn!(%fault, "answering an offer");
        }
    }

    /// A plain read: the offer is its go, the answer its result (`design.md` §4.5).
    async fn read(&self, inbound: Inbound, offer: Offer, seat: Seat) {
        let work = work(offer, Arc::new(Stop::new()), None);
        let outcome = self.call(&work).await;
        let reply = OfferReply::Result { instance: self.wire.instance().to_owned(), outcome };
        self.answer(&inbound, &reply).await;
        drop(seat);
    }

    /// Everything else: nothing runs before `go`, and the result is reported until it is stored.
    async fn attempt(&self, offer: Offer, guard: Leave, stop: Arc<Stop>, seat: Seat) {
        let attempt = &guard.attempt;
        let deadline = aip_service::since_start() + left(offer.deadline);
        let question = Begin { attempt: attempt.clone() };
        // Waited for even when it is told to stop meanwhile: a `started` that is stored needs an end.
        let begun = tokio::select! {
            begun = self.wire.decide(Report::Begin, &question, deadline) => begun,
            () = told(&stop, StopReason::LeaseLost) => Decided::Stale,
        };
        match begun {
            Decided::Go => self.attempts.begun(attempt),
            Decided::Stale | Decided::Undecided => {
                tracing::debug!(?begun, "does not run");
                return;
            }
        }
        let (base, streaming) = (offer.chunk_base, offer.streaming);
        let chunks = streaming.then(|| Chunks::new(self.wire.clone(), attempt.clone(), base, deadline));
        let work = work(offer, stop, chunks);
        let outcome = match work.stop.reason() {
            Some(StopReason::Cancelled | StopReason::DeadlinePassed) => Outcome::Cancelled {},
            Some(StopReason::LeaseLost) | None => self.call(&work).await,
        };
        let end = aip_service::since_start() + REPORT_WITHIN;
        if let Some(chunks) = &work.chunks {
            chunks.flush(end).await;
        }
        let report = ResultReport { attempt: attempt.clone(), outcome };
        match self.wire.decide(Report::Result, &report, end).await {
            Decided::Go => {}
            Decided::Stale => tracing::info!("its result is stale"),
            Decided::Undecided => tracing::error!("its result could not be stored"),
        }
        drop(guard);
        drop(seat);
    }

    /// Calls the handler until its end, its deadline or its panic.
    async fn call(&self, work: &Work) -> Outcome {
        let Some(served) = self.handlers.get(&CapabilityId::new(work.capability_id.clone())) else {
            return outcome(Err(broken("unknown_capability")), true);
        };
        let overdue = async {
            tokio::select! {
                () = tokio::time::sleep(left(work.deadline)) => {}
                () = told_overdue(&work.stop) => {}
            }
        };
        // The handler comes first: an answer that is there at the deadline counts.
        let ended = tokio::select! {
            biased;
            ended = AssertUnwindSafe(served.handler.call(work)).catch_unwind() => {
                ended.unwrap_or_else(|_| Err(broken("panic")))
            }
            () = overdue => Err(broken("deadline")),
            // A read has nothing to undo. Anything else decides itself when it can stop.
            () = told(&work.stop, StopReason::Cancelled), if served.read_only => Err(Failure::cancelled()),
        };
        let outcome = outcome(ended, served.read_only);
        metrics::counter!("aip_handler_calls_total", "outcome" => word(&outcome)).increment(1);
        outcome
    }
}

/// Resolves some time after the fleet said that the deadline has passed.
async fn told_overdue(stop: &Stop) {
    match stop.signalled().await {
        StopReason::DeadlinePassed => tokio::time::sleep(CANCEL_GRACE).await,
        StopReason::Cancelled => std::future::pending().await,
        // Nothing of it counts any more, but how it ended may still settle an unknown outcome (AIP 1.0 §13.6).
        StopReason::LeaseLost => std::future::pending().await,
    }
}

/// Resolves when it is told to stop for this reason.
async fn told(stop: &Stop, why: StopReason) {
    if stop.signalled().await != why {
        std::future::pending::<()>().await;
    }
}

/// Takes the attempt out of the map, however its task ends.
struct Leave {
    attempts: Arc<Attempts>,
    attempt: Attempt,
}

impl Drop for Leave {
    fn drop(&mut self) {
        self.attempts.leave(&self.attempt);
    }
}

fn work(offer: Offer, stop: Arc<Stop>, chunks: Option<Chunks>) -> Work {
    Work {
        capability_id: offer.capability_id,
        action: offer.action,
        tenant: offer.tenant,
        principal: offer.principal,
        idempotency_key: offer.idempotency_key,
        fence: offer.fence,
        input: offer.input,
        deadline: offer.deadline,
        streaming: offer.streaming,
        stop,
        chunks,
    }
}

/// Time to a deadline, at most the longest that an action may take.
fn left(deadline: Millis) -> Duration {
    Duration::from_millis(deadline.since(aip_service::now()).min(limits::ACTION_TIMEOUT_MS_MAX))
}

fn word(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::Completed { .. } => "completed",
        Outcome::Failed { uncertain: false, .. } => "failed",
        Outcome::Failed { uncertain: true, .. } => "uncertain",
        Outcome::Cancelled {} => "cancelled",
    }
}

const _: () = assert!(REPORT_WITHIN.as_millis() > limits::LEASE_MS as u128);
