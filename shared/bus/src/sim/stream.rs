//! One stream: its messages, what becomes of them with time, and its lanes.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    time::Duration,
};

use aip_types::{Millis, Timestamp};
use bytes::Bytes;

use super::live::matches_subject;
use crate::topology::Republish;
use crate::{
    BusError,
    port::{Append, Expect, Headers, Inbound, Schedule, Sequence, Stored},
    topology::{LaneSpec, StreamSpec},
};

const DEDUPLICATION_WINDOW_MS: u64 = 120_000;
const STREAM_FULL: u64 = 10_077;
const TTL_NOT_ALLOWED: u64 = 10_166;
const SCHEDULES_NOT_ALLOWED: u64 = 10_188;
const SCHEDULE_TARGET_OUTSIDE: u64 = 10_190;

struct Message {
    stored: Stored,
    expires: Option<Millis>,
    schedule: Option<Schedule>,
}

/// A stream and its lanes.
pub(super) struct Stream {
    pub(super) spec: StreamSpec,
    pub(super) lanes: BTreeMap<String, Lane>,
    /// Live copies that are still to be told.
    pub(super) copies: Vec<Inbound>,
    last: u64,
    bytes: u64,
    messages: BTreeMap<u64, Message>,
    subjects: BTreeMap<String, BTreeSet<u64>>,
    /// When something happens to which message.
    due: BTreeSet<(Millis, u64)>,
    ids: BTreeMap<String, (Sequence, Millis)>,
}

/// A durable consumer.
pub(super) struct Lane {
    pub(super) spec: LaneSpec,
    /// All before it has been delivered once.
    position: u64,
    unanswered: BTreeMap<u64, Unanswered>,
}

struct Unanswered {
    again: Millis,
    deliveries: u64,
}

impl Lane {
    pub(super) fn new(spec: LaneSpec) -> Self {
        Self { spec, position: 0, unanswered: BTreeMap::new() }
    }

    fn wants(&self, subject: &str) -> bool {
        self.spec.filters.iter().any(|filter| matches_subject(filter, subject))
    }
}

impl Stream {
    pub(super) fn new(spec: StreamSpec) -> Self {
        Self {
            spec,
            lanes: BTreeMap::new(),
            copies: Vec::new(),
            last: 0,
            bytes: 0,
            messages: BTreeMap::new(),
            subjects: BTreeMap::new(),
            due: BTreeSet::new(),
            ids: BTreeMap::new(),
        }
    }

    pub(super) fn last(&self) -> Sequence {
        Sequence(self.last)
    }

    pub(super) fn append(&mut self, append: Append, now: Millis) -> Result<Sequence, BusError> {
        self.ids.retain(|_, (_, at)| now.since(*at) < DEDUPLICATION_WINDOW_MS);
        if let Some((sequence, _)) = append.message_id.as_ref().and_then(|id| self.ids.get(id)) {
            return Ok(*sequence);
        }
        self.admit(&append)?;
        let expires = append.ttl.map(|ttl| {
            now.plus(ttl.as_secs().saturating_add(u64::from(ttl.subsec_nanos() > 0)).max(1).saturating_mul(1_000))
        });
        let replaces_schedule = append.schedule.is_some() || self.is_scheduled(&append.subject);
        if replaces_schedule {
            let replaced: Vec<u64> = self.subjects.get(&append.subject).into_iter().flatten().copied().collect();
            for sequence in replaced {
                self.unschedule(sequence, append.schedule.is_some());
            }
        }
        let sequence = self.store(append.subject, append.payload, now, false, expires, append.schedule);
        if let Some(id) = append.message_id {
            self.ids.insert(id, (sequence, now));
        }
        Ok(sequence)
    }

    fn admit(&self, append: &Append) -> Result<(), BusError> {
        if append.ttl.is_some() && !self.spec.allow_ttl {
            return Err(BusError::Refused { code: TTL_NOT_ALLOWED });
        }
        if let Some(schedule) = &append.schedule {
            if !self.spec.allow_schedules {
                return Err(BusError::Refused { code: SCHEDULES_NOT_ALLOWED });
            }
            if !self.spec.subjects.iter().any(|filter| matches_subject(filter, &schedule.target)) {
                return Err(BusError::Refused { code: SCHEDULE_TARGET_OUTSIDE });
            }
        }
        let (filter, expected) = match &append.expect {
            Expect::Any => return self.has_room(append),
            Expect::LastOnSubject(sequence) => (&append.subject, *sequence),
            Expect::LastUnder { filter, sequence } => (filter, *sequence),
        };
        if self.last_sequence_under(filter).unwrap_or(0) != expected.0 {
            return Err(BusError::Conflict);
        }
        self.has_room(append)
    }

