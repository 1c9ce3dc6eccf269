//! The matrix of the machine, printed for people and compared in CI: every phase against every trigger.

use aip_types::{
    ActionId, ActionResultStatus, DelegationEntry, DelegationId, DelegationStatus, ErrorCode, MessageId, Millis,
    Principal, PrincipalId, PrincipalKind, ProtocolError, Timestamp, limits,
};
use alloc::{
    boxed::Box,
    collections::BTreeSet,
    string::{String, ToString},
    vec,
    vec::Vec,
};
use serde_json::Value;

use super::{
    Acceptance, Authority, Cancelling, DelegationRecord, HopPolicy, Phase, Reach, Rejection, Report, ReportedResult,
    Scope, Trigger, VerifiedHop, VerifiedOrigin, VerifiedPeer, accept,
};
use crate::action::Held;
use crate::matrix::{Table, page};
use crate::outbox::Lease;

const DUE: Millis = Millis(500);
const EXPIRES: Millis = Millis(800);
const DEADLINE: Millis = Millis(1_000);

/// Renders `docs/states/delegation.md`.
#[must_use]
pub fn matrix() -> String {
    let table = |title, dispatches, may_have_arrived, cancelling| Table {
        title,
        columns: phases()
            .into_iter()
            .filter_map(|phase| record(phase, dispatches, may_have_arrived, cancelling).ok())
            .collect(),
        rows: triggers(),
    };
    page(
        "The delegation machine",
        "The last fence is 5, the next dispatch is due at 500, the lease ends at 800, the deadline is at 1,000.",
        &["accepted"],
        &[
            table("No dispatch can have arrived", 1, false, false),
            table("A dispatch may have arrived", 1, true, false),
            table("A dispatch may have arrived; the parent is cancelled", 1, true, true),
            table("The last dispatch, none can have arrived", limits::DELEGATION_DISPATCHES_MAX, false, false),
        ],
    )
}

fn phases() -> Vec<Phase> {
    vec![
        Phase::Accepted { due: DUE },
        Phase::Dispatching(Lease { fence: 5, worker: "one".to_string(), expires_at: EXPIRES }),
        Phase::Running {},
        Phase::RequiresHuman {},
        Phase::OutcomeUnknown {},
        Phase::Completed {},
        Phase::Failed {},
        Phase::Cancelled {},
    ]
}

fn principal(id: &str) -> Principal {
    Principal::new(PrincipalId::new(id), PrincipalKind::Agent)
}

fn peer(method: &str) -> VerifiedPeer {
    VerifiedPeer {
        principal: PrincipalId::new("service:peer"),
        kind: PrincipalKind::Service,
        trust_domain: "peer.example".to_string(),
        method: method.to_string(),
    }
}

fn report(status: DelegationStatus, result: Option<ActionResultStatus>, error: Option<ErrorCode>) -> Report {
    Report {
        delegation_id: DelegationId::new("dlg_1"),
        parent_action_id: ActionId::new("act_parent"),
        child_action_id: ActionId::new("act_child"),
        status,
        result: result.map(|status| ReportedResult {
            action_id: ActionId::new("act_child"),
            status,
            value: Held::Inline(Value::Null),
        }),
        error: error.map(ProtocolError::from),
    }
}

