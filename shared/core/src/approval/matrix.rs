//! The matrix of the machine, printed for people and compared in CI: every phase against every trigger.

use aip_types::{
    ActionId, ApprovalDecision, ApprovalDecisionKind as Kind, ApprovalId, ApprovalPolicy, ApproverSelector,
    CapabilityId, Millis, Principal, PrincipalId, PrincipalKind, RoleSelector, Timestamp,
};
use alloc::{
    boxed::Box,
    string::{String, ToString as _},
    vec,
    vec::Vec,
};

use super::record::{Phase, Recorded, Requested};
use super::{ActionNow, ApprovalRecord, Decide, Standing, Trigger, VerifiedAuthority, VerifiedNow, request};
use crate::matrix::{Table, page};

const EXPIRES: Millis = Millis(1_000);

/// Renders `docs/states/approval.md`.
#[must_use]
pub fn matrix() -> String {
    let tables: Vec<_> = [("Two approvers are needed", 2), ("Three approvers are needed", 3)]
        .into_iter()
        .map(|(title, needed)| Table {
            title,
            columns: phases().into_iter().filter_map(|phase| record(needed, phase)).collect(),
            rows: triggers(),
        })
        .collect();
    page(
        "The approval machine",
        "The rule is the role `approver`; alice, bob and the requester have it, mallory has not. Alice has approved as `d1`; it \
         expires at 1,000.",
        &["pending"],
        &tables,
    )
}

fn phases() -> Vec<Phase> {
    vec![
        Phase::Pending {},
        Phase::Granted {},
        Phase::Used {},
        Phase::Denied {},
        Phase::Expired {},
        Phase::Revoked {},
        Phase::Withdrawn {},
    ]
}

fn person(name: &str) -> Principal {
    Principal::new(PrincipalId::new(name), PrincipalKind::Human)
}

fn claim(name: &str, kind: Kind, id: &str) -> ApprovalDecision {
    let mut claimed =
        ApprovalDecision::new(ApprovalId::new("appr_1"), kind, person(name), Timestamp::from_millis(Millis(500)));
    claimed.decision_id = Some(id.to_string());
    claimed.policy_hash = Some("policy".to_string());
    claimed
}

fn decide(claimed: ApprovalDecision, action: ActionNow) -> Decide {
    let mut authority = VerifiedAuthority::none(claimed.approver.clone(), "acme".to_string());
    if claimed.approver.id.as_str() != "mallory" {
        authority.roles.insert("approver".to_string());
    }
    let now = VerifiedNow { action, policy_hash: "policy".to_string(), input_hash: "input".to_string(), input: None };
    Decide { claimed, authority, visible: true, now }
}

fn triggers() -> Vec<(&'static str, Trigger, Millis)> {
    let (before, after) = (Millis(500), EXPIRES);
    let sent = |decide| Trigger::Decide(Box::new(decide));
    let says = |name, kind, id| sent(decide(claim(name, kind, id), ActionNow::Waiting));
    let revokes = |name, action| {
        let mut claimed = claim(name, Kind::Revoked, "d2");
        claimed.target_decision_id = Some("d1".to_string());
        sent(decide(claimed, action))
    };
    let mut hidden = decide(claim("bob", Kind::Approved, "d2"), ActionNow::Waiting);
    hidden.visible = false;
    let mut posing = decide(claim("bob", Kind::Approved, "d2"), ActionNow::Waiting);
    posing.claimed.approver = person("carol");
    let mut older = decide(claim("bob", Kind::Approved, "d2"), ActionNow::Waiting);
    older.now.policy_hash = "other".to_string();
    vec![
        ("alice approves as `d1` again", says("alice", Kind::Approved, "d1"), before),
        ("alice denies as `d1`", says("alice", Kind::Denied, "d1"), before),
        ("alice approves as `d2`", says("alice", Kind::Approved, "d2"), before),
        ("bob approves", says("bob", Kind::Approved, "d2"), before),
        ("bob approves, too late", says("bob", Kind::Approved, "d2"), after),
        ("bob approves, the policy has changed", sent(older), before),
        (
            "bob approves, the action has ended",
            sent(decide(claim("bob", Kind::Approved, "d2"), ActionNow::Ended)),
            before,
        ),
        ("bob approves as carol", sent(posing), before),
        ("bob approves what he may not see", sent(hidden), before),
        ("the requester approves", says("requester", Kind::Approved, "d2"), before),
        ("mallory approves", says("mallory", Kind::Approved, "d2"), before),
        ("bob denies", says("bob", Kind::Denied, "d2"), before),
        ("bob says that it has expired", says("bob", Kind::Expired, "d2"), before),
        ("alice revokes `d1`", revokes("alice", ActionNow::Waiting), before),
        ("alice revokes `d1`, the action is dispatched", revokes("alice", ActionNow::Dispatched), before),
        ("bob revokes `d1`", revokes("bob", ActionNow::Waiting), before),
        ("mallory revokes `d1`", revokes("mallory", ActionNow::Waiting), before),
        ("due, too early", Trigger::Due, before),
        ("due", Trigger::Due, after),
        ("the action has ended without being dispatched", Trigger::ActionEnded { dispatched: false }, before),
        ("the action has run and ended", Trigger::ActionEnded { dispatched: true }, before),
    ]
}

fn record(needed: u32, phase: Phase) -> Option<ApprovalRecord> {
    let selector = ApproverSelector::Role(RoleSelector { name: "approver".to_string() });
    let mut policy = ApprovalPolicy::new(true, selector);
    policy.minimum_distinct_principals = needed;
    let requested = Requested {
        id: ApprovalId::new("appr_1"),
        tenant: "acme".to_string(),
        action_id: ActionId::new("act_1"),
        capability_id: CapabilityId::new("cap:x"),
        session_id: None,
        correlation_id: None,
        requester: person("requester"),
        subject: None,
        operator: None,
        identity: None,
        reason: None,
        risk: None,
        governed_value: None,
        policy,
        policy_decision_id: "policy:act_1".to_string(),
        policy_hash: "policy".to_string(),
        input_hash: "input".to_string(),
        evidence: Vec::new(),
        at: Millis(0),
        deadline: EXPIRES,
    };
    let mut record = request(requested).ok()?.record;
    record.decisions.push(Recorded {
        id: "d1".to_string(),
        decision: claim("alice", Kind::Approved, "d1"),
        at: Millis(100),
        standings: vec![Standing { leaf: 0, until: None }],
        authority_revision: 0,
        revoked_by: None,
    });
    record.phase = phase;
    Some(record)
}
