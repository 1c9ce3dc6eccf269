//! The journal: the last entry on a record's subject *is* the record (`design.md` §2).

use std::sync::Arc;

use aip_core::{Step, action::ActionRecord};
use aip_types::{Event, Millis, Receipt, Timestamp, exact, limits};
use bytes::Bytes;
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::{
    Append, Backoff, Bus, BusError, Expect, Inbound, Sequence, Source, Stored, nonce,
    subjects::{AIP_JOURNAL, RecordKey, RecordKind},
};

/// Room for the text of most entries, so that it is not moved while it is written.
const USUAL_ENTRY_BYTES: usize = 4_096;

/// A kind of record that the journal keeps.
pub trait Record: Serialize + DeserializeOwned + Clone + Send + Sync + 'static {
    /// Its kind token.
    const KIND: RecordKind;
    /// Number of its last step.
    fn step_number(&self) -> u32;
}

impl Record for ActionRecord {
    const KIND: RecordKind = RecordKind::Action;
    fn step_number(&self) -> u32 {
        self.step
    }
}

/// One stored entry. Its shape is a contract: `v` changes with it, and old fixtures stay readable.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry<R> {
    /// Shape of the entry: 1.
    pub v: u8,
    /// Number of the step, counted from 1.
    pub step: u32,
    /// What caused it: a caller's message id, or the name of a trigger.
    pub cause: String,
    /// Random name of this save: a lost acknowledgement is resolved by finding it.
    pub save: String,
    /// The record's entry before this one.
    pub prev: Sequence,
    /// The new state.
    pub state: R,
    /// What readers are told.
    pub events: Vec<Event>,
    /// Evidence.
    pub receipts: Vec<Receipt>,
    /// Inbox of the first caller's process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notify: Option<String>,
}

/// A record as it was read. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Loaded<R> {
    /// The last entry.
    pub entry: Arc<Entry<R>>,
    /// The same as it is stored.
    pub text: Bytes,
    /// Its sequence: what the next save expects.
    pub sequence: Sequence,
    /// The server's time of storing.
    pub at: Millis,
}

impl<R: Record> Loaded<R> {
    /// Decodes a stored entry.
    ///
    /// # Errors
    /// [`BusError::Undecodable`].
    pub fn decode(stored: &Stored) -> Result<Self, BusError> {
        let entry = exact::read(&stored.payload).map_err(|fault| BusError::Undecodable(Box::new(fault)))?;
        Ok(Self { entry: Arc::new(entry), text: stored.payload.clone(), sequence: stored.sequence, at: stored.at })
    }

    /// Decodes a live copy. The server makes it once the entry is stored, so it says what a read would.
    ///
    /// # Errors
    /// [`BusError::Undecodable`], also where the server did not say which entry it is.
    pub fn decode_live(copy: &Inbound) -> Result<Self, BusError> {
        let header = |name: &str| copy.headers.get(name).map(String::as_str);
        let sequence = header("Nats-Sequence").and_then(|text| text.parse().ok()).map(Sequence);
        let at = header("Nats-Time-Stamp").and_then(|text| Timestamp::parse(text).ok());
        let (Some(sequence), Some(at)) = (sequence, at) else {
            return Err(BusError::Undecodable("a live copy without its headers".into()));
        };
        let entry = exact::read(&copy.payload).map_err(|fault| BusError::Undecodable(Box::new(fault)))?;
        Ok(Self { entry: Arc::new(entry), text: copy.payload.clone(), sequence, at: at.millis() })
    }
}

/// What a step adds to the journal.
#[derive(Clone, Debug)]
pub struct Draft<R> {
    /// The new state.
    pub state: R,
    /// Last token of the subject.
    pub event: &'static str,
    /// What readers are told.
    pub events: Vec<Event>,
    /// Evidence.
    pub receipts: Vec<Receipt>,
    /// What caused it.
    pub cause: String,
    /// Inbox of the first caller's process, carried on.
    pub notify: Option<String>,
}

impl<R> Draft<R> {
    /// The entry of a step.
    #[must_use]
    pub fn of(step: Step<R>, cause: impl Into<String>, notify: Option<String>) -> Self {
        let Step { record, event, events, receipts } = step;
        Self { state: record, event, events, receipts, cause: cause.into(), notify }
    }
}

