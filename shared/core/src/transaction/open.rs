//! The first step of a transaction.

use alloc::{
    boxed::Box,
    collections::{BTreeMap, BTreeSet},
    string::{String, ToString as _},
    vec::Vec,
};

use aip_types::{
    ActionId, ApprovalPolicy, CorrelationId, DryRunFidelity, EventKind, Millis, ReceiptType, SessionId, SideEffect,
    TransactionId, TransactionMode, limits,
};
use serde_json::{Value, json};

use super::{
    Step, check,
    effect::{self, clipped},
    facts::{VerifiedFacts, calls_handler},
    record::{Begun, Claim, Grant, Part, Phase, Plan, TransactionRecord, Work},
    rejection::Rejection,
    trigger::{DryRun, Known},
};
use crate::{
    action::{self, ActionRecord},
    derive,
    step::{Chain, Draft, bare, fleet},
};

/// Everything that admission has verified about the action that opens a transaction.
#[derive(Clone, Debug)]
pub struct Opening {
    /// Id of the record: the caller's, or a new one.
    pub id: TransactionId,
    /// The action.
    pub action_id: ActionId,
    /// Its verified facts.
    pub facts: VerifiedFacts,
    /// Session.
    pub session_id: Option<SessionId>,
    /// Correlation.
    pub correlation_id: Option<CorrelationId>,
    /// The action's immutable deadline.
    pub deadline: Millis,
    /// Now.
    pub at: Millis,
}

/// The mode in which a transaction opens. The others need one that exists.
#[derive(Clone, Debug)]
pub enum First {
    /// Have the effect without a plan.
    Execute,
    /// Tell what would happen, as closely as asked for.
    DryRun(DryRunFidelity),
    /// Make a plan.
    Plan(Box<Planning>),
    /// Declare that there is no way back.
    RollbackNotSupported,
}

/// A plan, before it is recorded (AIP 1.0 §13.3).
#[derive(Clone, Debug, PartialEq)]
pub struct Planning {
    /// Wire id: the caller's, or a new one.
    pub plan_id: String,
    /// The input, redacted as the data contract demands.
    pub input_snapshot: Option<Value>,
    /// Effects that a commit would have.
    pub predicted_side_effects: BTreeSet<SideEffect>,
    /// Whether a commit needs an approval.
    pub approval_required: bool,
    /// What an approval needs.
    pub approval_policy: Option<ApprovalPolicy>,
    /// When it ends; at most `limits::PLAN_TTL_MS_MAX` from now.
    pub expires_at: Millis,
    /// Metadata.
    pub metadata: Option<Value>,
}

/// Opens a transaction.
///
/// # Errors
/// The mode is not supported, a plan is required, the dry run claims more than its contract, or the plan is too large or
/// has no valid expiry.
///
/// Source: AIP 1.0 §13.1–§13.3.
pub fn open(opening: Opening, first: First) -> Result<Step, Rejection> {
    let Opening { id, action_id, facts, session_id, correlation_id, deadline, at } = opening;
    let mode = match &first {
        First::Execute => TransactionMode::Execute,
        First::DryRun(_) => TransactionMode::DryRun,
        First::Plan(_) => TransactionMode::Plan,
        First::RollbackNotSupported => TransactionMode::RollbackNotSupported,
    };
    if !facts.contract.supports(mode) {
        return Err(Rejection::ModeUnsupported);
    }
    let mut record = empty(id, facts, Part { mode, action_id }, deadline, at);
    (record.session_id, record.correlation_id) = (session_id, correlation_id);
    let step = match first {
        First::Execute if record.facts.contract.requires_plan_before_commit => return Err(Rejection::PlanRequired),
        First::Execute => prepared(record, at),
        First::DryRun(fidelity) if fidelity > record.facts.contract.dry_run_fidelity => {
            return Err(Rejection::FidelityExceeded);
        }
        First::DryRun(fidelity) if calls_handler(fidelity) => prepared(record, at),
        First::DryRun(fidelity) => {
            effect::dry_run_ended(&record, DryRun::Completed { fidelity, result_hash: None }, at)?
        }
        First::Plan(planning) => plan(record, *planning, at)?,
        First::RollbackNotSupported => rollback_not_supported(record, at),
    };
    fits(step)
}

/// A plan follows a dry run of the same.
pub(super) fn plan_after(
    record: &TransactionRecord,
    action_id: &ActionId,
    facts: &VerifiedFacts,
    planning: Planning,
    at: Millis,
) -> Result<Step, Rejection> {
    if !record.facts.contract.supports(TransactionMode::Plan) {
        return Err(Rejection::ModeUnsupported);
    }
    check::unchanged(&record.facts, facts)?;
    let mut next = record.clone();
    next.take_part(TransactionMode::Plan, action_id);
    fits(plan(next, planning, at)?)
}

