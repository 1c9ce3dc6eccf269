//! Streams, buckets and lanes.

use super::token::{VPS, Vp};

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
    StreamName { name: AIP_CHUNKS, subjects: &["aipk.>"], holds: "chunks of streaming actions" },
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

/// Lane groups a stream: each is one consumer over an equal range of partitions (`design.md` §4.8).
pub const LANE_GROUPS: u8 = 4;

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

    /// Name of the lane, without its group.
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

    fn filter(self, vp: Vp) -> String {
        match self {
            Self::Queued => format!("aipj.{vp}.action.*.*.queued"),
            Self::DueAction => format!("aipd.{vp}.action.>"),
        }
    }
}

/// One durable consumer of a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lane {
    /// What it brings.
    pub kind: LaneKind,
    /// Its stream.
    pub stream: &'static str,
    /// Its durable name, such as `queued_g0`.
    pub consumer: String,
    /// Its filters, one a partition; disjoint over all lanes of the stream.
    pub filters: Vec<String>,
}

/// The lanes of one kind, one a group.
#[must_use]
pub fn lanes(kind: LaneKind) -> Vec<Lane> {
    let width = VPS / LANE_GROUPS;
    (0..LANE_GROUPS)
        .map(|group| Lane {
            kind,
            stream: kind.stream(),
            consumer: format!("{}_g{group}", kind.as_str()),
            filters: (group * width..(group + 1) * width).filter_map(Vp::new).map(|vp| kind.filter(vp)).collect(),
        })
        .collect()
}

/// Every lane of every kind.
#[must_use]
pub fn lane_groups() -> Vec<Lane> {
    LaneKind::ALL.into_iter().flat_map(lanes).collect()
}

const _: () = assert!(VPS.is_multiple_of(LANE_GROUPS), "every partition lies in exactly one lane group");
