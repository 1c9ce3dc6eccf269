//! The rules of a manifest (AIP 1.0 §9).

use std::collections::BTreeSet;

use aip_types::{Capability, CapabilityContract, Manifest};
use serde_json::Value;

use super::place::{At, Findings};
use super::registry::Rule;
use super::transaction::names_capability;
use crate::capability::CapabilitySchema;

/// The version that a manifest must name.
const MANIFEST_VERSION: &str = "aip-manifest/v1";

pub(super) fn manifest(found: &mut Findings<'_>, it: &Manifest, at: At<'_>) {
    found.require(it.manifest_version == MANIFEST_VERSION, Rule::ManifestVersion, at.member("manifest_version"));
    found.require(!it.profiles.is_empty(), Rule::ManifestProfiles, at.member("profiles"));
    let capabilities = at.member("capabilities");
    let mut ids = BTreeSet::new();
    for (index, one) in it.capabilities.iter().enumerate() {
        let at = capabilities.item(index);
        found.require(ids.insert(&one.id), Rule::CapabilityIdUnique, at.member("id"));
        capability(found, one, at);
    }
}

fn capability(found: &mut Findings<'_>, it: &Capability, at: At<'_>) {
    let input = at.member("input_schema");
    found.require(is_object_schema(&it.input_schema), Rule::InputSchemaObject, input);
    schema(found, &it.input_schema, input);
    if let Some(output) = &it.output_schema {
        schema(found, output, at.member("output_schema"));
    }
    if let Some(inner) = &it.contract {
        contract(found, inner, at.member("contract"));
    }
}

fn schema(found: &mut Findings<'_>, it: &Value, at: At<'_>) {
    if !found.is_full()
        && let Err(fault) = CapabilitySchema::compile(it)
    {
        found.note(&fault, at);
    }
}

fn contract(found: &mut Findings<'_>, it: &CapabilityContract, at: At<'_>) {
    found.require(!it.side_effects.is_empty(), Rule::ContractEffects, at.member("side_effects"));
    let run = &it.execution;
    let runs = run.supports_sync || run.supports_async || run.supports_streaming;
    let some = |ms: Option<u64>| ms != Some(0);
    found.require(some(it.idempotency.ttl_ms), Rule::KeyTtl, at.member("idempotency").member("ttl_ms"));
    found.require(runs, Rule::ContractMode, at.member("execution"));
    if let Some(retention) = &it.data.retention {
        let data = at.member("data");
        let at = data.member("retention");
        found.require(some(retention.retain_for_ms), Rule::RetentionTime, at.member("retain_for_ms"));
        found.require(some(retention.delete_after_ms), Rule::RetentionTime, at.member("delete_after_ms"));
    }
    if let Some(approval) = &it.approval {
        found.require(some(approval.ttl_ms), Rule::ContractApprovalTtl, at.member("approval").member("ttl_ms"));
    }
    if let Some(sla) = &it.sla {
        let at = at.member("sla");
        found.require(some(sla.expected_latency_ms), Rule::ServiceLevelTime, at.member("expected_latency_ms"));
        found.require(some(sla.timeout_ms), Rule::ServiceLevelTime, at.member("timeout_ms"));
        found.require(some(sla.max_queue_delay_ms), Rule::ServiceLevelTime, at.member("max_queue_delay_ms"));
    }
    if let Some(transaction) = &it.transaction {
        let listed = !transaction.supported_modes.is_empty();
        found.require(listed, Rule::ContractTransactionModes, at.member("transaction").member("supported_modes"));
    }
    if let Some(compensation) = &it.compensation {
        let at = at.member("compensation");
        let named = names_capability(compensation);
        found.require(named, Rule::ContractCompensation, at.member("compensation_capability_id"));
        let some = some(compensation.compensation_window_ms);
        found.require(some, Rule::CompensationWindow, at.member("compensation_window_ms"));
    }
}

/// An input schema is an object, and says so where it says a type (AIP 1.0 §9.3).
fn is_object_schema(schema: &Value) -> bool {
    match (schema, schema.get("type")) {
        (Value::Object(_), None) => true,
        (Value::Object(_), Some(kind)) => kind == "object",
        (_, _) => false,
    }
}
