//! The reads of what the scheduler owns. A reader sees its own actions, or its tenant's with a scope; anything else answers as
//! what does not exist (AIP 1.0 §16.3). Every answer rests on the leader.

use std::{collections::BTreeMap, time::Duration};

use aip_bus::{Loaded, Sequence, Source, StoredChunk, subjects::RecordKey};
use aip_core::action::{self, ActionRecord};
use aip_service::{
    SCOPE_READ_ANY,
    receive::{Caller, Verified},
    wait_settled,
};
use aip_types::{
    ActionEvents, ActionEventsRequest, ActionId, ActionResultRequest, ActionStatusRequest, ErrorCode, Event,
    MessageBody, ProtocolError, Receipt, ReceiptChain, ReceiptQueryRequest, StreamChunk, limits,
};
use serde_json::{Value, json};

use crate::Scheduler;

type Reader<'a> = &'a Verified<Caller>;

impl Scheduler {
    pub(crate) async fn on_status(
        &self,
        reader: Reader<'_>,
        wanted: &ActionStatusRequest,
    ) -> Result<MessageBody, ProtocolError> {
        let (key, loaded) = self.visible(reader, &wanted.action_id, wanted.tenant_id.as_deref()).await?;
        let loaded = self.wait(&key, loaded, wanted.wait_ms).await;
        let record = &loaded.entry.state;
        let mut status = action::status(record);
        if wanted.include_result && record.phase.is_terminal() {
            status.result = Some(action::result(record, self.output(&key, record).await?)?);
        }
        if wanted.include_chunks {
            status.chunks = self.chunks_after(&key, Sequence::NONE, page(None)?).await?.chunks;
        }
        if wanted.include_receipts {
            status.receipt_chain = Some(self.chain(loaded).await?);
        }
        Ok(MessageBody::from(status))
    }

    pub(crate) async fn on_result(
        &self,
        reader: Reader<'_>,
        wanted: &ActionResultRequest,
    ) -> Result<MessageBody, ProtocolError> {
        let (key, loaded) = self.visible(reader, &wanted.action_id, wanted.tenant_id.as_deref()).await?;
        let loaded = self.wait(&key, loaded, wanted.wait_ms).await;
        let record = &loaded.entry.state;
        let mut result = action::result(record, self.output(&key, record).await?).map_err(|error| {
            if error.retryable == Some(true) { error.with_retry_after_ms(limits::RETRY_AFTER_MS) } else { error }
        })?;
        if !wanted.include_receipt {
            result.receipt = None;
        }
        Ok(MessageBody::from(result))
    }

    pub(crate) async fn on_events(
        &self,
        reader: Reader<'_>,
        wanted: &ActionEventsRequest,
    ) -> Result<MessageBody, ProtocolError> {
        if wanted.follow {
            return Err(ProtocolError::from(ErrorCode::QueryInvalid)
                .with_details(json!({"pointer": "/body/action_events_request/follow", "rule": "not served here"})));
        }
        let limit = page(wanted.limit)?;
        let (key, loaded) = self.visible(reader, &wanted.action_id, wanted.tenant_id.as_deref()).await?;
        let binding = binding(reader, &key, wanted);
        let after = match &wanted.cursor {
            Some(text) => Place::read(&self.cursors.open(&binding, text)?).ok_or(ErrorCode::CursorInvalid)?,
            None => Place::default(),
        };
        let (ended, last_step) = (loaded.entry.state.phase.is_terminal(), loaded.entry.step);
        let ChunkPage { chunks, place: chunk, more } = if wanted.include_chunks {
            self.chunks_after(&key, after.chunk, limit).await?
        } else {
            ChunkPage { chunks: Vec::new(), place: after.chunk, more: false }
        };
        let entries = self.bus.history(loaded, limits::HISTORY_LEN_MAX).await.map_err(unavailable)?;
        let mut events: Vec<Event> = Vec::new();
        let mut step = after.step;
        for entry in entries.into_iter().map(|loaded| loaded.entry).filter(|entry| entry.step > after.step) {
            // What ends the action comes after all that it said.
            let early = more && entry.state.phase.is_terminal();
            if early || events.len().saturating_add(entry.events.len()) > limit {
                break;
            }
            step = entry.step;
            let is_wanted = |event: &&Event| wanted.kinds.is_empty() || wanted.kinds.contains(&event.kind);
            events.extend(entry.events.iter().filter(is_wanted).cloned());
        }
        // Only the last page says that nothing comes after it.
        let terminal = ended && step >= last_step && !more;
        let cursor = Some(self.cursors.seal(&binding, &Place { step, chunk }.bytes()));
        Ok(MessageBody::from(ActionEvents { action_id: wanted.action_id.clone(), events, chunks, cursor, terminal }))
    }

    pub(crate) async fn on_receipts(
        &self,
        reader: Reader<'_>,
        wanted: &ReceiptQueryRequest,
    ) -> Result<MessageBody, ProtocolError> {
        let Some(chain_id) = &wanted.chain_id else {
            return Err(ProtocolError::from(ErrorCode::QueryInvalid)
                .with_details(json!({"pointer": "/body/receipt_query_request/chain_id", "rule": "required here"})));
        };
        let action = chain_id.strip_prefix("action:").ok_or(ErrorCode::ReceiptNotFound)?;
        let (_, loaded) = self.visible(reader, &ActionId::new(action), None).await.map_err(|error| {
            if error.error_code() == Some(ErrorCode::ActionNotFound) {
                ErrorCode::ReceiptNotFound.into()
            } else {
                error
            }
        })?;
        let mut chain = self.chain(loaded).await?;
        if let Some(receipt) = &wanted.receipt_id
            && chain.receipts.iter().all(|held| held.id != *receipt)
        {
            return Err(ErrorCode::ReceiptNotFound.into());
        }
        chain.chain_id.clone_from(chain_id);
        Ok(MessageBody::from(chain))
    }

