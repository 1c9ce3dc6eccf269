//! What a repeated key means (AIP 1.0 §9.5, `design.md` §5).

use aip_crypto::sha256_hex;
use aip_types::{
    Action, ActionId, Capability, ErrorCode, IdempotencyCollisionBehavior, IdempotencyKeyScope, Millis, PrincipalId,
};
use alloc::{format, string::String};
use serde::{Deserialize, Serialize};

use crate::action::ActionRecord;

/// What a reserved key points to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reservation {
    /// The action that the key names.
    pub action_id: ActionId,
    /// Hash of its input.
    pub input_hash: String,
    /// When it was made.
    pub at: Millis,
}

/// The name under which a key is reserved: a hash over its scope's parts and the key. One tenant's keys never meet another's.
/// Without a contract, the scope is `principal` with the capability in it: the narrowest in which a key still does something.
#[must_use]
pub fn reservation(
    action: &Action,
    capability: &Capability,
    tenant: &str,
    principal: &PrincipalId,
    key: &str,
) -> String {
    let scope =
        capability.contract.as_ref().map_or(IdempotencyKeyScope::Principal, |contract| contract.idempotency.key_scope);
    let account = action.identity.as_ref().and_then(|identity| identity.external_account.as_ref());
    let part = match scope {
        IdempotencyKeyScope::Action => parts(&["action", action.id.as_str()]),
        IdempotencyKeyScope::Capability => parts(&["capability", capability.id.as_str()]),
        IdempotencyKeyScope::Principal => parts(&["principal", principal.as_str(), capability.id.as_str()]),
        IdempotencyKeyScope::Tenant => parts(&["tenant"]),
        IdempotencyKeyScope::ExternalAccount => {
            let (system, id) = account.map_or(("", ""), |account| (account.system.as_str(), account.id.as_str()));
            parts(&["external_account", system, id])
        }
    };
    sha256_hex(parts(&[tenant, &part, key]).as_bytes())
}

/// Joins parts so that no two lists give one text.
fn parts(list: &[&str]) -> String {
    list.iter().fold(String::new(), |text, part| format!("{text}{}:{part}|", part.len()))
}

/// A capability's collision behaviour; a typed conflict where it declares none.
#[must_use]
pub fn collision(capability: &Capability) -> IdempotencyCollisionBehavior {
    capability
        .contract
        .as_ref()
        .map_or(IdempotencyCollisionBehavior::RevalidateInputHash, |contract| contract.idempotency.collision_behavior)
}

/// What to do with a request whose key is already reserved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hit {
    /// The reservation has no record yet: append the first entry under the reserved id.
    Adopt,
    /// Answer with the reserved action.
    Replay,
    /// Refuse with this code.
    Refuse(ErrorCode),
    /// The reserved id names a record that another key or no key made: refuse, and give the reservation up.
    Foreign,
}

/// Decides about a reserved key. `record`: what lies under the reserved id, read from the leader.
#[must_use]
pub fn decide(
    reserved: &Reservation,
    record: Option<&ActionRecord>,
    key_hash: &str,
    input_hash: &str,
    collision: IdempotencyCollisionBehavior,
) -> Hit {
    if let Some(record) = record
        && record.key.as_ref().is_none_or(|key| key.hash != key_hash)
    {
        return Hit::Foreign;
    }
    match collision {
        IdempotencyCollisionBehavior::RejectConflict if record.is_some() => Hit::Refuse(ErrorCode::IdempotencyConflict),
        IdempotencyCollisionBehavior::RevalidateInputHash if reserved.input_hash != input_hash => {
            Hit::Refuse(ErrorCode::IdempotencyInputMismatch)
        }
        IdempotencyCollisionBehavior::RejectConflict
        | IdempotencyCollisionBehavior::RevalidateInputHash
        | IdempotencyCollisionBehavior::ReturnOriginalResult => {
            if record.is_some() {
                Hit::Replay
            } else {
                Hit::Adopt
            }
        }
    }
}

/// Decides about an action id that is already taken, for a request without a key: the same input is the same action.
#[must_use]
pub fn same_action(record: &ActionRecord, principal: &PrincipalId, capability_id: &str, input_hash: &str) -> bool {
    record.key.is_none()
        && record.principal.id == *principal
        && record.capability_id.as_str() == capability_id
        && record.input_hash == input_hash
}
