//! The matrix of the machine, printed for people and compared in CI: every phase against every trigger.

use aip_types::{
    ActionId, ActionMode, ApprovalId, CapabilityId, CorrelationId, ErrorCode, MessageId, Millis, Principal,
    PrincipalId, PrincipalKind, ProtocolError, RetrySafety,
};
use alloc::{
    string::{String, ToString},
    vec,
    vec::Vec,
};
use serde_json::Value;

use super::{
    ActionRecord, Admission, Contract, Grant, Held, IdempotencyKey, Phase, Question, Reconciled, Settled, Stop,
    Trigger, admit,
};
use crate::matrix::{Table, page};

const DEADLINE: Millis = Millis(1_000);

/// Renders `docs/states/action.md`.
#[must_use]
pub fn matrix() -> String {
    let tables: Vec<_> = contracts()
        .into_iter()
        .map(|(title, contract, keyed)| Table {
            title,
            columns: phases().into_iter().map(|phase| record(contract, keyed, phase)).collect(),
            rows: triggers(),
        })
        .collect();
    page(
        "The action machine",
        "The current attempt has fence 5, the deadline is at 1,000.",
        &["queued", "pending_approval"],
        &tables,
    )
}

fn contracts() -> Vec<(&'static str, Contract, bool)> {
    let contract = |read_only, retry_safety| Contract { read_only, retry_safety, supports_retry: true };
    vec![
        ("Plain read (`read`, `safe`, sync)", contract(true, RetrySafety::Safe), false),
        ("Mutation, `safe_with_idempotency_key`, keyed", contract(false, RetrySafety::SafeWithIdempotencyKey), true),
        ("Read, `unsafe` (or `unknown`)", contract(true, RetrySafety::Unsafe), false),
        (
            "Mutation, `unsafe` (or `unknown`, or `safe_with_idempotency_key` without a key)",
            contract(false, RetrySafety::Unsafe),
            true,
        ),
    ]
}

fn grant(fence: u64) -> Grant {
    Grant { fence, instance: "instance".to_string() }
}

fn phases() -> Vec<Phase> {
    vec![
        Phase::PendingApproval { approval_id: ApprovalId::new("appr_1") },
        Phase::Queued {},
        Phase::Running(grant(5)),
        Phase::InputRequired { grant: grant(5), correlation_id: CorrelationId::new("corr_1") },
        Phase::RetryDue(grant(5)),
        Phase::Cancelling(Some(grant(5))),
        Phase::Cancelling(None),
        Phase::OutcomeUnknown(grant(5)),
        Phase::Completed {},
        Phase::Failed {},
        Phase::Cancelled {},
        Phase::Expired {},
        Phase::DeadLettered {},
    ]
}

fn stop() -> Stop {
    Stop { by: Principal::new(PrincipalId::new("human:ada"), PrincipalKind::Human), reason: None, deadline: false }
}

fn retryable() -> Settled {
    let mut error = ProtocolError::from(ErrorCode::ConnectorFailed);
    error.retryable = Some(true);
    error.retry_after_ms = Some(10);
    Settled::Failed { error, uncertain: false }
}

fn asked() -> Settled {
    Settled::Asked { correlation_id: CorrelationId::new("corr_1"), question: Held::Inline(Value::Null) }
}

fn answered(question: &str) -> Trigger {
    Trigger::Answered { correlation_id: CorrelationId::new(question), answer: Held::Inline(Value::Null) }
}

fn not_done(retry: bool) -> Trigger {
    Trigger::Reconciled(Reconciled::NotDone { error: ProtocolError::from(ErrorCode::ConnectorFailed), retry })
}

