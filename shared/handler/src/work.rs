//! What a handler gets.

use std::{fmt, sync::Arc};

use aip_bus::work::{Fence, StopReason};
use aip_types::{Millis, Principal, StreamChunkKind};
use async_trait::async_trait;
use serde_json::Value;

use crate::{
    chunks::Chunks,
    failure::{ChunkFault, Failure},
    stop::Stop,
};

/// The implementation of a capability (AIP 1.0 §3).
#[async_trait]
pub trait Handler: Send + Sync + 'static {
    /// Does the work once and returns the output.
    ///
    /// Its future is dropped at the deadline, wherever it waits then; so it must not block its thread (use
    /// `tokio::task::spawn_blocking`). A panic becomes a failure.
    ///
    /// # Errors
    /// [`Failure`], which says what the caller is told and whether something may have happened outside.
    async fn call(&self, work: &Work) -> Result<Value, Failure>;
}

/// One attempt to do a piece of work, with its trusted context (AIP 1.0 §11.2).
#[non_exhaustive]
pub struct Work {
    /// The capability called.
    pub capability_id: String,
    /// The action.
    pub action: String,
    /// Its tenant. Keep what belongs to different tenants apart.
    pub tenant: String,
    /// Who asked, frozen at admission. Never take it from the input.
    pub principal: Principal,
    /// The caller's key: pass it on to a provider that knows such keys.
    pub idempotency_key: Option<String>,
    /// The number of this attempt's lease: it grows with every attempt. `None` for a plain read.
    pub fence: Option<Fence>,
    /// The input, valid for the capability's schema.
    pub input: Value,
    /// When the work must be over.
    pub deadline: Millis,
    /// Whether the caller wants chunks. Sending them otherwise is allowed and does nothing.
    pub streaming: bool,
    pub(crate) stop: Arc<Stop>,
    pub(crate) chunks: Option<Chunks>,
}

impl Work {
    /// Sends a part of the output and returns when it is stored. Where the caller wants no chunks nothing is sent.
    ///
    /// Parts keep the order of the calls.
    ///
    /// # Errors
    /// [`ChunkFault`]; after `Stale` or `Late` nothing more of this attempt counts.
    pub async fn chunk(&self, kind: StreamChunkKind, data: Option<Value>) -> Result<(), ChunkFault> {
        match &self.chunks {
            Some(chunks) => chunks.send(kind, data).await.inspect_err(|fault| {
                if *fault == ChunkFault::Stale {
                    self.stop.signal(StopReason::LeaseLost);
                }
            }),
            None => Ok(()),
        }
    }

    /// Resolves when the attempt should stop: clean up and return. A handler that goes on is dropped at the deadline.
    pub async fn cancelled(&self) -> StopReason {
        self.stop.signalled().await
    }

    /// Whether the attempt should stop.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.stop.reason().is_some()
    }
}

impl fmt::Debug for Work {
    /// Without input, key and principal: they are no matter for logs.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Work")
            .field("capability_id", &self.capability_id)
            .field("action", &self.action)
            .field("tenant", &self.tenant)
            .field("fence", &self.fence)
            .field("deadline", &self.deadline)
            .finish_non_exhaustive()
    }
}
