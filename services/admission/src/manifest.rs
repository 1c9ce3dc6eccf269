//! The manifest, as this reader may see it (AIP 1.0 §9).

use aip_service::{Offered, Snapshot, receive::Caller};
use aip_types::{
    Capability, Manifest, ManifestFilter, ManifestRequest, MessageBody, Principal, PrincipalId, PrincipalKind,
    ProfileId, RiskLevel,
};
use serde_json::json;

/// Profiles served by this fleet.
const PROFILES: [&str; 2] = ["aip.native.http.v1", "aip.native.nats.v1"];

pub(crate) fn manifest(snapshot: &Snapshot, caller: &Caller, wanted: &ManifestRequest) -> MessageBody {
    let filter = wanted.filter.as_ref();
    let capabilities: Vec<Capability> = snapshot
        .callable()
        .map(|offered: &std::sync::Arc<Offered>| &offered.capability)
        .filter(|capability| caller.known().may_call(&capability.id))
        .filter(|capability| filter.is_none_or(|filter| admits(filter, capability)))
        .cloned()
        .collect();
    MessageBody::from(Manifest {
        manifest_version: "aip-manifest/v1".to_owned(),
        agent: Principal::new(PrincipalId::new("service:aip-fleet"), PrincipalKind::Service),
        capabilities,
        profiles: PROFILES.iter().map(|profile| ProfileId::new(*profile)).collect(),
        resources: Vec::new(),
        channels: Vec::new(),
        security: Some(json!({"authentication": ["bearer", "nkey", "did:key"], "signature": "ed25519"})),
        governance: None,
        limits: Some(
            json!({"envelope_bytes_max": aip_types::limits::ENVELOPE_BYTES_MAX, "wait_ms_max": aip_types::limits::WAIT_MS_MAX}),
        ),
        compatibility: Some(json!({"schemas_sha256": aip_schema::digests().total})),
        extensions: None,
    })
}

/// Every given member of a filter must hold; an empty list is not given (AIP 1.0 §9.8).
fn admits(filter: &ManifestFilter, capability: &Capability) -> bool {
    let contract = capability.contract.as_ref();
    let effects = contract.map(|contract| contract.side_effects.as_slice()).unwrap_or_default();
    let approval = capability.requires_human_approval.unwrap_or(false)
        || contract.and_then(|contract| contract.approval.as_ref()).is_some_and(|policy| policy.required);
    let streams = contract.is_some_and(|contract| contract.execution.supports_streaming);
    let transacts = contract.is_some_and(|contract| contract.transaction.is_some());
    let any = |empty: bool, found: bool| empty || found;
    any(filter.capability_ids.is_empty(), filter.capability_ids.contains(&capability.id))
        && any(filter.risk.is_empty(), filter.risk.contains(&capability.risk.unwrap_or(RiskLevel::High)))
        && any(filter.side_effects.is_empty(), filter.side_effects.iter().any(|effect| effects.contains(effect)))
        && any(
            filter.profiles.is_empty(),
            filter.profiles.iter().any(|profile| {
                PROFILES.contains(&profile.as_str())
                    || capability.bindings.iter().any(|binding| binding.profile == *profile)
            }),
        )
        && filter.requires_approval.is_none_or(|wanted| wanted == approval)
        && filter.supports_streaming.is_none_or(|wanted| wanted == streams)
        && filter.supports_transactions.is_none_or(|wanted| wanted == transacts)
}
