//! The pieces that this service's capabilities are declared with.

use aip_types::{
    Capability, CapabilityContract, CapabilityId, CapabilityKind, DataContract, DataSensitivity, ExecutionContract,
    ExpectedCompletionMode, IdempotencyCollisionBehavior, IdempotencyContract, IdempotencyKeyScope,
    IdempotencyRequirement, RetrySafety, RiskLevel, SideEffect, Stability,
};
use serde_json::{Value, json};

/// What differs between one capability and another.
pub(crate) struct Terms {
    pub(crate) id: &'static str,
    pub(crate) name: &'static str,
    pub(crate) description: &'static str,
    pub(crate) input: Value,
    pub(crate) output: Value,
    pub(crate) effect: SideEffect,
    pub(crate) requirement: IdempotencyRequirement,
    pub(crate) safety: RetrySafety,
    /// Chunks can be sent, and a cancel is honoured.
    pub(crate) streams: bool,
}

/// The capability with its full contract (AIP 1.0 §9.4). All here run sync and async, and hold no personal data.
pub(crate) fn capability(terms: Terms) -> Capability {
    let Terms { id, name, description, input, output, effect, requirement, safety, streams } = terms;
    let idempotency = IdempotencyContract::new(
        requirement,
        IdempotencyCollisionBehavior::RevalidateInputHash,
        IdempotencyKeyScope::Tenant,
    );
    let execution = ExecutionContract {
        supports_sync: true,
        supports_async: true,
        supports_streaming: streams,
        supports_cancel: streams,
        supports_retry: matches!(safety, RetrySafety::Safe | RetrySafety::SafeWithIdempotencyKey),
        expected_completion: if streams { ExpectedCompletionMode::Any } else { ExpectedCompletionMode::Sync },
        retry_safety: safety,
    };
    let data = DataContract {
        sensitivity: DataSensitivity::Public,
        contains_pii: false,
        redaction_required: false,
        residency: None,
        retention: None,
    };
    let mut contract = CapabilityContract::new(idempotency, execution, data);
    contract.side_effects = vec![effect];
    let mut capability = Capability::new(CapabilityId::new(id), name.to_owned(), CapabilityKind::Tool, input);
    capability.output_schema = Some(output);
    capability.description = Some(description.to_owned());
    capability.risk = Some(if effect == SideEffect::Read { RiskLevel::Low } else { RiskLevel::Medium });
    capability.stability = Some(Stability::Stable);
    capability.contract = Some(contract);
    capability
}

/// A closed object schema.
pub(crate) fn object(properties: Value, required: &[&str]) -> Value {
    json!({ "type": "object", "properties": properties, "required": required, "additionalProperties": false })
}

/// A bounded string schema.
pub(crate) fn string(characters_max: u32) -> Value {
    json!({ "type": "string", "maxLength": characters_max })
}