    fn has_room(&self, append: &Append) -> Result<(), BusError> {
        let size = size(&append.subject, &append.payload);
        let is_full = self.spec.bytes_max.is_some_and(|bound| self.bytes.saturating_add(size) > bound);
        if is_full && self.spec.discard_new { Err(BusError::Refused { code: STREAM_FULL }) } else { Ok(()) }
    }

    fn store(
        &mut self,
        subject: String,
        payload: Bytes,
        at: Millis,
        marker: bool,
        expires: Option<Millis>,
        schedule: Option<Schedule>,
    ) -> Sequence {
        let previous = self.subjects.get(&subject).and_then(BTreeSet::last).copied().unwrap_or(0);
        self.last = self.last.saturating_add(1);
        let sequence = self.last;
        self.due.extend(expires.map(|at| (at, sequence)));
        self.due.extend(schedule.as_ref().map(|schedule| (schedule.at, sequence)));
        self.bytes = self.bytes.saturating_add(size(&subject, &payload));
        self.subjects.entry(subject.clone()).or_default().insert(sequence);
        let stored = Stored { subject: subject.clone(), sequence: Sequence(sequence), at, payload, marker };
        self.copies.extend(self.copy(&stored, previous));
        self.messages.insert(sequence, Message { stored, expires, schedule });
        let kept = self.spec.per_subject.and_then(|count| usize::try_from(count).ok()).unwrap_or(usize::MAX);
        while let Some(oldest) =
            self.subjects.get(&subject).filter(|all| all.len() > kept).and_then(BTreeSet::first).copied()
        {
            self.remove(oldest);
        }
        Sequence(sequence)
    }

    fn copy(&self, stored: &Stored, previous: u64) -> Option<Inbound> {
        let Republish { source, destination, headers_only } = self.spec.republish.as_ref()?;
        let rest = stored.subject.strip_prefix(source.strip_suffix('>')?)?;
        let headers = Headers::from([
            ("Nats-Stream".to_owned(), self.spec.name.clone()),
            ("Nats-Subject".to_owned(), stored.subject.clone()),
            ("Nats-Sequence".to_owned(), stored.sequence.0.to_string()),
            ("Nats-Time-Stamp".to_owned(), Timestamp::from_millis(stored.at).as_str().to_owned()),
            ("Nats-Last-Sequence".to_owned(), previous.to_string()),
        ]);
        let subject = format!("{}{rest}", destination.strip_suffix('>')?);
        let payload = if *headers_only { Bytes::new() } else { stored.payload.clone() };
        Some(Inbound { subject, reply: None, headers, payload })
    }

    fn remove(&mut self, sequence: u64) -> Option<Message> {
        let message = self.messages.remove(&sequence)?;
        let Stored { subject, payload, .. } = &message.stored;
        self.bytes = self.bytes.saturating_sub(size(subject, payload));
        let is_empty = self.subjects.get_mut(subject).is_some_and(|all| all.remove(&sequence) && all.is_empty());
        if is_empty {
            self.subjects.remove(subject);
        }
        for lane in self.lanes.values_mut() {
            lane.unanswered.remove(&sequence);
        }
        Some(message)
    }

    fn is_scheduled(&self, subject: &str) -> bool {
        let all = self.subjects.get(subject).into_iter().flatten();
        all.filter_map(|sequence| self.messages.get(sequence)).any(|message| message.schedule.is_some())
    }

    /// A newer schedule rolls up what was there; a plain message only stops it.
    fn unschedule(&mut self, sequence: u64, rolls_up: bool) {
        if rolls_up {
            self.remove(sequence);
        } else if let Some(message) = self.messages.get_mut(&sequence) {
            message.schedule = None;
        }
    }

    pub(super) fn next_due(&self) -> Option<Millis> {
        let lanes = self.lanes.values().flat_map(|lane| lane.unanswered.values().map(|unanswered| unanswered.again));
        self.due.first().map(|(at, _)| *at).into_iter().chain(lanes).min()
    }

    /// Expires and fires whatever is due; whether there was anything.
    pub(super) fn advance(&mut self, now: Millis) -> bool {
        let mut changed = false;
        while let Some((at, sequence)) = self.due.first().copied().filter(|(at, _)| *at <= now) {
            self.due.remove(&(at, sequence));
            let Some(message) = self.messages.get(&sequence) else { continue };
            let fires = message.schedule.as_ref().is_some_and(|schedule| schedule.at == at);
            if !fires && message.expires != Some(at) {
                continue;
            }
            changed = true;
            let Some(message) = self.remove(sequence) else { continue };
            match message.schedule {
                Some(schedule) if fires => {
                    self.store(schedule.target, message.stored.payload, now, false, None, None);
                }
                Some(_) | None => self.mark(message.stored.subject, now),
            }
        }
        changed
    }

