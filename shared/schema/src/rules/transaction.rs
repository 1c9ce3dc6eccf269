//! The rules of transactions (AIP 1.0 §13).

use aip_types::{
    ActionResultStatus, CompensationContract, CompensationMode, TransactionPlan, TransactionProtocolStatus,
    TransactionRequest, TransactionResult, TransactionView,
};

use super::place::{At, Findings};
use super::registry::Rule;
use super::{action, query, receipt};

pub(super) fn request(found: &mut Findings<'_>, it: &TransactionRequest, at: At<'_>) {
    let inner = it.action.transaction.as_ref().and_then(|transaction| transaction.transaction_id.as_ref());
    let same = inner.is_none_or(|id| *id == it.transaction_id);
    let action = at.member("action");
    found.require(same, Rule::TransactionId, action.member("transaction").member("transaction_id"));
    action::action(found, &it.action, action);
}

pub(super) fn result(found: &mut Findings<'_>, it: &TransactionResult, at: At<'_>) {
    if it.status == TransactionProtocolStatus::Planned {
        let fits = it.plan.as_ref().is_some_and(|plan| {
            plan.transaction_id == it.transaction_id
                && plan.action_id == it.action_id
                && plan.capability_id == it.capability_id
        });
        found.require(fits, Rule::PlanOfResult, at.member("plan"));
    }
    let failed = it.status == TransactionProtocolStatus::Failed;
    let inside = |inner: &aip_types::ActionResult| inner.status == ActionResultStatus::Failed && inner.error.is_some();
    let told = !failed || it.error.is_some() || it.result.as_ref().is_some_and(inside);
    found.require(told, Rule::TransactionError, at.member("error"));
    action::action_transaction(found, &it.transaction, at.member("transaction"));
    if let Some(inner) = &it.plan {
        plan(found, inner, at.member("plan"));
    }
    if let Some(inner) = &it.result {
        action::result(found, inner, Some(&it.action_id), at.member("result"));
    }
    if let Some(chain) = &it.receipt_chain {
        receipt::chain(found, chain, at.member("receipt_chain"));
    }
}

pub(super) fn view(found: &mut Findings<'_>, it: &TransactionView, at: At<'_>) {
    action::action_transaction(found, &it.transaction, at.member("transaction"));
    if let Some(inner) = &it.plan {
        plan(found, inner, at.member("plan"));
    }
    if let Some(inner) = &it.result {
        action::result(found, inner, Some(&it.action_id), at.member("result"));
    }
    if let Some(chain) = &it.receipt_chain {
        receipt::chain(found, chain, at.member("receipt_chain"));
    }
}

fn plan(found: &mut Findings<'_>, it: &TransactionPlan, at: At<'_>) {
    action::action_transaction(found, &it.transaction, at.member("transaction"));
    if let Some(policy) = &it.approval_policy {
        query::policy(found, policy, at.member("approval_policy"));
    }
    if let Some(contract) = &it.compensation {
        let at = at.member("compensation");
        found.require(names_capability(contract), Rule::PlanCompensation, at.member("compensation_capability_id"));
        let some = contract.compensation_window_ms != Some(0);
        found.require(some, Rule::PlanCompensationWindow, at.member("compensation_window_ms"));
    }
}

/// Compensation that is supported is somebody's capability.
pub(super) const fn names_capability(it: &CompensationContract) -> bool {
    match it.mode {
        CompensationMode::Supported => it.compensation_capability_id.is_some(),
        CompensationMode::NotRequired | CompensationMode::BestEffort | CompensationMode::RollbackNotSupported => true,
    }
}
