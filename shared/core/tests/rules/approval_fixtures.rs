//! Approvals, deciders and decisions that tests start from.

use aip_core::approval::{
    ActionNow, ApprovalRecord, Decide, Rejection, Requested, Step, Trigger, VerifiedAuthority, VerifiedGrant,
    VerifiedNow, request, step,
};
use aip_types::{
    ActionId, AllRule, AnyRule, ApprovalDecision, ApprovalDecisionKind as Kind, ApprovalId, ApprovalPolicy,
    ApprovalRule, ApproverSelector, CapabilityId, CorrelationId, Millis, Principal, PrincipalId, PrincipalKind,
    QuorumRule, RoleRule, RoleSelector, Timestamp,
};
use serde_json::{Value, json};

pub(crate) const ASKED: Millis = Millis(1_000);
pub(crate) const EXPIRES: Millis = Millis(5_000);
pub(crate) const NOW: Millis = Millis(2_000);
pub(crate) const POLICY_HASH: &str = "policy-hash";

pub(crate) fn input() -> Value {
    json!({"amount": 100, "currency": "EUR", "items": ["a", "b"], "to": {"name": "Ann"}})
}

pub(crate) fn input_hash() -> String {
    aip_crypto::input_hash("cap:demo:pay", &input(), None)
}

pub(crate) fn human(name: &str) -> Principal {
    Principal::new(PrincipalId::new(name), PrincipalKind::Human)
}

pub(crate) fn role(name: &str) -> ApprovalRule {
    ApprovalRule::Role(RoleRule { name: name.to_owned() })
}

pub(crate) fn all(rules: &[ApprovalRule]) -> ApprovalRule {
    ApprovalRule::All(AllRule::new(rules.to_vec()))
}

pub(crate) fn all_reusing(rules: &[ApprovalRule]) -> ApprovalRule {
    ApprovalRule::All(AllRule { rules: rules.to_vec(), allow_decision_reuse: true })
}

pub(crate) fn any(rules: &[ApprovalRule]) -> ApprovalRule {
    ApprovalRule::Any(AnyRule { rules: rules.to_vec() })
}

pub(crate) fn quorum(required: u32, distinct_principals: bool, rules: &[ApprovalRule]) -> ApprovalRule {
    ApprovalRule::Quorum(QuorumRule { required, rules: rules.to_vec(), distinct_principals })
}

/// The selector is the role `approver`.
pub(crate) fn policy() -> ApprovalPolicy {
    ApprovalPolicy::new(true, ApproverSelector::Role(RoleSelector { name: "approver".to_owned() }))
}

pub(crate) fn ruled(rule: ApprovalRule) -> ApprovalPolicy {
    ApprovalPolicy { rule: Some(rule), ..policy() }
}

pub(crate) fn needing(principals: u32) -> ApprovalPolicy {
    ApprovalPolicy { minimum_distinct_principals: principals, ..policy() }
}

pub(crate) fn requested(policy: ApprovalPolicy) -> Requested {
    Requested {
        id: ApprovalId::new("appr_1"),
        tenant: "acme".to_owned(),
        action_id: ActionId::new("act_1"),
        capability_id: CapabilityId::new("cap:demo:pay"),
        session_id: None,
        correlation_id: Some(CorrelationId::new("corr_1")),
        requester: human("requester"),
        subject: Some(human("subject")),
        operator: Some(human("operator")),
        identity: None,
        reason: None,
        risk: None,
        governed_value: None,
        policy,
        policy_decision_id: "policy:act_1".to_owned(),
        policy_hash: POLICY_HASH.to_owned(),
        input_hash: input_hash(),
        evidence: Vec::new(),
        at: ASKED,
        deadline: EXPIRES,
    }
}

pub(crate) fn asked(policy: ApprovalPolicy) -> ApprovalRecord {
    request(requested(policy)).unwrap().record
}

/// Somebody with these roles, resolved in the tenant `acme`.
pub(crate) fn authority(name: &str, roles: &[&str]) -> VerifiedAuthority {
    let mut authority = VerifiedAuthority::none(human(name), "acme".to_owned());
    authority.roles = roles.iter().map(|role| (*role).to_owned()).collect();
    authority.revision = 7;
    authority
}

/// Authority lent without limits, in the scope `pay`.
pub(crate) fn grant() -> VerifiedGrant {
    VerifiedGrant {
        lent_by: None,
        scope: "pay".to_owned(),
        capability_id: None,
        max_risk: None,
        max_value: None,
        expires_at: None,
        revoked: false,
    }
}

/// A decision by somebody with these roles, everything about it in order.
pub(crate) fn decide(name: &str, roles: &[&str], kind: Kind, id: &str) -> Decide {
    let mut claimed = ApprovalDecision::new(ApprovalId::new("appr_1"), kind, human(name), Timestamp::from_millis(NOW));
    claimed.decision_id = Some(id.to_owned());
    claimed.policy_hash = Some(POLICY_HASH.to_owned());
    let now = VerifiedNow {
        action: ActionNow::Waiting,
        policy_hash: POLICY_HASH.to_owned(),
        input_hash: input_hash(),
        input: Some(input()),
    };
    Decide { claimed, authority: authority(name, roles), visible: true, now }
}

/// An approver's yes.
pub(crate) fn yes(name: &str) -> Decide {
    decide(name, &["approver"], Kind::Approved, &format!("yes-{name}"))
}

/// An approver's no.
pub(crate) fn no(name: &str) -> Decide {
    decide(name, &["approver"], Kind::Denied, &format!("no-{name}"))
}

/// An approver takes a decision back.
pub(crate) fn revoke(name: &str, target: &str) -> Decide {
    let mut decide = decide(name, &["approver"], Kind::Revoked, &format!("revoke-{name}-{target}"));
    decide.claimed.target_decision_id = Some(target.to_owned());
    decide
}

pub(crate) fn send(record: &ApprovalRecord, decide: Decide) -> Result<Step, Rejection> {
    step(record, Trigger::Decide(Box::new(decide)), NOW)
}

/// The record after decisions that must all be accepted.
pub(crate) fn after(record: &ApprovalRecord, decisions: impl IntoIterator<Item = Decide>) -> ApprovalRecord {
    decisions.into_iter().fold(record.clone(), |record, decide| send(&record, decide).unwrap().record)
}

/// Why a decision is refused.
pub(crate) fn refusal(record: &ApprovalRecord, decide: Decide) -> Rejection {
    send(record, decide).unwrap_err()
}
