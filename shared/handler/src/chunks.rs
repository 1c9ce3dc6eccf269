//! Parts of the output: in order, one at a time, each repeated until it is stored.

use aip_bus::{
    subjects::Report,
    work::{Attempt, ChunkReport},
};
use aip_types::{StreamChunkKind, limits};
use serde_json::Value;
use tokio::{sync::Mutex, time::Instant};

use crate::{
    failure::ChunkFault,
    wire::{Decided, Wire},
};

/// The stream of one attempt.
pub(crate) struct Chunks {
    wire: Wire,
    attempt: Attempt,
    end: Instant,
    line: Mutex<Line>,
}

struct Line {
    next: u64,
    /// The chunk whose storing is not known yet. Its number is taken: a handler that drops its call cannot reuse it.
    pending: Option<ChunkReport>,
}

impl Chunks {
    pub(crate) fn new(wire: Wire, attempt: Attempt, base: u64, end: Instant) -> Self {
        Self { wire, attempt, end, line: Mutex::new(Line { next: base, pending: None }) }
    }

    pub(crate) async fn send(&self, kind: StreamChunkKind, data: Option<Value>) -> Result<(), ChunkFault> {
        let bytes = data.as_ref().map_or(0, |data| serde_json::to_vec(data).map_or(usize::MAX, |text| text.len()));
        if bytes > limits::CHUNK_BYTES_MAX {
            return Err(ChunkFault::TooLarge { bytes });
        }
        let mut line = self.line.lock().await;
        self.settle(&mut line, self.end).await?;
        let sequence = line.next;
        line.next = sequence.saturating_add(1);
        line.pending = Some(ChunkReport { attempt: self.attempt.clone(), sequence, kind, data });
        self.settle(&mut line, self.end).await
    }

    /// Stores what a dropped call left behind: a result must not overtake a chunk.
    pub(crate) async fn flush(&self, end: Instant) {
        let mut line = self.line.lock().await;
        if let Err(fault) = self.settle(&mut line, end).await {
            tracing::warn!(%fault, "the last chunk");
        }
    }

    async fn settle(&self, line: &mut Line, end: Instant) -> Result<(), ChunkFault> {
        let Some(chunk) = &line.pending else { return Ok(()) };
        match self.wire.decide(Report::Chunk, chunk, end).await {
            Decided::Go => {
                line.pending = None;
                Ok(())
            }
            Decided::Stale => Err(ChunkFault::Stale),
            Decided::Undecided => Err(ChunkFault::Late),
        }
    }
}
