//! What a reader sees of a record (AIP 1.0 §13.3, §13.5).

use alloc::string::ToString as _;

use aip_types::{
    ActionId, ActionResult, ActionTransaction, CapabilityId, ReceiptChain, Timestamp, TransactionMode, TransactionPlan,
    TransactionResult, TransactionView,
};

use super::record::{Part, Phase, TransactionRecord};

/// The plan as it travels, where there is one.
#[must_use]
pub fn plan(record: &TransactionRecord) -> Option<TransactionPlan> {
    let plan = record.plan.as_ref()?;
    let facts = &record.facts;
    Some(TransactionPlan {
        plan_id: plan.plan_id.clone(),
        transaction_id: record.id.clone(),
        action_id: plan.action_id.clone(),
        capability_id: facts.capability_id.clone(),
        transaction: ActionTransaction {
            mode: TransactionMode::Plan,
            transaction_id: Some(record.id.clone()),
            plan_id: Some(plan.plan_id.clone()),
            compensation_for: None,
        },
        planned_by: facts.principal.clone(),
        input_hash: facts.input_hash.clone(),
        input_snapshot: plan.input_snapshot.clone(),
        predicted_side_effects: plan.predicted_side_effects.iter().copied().collect(),
        approval_required: plan.approval_required,
        approval_policy: plan.approval_policy.clone(),
        compensation: Some(facts.contract.compensation.clone()),
        dry_run_fidelity: Some(facts.contract.dry_run_fidelity),
        identity: facts.identity.clone(),
        created_at: Timestamp::from_millis(plan.created_at),
        expires_at: Some(Timestamp::from_millis(record.expires_at)),
        metadata: plan.metadata.clone(),
    })
}

/// What a reader may see. `result`, `receipt_chain`: as asked for, and as the reader may see them.
#[must_use]
pub fn view(
    record: &TransactionRecord,
    result: Option<ActionResult>,
    receipt_chain: Option<ReceiptChain>,
) -> TransactionView {
    let (action_id, capability_id, transaction) = subject(record);
    TransactionView {
        transaction_id: record.id.clone(),
        action_id,
        capability_id,
        transaction,
        status: record.phase.status().as_str().to_string(),
        plan: plan(record),
        result,
        receipt_chain,
        created_at: Timestamp::from_millis(record.created_at),
        updated_at: Timestamp::from_millis(record.chain.updated_at),
    }
}

/// The outcome of the latest step: a planned one contains its plan, a failed one its error.
#[must_use]
pub fn result(
    record: &TransactionRecord,
    result: Option<ActionResult>,
    receipt_chain: Option<ReceiptChain>,
) -> TransactionResult {
    let (action_id, capability_id, transaction) = subject(record);
    TransactionResult {
        transaction_id: record.id.clone(),
        action_id,
        capability_id,
        transaction,
        status: record.phase.status(),
        plan: plan(record),
        result,
        error: record.error.clone(),
        receipt_chain,
        provider_operation: record.operation.clone(),
        reconciliation_cursor: record.cursor.clone(),
        reconcile_after: record.reconcile_after.map(Timestamp::from_millis),
    }
}

/// Of which action a reader is told: the planning one while there is a plan and no more, else the latest.
fn subject(record: &TransactionRecord) -> (ActionId, CapabilityId, ActionTransaction) {
    let facts = &record.facts;
    let Part { mode, action_id } = match &record.plan {
        Some(plan) if record.phase == (Phase::Planned {}) => {
            Part { mode: TransactionMode::Plan, action_id: plan.action_id.clone() }
        }
        Some(_) | None => record.part.clone(),
    };
    let committed = record.committed.as_ref().map(|committed| committed.claim.grant.action_id.clone());
    let compensates = mode == TransactionMode::Compensate;
    (
        action_id,
        if compensates { facts.compensating_capability() } else { &facts.capability_id }.clone(),
        ActionTransaction {
            mode,
            transaction_id: Some(record.id.clone()),
            plan_id: record.plan.as_ref().map(|plan| plan.plan_id.clone()),
            compensation_for: if compensates { committed } else { None },
        },
    )
}
