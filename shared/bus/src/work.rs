//! What scheduler and connector say to each other on `aipw`, `aipx` and `aipr` (`design.md` §4). Internal wire: versioned by
//! the subject, closed, one JSON object a message.

use aip_types::{Capability, Millis, Principal, ProtocolError, StreamChunkKind};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Right of one attempt to work on one action: the lease's creation revision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Fence(pub u64);

/// Work for a handler, on `aipw.<connector>.<capability>`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Offer {
    /// Tenant of the action.
    pub tenant: String,
    /// The action.
    pub action: String,
    /// The attempt's fence; absent for a plain read (`design.md` §4.5), whose offer is its go and whose answer is its result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fence: Option<Fence>,
    /// The capability called.
    pub capability_id: String,
    /// The validated input.
    #[serde(deserialize_with = "aip_types::exact::value")]
    pub input: Value,
    /// The caller's idempotency key, for the provider.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotency_key: Option<String>,
    /// Who asked, frozen at admission (AIP 1.0 §11.2). Never taken from the input.
    pub principal: Principal,
    /// When the work must be over.
    pub deadline: Millis,
    /// First chunk number of this attempt.
    pub chunk_base: u64,
    /// The mode is streaming: chunks are wanted.
    pub streaming: bool,
}

/// A connector's answer to an [`Offer`].
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum OfferReply {
    /// Taken; nothing runs before `go`.
    Accepted {
        /// The connector process.
        instance: String,
    },
    /// No room now.
    Busy {
        /// Wait this long before the next offer, in milliseconds.
        retry_after_ms: u64,
    },
    /// The plain read's result.
    Result {
        /// The connector process.
        instance: String,
        /// What the handler answered.
        outcome: Outcome,
    },
    /// This connector does not have the capability.
    Unknown {},
}

/// How a handler ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Outcome {
    /// It did the work.
    Completed {
        /// Structured output.
        #[serde(deserialize_with = "aip_types::exact::value")]
        output: Value,
    },
    /// It did not.
    Failed {
        /// Why.
        error: ProtocolError,
        /// An external effect may have happened all the same (AIP 1.0 §19.3).
        uncertain: bool,
    },
    /// It stopped as it was asked to, without effect or with its effect undone.
    Cancelled {},
}

/// Names one attempt in everything that a connector reports.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Attempt {
    /// Tenant of the action.
    pub tenant: String,
    /// The action.
    pub action: String,
    /// The fence of the offer.
    pub fence: Fence,
    /// The connector process.
    pub instance: String,
}

/// Asks to begin, on `aipr.<connector>.begin`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Begin {
    /// Which attempt.
    pub attempt: Attempt,
}

/// Answer to everything that an attempt reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// `begin`: run now. `chunk`, `result`: stored.
    Go,
    /// Another attempt, or a settlement, has overtaken this one: stop, nothing of it counts.
    Stale,
    /// Not decided now; ask again after a short time.
    Later,
    /// The report is not understood, and a repeat would not be either. It changes nothing: the attempt goes on.
    Invalid,
}

impl Verdict {
    /// Its word, for counters.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Go => "go",
            Self::Stale => "stale",
            Self::Later => "later",
            Self::Invalid => "invalid",
        }
    }
}

/// A part of the output, on `aipr.<connector>.chunk`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChunkReport {
    /// Which attempt.
    pub attempt: Attempt,
    /// Number of the chunk, counted on from the offer's `chunk_base`.
    pub sequence: u64,
    /// Its kind.
    pub kind: StreamChunkKind,
    /// Its data.
    #[serde(default, deserialize_with = "aip_types::exact::option", skip_serializing_if = "Option::is_none")]
    pub data: Option<Value>,
}

/// The result, on `aipr.<connector>.result`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ResultReport {
    /// Which attempt.
    pub attempt: Attempt,
    /// How it ended.
    pub outcome: Outcome,
}

/// Attempts that a connector process is working on, on `aipr.<connector>.hb`: renews their leases.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Heartbeats {
    /// At most `limits::LIST_PAGE_MAX`.
    pub attempts: Vec<Attempt>,
}

/// Presents a connector process and its capabilities, on `aipr.<connector>.register`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Register {
    /// The connector process.
    pub instance: String,
    /// All that its handlers implement.
    pub capabilities: Vec<Capability>,
}

/// Answer to [`Register`].
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Registered {
    /// Visible from now on, as long as `alive` keeps coming.
    Admitted {
        /// Digest of the admitted set.
        digest: String,
        /// Send `alive` this often, in milliseconds.
        alive_every_ms: u64,
    },
    /// Nothing of it is visible.
    Rejected {
        /// What to change.
        error: ProtocolError,
    },
}

/// A connector process lives, on `aipr.<connector>.alive`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Alive {
    /// The connector process.
    pub instance: String,
    /// Digest that it was admitted with; another one asks it to register anew.
    pub digest: String,
    /// It is leaving: remove it now.
    #[serde(default)]
    pub leaving: bool,
}

/// Answer to [`Alive`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Noted {
    /// Kept.
    Kept,
    /// Not admitted (any more): register.
    Register,
}

/// On `aipx.<connector>.<action>`: stop an attempt.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Control {
    /// Which attempt.
    pub fence: Fence,
    /// Why it must stop.
    pub reason: StopReason,
}

/// Why an attempt must stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    /// The lease is lost.
    LeaseLost,
    /// The deadline has passed.
    DeadlinePassed,
    /// Somebody who may wants it stopped (AIP 1.0 §11.8).
    Cancelled,
}