/// Records the plan of the action that takes part last.
fn plan(mut next: TransactionRecord, planning: Planning, at: Millis) -> Result<Step, Rejection> {
    if planning.expires_at <= at || planning.expires_at > at.plus(limits::PLAN_TTL_MS_MAX) {
        return Err(Rejection::PlanInvalid);
    }
    let action_id = next.part.action_id.clone();
    let receipt = json!({
        "plan_id": planning.plan_id, "action_id": action_id.as_str(), "input_hash": next.facts.input_hash,
        "capability_id": next.facts.capability_id.as_str(), "policy_hash": next.facts.policy_hash,
        "approval_required": planning.approval_required, "expires_at_ms": planning.expires_at.0,
    });
    let event = json!({"plan_id": planning.plan_id, "input_hash": next.facts.input_hash});
    let Planning {
        plan_id,
        input_snapshot,
        predicted_side_effects,
        approval_required,
        approval_policy,
        expires_at,
        metadata,
    } = planning;
    next.phase = Phase::Planned {};
    next.expires_at = expires_at;
    next.plan = Some(Plan {
        plan_id,
        action_id,
        input_snapshot,
        predicted_side_effects,
        approval_required,
        approval_policy,
        created_at: at,
        metadata,
    });
    let actor = next.facts.principal.clone();
    Ok(Draft::new(next, at)
        .receipt(ReceiptType::TransactionPlanned, &actor, receipt)
        .tell(EventKind::TransactionPlanned, event)
        .done("planned"))
}

/// Why a plan is refused where there is or was one: the very same is a repeat.
pub(super) fn plan_again(record: &TransactionRecord, action_id: &ActionId, planning: &Planning) -> Rejection {
    let Some(plan) = &record.plan else { return Rejection::NotAdmitted };
    let recorded = Planning {
        plan_id: plan.plan_id.clone(),
        input_snapshot: plan.input_snapshot.clone(),
        predicted_side_effects: plan.predicted_side_effects.clone(),
        approval_required: plan.approval_required,
        approval_policy: plan.approval_policy.clone(),
        expires_at: record.expires_at,
        metadata: plan.metadata.clone(),
    };
    if plan.action_id == *action_id && recorded == *planning { Rejection::Repeated } else { Rejection::Conflict }
}

fn prepared(record: TransactionRecord, at: Millis) -> Step {
    let data = json!({"mode": record.part.mode.as_str()});
    Draft::new(record, at).tell(EventKind::TransactionPrepared, data).done("prepared")
}

fn rollback_not_supported(mut record: TransactionRecord, at: Millis) -> Step {
    record.phase = Phase::RollbackNotSupported {};
    let data = json!({
        "capability_id": record.facts.capability_id.as_str(),
        "compensation": record.facts.contract.compensation.mode.as_str(),
    });
    Draft::new(record, at)
        .receipt(ReceiptType::TransactionRollbackUnsupported, &fleet(), data)
        .tell(EventKind::TransactionRollbackNotSupported, json!({}))
        .done("rollback_not_supported")
}

/// Id of the transaction that an action without one gets when its outcome becomes unknown: always the same.
#[must_use]
pub fn implicit_id(action: &ActionRecord) -> TransactionId {
    let parts = ["transaction", &action.tenant, action.id.as_str()];
    TransactionId::new(derive::id(TransactionId::PREFIX, action.accepted_at, &parts))
}

/// Opens the transaction of an action that has none and whose outcome has become unknown (`design.md` §4.6).
///
/// # Errors
/// [`Rejection::NotAdmitted`]: the outcome of the action is not unknown; [`Rejection::TooLarge`].
pub fn open_unknown(action: &ActionRecord, facts: VerifiedFacts, at: Millis) -> Result<Step, Rejection> {
    let action::Phase::OutcomeUnknown(grant) = &action.phase else { return Err(Rejection::NotAdmitted) };
    let part = Part { mode: TransactionMode::Execute, action_id: action.id.clone() };
    let mut record = empty(implicit_id(action), facts, part, action.deadline, at);
    (record.session_id, record.correlation_id) = (action.session_id.clone(), action.correlation_id.clone());
    let claim = Claim {
        work: Work::Commit,
        grant: Grant { action_id: action.id.clone(), instance: grant.instance.clone(), fence: grant.fence },
        begun: Some(Begun { fence: grant.fence, at: action.started_at.unwrap_or(action.accepted_at) }),
        execution: action.contract,
        keyed: action.key.is_some(),
        begin_before: Some(action.deadline),
        approval: None,
    };
    (record.fence, record.claims) = (grant.fence, 1);
    let known = action.error.as_ref().map(Known::of).unwrap_or_default();
    let step = effect::unknown(&record, claim, action.error.clone().map(clipped), known, at);
    fits(step)
}

fn empty(id: TransactionId, mut facts: VerifiedFacts, part: Part, deadline: Millis, at: Millis) -> TransactionRecord {
    facts.principal = bare(&facts.principal);
    TransactionRecord {
        id,
        facts,
        session_id: None,
        correlation_id: None,
        plan: None,
        part,
        earlier: Vec::new(),
        created_at: at,
        expires_at: deadline,
        phase: Phase::Prepared { claim: None },
        fence: 0,
        claims: 0,
        operation: None,
        cursor: None,
        reconcile_after: None,
        reconciliations: 0,
        committed: None,
        decisions: BTreeMap::new(),
        error: None,
        chain: Chain::default(),
    }
}

/// What grows later is bounded by itself; what a request brings in is bounded here.
fn fits(step: Step) -> Result<Step, Rejection> {
    let record = TransactionRecord { error: None, ..step.record.clone() };
    let bytes = serde_json::to_value(&record).map_or(usize::MAX, |value| value.to_string().len());
    if bytes <= limits::RECORD_INLINE_BYTES_MAX { Ok(step) } else { Err(Rejection::TooLarge) }
}
