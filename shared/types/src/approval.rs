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

/// Asks for a decision before a governed action may run.
///
/// Source: AIP 1.0 §12.2.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ApprovalRequest {
    /// The id.
    pub id: ApprovalId,
    /// The action.
    pub action_id: ActionId,
    /// The capability.
    pub capability_id: CapabilityId,
    /// Who asked.
    pub requester: Principal,
    /// Who or what the approval is about.
    pub subject: Principal,
    /// Who may approve.
    pub approver_selector: ApproverSelector,
    /// Why, for people.
    pub reason: String,
    /// The evidence, by reference.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<EvidenceArtifact>,
    /// The instant after which it no longer holds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
    /// The policy decision that asked for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy_decision_id: Option<String>,
    /// On whose account.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identity: Option<IdentityContext>,
    /// The policy as it stood when the request was made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy_snapshot: Option<ApprovalPolicy>,
    /// SHA-256 of the canonical policy and what it governs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy_hash: Option<String>,
    /// Who would operate the action.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operator: Option<Principal>,
    /// How risky it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub risk: Option<RiskLevel>,
    /// The amount that limits of authority are compared with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub governed_value: Option<u64>,
}

/// A decision about an approval request. Its approver is a claim until it is authenticated.
///
/// Source: AIP 1.0 §12.4.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ApprovalDecision {
    /// The approval.
    pub approval_id: ApprovalId,
    /// What was decided.
    pub decision: ApprovalDecisionKind,
    /// Who decided, as claimed.
    pub approver: Principal,
    /// When the decision was made.
    pub decided_at: Timestamp,
    /// Why, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Conditions under which it holds.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub constraints: Vec<ApprovalConstraint>,
    /// The evidence, by reference.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<EvidenceArtifact>,
    /// Makes a repeat recognisable.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decision_id: Option<String>,
    /// SHA-256 of the canonical policy and what it governs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy_hash: Option<String>,
    /// How the approver came by the authority.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub authority_path: Vec<String>,
    /// The decision that is revoked.
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
    /// What was decided.
    ///
    /// Source: AIP 1.0 §12.4.
    pub enum ApprovalDecisionKind {
        /// It may run.
        Approved => "approved",
        /// It may not run.
        Denied => "denied",
        /// Nobody decided in time.
        Expired => "expired",
        /// An earlier decision no longer holds.
        Revoked => "revoked",
    }
}

/// A condition under which an approval holds.
///
/// Source: AIP 1.0 §12.4.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ApprovalConstraint {
    /// The member of the input that is bound.
    pub field: String,
    /// A free label such as `lte` or `eq`.
    pub operator: String,
    /// The bound.
    #[serde(deserialize_with = "crate::exact::value")]
    pub value: Value,
}

/// A piece of evidence, by reference.
///
/// Source: AIP 1.0 §12.3.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EvidenceArtifact {
    /// The id.
    pub id: String,
    /// A free label.
    pub kind: String,
    /// Where it can be fetched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uri: Option<String>,
    /// SHA-256, lowercase hex.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hash: Option<String>,
    /// Whether something was left out.
    pub redacted: bool,
}

/// Asks for one approval.
///
/// Source: AIP 1.0 §16.6.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ApprovalQueryRequest {
    /// The approval.
    pub approval_id: ApprovalId,
    /// The tenant; must be one that the caller may ask about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant_id: Option<String>,
    /// Whether to add the state of the action.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub include_action_status: bool,
    /// Whether to add the receipt chain.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub include_receipts: bool,
    /// Whether to add the governed content: a sensitive export.
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

/// Asks for the approvals that the filters select.
///
/// Source: AIP 1.0 §16.6.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ApprovalListRequest {
    /// Only approvals with this status, a free label.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
    /// Who approves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approver: Option<PrincipalId>,
    /// Who asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requester: Option<PrincipalId>,
    /// The tenant; must be one that the caller may ask about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant_id: Option<String>,
    /// Opaque place in the sequence: in a request where to go on, in an answer where the next page begins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    /// Records in one page, 1 to 1000.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    /// Whether to add the state of the action.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub include_action_status: bool,
    /// Whether to add the receipt chain.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub include_receipts: bool,
}

/// An approval as a reader may see it.
///
/// Source: AIP 1.0 §16.6.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ApprovalRecordView {
    /// The request.
    pub request: ApprovalRequest,
    /// The decision, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decision: Option<ApprovalDecision>,
    /// Where it stands, a free label.
    pub status: String,
    /// Where the action stands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action_status: Option<ActionStatus>,
    /// The evidence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub receipt_chain: Option<ReceiptChain>,
    /// The governed content.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evidence_payload: Option<ApprovalEvidencePayload>,
    /// When the record was made.
    pub created_at: Timestamp,
    /// When the record last changed.
    pub updated_at: Timestamp,
}

/// The governed content itself; given out only on explicit request and with its own authority.
///
/// Source: AIP 1.0 §16.6.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ApprovalEvidencePayload {
    /// The action.
    pub action_id: ActionId,
    /// The capability.
    pub capability_id: CapabilityId,
    /// SHA-256 over capability, input and transaction.
    pub input_hash: String,
    /// The governed input.
    #[serde(deserialize_with = "crate::exact::value")]
    pub input: Value,
    /// The part that the action plays in a transaction.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transaction: Option<ActionTransaction>,
    /// On whose account.
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

/// One page of approvals.
///
/// Source: AIP 1.0 §16.6.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ApprovalList {
    /// The approvals.
    pub approvals: Vec<ApprovalRecordView>,
    /// Opaque place in the sequence: in a request where to go on, in an answer where the next page begins.
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