fn triggers() -> Vec<(&'static str, Trigger, Millis)> {
    let start = |fence, over| Trigger::Start { grant: grant(fence), over, chunk_base: 0 };
    let completed = || Settled::Completed { output: Held::Inline(Value::Null) };
    let failed = |uncertain| Settled::Failed { error: ProtocolError::from(ErrorCode::ConnectorFailed), uncertain };
    let settle = |fence: Option<u64>, settled| Trigger::Settle { grant: fence.map(grant), settled, chunks_last: None };
    let (before, after) = (Millis(500), DEADLINE);
    vec![
        ("start, fence 4", start(4, true), before),
        ("start, fence 5 (the same)", start(5, true), before),
        ("start, fence 6, lease not proved over", start(6, false), before),
        ("start, fence 6, lease over", start(6, true), before),
        ("start, fence 6, after the deadline", start(6, true), after),
        ("completed, no fence", settle(None, completed()), before),
        ("completed, fence 4", settle(Some(4), completed()), before),
        ("completed, fence 5", settle(Some(5), completed()), before),
        ("failed, fence 5", settle(Some(5), failed(false)), before),
        ("failed uncertain, fence 5", settle(Some(5), failed(true)), before),
        ("completed, fence 5, after the deadline", settle(Some(5), completed()), after),
        ("lease over, fence 4", Trigger::LeaseOver { fence: 4 }, before),
        ("lease over, fence 5", Trigger::LeaseOver { fence: 5 }, before),
        ("failed retryable, fence 5", settle(Some(5), retryable()), before),
        ("cancelled, fence 5", settle(Some(5), Settled::Cancelled {}), before),
        ("cancelled, no fence", settle(None, Settled::Cancelled {}), before),
        ("asked, fence 5", settle(Some(5), asked()), before),
        ("cancel", Trigger::Cancel { by: stop().by, reason: None }, before),
        ("approved", Trigger::Approved { approval_id: ApprovalId::new("appr_1") }, before),
        ("approved, another", Trigger::Approved { approval_id: ApprovalId::new("appr_2") }, before),
        (
            "not approved",
            Trigger::Unapproved { approval_id: ApprovalId::new("appr_1"), code: ErrorCode::ActionCancelled },
            before,
        ),
        ("answered", answered("corr_1"), before),
        ("answered, another question", answered("corr_2"), before),
        (
            "no answer",
            Trigger::Unanswered { correlation_id: CorrelationId::new("corr_1"), code: ErrorCode::ActionCancelled },
            before,
        ),
        ("reconciled: done", Trigger::Reconciled(Reconciled::Done { output: Held::Inline(Value::Null) }), before),
        ("reconciled: not done", not_done(false), before),
        ("reconciled: not done, retry", not_done(true), before),
        ("deadline, too early", Trigger::DeadlineDue, before),
        ("deadline", Trigger::DeadlineDue, after),
        ("exhausted", Trigger::Exhausted, before),
    ]
}

fn record(contract: Contract, keyed: bool, phase: Phase) -> ActionRecord {
    let mut record = admit(Admission {
        id: ActionId::new("act_1"),
        tenant: "acme".to_string(),
        capability_id: CapabilityId::new("cap:x"),
        connector: "demo".to_string(),
        contract,
        principal: Principal::new(PrincipalId::new("service:caller"), PrincipalKind::Service),
        method: "token".to_string(),
        mode: ActionMode::Sync,
        request: MessageId::new("msg_1"),
        correlation_id: None,
        session_id: None,
        key: keyed.then(|| IdempotencyKey { value: "k".to_string(), hash: "h".to_string() }),
        input: Held::Inline(Value::Null),
        input_hash: "hash".to_string(),
        approval_id: Some(ApprovalId::new("appr_1")),
        at: Millis(0),
        deadline: DEADLINE,
    })
    .record;
    if matches!(phase, Phase::Cancelling(_)) {
        record.stop = Some(stop());
    }
    if let Phase::InputRequired { correlation_id, .. } = &phase {
        record.questions.push(Question {
            correlation_id: correlation_id.clone(),
            question: Held::Inline(Value::Null),
            answer: None,
        });
    }
    record.phase = phase;
    record
}
