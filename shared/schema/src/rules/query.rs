//! The rules of queries and of what answers them: bounds of lists and waits, and the ruled objects inside the records
//! (AIP 1.0 §12.1, §16.4–§16.6, §17.3, §18.3).

use aip_types::{
    ActionList, ApprovalList, ApprovalPolicy, ApprovalRecordView, ApprovalRequest, AuditQueryResult,
    CallbackDeliveryList, CallbackDeliveryRecord, limits,
};

use super::place::{At, Findings};
use super::registry::Rule;
use super::{action, receipt};

pub(super) fn wait(found: &mut Findings<'_>, wait_ms: Option<u64>, at: At<'_>) {
    found.require(wait_ms.is_none_or(|ms| ms <= limits::WAIT_MS_MAX), Rule::WaitMax, at.member("wait_ms"));
}

pub(super) fn limit(found: &mut Findings<'_>, limit: Option<u32>, at: At<'_>) {
    let fits = limit.is_none_or(|limit| (1..=limits::LIST_PAGE_MAX).contains(&limit));
    found.require(fits, Rule::ListLimit, at.member("limit"));
}

pub(super) fn page(found: &mut Findings<'_>, records: usize, at: At<'_>) {
    let fits = u32::try_from(records).is_ok_and(|records| records <= limits::LIST_PAGE_MAX);
    found.require(fits, Rule::ListPage, at);
}

pub(super) fn actions(found: &mut Findings<'_>, it: &ActionList, at: At<'_>) {
    let at = at.member("actions");
    page(found, it.actions.len(), at);
    it.actions.iter().enumerate().for_each(|(index, one)| action::status(found, one, at.item(index)));
}

pub(super) fn approvals(found: &mut Findings<'_>, it: &ApprovalList, at: At<'_>) {
    let at = at.member("approvals");
    page(found, it.approvals.len(), at);
    it.approvals.iter().enumerate().for_each(|(index, one)| approval(found, one, at.item(index)));
}

pub(super) fn deliveries(found: &mut Findings<'_>, it: &CallbackDeliveryList, at: At<'_>) {
    let at = at.member("deliveries");
    page(found, it.deliveries.len(), at);
    it.deliveries.iter().enumerate().for_each(|(index, one)| delivery(found, one, at.item(index)));
}

pub(super) fn audit(found: &mut Findings<'_>, it: &AuditQueryResult, at: At<'_>) {
    page(found, it.events.len(), at.member("events"));
    let at = at.member("receipt_chains");
    it.receipt_chains.iter().enumerate().for_each(|(index, one)| receipt::chain(found, one, at.item(index)));
}

pub(super) fn policy(found: &mut Findings<'_>, it: &ApprovalPolicy, at: At<'_>) {
    found.require(it.ttl_ms != Some(0), Rule::PolicyTtl, at.member("ttl_ms"));
}

pub(super) fn approval_request(found: &mut Findings<'_>, it: &ApprovalRequest, at: At<'_>) {
    if let Some(snapshot) = &it.policy_snapshot {
        policy(found, snapshot, at.member("policy_snapshot"));
    }
}

pub(super) fn approval(found: &mut Findings<'_>, it: &ApprovalRecordView, at: At<'_>) {
    approval_request(found, &it.request, at.member("request"));
    if let Some(status) = &it.action_status {
        action::status(found, status, at.member("action_status"));
    }
    if let Some(chain) = &it.receipt_chain {
        receipt::chain(found, chain, at.member("receipt_chain"));
    }
    if let Some(transaction) = it.evidence_payload.as_ref().and_then(|payload| payload.transaction.as_ref()) {
        action::action_transaction(found, transaction, at.member("evidence_payload").member("transaction"));
    }
}

pub(super) fn delivery(found: &mut Findings<'_>, it: &CallbackDeliveryRecord, at: At<'_>) {
    if let Some(chain) = &it.receipt_chain {
        receipt::chain(found, chain, at.member("receipt_chain"));
    }
}
