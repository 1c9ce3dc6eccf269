//! What a reader sees of a session (AIP 1.0 §10.4).

use aip_types::{SessionView, Timestamp};
use alloc::{
    collections::BTreeMap,
    format,
    string::{String, ToString},
};

use super::record::SessionRecord;

/// The view of a session. Neither token nor action ids are in it.
#[must_use]
pub fn view(record: &SessionRecord) -> SessionView {
    let link = |(name, tail): (&str, &str)| (name.to_string(), format!("/aip/v1/sessions/{}{tail}", record.id));
    let links: BTreeMap<String, String> =
        [("self", ""), ("close", ":close"), ("resume", ":resume")].into_iter().map(link).collect();
    SessionView {
        session_id: record.id.clone(),
        status: record.state,
        principal: record.initiator.clone(),
        peer: record.peer.clone(),
        created_at: Timestamp::from_millis(record.created_at),
        updated_at: Timestamp::from_millis(record.chain.updated_at),
        expires_at: Some(Timestamp::from_millis(record.expires_at)),
        active_action_count: u64::try_from(record.actions.len()).unwrap_or(u64::MAX),
        links,
    }
}
