//! What a reader sees of an approval (AIP 1.0 §16.6). Never the governed input.

use aip_types::{
    ActionTransaction, ApprovalDecision, ApprovalDecisionKind, ApprovalEvidencePayload, ApprovalId, ApprovalRecordView,
    ApprovalRequest, IdentityContext, PrincipalId, TenantRef, Timestamp,
};
use alloc::{format, vec::Vec};
use serde_json::Value;

use super::Rejection;
use super::record::{ApprovalRecord, Phase, Recorded};
use super::rule::{Leaves, Rule};
use crate::step::fleet;

/// The ordinary view, without its optional expansions.
#[must_use]
pub fn view(record: &ApprovalRecord) -> ApprovalRecordView {
    ApprovalRecordView {
        request: ApprovalRequest {
            id: record.id.clone(),
            action_id: record.action_id.clone(),
            capability_id: record.capability_id.clone(),
            requester: record.requester.clone(),
            subject: record.subject.clone().unwrap_or_else(|| record.requester.clone()),
            approver_selector: record.policy.approver_selector.clone(),
            reason: record.reason.clone(),
            evidence: record.evidence.clone(),
            expires_at: Some(Timestamp::from_millis(record.expires_at)),
            policy_decision_id: Some(record.policy_decision_id.clone()),
            identity: Some(identity(record)),
            policy_snapshot: Some(record.policy.clone()),
            policy_hash: Some(record.policy_hash.clone()),
            operator: record.operator.clone(),
            risk: record.risk,
            governed_value: record.governed_value,
        },
        decision: decision(record),
        status: status(&record.phase).into(),
        action_status: None,
        receipt_chain: None,
        evidence_payload: None,
        created_at: Timestamp::from_millis(record.created_at),
        updated_at: Timestamp::from_millis(record.chain.updated_at),
    }
}

/// A grant that was used is a grant to a reader.
const fn status(phase: &Phase) -> &'static str {
    match phase {
        Phase::Used {} => "granted",
        Phase::Pending {}
        | Phase::Granted {}
        | Phase::Denied {}
        | Phase::Expired {}
        | Phase::Revoked {}
        | Phase::Withdrawn {} => phase.name(),
    }
}

/// The trusted identity, always with the trusted tenant.
fn identity(record: &ApprovalRecord) -> IdentityContext {
    let mut identity = record.identity.clone().unwrap_or_default();
    identity.tenant = Some(TenantRef::new(record.tenant.clone()));
    identity
}

/// The decision that made the record what it is; none while nothing is decided.
fn decision(record: &ApprovalRecord) -> Option<ApprovalDecision> {
    let last = |kind| record.decisions.iter().rev().find(|recorded| recorded.decision.decision == kind);
    match record.phase {
        Phase::Pending {} | Phase::Withdrawn {} => None,
        Phase::Granted {} | Phase::Used {} => last(ApprovalDecisionKind::Approved).map(|one| shown(record, one)),
        Phase::Denied {} => last(ApprovalDecisionKind::Denied).map(|one| shown(record, one)),
        Phase::Revoked {} => last(ApprovalDecisionKind::Revoked).map(|one| shown(record, one)),
        Phase::Expired {} => Some(ApprovalDecision::new(
            record.id.clone(),
            ApprovalDecisionKind::Expired,
            fleet(),
            Timestamp::from_millis(record.chain.updated_at),
        )),
    }
}

/// An accepted decision with its verified authority path.
fn shown(record: &ApprovalRecord, recorded: &Recorded) -> ApprovalDecision {
    let leaves: Leaves = recorded.standings.iter().map(|standing| Leaves::one(standing.leaf)).collect();
    let mut path = Vec::new();
    path.push(format!("principal:{}", recorded.decision.approver.id));
    path.push(format!("tenant:{}", record.tenant));
    path.extend(Rule::of(&record.policy).map(|rule| rule.paths(leaves)).unwrap_or_default());
    path.push(format!("authority_revision:{}", recorded.authority_revision));
    let mut shown = recorded.decision.clone();
    shown.authority_path = path;
    shown
}

/// Verified: a reader may see this approval, and has the right to export sensitive content. Who makes one has checked both.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VerifiedExport {
    /// The approval.
    pub approval_id: ApprovalId,
    /// Its tenant.
    pub tenant: alloc::string::String,
    /// The reader.
    pub reader: PrincipalId,
}

/// The governed input itself. `input` and `transaction` are those of the stored action.
///
/// # Errors
/// [`Rejection::NotFound`] if the right is for another approval, [`Rejection::InputChanged`] if this is not the input that
/// was decided about.
pub fn evidence_payload(
    record: &ApprovalRecord,
    export: &VerifiedExport,
    input: Value,
    transaction: Option<ActionTransaction>,
) -> Result<ApprovalEvidencePayload, Rejection> {
    if export.approval_id != record.id || export.tenant != record.tenant {
        return Err(Rejection::NotFound);
    }
    let stage = transaction.as_ref().and_then(|transaction| serde_json::to_value(transaction).ok());
    let input_hash = aip_crypto::input_hash(record.capability_id.as_str(), &input, stage.as_ref());
    if input_hash != record.input_hash {
        return Err(Rejection::InputChanged);
    }
    Ok(ApprovalEvidencePayload {
        action_id: record.action_id.clone(),
        capability_id: record.capability_id.clone(),
        input_hash,
        input,
        transaction,
        identity: Some(identity(record)),
    })
}