impl Bus {
    /// The record as it stands. `Nearest` may be stale: only a successful save may rest on it.
    ///
    /// # Errors
    /// [`BusError::Unavailable`], [`BusError::Undecodable`].
    pub async fn load<R: Record>(&self, key: &RecordKey, source: Source) -> Result<Option<Loaded<R>>, BusError> {
        match self.port().last(AIP_JOURNAL, &key.filter(), source).await? {
            Some(stored) => Loaded::decode(&stored).map(Some),
            None => Ok(None),
        }
    }

    /// Appends a step by compare-and-set and returns the record as stored. A lost acknowledgement is resolved by reading back.
    ///
    /// # Errors
    /// [`BusError::Conflict`]: load from the leader and decide again. [`BusError::Unavailable`]: not known to be stored.
    pub async fn save<R: Record>(
        &self,
        key: &RecordKey,
        draft: Draft<R>,
        expected: Sequence,
    ) -> Result<Loaded<R>, BusError> {
        let Draft { state, event, events, receipts, cause, notify } = draft;
        let entry = Entry {
            v: 1,
            step: state.step_number(),
            cause,
            save: nonce(),
            prev: expected,
            state,
            events,
            receipts,
            notify,
        };
        let mut text = Vec::with_capacity(USUAL_ENTRY_BYTES);
        serde_json::to_writer(&mut text, &entry).map_err(|fault| BusError::Undecodable(Box::new(fault)))?;
        let payload = Bytes::from(text);
        let append = || {
            let guard = Expect::LastUnder { filter: key.filter(), sequence: expected };
            Append::new(key.entry(event), payload.clone()).expecting(guard)
        };
        let entry = Arc::new(entry);
        let stored =
            |sequence| Loaded { at: entry.state_time(), entry: Arc::clone(&entry), text: payload.clone(), sequence };
        let mut backoff = Backoff::new(limits::SAVE_ATTEMPTS_MAX);
        loop {
            let fault = match self.port().append(append()).await {
                Ok(sequence) => return Ok(stored(sequence)),
                Err(fault) => fault,
            };
            match fault {
                BusError::Busy => {}
                BusError::Unavailable(_) | BusError::NoResponders | BusError::Conflict => {
                    match self.was_saved(key, &entry.save, expected).await? {
                        Saved::Yes(sequence) => return Ok(stored(sequence)),
                        Saved::No => {}
                        Saved::Overtaken => return Err(BusError::Conflict),
                    }
                }
                BusError::Refused { .. } | BusError::Undecodable(_) => return Err(fault),
            }
            if !backoff.wait().await {
                return Err(fault);
            }
        }
    }

    async fn was_saved(&self, key: &RecordKey, save: &str, expected: Sequence) -> Result<Saved, BusError> {
        #[derive(Deserialize)]
        struct Name {
            save: String,
        }
        let Some(last) = self.port().last(AIP_JOURNAL, &key.filter(), Source::Leader).await? else {
            return Ok(if expected == Sequence::NONE { Saved::No } else { Saved::Overtaken });
        };
        let name: Name =
            serde_json::from_slice(&last.payload).map_err(|fault| BusError::Undecodable(Box::new(fault)))?;
        Ok(match last.sequence {
            sequence if name.save == save => Saved::Yes(sequence),
            sequence if sequence == expected => Saved::No,
            _ => Saved::Overtaken,
        })
    }

    /// All entries of a record, first to last, at most `limit` of the newest.
    ///
    /// # Errors
    /// [`BusError::Unavailable`], [`BusError::Undecodable`].
    pub async fn history<R: Record>(&self, last: Loaded<R>, limit: usize) -> Result<Vec<Loaded<R>>, BusError> {
        let mut prev = last.entry.prev;
        let mut entries = vec![last];
        while prev != Sequence::NONE && entries.len() < limit {
            let nearest = self.port().get(AIP_JOURNAL, prev, Source::Nearest).await?;
            let stored = match nearest {
                Some(stored) => Some(stored),
                None => self.port().get(AIP_JOURNAL, prev, Source::Leader).await?,
            };
            let Some(stored) = stored else { break };
            let entry = Loaded::<R>::decode(&stored)?;
            prev = entry.entry.prev;
            entries.push(entry);
        }
        entries.reverse();
        Ok(entries)
    }
}

impl<R: Record> Entry<R> {
    /// Stands in for the server's time where the entry was not read back.
    fn state_time(&self) -> Millis {
        self.events.first().map_or(Millis(0), |event| event.occurred_at.millis())
    }
}

enum Saved {
    Yes(Sequence),
    No,
    Overtaken,
}
