//! The fixed precedence of refusals (AIP 1.0 §11.3): one wrong request has one answer, however many things are wrong with it.

use aip_types::{
    Action, ActionMode, Capability, ErrorCode, IdempotencyRequirement, Millis, ProtocolError, TransactionMode, limits,
};
use alloc::{
    string::{String, ToString},
    vec::Vec,
};
use serde_json::json;

use crate::action::Contract;

/// What admission has found out about one action, before anything is written.
#[derive(Clone, Debug)]
pub struct Facts<'a> {
    /// The request, schema-valid and authenticated.
    pub action: &'a Action,
    /// The capability, when it is admitted and the caller may see it.
    pub capability: Option<&'a Capability>,
    /// A handler of it is alive.
    pub live: bool,
    /// The input's first violation of the capability's schema.
    pub input_fault: Option<Finding>,
    /// Tenant of the trusted context.
    pub tenant: &'a str,
    /// Queued work of the tenant is below its bound.
    pub room: bool,
    /// Now.
    pub at: Millis,
}

/// Where a value violates a schema, and which rule. Never the value itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// JSON Pointer into the checked value.
    pub pointer: String,
    /// The violated keyword or rule.
    pub rule: String,
}

/// On what terms an action is admitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Terms {
    /// Its mode.
    pub mode: ActionMode,
    /// Its immutable deadline.
    pub deadline: Millis,
    /// Its frozen contract.
    pub contract: Contract,
}

/// Decides steps 3 to 6 and 8 of AIP 1.0 §11.3, in that order; the idempotency reservation follows (`design.md` §5).
///
/// # Errors
/// The first refusal in the fixed order.
pub fn check(facts: &Facts<'_>) -> Result<Terms, ProtocolError> {
    let capability = facts.capability.ok_or(ErrorCode::CapabilityNotFound)?;
    if !facts.live {
        return Err(ProtocolError::from(ErrorCode::CapabilityUnavailable).with_retry_after_ms(limits::RETRY_AFTER_MS));
    }
    if let Some(Finding { pointer, rule }) = &facts.input_fault {
        return Err(
            ProtocolError::from(ErrorCode::InputInvalid).with_details(json!({"pointer": pointer, "rule": rule}))
        );
    }
    tenant(facts)?;
    let mode = mode(facts.action, capability)?;
    let deadline = deadline(facts)?;
    context(facts.action, capability)?;
    key(facts.action, capability)?;
    if !facts.room {
        return Err(ProtocolError::from(ErrorCode::TenantQueueFull).with_retry_after_ms(limits::RETRY_AFTER_MS));
    }
    Ok(Terms { mode, deadline, contract: Contract::of(capability) })
}

/// A tenant in the request is a claim: it must be the trusted one (AIP 1.0 §22.6).
fn tenant(facts: &Facts<'_>) -> Result<(), ProtocolError> {
    let claimed = facts.action.identity.as_ref().and_then(|identity| identity.tenant.as_ref());
    match claimed {
        Some(claimed) if claimed.id != facts.tenant => Err(ErrorCode::TenantMismatch.into()),
        Some(_) | None => Ok(()),
    }
}

fn mode(action: &Action, capability: &Capability) -> Result<ActionMode, ProtocolError> {
    let (sync, r#async, streaming) = capability.contract.as_ref().map_or((true, true, false), |contract| {
        let execution = &contract.execution;
        (execution.supports_sync, execution.supports_async, execution.supports_streaming)
    });
    let supported: Vec<_> =
        [(sync, ActionMode::Sync), (r#async, ActionMode::Async), (streaming, ActionMode::Streaming)]
            .into_iter()
            .filter_map(|(yes, mode)| yes.then_some(mode))
            .collect();
    let wanted = action.mode.or_else(|| supported.first().copied());
    match wanted {
        Some(wanted) if supported.contains(&wanted) => Ok(wanted),
        Some(_) | None => {
            let names: Vec<_> = supported.iter().map(|mode| mode.as_str()).collect();
            Err(ProtocolError::from(ErrorCode::ModeUnsupported)
                .with_details(json!({"pointer": "/body/action/mode", "supported": names})))
        }
    }
}

fn deadline(facts: &Facts<'_>) -> Result<Millis, ProtocolError> {
    let timeout_ms = facts.action.timeout_ms.unwrap_or(limits::ACTION_TIMEOUT_MS_DEFAULT);
    if timeout_ms == 0 || timeout_ms > limits::ACTION_TIMEOUT_MS_MAX {
        let details =
            json!({"pointer": "/body/action/timeout_ms", "minimum": 1, "maximum": limits::ACTION_TIMEOUT_MS_MAX});
        return Err(ProtocolError::from(ErrorCode::TimeoutInvalid).with_details(details));
    }
    Ok(facts.at.plus(timeout_ms))
}

/// Governance that this fleet does not yet serve is refused, never skipped.
fn context(action: &Action, capability: &Capability) -> Result<(), ProtocolError> {
    let transaction =
        action.transaction.as_ref().is_some_and(|transaction| transaction.mode != TransactionMode::Execute);
    let unsupported = [
        ("approval", action.approval.is_some()),
        ("transaction", transaction),
        ("delegation_chain", !action.delegation_chain.is_empty()),
        ("callback", action.callback.is_some()),
    ];
    if let Some((member, _)) = unsupported.iter().find(|(_, present)| *present) {
        return Err(ProtocolError::from(ErrorCode::ContextUnsupported)
            .with_details(json!({"pointer": alloc::format!("/body/action/{member}")})));
    }
    let approval = capability
        .contract
        .as_ref()
        .and_then(|contract| contract.approval.as_ref())
        .is_some_and(|policy| policy.required);
    if approval || capability.requires_human_approval == Some(true) {
        return Err(ErrorCode::PolicyDenied.into());
    }
    Ok(())
}

fn key(action: &Action, capability: &Capability) -> Result<(), ProtocolError> {
    let requirement = capability
        .contract
        .as_ref()
        .map_or(IdempotencyRequirement::Optional, |contract| contract.idempotency.requirement);
    let pointer = json!({"pointer": "/body/action/idempotency_key".to_string()});
    match (requirement, &action.idempotency_key) {
        (IdempotencyRequirement::Required, None) => {
            Err(ProtocolError::from(ErrorCode::KeyRequired).with_details(pointer))
        }
        (IdempotencyRequirement::Unsupported, Some(_)) => {
            Err(ProtocolError::from(ErrorCode::KeyUnsupported).with_details(pointer))
        }
        (IdempotencyRequirement::Required | IdempotencyRequirement::Optional, Some(_))
        | (IdempotencyRequirement::Optional | IdempotencyRequirement::Unsupported, None) => Ok(()),
    }
}
