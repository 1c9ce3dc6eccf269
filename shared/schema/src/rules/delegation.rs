//! The rules of delegation (AIP 1.0 §14).

use aip_types::{DelegationRequest, DelegationResult, DelegationStatus};

use super::place::{At, Findings};
use super::registry::Rule;
use super::{action, receipt};

pub(super) fn request(found: &mut Findings<'_>, it: &DelegationRequest, at: At<'_>) {
    let child = at.member("child_action");
    found.require(it.parent_action_id != it.child_action.id, Rule::DelegationChild, child.member("id"));
    found.require(!it.scope.is_empty(), Rule::DelegationScope, at.member("scope"));
    action::action(found, &it.child_action, child);
}

pub(super) fn result(found: &mut Findings<'_>, it: &DelegationResult, at: At<'_>) {
    let ended = match it.status {
        DelegationStatus::Completed | DelegationStatus::Failed | DelegationStatus::Cancelled => true,
        DelegationStatus::Accepted | DelegationStatus::Running | DelegationStatus::RequiresHuman => false,
    };
    let told = !ended || it.result.is_some() || it.error.is_some();
    found.require(told, Rule::DelegationOutcome, at.member("result"));
    if let Some(inner) = &it.result {
        action::result(found, inner, Some(&it.child_action_id), at.member("result"));
    }
    if let Some(chain) = &it.receipt_chain {
        receipt::chain(found, chain, at.member("receipt_chain"));
    }
}
