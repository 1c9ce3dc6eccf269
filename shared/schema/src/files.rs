//! The schema files as they are embedded, served and published.

use std::sync::LazyLock;

use aip_crypto::sha256_hex;

macro_rules! files {
    ($($name:literal),+ $(,)?) => {
        /// Every schema file of AIP 1.0 Appendix A: its name and its text, as they stand under `schemas/aip`, sorted by name.
        pub const FILES: &[(&str, &str)] = &[
            $(($name, include_str!(concat!("../../../schemas/aip/", $name))),)+
        ];
    };
}

files! {
    "ack.schema.json",
    "action.schema.json",
    "action_events.schema.json",
    "action_events_request.schema.json",
    "action_list.schema.json",
    "action_list_request.schema.json",
    "action_result.schema.json",
    "action_result_request.schema.json",
    "action_status.schema.json",
    "action_status_request.schema.json",
    "approval_decision.schema.json",
    "approval_list.schema.json",
    "approval_list_request.schema.json",
    "approval_query_request.schema.json",
    "approval_record_view.schema.json",
    "approval_request.schema.json",
    "audit_query_request.schema.json",
    "audit_query_result.schema.json",
    "callback_delivery_list.schema.json",
    "callback_delivery_list_request.schema.json",
    "callback_delivery_policy.schema.json",
    "callback_delivery_query_request.schema.json",
    "callback_delivery_record.schema.json",
    "capability_contract.schema.json",
    "channel_message.schema.json",
    "delegation_request.schema.json",
    "delegation_result.schema.json",
    "envelope.schema.json",
    "escalation.schema.json",
    "event.schema.json",
    "event_stream.schema.json",
    "identity_context.schema.json",
    "manifest.schema.json",
    "manifest_filter.schema.json",
    "receipt_query_request.schema.json",
    "resource_list.schema.json",
    "resource_list_request.schema.json",
    "resource_read_request.schema.json",
    "resource_read_result.schema.json",
    "session_close_request.schema.json",
    "session_list.schema.json",
    "session_list_request.schema.json",
    "session_request.schema.json",
    "session_resume.schema.json",
    "session_resume_request.schema.json",
    "session_view.schema.json",
    "stream_chunk.schema.json",
    "transaction_plan.schema.json",
    "transaction_query_request.schema.json",
    "transaction_request.schema.json",
    "transaction_result.schema.json",
    "transaction_view.schema.json",
}

/// The digests of the schema files that this build judges by.
///
/// `total` is the SHA-256 over one line a file, `<name> <SHA-256 of its bytes>\n`, sorted by name: two parties that have
/// the same total have the same files. `(cd schemas/aip && sha256sum *.json | awk '{print $2" "$1}' | LC_ALL=C sort | sha256sum)`
/// computes it without this program. All digests are in lower-case hexadecimal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Digests {
    /// Name and digest of each file, sorted by name.
    pub files: Vec<(&'static str, String)>,
    /// The digest of them all.
    pub total: String,
}

static DIGESTS: LazyLock<Digests> = LazyLock::new(|| {
    let files: Vec<_> = FILES.iter().map(|(name, text)| (*name, sha256_hex(text.as_bytes()))).collect();
    let lines: String = files.iter().map(|(name, digest)| format!("{name} {digest}\n")).collect();
    Digests { total: sha256_hex(lines.as_bytes()), files }
});

/// The digests of [`FILES`].
#[must_use]
pub fn digests() -> &'static Digests {
    &DIGESTS
}

/// The text of a schema file and its digest.
#[must_use]
pub fn file(name: &str) -> Option<(&'static str, &'static str)> {
    let index = FILES.binary_search_by(|(known, _)| (*known).cmp(name)).ok()?;
    let (_, text) = FILES.get(index)?;
    let (_, digest) = DIGESTS.files.get(index)?;
    Some((text, digest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_is_found_under_its_name_and_no_other() {
        assert!(FILES.is_sorted());
        for (name, text) in FILES {
            assert_eq!(file(name).unwrap(), (*text, sha256_hex(text.as_bytes()).as_str()));
        }
        assert_eq!(file("../aip/ack.schema.json"), None);
        assert_eq!(file(""), None);
    }
}
