//! Approval requests, decisions and the queries that read them.
//!
//! Source: AIP 1.0 §12.
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::ids::{ActionId, ApprovalId, CapabilityId, PrincipalId};
use crate::lifecycle::ActionStatus;
use crate::policy::{ApprovalPolicy, ApproverSelector, RiskLevel};
use crate::principal::{IdentityContext, Principal};
use crate::receipt::ReceiptChain;
use crate::time::Timestamp;
use crate::transaction::ActionTransaction;
use crate::wire::wire_enum;

/// Approval request.
///
/// Source: AIP 1.0 §12.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ApprovalRequest {
    /// Id.
    pub id: ApprovalId,
    /// Action id.
    pub action_id: ActionId,
    /// Capability id.
    pub capability_id: CapabilityId,
    /// Requester.
    pub requester: Principal,
    /// Subject.
    pub subject: Principal,
    /// Approver selector.
    pub approver_selector: ApproverSelector,
    /// Reason.
    pub reason: String,
    /// Evidence.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<EvidenceArtifact>,
    /// Expires at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
    /// Policy decision id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy_decision_id: Option<String>,
    /// Identity.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identity: Option<IdentityContext>,
    /// Policy snapshot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy_snapshot: Option<ApprovalPolicy>,
    /// SHA-256 over canonical policy + governed subject.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy_hash: Option<String>,
    /// Operator.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operator: Option<Principal>,
    /// Risk.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub risk: Option<RiskLevel>,
    /// Governed value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub governed_value: Option<u64>,
}

/// Approval decision.
///
/// Source: AIP 1.0 §12.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ApprovalDecision {
    /// Approval id.
    pub approval_id: ApprovalId,
    /// Decision.
    pub decision: ApprovalDecisionKind,
    /// Claimed approver.
    pub approver: Principal,
    /// Decided at.
    pub decided_at: Timestamp,
    /// Reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Constraints.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub constraints: Vec<ApprovalConstraint>,
    /// Evidence.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<EvidenceArtifact>,
    /// Replay key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decision_id: Option<String>,
    /// Policy hash.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy_hash: Option<String>,
    /// Authority path.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub authority_path: Vec<String>,
    /// For `revoked`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target_decision_id: Option<String>,
}

impl ApprovalDecision {
    /// A value with its required members; the optional ones are absent.
    #[must_use]
    pub fn new(
        approval_id: ApprovalId,
        decision: ApprovalDecisionKind,
        approver: Principal,
        decided_at: Timestamp,
    ) -> Self {
        Self {
            approval_id,
            decision,
            approver,
            decided_at,
            reason: None,
            constraints: Vec::new(),
            evidence: Vec::new(),
            decision_id: None,
            policy_hash: None,
            authority_path: Vec::new(),
            target_decision_id: None,
        }
    }
}

wire_enum! {
    /// Approval decision kind.
    ///
    /// Source: AIP 1.0 §12.
    pub enum ApprovalDecisionKind {
        /// `approved`.
        Approved => "approved",
        /// `denied`.
        Denied => "denied",
        /// `expired`.
        Expired => "expired",
        /// `revoked`.
        Revoked => "revoked",
    }
}

/// Approval constraint.
///
/// Source: AIP 1.0 §12.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ApprovalConstraint {
    /// Field.
    pub field: String,
    /// Free label such as lte, eq, matches.
    pub operator: String,
    /// Value.
    pub value: Value,
}

/// Evidence artifact.
///
/// Source: AIP 1.0 §12.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EvidenceArtifact {
    /// Id.
    pub id: String,
    /// Free label.
    pub kind: String,
    /// Uri.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uri: Option<String>,
    /// Hash.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hash: Option<String>,
    /// Redacted.
    pub redacted: bool,
}

/// Approval query request.
///
/// Source: AIP 1.0 §12.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ApprovalQueryRequest {
    /// Approval id.
    pub approval_id: ApprovalId,
    /// Tenant id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant_id: Option<String>,
    /// Include action status.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub include_action_status: bool,
    /// Include receipts.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub include_receipts: bool,
    /// Sensitive export switch.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub include_evidence_payload: bool,
}

impl ApprovalQueryRequest {
    /// A value with its required members; the optional ones are absent.
    #[must_use]
    pub fn new(approval_id: ApprovalId) -> Self {
        Self {
            approval_id,
            tenant_id: None,
            include_action_status: false,
            include_receipts: false,
            include_evidence_payload: false,
        }
    }
}

/// Approval list request.
///
/// Source: AIP 1.0 §12.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ApprovalListRequest {
    /// Free label, not an enum.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
    /// Id, not Principal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approver: Option<PrincipalId>,
    /// Id, not Principal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requester: Option<PrincipalId>,
    /// Tenant id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant_id: Option<String>,
    /// Cursor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    /// Limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    /// Include action status.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub include_action_status: bool,
    /// Include receipts.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub include_receipts: bool,
}

/// Approval record view.
///
/// Source: AIP 1.0 §12.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ApprovalRecordView {
    /// Request.
    pub request: ApprovalRequest,
    /// Decision.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decision: Option<ApprovalDecision>,
    /// Free label, not an enum.
    pub status: String,
    /// Action status.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action_status: Option<ActionStatus>,
    /// Receipt chain.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub receipt_chain: Option<ReceiptChain>,
    /// Evidence payload.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evidence_payload: Option<ApprovalEvidencePayload>,
    /// Created at.
    pub created_at: Timestamp,
    /// Updated at.
    pub updated_at: Timestamp,
}

/// Approval evidence payload.
///
/// Source: AIP 1.0 §12.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ApprovalEvidencePayload {
    /// Action id.
    pub action_id: ActionId,
    /// Capability id.
    pub capability_id: CapabilityId,
    /// SHA-256 over capability, input and transaction.
    pub input_hash: String,
    /// Input.
    pub input: Value,
    /// Transaction.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transaction: Option<ActionTransaction>,
    /// Identity.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identity: Option<IdentityContext>,
}

impl ApprovalEvidencePayload {
    /// A value with its required members; the optional ones are absent.
    #[must_use]
    pub fn new(action_id: ActionId, capability_id: CapabilityId, input_hash: String, input: Value) -> Self {
        Self { action_id, capability_id, input_hash, input, transaction: None, identity: None }
    }
}

/// Approval list.
///
/// Source: AIP 1.0 §12.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ApprovalList {
    /// Approvals.
    pub approvals: Vec<ApprovalRecordView>,
    /// Cursor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
}

impl ApprovalList {
    /// A value with its required members; the optional ones are absent.
    #[must_use]
    pub fn new(approvals: Vec<ApprovalRecordView>) -> Self {
        Self { approvals, cursor: None }
    }
}
