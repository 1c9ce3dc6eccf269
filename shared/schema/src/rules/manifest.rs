//! The rules of a manifest (AIP 1.0 §9).

use std::collections::BTreeSet;

use aip_types::{Capability, CapabilityContract, CompensationMode, ErrorCode, Manifest};
use serde_json::Value;

use crate::capability::CapabilitySchema;
use crate::fault::Fault;

/// The version that a manifest must name.
const MANIFEST_VERSION: &str = "aip-manifest/v1";

/// Everything that is wrong with a manifest; empty if it may be admitted. Pointers begin at the manifest.
///
/// Compiles every schema in it, so it also finds schemas that are no schemas or too large.
///
/// Source: AIP 1.0 §9.1, §9.3, §9.4.
#[must_use]
pub fn manifest(it: &Manifest) -> Vec<Fault> {
    let mut findings = Findings::default();
    findings.require(it.manifest_version == MANIFEST_VERSION, "/manifest_version", "manifest_version");
    findings.require(!it.profiles.is_empty(), "/profiles", "not_empty");
    let mut ids = BTreeSet::new();
    for (index, capability) in it.capabilities.iter().enumerate() {
        let at = format!("/capabilities/{index}");
        findings.require(ids.insert(&capability.id), &format!("{at}/id"), "unique_id");
        findings.capability(capability, &at);
    }
    findings.0
}

#[derive(Default)]
struct Findings(Vec<Fault>);

impl Findings {
    fn require(&mut self, holds: bool, pointer: &str, rule: &'static str) {
        if !holds {
            self.0.push(Fault::new(ErrorCode::ManifestRejected, pointer, rule));
        }
    }

    fn capability(&mut self, it: &Capability, at: &str) {
        self.require(is_object_schema(&it.input_schema), &format!("{at}/input_schema"), "object_schema");
        self.schema(&it.input_schema, &format!("{at}/input_schema"));
        if let Some(schema) = &it.output_schema {
            self.schema(schema, &format!("{at}/output_schema"));
        }
        if let Some(contract) = &it.contract {
            self.contract(contract, &format!("{at}/contract"));
        }
    }

    fn schema(&mut self, schema: &Value, at: &str) {
        if let Err(fault) = CapabilitySchema::compile(schema) {
            self.require(false, &format!("{at}{}", fault.pointer), fault.rule);
        }
    }

    fn contract(&mut self, it: &CapabilityContract, at: &str) {
        self.require(!it.side_effects.is_empty(), &format!("{at}/side_effects"), "not_empty");
        let run = &it.execution;
        let runs = run.supports_sync || run.supports_async || run.supports_streaming;
        self.require(runs, &format!("{at}/execution"), "one_mode_supported");
        if let Some(compensation) = &it.compensation {
            let named =
                compensation.mode != CompensationMode::Supported || compensation.compensation_capability_id.is_some();
            self.require(named, &format!("{at}/compensation/compensation_capability_id"), "required_with_supported");
        }
        if let Some(transaction) = &it.transaction {
            self.require(
                !transaction.supported_modes.is_empty(),
                &format!("{at}/transaction/supported_modes"),
                "not_empty",
            );
        }
        for (name, duration) in durations(it) {
            self.require(duration != Some(0), &format!("{at}/{name}"), "greater_than_zero");
        }
    }
}

/// The durations of a contract, which are greater than zero where they are declared.
fn durations(it: &CapabilityContract) -> [(&'static str, Option<u64>); 8] {
    let sla = it.sla.as_ref();
    let retention = it.data.retention.as_ref();
    [
        ("idempotency/ttl_ms", it.idempotency.ttl_ms),
        ("approval/ttl_ms", it.approval.as_ref().and_then(|approval| approval.ttl_ms)),
        ("sla/expected_latency_ms", sla.and_then(|sla| sla.expected_latency_ms)),
        ("sla/timeout_ms", sla.and_then(|sla| sla.timeout_ms)),
        ("sla/max_queue_delay_ms", sla.and_then(|sla| sla.max_queue_delay_ms)),
        ("compensation/compensation_window_ms", it.compensation.as_ref().and_then(|it| it.compensation_window_ms)),
        ("data/retention/retain_for_ms", retention.and_then(|retention| retention.retain_for_ms)),
        ("data/retention/delete_after_ms", retention.and_then(|retention| retention.delete_after_ms)),
    ]
}

/// An input schema is an object, and says so where it says a type (AIP 1.0 §9.3).
fn is_object_schema(schema: &Value) -> bool {
    match (schema, schema.get("type")) {
        (Value::Object(_), None) => true,
        (Value::Object(_), Some(kind)) => kind == "object",
        (_, _) => false,
    }
}