    async fn visible(
        &self,
        reader: Reader<'_>,
        id: &ActionId,
        selector: Option<&str>,
    ) -> Result<(RecordKey, Loaded<ActionRecord>), ProtocolError> {
        if selector.is_some_and(|tenant| tenant != reader.tenant().as_str()) {
            return Err(ErrorCode::TenantMismatch.into());
        }
        let key = RecordKey::action(reader.tenant().clone(), id.as_str());
        let loaded = self.bus.load::<ActionRecord>(&key, Source::Leader).await.map_err(unavailable)?;
        let may_read = |record: &ActionRecord| {
            record.principal.id == reader.principal().id || reader.known().has_scope(SCOPE_READ_ANY)
        };
        let loaded = loaded.filter(|loaded| may_read(&loaded.entry.state)).ok_or(ErrorCode::ActionNotFound)?;
        Ok((key, loaded))
    }

    async fn wait(&self, key: &RecordKey, loaded: Loaded<ActionRecord>, wait_ms: Option<u64>) -> Loaded<ActionRecord> {
        match wait_ms {
            Some(wait_ms) if wait_ms > 0 => {
                wait_settled(&self.bus, key, loaded, Duration::from_millis(wait_ms.min(limits::WAIT_MS_MAX))).await
            }
            Some(_) | None => loaded,
        }
    }

    async fn output(&self, key: &RecordKey, record: &ActionRecord) -> Result<Option<Value>, ProtocolError> {
        match &record.output {
            Some(held) => self.bus.held(&key.tenant, held).await.map(Some).map_err(unavailable),
            None => Ok(None),
        }
    }

    async fn chain(&self, loaded: Loaded<ActionRecord>) -> Result<ReceiptChain, ProtocolError> {
        let chain_id = loaded.entry.state.chain_id();
        let entries = self.bus.history(loaded, limits::HISTORY_LEN_MAX).await.map_err(unavailable)?;
        let receipts: Vec<Receipt> = entries.iter().flat_map(|loaded| &loaded.entry.receipts).cloned().collect();
        let root_hash = Some(aip_crypto::root_hash(receipts.iter().filter_map(|receipt| receipt.hash.as_deref())));
        Ok(ReceiptChain { chain_id, receipts, root_hash })
    }

    /// Chunks after a place, each number once, and the new place.
    async fn chunks_after(&self, key: &RecordKey, after: Sequence, limit: usize) -> Result<ChunkPage, ProtocolError> {
        let stored = self.bus.chunks(key, Sequence(after.0.saturating_add(1)), limit).await.map_err(unavailable)?;
        // A page is cut by bytes too: an answer is one message.
        let mut bytes = 0_usize;
        let fits = |stored: &StoredChunk| {
            bytes = bytes.saturating_add(serde_json::to_vec(&stored.chunk).map_or(0, |text| text.len()));
            bytes <= limits::CHUNK_PAGE_BYTES_MAX
        };
        let found = stored.len();
        let stored: Vec<StoredChunk> = stored.into_iter().take_while(fits).collect();
        let more = found >= limit || stored.len() < found;
        let place = stored.last().map_or(after, |last| last.sequence);
        // A number that two attempts used is the newer one's; a repeat of one attempt is the same chunk.
        let mut chunks: BTreeMap<u64, StoredChunk> = BTreeMap::new();
        for next in stored {
            match chunks.get(&next.chunk.sequence) {
                Some(held) if held.fence >= next.fence => {}
                Some(_) | None => drop(chunks.insert(next.chunk.sequence, next)),
            }
        }
        Ok(ChunkPage { chunks: chunks.into_values().map(|stored| stored.chunk).collect(), place, more })
    }
}

/// A page of chunks.
struct ChunkPage {
    chunks: Vec<StreamChunk>,
    /// Where it ends.
    place: Sequence,
    /// There may be more.
    more: bool,
}

/// The size of a page, refused outside 1 to 1,000 (AIP 1.0 §16.4).
fn page(limit: Option<u32>) -> Result<usize, ProtocolError> {
    let limit = limit.unwrap_or(limits::LIST_PAGE_DEFAULT);
    if limit == 0 || limit > limits::LIST_PAGE_MAX {
        return Err(ErrorCode::QueryInvalid.into());
    }
    usize::try_from(limit).map_err(|_| ErrorCode::QueryInvalid.into())
}

/// Who asks what: a cursor is good for nothing else (AIP 1.0 §16.2).
fn binding(reader: Reader<'_>, key: &RecordKey, wanted: &ActionEventsRequest) -> String {
    json!(["events", key.filter(), reader.principal().id.as_str(), wanted.kinds]).to_string()
}

/// A place in an action's events and chunks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Place {
    step: u32,
    chunk: Sequence,
}

impl Place {
    fn bytes(self) -> Vec<u8> {
        [self.step.to_be_bytes().as_slice(), &self.chunk.0.to_be_bytes()].concat()
    }

    fn read(bytes: &[u8]) -> Option<Self> {
        let (step, chunk) = bytes.split_at_checked(size_of::<u32>())?;
        let chunk = Sequence(u64::from_be_bytes(chunk.try_into().ok()?));
        Some(Self { step: u32::from_be_bytes(step.try_into().ok()?), chunk })
    }
}

fn unavailable(fault: aip_bus::BusError) -> ProtocolError {
    tracing::warn!(%fault, "the bus failed");
    ProtocolError::from(ErrorCode::TransportUnavailable).with_retry_after_ms(limits::RETRY_AFTER_MS)
}
