//! Streams, buckets and lanes.

/// Records (`design.md` §2): `aipj.>`, republished on `aipl.>`.
pub const AIP_JOURNAL: &str = "AIP_JOURNAL";
/// Chunks of running actions: `aipk.>`.
pub const AIP_CHUNKS: &str = "AIP_CHUNKS";
/// Timers and due triggers: `aipt.>` and `aipd.>`.
pub const AIP_TRIGGERS: &str = "AIP_TRIGGERS";
/// Refusals, exports, negotiations: `aipa.>`.
pub const AIP_AUDIT: &str = "AIP_AUDIT";
/// What could not be processed: `aipq.>`.
pub const AIP_QUARANTINE: &str = "AIP_QUARANTINE";
/// Large values by hash: `aipb.>`.
pub const AIP_BLOBS: &str = "AIP_BLOBS";
/// Stream of the bucket `AIP_IDEMPOTENCY`.
pub const KV_AIP_IDEMPOTENCY: &str = "KV_AIP_IDEMPOTENCY";
/// Stream of the bucket `AIP_REPLAY`.
pub const KV_AIP_REPLAY: &str = "KV_AIP_REPLAY";
/// Stream of the bucket `AIP_LEASES`.
pub const KV_AIP_LEASES: &str = "KV_AIP_LEASES";
/// Stream of the bucket `AIP_REGISTRY`.
pub const KV_AIP_REGISTRY: &str = "KV_AIP_REGISTRY";
/// Stream of the bucket `AIP_LIVENESS`.
pub const KV_AIP_LIVENESS: &str = "KV_AIP_LIVENESS";

/// The journal's republish: source and destination.
pub const REPUBLISH: (&str, &str) = ("aipj.>", "aipl.>");

/// The chunks' republish: source and destination. Headers only: it tells that there is one more.
pub const REPUBLISH_CHUNKS: (&str, &str) = ("aipk.>", "aipc.>");

/// A stream and all that it captures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamName {
    /// Its name.
    pub name: &'static str,
    /// Its subjects.
    pub subjects: &'static [&'static str],
    /// What it holds.
    pub holds: &'static str,
}

/// All streams. Nothing else captures a subject.
pub const STREAMS: [StreamName; 11] = [
    StreamName { name: AIP_JOURNAL, subjects: &["aipj.>"], holds: "records; republished on `aipl.>` once stored" },
    StreamName {
        name: AIP_CHUNKS,
        subjects: &["aipk.>"],
        holds: "chunks of streaming actions; told of on `aipc.>` once stored",
    },
    StreamName {
        name: AIP_TRIGGERS,
        subjects: &["aipt.>", "aipd.>"],
        holds: "timers, and the triggers that they become (work queue)",
    },
    StreamName { name: AIP_AUDIT, subjects: &["aipa.>"], holds: "refusals, exports, negotiations (append only)" },
    StreamName { name: AIP_QUARANTINE, subjects: &["aipq.>"], holds: "received messages that cannot be processed" },
    StreamName { name: AIP_BLOBS, subjects: &["aipb.>"], holds: "large values by tenant and SHA-256" },
    StreamName { name: KV_AIP_IDEMPOTENCY, subjects: &["$KV.AIP_IDEMPOTENCY.>"], holds: "reserved idempotency keys" },
    StreamName { name: KV_AIP_REPLAY, subjects: &["$KV.AIP_REPLAY.>"], holds: "ids of signed messages that were seen" },
    StreamName {
        name: KV_AIP_LEASES,
        subjects: &["$KV.AIP_LEASES.>"],
        holds: "leases; the revision of the creation is the fence",
    },
    StreamName {
        name: KV_AIP_REGISTRY,
        subjects: &["$KV.AIP_REGISTRY.>"],
        holds: "admitted connectors and their capabilities",
    },
    StreamName {
        name: KV_AIP_LIVENESS,
        subjects: &["$KV.AIP_LIVENESS.>"],
        holds: "connector processes that are alive",
    },
];

/// What a lane brings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LaneKind {
    /// Actions that were just admitted: `queued` entries of the journal.
    Queued,
    /// Timers and triggers of actions that are due.
    DueAction,
}

impl LaneKind {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Queued, Self::DueAction];

    /// Name of its lane.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::DueAction => "due_action",
        }
    }

    /// The stream that it reads.
    #[must_use]
    pub const fn stream(self) -> &'static str {
        match self {
            Self::Queued => AIP_JOURNAL,
            Self::DueAction => AIP_TRIGGERS,
        }
    }

    const fn filter(self) -> &'static str {
        match self {
            Self::Queued => "aipj.*.action.*.*.queued",
            Self::DueAction => "aipd.*.action.>",
        }
    }
}

/// One durable consumer: all that is of one kind on its stream. One filter, since the server looks through every subject of a
/// stream for each block that a consumer with several filters comes to the end of (decision 008).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lane {
    /// What it brings.
    pub kind: LaneKind,
    /// Its stream.
    pub stream: &'static str,
    /// Its durable name.
    pub consumer: &'static str,
    /// Its filter; disjoint from those of the stream's other lanes.
    pub filter: &'static str,
}

/// The lane of a kind.
#[must_use]
pub const fn lane(kind: LaneKind) -> Lane {
    Lane { kind, stream: kind.stream(), consumer: kind.as_str(), filter: kind.filter() }
}

/// Every lane.
#[must_use]
pub fn lanes() -> [Lane; LaneKind::ALL.len()] {
    LaneKind::ALL.map(lane)
}