    fn mark(&mut self, subject: String, now: Millis) {
        if let Some(ttl) = self.spec.marker_ttl.filter(|_| !self.subjects.contains_key(&subject)) {
            let expires = now.plus(u64::try_from(ttl.as_millis()).unwrap_or(u64::MAX));
            self.store(subject, Bytes::new(), now, true, Some(expires), None);
        }
    }

    pub(super) fn at(&self, sequence: Sequence) -> Option<Stored> {
        self.messages.get(&sequence.0).map(|message| message.stored.clone())
    }

    pub(super) fn last_under(&self, filter: &str) -> Option<Stored> {
        self.last_sequence_under(filter).and_then(|sequence| self.at(Sequence(sequence)))
    }

    fn last_sequence_under(&self, filter: &str) -> Option<u64> {
        self.subjects_under(filter).filter_map(|(_, all)| all.last().copied()).max()
    }

    fn subjects_under<'a>(&'a self, filter: &'a str) -> impl Iterator<Item = (&'a String, &'a BTreeSet<u64>)> {
        let literal = filter.split_once(['*', '>']).map_or(filter, |(literal, _)| literal);
        let under =
            self.subjects.range(literal.to_owned()..).take_while(move |(subject, _)| subject.starts_with(literal));
        under.filter(move |(subject, _)| matches_subject(filter, subject))
    }

    /// Newest message of each subject, in order of storing.
    pub(super) fn newest_under(&self, filter: &str) -> VecDeque<Sequence> {
        let newest: BTreeSet<u64> = self.subjects_under(filter).filter_map(|(_, all)| all.last().copied()).collect();
        newest.into_iter().map(Sequence).collect()
    }

    pub(super) fn from<'a>(&'a self, filter: &'a str, from: Sequence) -> impl Iterator<Item = Stored> + 'a {
        let messages = self.messages.range(from.0..).map(|(_, message)| &message.stored);
        messages.filter(move |stored| matches_subject(filter, &stored.subject)).cloned()
    }

    /// The next delivery of a lane: first what comes again, then what is new, as far as the bound of unanswered ones admits.
    pub(super) fn deliver(&mut self, lane: &str, now: Millis) -> Option<(Stored, u64)> {
        let lane = self.lanes.get_mut(lane)?;
        let wait = u64::try_from(lane.spec.ack_wait.as_millis()).unwrap_or(u64::MAX);
        let again = lane.unanswered.iter_mut().find(|(_, unanswered)| unanswered.again <= now);
        if let Some((sequence, unanswered)) = again {
            unanswered.deliveries = unanswered.deliveries.saturating_add(1);
            unanswered.again = now.plus(wait);
            return self.messages.get(sequence).map(|message| (message.stored.clone(), unanswered.deliveries));
        }
        let is_full = lane.unanswered.len() >= lane.spec.ack_pending_max;
        if is_full {
            return None;
        }
        let mut ahead = self.messages.range(lane.position.saturating_add(1)..);
        let (sequence, message) = ahead.find(|(_, message)| lane.wants(&message.stored.subject))?;
        lane.position = *sequence;
        lane.unanswered.insert(*sequence, Unanswered { again: now.plus(wait), deliveries: 1 });
        Some((message.stored.clone(), 1))
    }

    /// Acknowledged or terminated.
    pub(super) fn finish(&mut self, lane: &str, sequence: Sequence) {
        if let Some(lane) = self.lanes.get_mut(lane) {
            lane.unanswered.remove(&sequence.0);
        }
        if self.spec.work_queue {
            drop(self.remove(sequence.0));
        }
    }

    /// Comes again after a delay, or after the lane's wait.
    pub(super) fn postpone(&mut self, lane: &str, sequence: Sequence, now: Millis, delay: Option<Duration>) {
        let Some(lane) = self.lanes.get_mut(lane) else { return };
        let delay = u64::try_from(delay.unwrap_or(lane.spec.ack_wait).as_millis()).unwrap_or(u64::MAX);
        if let Some(unanswered) = lane.unanswered.get_mut(&sequence.0) {
            unanswered.again = now.plus(delay);
        }
    }
}

fn size(subject: &str, payload: &Bytes) -> u64 {
    u64::try_from(subject.len().saturating_add(payload.len())).unwrap_or(u64::MAX)
}