fn triggers() -> Vec<(&'static str, Trigger, Millis)> {
    let lease = |fence| Trigger::Lease { fence, worker: "one".to_string() };
    let unanswered = |fence, reach| Trigger::Unanswered { fence, reach };
    let from = |method, report| Trigger::Report {
        message: MessageId::new("msg_2"),
        from: peer(method),
        report: Box::new(report),
    };
    let says = |report| from("did:key:a", report);
    let completed = || report(DelegationStatus::Completed, Some(ActionResultStatus::Completed), None);
    let error = |status, code| report(status, None, Some(code));
    let stranger = from("did:key:b", completed());
    let other = Report { child_action_id: ActionId::new("act_other"), ..completed() };
    let cancel = Trigger::Cancel { message: MessageId::new("msg_3") };
    vec![
        ("lease, fence 5 (the same)", lease(5), DUE),
        ("lease, fence 6, too early", lease(6), Millis(499)),
        ("lease, fence 6", lease(6), DUE),
        ("lease, fence 6, after the deadline", lease(6), DEADLINE),
        ("not reached, fence 5", unanswered(5, Reach::None), DUE),
        ("no answer, fence 4", unanswered(4, Reach::Unclear), DUE),
        ("no answer, fence 5", unanswered(5, Reach::Unclear), DUE),
        ("lease over, fence 5, too early", Trigger::LeaseOver { fence: 5 }, DUE),
        ("lease over, fence 5", Trigger::LeaseOver { fence: 5 }, EXPIRES),
        ("peer: running", says(report(DelegationStatus::Running, None, None)), DUE),
        ("peer: running, after the deadline", says(report(DelegationStatus::Running, None, None)), DEADLINE),
        ("peer: requires human", says(report(DelegationStatus::RequiresHuman, None, None)), DUE),
        ("peer: outcome unknown", says(error(DelegationStatus::Failed, ErrorCode::OutcomeUnknown)), DUE),
        ("peer: completed", says(completed()), DUE),
        ("peer: failed", says(error(DelegationStatus::Failed, ErrorCode::ConnectorFailed)), DUE),
        ("peer: cancelled", says(error(DelegationStatus::Cancelled, ErrorCode::DelegationCancelled)), DUE),
        ("peer: completed, without a result", says(report(DelegationStatus::Completed, None, None)), DUE),
        ("peer: another child completed", says(other), DUE),
        ("somebody else: completed", stranger, DUE),
        ("cancel", cancel, DUE),
        ("ask again to cancel, too early", Trigger::CancelDue, Millis(499)),
        ("ask again to cancel", Trigger::CancelDue, DUE),
        ("deadline, too early", Trigger::DeadlineDue, DUE),
        ("deadline", Trigger::DeadlineDue, DEADLINE),
    ]
}

fn record(
    phase: Phase,
    dispatches: u32,
    may_have_arrived: bool,
    cancelling: bool,
) -> Result<DelegationRecord, Rejection> {
    let policy = HopPolicy { hops_max: 10, forbidden_domains: BTreeSet::new(), at: Millis(0) };
    let origin = VerifiedOrigin {
        principal: principal("agent:requester"),
        trust_domain: "acme.example".to_string(),
        scope: Scope::read("work")?,
    };
    let entry = DelegationEntry {
        from: principal("agent:requester"),
        to: principal("agent:delegate"),
        scope: "work".to_string(),
        delegated_at: Timestamp::from_millis(Millis(0)),
    };
    let step = accept(
        Acceptance {
            id: DelegationId::new("dlg_1"),
            tenant: "acme".to_string(),
            parent_action_id: ActionId::new("act_parent"),
            child_action_id: ActionId::new("act_child"),
            child: Held::Inline(Value::Null),
            child_hash: "hash".to_string(),
            key: None,
            authority: Authority::of(origin, &policy)?,
            hop: VerifiedHop {
                entry,
                trust_domain: "peer.example".to_string(),
                expires_at: None,
                revoked: false,
                tenant_allowed: true,
                residency_allowed: true,
            },
            peer: peer("did:key:a"),
            request: MessageId::new("msg_1"),
            correlation_id: None,
            deadline: DEADLINE,
        },
        &policy,
    )?;
    // What has or had the child has been reached, and a cancelled parent leaves nothing to be dispatched.
    let reached = !matches!(phase, Phase::Accepted { .. } | Phase::Dispatching(_)) && !phase.is_terminal();
    let waits = matches!(phase, Phase::Accepted { .. });
    let is_last = dispatches >= limits::DELEGATION_DISPATCHES_MAX;
    if (reached && !may_have_arrived) || (waits && (cancelling || is_last)) {
        return Err(Rejection::NotAdmitted);
    }
    let cancelling = cancelling.then_some(Cancelling { due: DUE, asked: 1 });
    Ok(DelegationRecord { phase, fence: 5, dispatches, may_have_arrived, cancelling, ..step.record })
}
