//! Every name on the bus: subjects, streams, buckets, keys, lanes and queue groups (`design.md` §2, §4, §6).
//!
//! Nobody else spells or takes apart one of them. What comes from outside (ids, keys, tenants) enters through a type that
//! refuses or folds it, so no built name contains a wildcard, an empty token or a token more than its shape has.
//! `docs/subjects.md` is printed by [`docs`].

mod buckets;
mod docs;
mod edge;
mod owner;
mod record;
mod streams;
mod token;
mod work;

pub use buckets::{
    idempotency, lease, liveness, liveness_all, parse_lease, parse_liveness, parse_registry, registry, registry_all,
    replay,
};
pub use docs::docs;
pub use edge::{CanonicalSubject, Origin, Peer, correlation, is_foreign, is_inbox, owner_subjects, tenant_request};
pub use owner::{Owner, owner};
pub use record::{
    DueSubject, EntrySubject, RecordKey, RecordKind, audit, blob, chunk, chunks, live_events, parse_chunk_fence,
    quarantine,
};
pub use streams::{
    AIP_AUDIT, AIP_BLOBS, AIP_CHUNKS, AIP_JOURNAL, AIP_QUARANTINE, AIP_TRIGGERS, KV_AIP_IDEMPOTENCY, KV_AIP_LEASES,
    KV_AIP_LIVENESS, KV_AIP_REGISTRY, KV_AIP_REPLAY, Lane, LaneKind, REPUBLISH, REPUBLISH_CHUNKS, STREAMS, StreamName,
    lane, lanes,
};
pub use token::{BadToken, ConnectorName, TOKEN_BYTES_MAX, Tenant, Token, VPS, Vp, id_token};
pub use work::{Report, control, control_all, parse_report, report, report_all, work, work_all};
