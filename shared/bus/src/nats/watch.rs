//! The newest message of every subject, then each change: an ephemeral consumer, made anew whenever anything is in doubt.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    time::Duration,
};

use aip_types::Millis;
use bytes::Bytes;
use futures::stream;
use serde_json::json;

use super::{
    connect::Link,
    pull::{Backoff, Pulled, Puller, nanos},
    wire::{self, Delivery},
};
use crate::{
    BusError,
    port::{Messages, Sequence, Stored, Watched},
};

/// Messages asked for ahead of the caller.
const AHEAD: usize = 256;
/// The server removes the consumer when nobody has pulled for this time.
const INACTIVE_THRESHOLD: Duration = Duration::from_secs(30);

/// One run from the full state on.
struct Run {
    puller: Puller,
    /// Number of the next delivery; another one means that some were lost.
    due: u64,
    replay: Option<Replay>,
}

/// The part of a run that sends what was stored when it began.
struct Replay {
    left: u64,
    seen: BTreeSet<String>,
}

struct Watch {
    link: Link,
    stream: String,
    filter: String,
    run: Option<Run>,
    /// What the caller holds as present: after a restart, what is not sent again has gone meanwhile.
    present: BTreeMap<String, (Sequence, Millis)>,
    ready: VecDeque<Watched>,
    backoff: Backoff,
}

pub(super) async fn open(link: &Link, stream: &str, filter: &str) -> Result<Messages<Watched>, BusError> {
    let mut watch = Watch {
        link: link.clone(),
        stream: stream.to_owned(),
        filter: filter.to_owned(),
        run: None,
        present: BTreeMap::new(),
        ready: VecDeque::new(),
        backoff: Backoff::default(),
    };
    match watch.start().await {
        Ok(()) => {}
        Err(fault) if fault.is_passing() => tracing::warn!(stream, filter, %fault, "watch not started yet"),
        Err(fault) => return Err(fault),
    }
    Ok(Box::pin(stream::unfold(watch, |mut watch| async move {
        let watched = watch.next().await;
        Some((watched, watch))
    })))
}

impl Watch {
    async fn next(&mut self) -> Watched {
        loop {
            if let Some(watched) = self.ready.pop_front() {
                return watched;
            }
            match &mut self.run {
                Some(run) => {
                    let pulled = run.puller.next().await;
                    if let Err(reason) = self.take(pulled) {
                        tracing::warn!(stream = %self.stream, filter = %self.filter, reason, "watching anew");
                        self.run = None;
                        self.backoff.wait().await;
                    }
                }
                None => {
                    if let Err(fault) = self.start().await {
                        tracing::warn!(stream = %self.stream, filter = %self.filter, %fault, "watch not started");
                        self.backoff.wait().await;
                    }
                }
            }
        }
    }

    async fn start(&mut self) -> Result<(), BusError> {
        let mut noise = [0; 8];
        getrandom::fill(&mut noise).map_err(|_| BusError::unavailable())?;
        let consumer = format!("w_{}", hex::encode(noise));
        let subject = format!("$JS.API.CONSUMER.CREATE.{}.{consumer}.{}", self.stream, self.filter);
        let request = json!({
            "stream_name": self.stream,
            "action": "create",
            "config": {
                "name": consumer,
                "filter_subject": self.filter,
                "deliver_policy": "last_per_subject",
                "ack_policy": "none",
                "replay_policy": "instant",
                "mem_storage": true,
                "num_replicas": 1,
                "inactive_threshold": nanos(INACTIVE_THRESHOLD),
            },
        });
        let answer = self.link.api(subject, wire::json(&request)).await?;
        let left = wire::consumer_pending(&answer.payload)?;
        let puller = Puller::new(&self.link, &self.stream, &consumer, AHEAD);
        self.run = Some(Run { puller, due: 1, replay: Some(Replay { left, seen: BTreeSet::new() }) });
        if left == 0 {
            self.caught();
        }
        Ok(())
    }

    /// What one pull brought; the reason when the run cannot be trusted any more.
    fn take(&mut self, pulled: Pulled) -> Result<(), String> {
        let Some(run) = &mut self.run else { return Ok(()) };
        match pulled {
            Pulled::Message(message, delivery) => {
                if delivery.consumer_sequence != run.due {
                    return Err(format!("delivery {} instead of {}", delivery.consumer_sequence, run.due));
                }
                run.due = run.due.saturating_add(1);
                self.backoff.reset();
                self.change(delivery, delivery.stored(message));
                Ok(())
            }
            Pulled::Idle(Some(last)) if last >= run.due => Err(format!("delivery {last} was lost")),
            Pulled::Idle(_) => {
                self.backoff.reset();
                self.caught(); // where what was left has gone before it could be sent
                Ok(())
            }
            Pulled::Lost(reason) => Err(reason),
        }
    }

    fn change(&mut self, delivery: Delivery, stored: Stored) {
        if stored.marker {
            self.present.remove(&stored.subject);
        } else {
            self.present.insert(stored.subject.clone(), (stored.sequence, stored.at));
        }
        let replay = self.run.as_mut().and_then(|run| run.replay.as_mut());
        let is_last = replay.is_some_and(|replay| {
            replay.seen.insert(stored.subject.clone());
            replay.left = replay.left.saturating_sub(1);
            replay.left == 0 || delivery.pending == 0
        });
        self.ready.push_back(Watched::Change(stored));
        if is_last {
            self.caught();
        }
    }

    /// Ends the replay, if one is under way: what the caller holds and was not sent again is told as gone.
    fn caught(&mut self) {
        let Some(replay) = self.run.as_mut().and_then(|run| run.replay.take()) else { return };
        let gone = self.present.extract_if(.., |subject, _| !replay.seen.contains(subject));
        self.ready.extend(gone.map(|(subject, (sequence, at))| {
            Watched::Change(Stored { subject, sequence, at, payload: Bytes::new(), marker: true })
        }));
        self.ready.push_back(Watched::Caught);
    }
}
