//! What is appended beside the journal: chunks, timers, audit lines, quarantine.

use aip_types::{MessageId, Millis, Principal, StreamChunk, exact, limits};
use serde::{Deserialize, Serialize};

use crate::{
    Append, Backoff, Bus, BusError, Expect, Schedule, Sequence, Source, Stored,
    subjects::{AIP_CHUNKS, RecordKey, Tenant, audit, chunk, chunks, parse_chunk_fence, quarantine},
    work::Fence,
};

/// A chunk as it was stored.
#[derive(Clone, Debug)]
pub struct StoredChunk {
    /// The chunk.
    pub chunk: StreamChunk,
    /// Fence of the attempt that made it.
    pub fence: Fence,
    /// Its place in the stream.
    pub sequence: Sequence,
}

/// Somebody asks for an action to be stopped; the payload of a `cancel` trigger.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CancelAsked {
    /// The message that said so.
    pub message: MessageId,
    /// Who, authenticated.
    pub by: Principal,
    /// Why, as the asker says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// A timer that came due.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Due {
    /// What it is for, e.g. `deadline`.
    pub purpose: String,
}

/// Purpose of the trigger that stops an action.
pub const CANCEL: &str = "cancel";
/// Purpose of the timer of an action's deadline.
pub const DEADLINE: &str = "deadline";

impl Bus {
    /// Stores a chunk. A repeat inside the server's window is dropped there; later ones are dropped by readers, by number.
    ///
    /// # Errors
    /// [`BusError::Unavailable`].
    pub async fn append_chunk(&self, key: &RecordKey, fence: Fence, body: &StreamChunk) -> Result<Sequence, BusError> {
        let payload = serde_json::to_vec(body).map_err(|fault| BusError::Undecodable(Box::new(fault)))?;
        let mut append = Append::new(chunk(&key.tenant, key.id_token(), fence), payload);
        append.message_id = Some(format!("{}.{}.{}", key.filter(), fence.0, body.sequence));
        self.port().append(append).await
    }

    /// A page of an action's chunks from a place on, each number once, in order of storing.
    ///
    /// # Errors
    /// [`BusError::Unavailable`], [`BusError::Undecodable`].
    pub async fn chunks(&self, key: &RecordKey, from: Sequence, limit: usize) -> Result<Vec<StoredChunk>, BusError> {
        let page = self.port().page(AIP_CHUNKS, &chunks(&key.tenant, key.id_token()), from, limit).await?;
        page.into_iter()
            .map(|stored| {
                let chunk = exact::read(&stored.payload).map_err(|fault| BusError::Undecodable(Box::new(fault)))?;
                let fence = parse_chunk_fence(&stored.subject).unwrap_or(Fence(0));
                Ok(StoredChunk { chunk, fence, sequence: stored.sequence })
            })
            .collect()
    }

    /// Number of the chunk after the last stored one.
    ///
    /// # Errors
    /// [`BusError::Unavailable`], [`BusError::Undecodable`].
    pub async fn next_chunk(&self, key: &RecordKey) -> Result<u64, BusError> {
        let last = self.port().last(AIP_CHUNKS, &chunks(&key.tenant, key.id_token()), Source::Leader).await?;
        let Some(stored) = last else { return Ok(0) };
        let chunk: StreamChunk =
            serde_json::from_slice(&stored.payload).map_err(|fault| BusError::Undecodable(Box::new(fault)))?;
        Ok(chunk.sequence.saturating_add(1))
    }

    /// Arms a timer: at `at`, a [`Due`] appears for the record's owner. Arming it again under the same nonce replaces it.
    ///
    /// # Errors
    /// [`BusError::Unavailable`].
    pub async fn arm(&self, key: &RecordKey, purpose: &str, nonce: &str, at: Millis) -> Result<(), BusError> {
        let body = Due { purpose: purpose.to_owned() };
        let payload = serde_json::to_vec(&body).map_err(|fault| BusError::Undecodable(Box::new(fault)))?;
        let mut append = Append::new(key.timer(purpose, nonce), payload);
        append.schedule = Some(Schedule { at, target: key.due(purpose, nonce) });
        self.port().append(append).await.map(|_| ())
    }

    /// Stores a wish to stop an action, for its owner. While one waits there, another adds nothing: what waits is bounded by the
    /// actions, not by those who wish.
    ///
    /// # Errors
    /// [`BusError::Unavailable`]: not known to be stored.
    pub async fn ask_to_cancel(&self, key: &RecordKey, asked: &CancelAsked) -> Result<(), BusError> {
        let payload = serde_json::to_vec(asked).map_err(|fault| BusError::Undecodable(Box::new(fault)))?;
        let append = Append::new(key.due(CANCEL, CANCEL), payload).expecting(Expect::LastOnSubject(Sequence::NONE));
        let mut backoff = Backoff::new(limits::SAVE_ATTEMPTS_MAX);
        loop {
            match self.port().append(append.clone()).await {
                Ok(_) | Err(BusError::Conflict) => return Ok(()),
                Err(BusError::Busy) if backoff.wait().await => {}
                Err(fault) => return Err(fault),
            }
        }
    }

    /// Adds an audit line.
    ///
    /// # Errors
    /// [`BusError::Unavailable`].
    pub async fn audit(&self, tenant: Option<&Tenant>, label: &str, line: &serde_json::Value) -> Result<(), BusError> {
        self.port().append(Append::new(audit(tenant, label), line.to_string())).await.map(|_| ())
    }

    /// Puts aside what cannot be decoded.
    ///
    /// # Errors
    /// [`BusError::Unavailable`]: the message must not be terminated yet.
    pub async fn quarantine(
        &self,
        stream: &str,
        consumer: &str,
        stored: &Stored,
        reason: &str,
    ) -> Result<(), BusError> {
        let body = serde_json::json!({
            "stream": stream, "consumer": consumer, "sequence": stored.sequence, "subject": stored.subject, "reason": reason,
            "payload": String::from_utf8_lossy(stored.payload.get(..limits::QUARANTINE_BYTES_MAX).unwrap_or(&stored.payload)),
        });
        self.port().append(Append::new(quarantine(stream, consumer), body.to_string())).await.map(|_| ())
    }
}
