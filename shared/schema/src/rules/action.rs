//! The rules of actions, their results, states, events and chunks (AIP 1.0 §11, §12.4, §13.1, §14.3, §16.5).

use std::collections::{BTreeMap, BTreeSet};

use aip_types::{
    Action, ActionEvents, ActionId, ActionResult, ActionResultStatus, ActionStatus, ActionTransaction,
    ApprovalDecisionKind, DelegationEntry, StreamChunk, StreamChunkKind, TransactionMode, limits,
};

use super::place::{At, Findings};
use super::registry::Rule;
use super::{bounded, receipt};

pub(super) fn action(found: &mut Findings<'_>, it: &Action, at: At<'_>) {
    bounded(found, Some(it.id.as_str()), at.member("id"));
    bounded(found, Some(it.capability_id.as_str()), at.member("capability_id"));
    found.require(!it.input.is_null(), Rule::ActionInput, at.member("input"));
    let key = it.idempotency_key.as_deref();
    found.require(key != Some(""), Rule::ActionKeyNotEmpty, at.member("idempotency_key"));
    bounded(found, key, at.member("idempotency_key"));
    found.require(it.timeout_ms != Some(0), Rule::ActionTimeout, at.member("timeout_ms"));
    delegation_chain(found, &it.delegation_chain, at.member("delegation_chain"));
    if let Some(approval) = &it.approval {
        let approved = approval.decision == ApprovalDecisionKind::Approved;
        found.require(approved, Rule::ActionApproval, at.member("approval").member("decision"));
    }
    if let Some(transaction) = &it.transaction {
        action_transaction(found, transaction, at.member("transaction"));
    }
}

/// Nobody receives authority that it had in this chain already: that would be a loop.
fn delegation_chain(found: &mut Findings<'_>, chain: &[DelegationEntry], at: At<'_>) {
    found.require(chain.len() <= limits::DELEGATION_CHAIN_MAX, Rule::DelegationChainMax, at);
    let mut held = BTreeSet::new();
    for (index, hop) in chain.iter().enumerate().take(limits::DELEGATION_CHAIN_MAX) {
        held.insert(&hop.from.id);
        let new = held.insert(&hop.to.id);
        found.require(new, Rule::DelegationLoop, at.item(index).member("to").member("id"));
    }
}

pub(super) fn action_transaction(found: &mut Findings<'_>, it: &ActionTransaction, at: At<'_>) {
    match it.mode {
        TransactionMode::Commit => found.require(it.plan_id.is_some(), Rule::CommitPlan, at.member("plan_id")),
        TransactionMode::Compensate => {
            found.require(it.compensation_for.is_some(), Rule::CompensatedAction, at.member("compensation_for"));
        }
        TransactionMode::Execute
        | TransactionMode::DryRun
        | TransactionMode::Plan
        | TransactionMode::Reconcile
        | TransactionMode::RollbackNotSupported => {}
    }
}

/// A result; `of` is the action that the message around it is about.
pub(super) fn result(found: &mut Findings<'_>, it: &ActionResult, of: Option<&ActionId>, at: At<'_>) {
    found.require(of.is_none_or(|of| *of == it.action_id), Rule::ResultOfAction, at.member("action_id"));
    let told = it.status != ActionResultStatus::Failed || it.error.is_some();
    found.require(told, Rule::ResultError, at.member("error"));
}

pub(super) fn status(found: &mut Findings<'_>, it: &ActionStatus, at: At<'_>) {
    if let Some(inner) = &it.result {
        result(found, inner, Some(&it.action_id), at.member("result"));
    }
    if let Some(chain) = &it.receipt_chain {
        receipt::chain(found, chain, at.member("receipt_chain"));
    }
    chunks(found, &it.chunks, &it.action_id, at.member("chunks"));
}

pub(super) fn events(found: &mut Findings<'_>, it: &ActionEvents, at: At<'_>) {
    let events = at.member("events");
    super::query::page(found, it.events.len(), events);
    for (index, event) in it.events.iter().enumerate() {
        let scoped = event.action_id.as_ref().is_none_or(|id| *id == it.action_id);
        found.require(scoped, Rule::EventOfAction, events.item(index).member("action_id"));
    }
    chunks(found, &it.chunks, &it.action_id, at.member("chunks"));
}

/// The chunks of one action, in one message. The same chunk may come twice; another under its number may not.
fn chunks(found: &mut Findings<'_>, chunks: &[StreamChunk], of: &ActionId, at: At<'_>) {
    let mut seen: BTreeMap<u64, &StreamChunk> = BTreeMap::new();
    let mut done = None;
    for (index, chunk) in chunks.iter().enumerate() {
        let at = at.item(index);
        found.require(chunk.action_id == *of, Rule::ChunkOfAction, at.member("action_id"));
        let last = seen.last_key_value().map(|(sequence, _)| *sequence);
        if let Some(known) = seen.get(&chunk.sequence) {
            found.require(*known == chunk, Rule::ChunkReuse, at.member("sequence"));
        } else {
            found.require(last.is_none_or(|last| last < chunk.sequence), Rule::ChunkOrder, at.member("sequence"));
            seen.insert(chunk.sequence, chunk);
        }
        found.require(done.is_none_or(|done| chunk.sequence <= done), Rule::ChunkAfterDone, at);
        if chunk.kind == StreamChunkKind::Done {
            done = done.or(Some(chunk.sequence));
        }
    }
}
