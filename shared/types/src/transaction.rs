//! Transactions: plan, commit, compensation and reconciliation.
//!
//! Source: AIP 1.0 §13.
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::action::{Action, ActionResult};
use crate::contract::{CompensationContract, DryRunFidelity, SideEffect};
use crate::error::ProtocolError;
use crate::ids::{ActionId, CapabilityId, TransactionId};
use crate::policy::ApprovalPolicy;
use crate::principal::{IdentityContext, Principal};
use crate::receipt::ReceiptChain;
use crate::time::Timestamp;
use crate::wire::wire_enum;

/// Action transaction.
///
/// Source: AIP 1.0 §13.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ActionTransaction {
    /// Mode.
    pub mode: TransactionMode,
    /// Transaction id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transaction_id: Option<TransactionId>,
    /// Plan id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan_id: Option<String>,
    /// Compensation for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compensation_for: Option<ActionId>,
}

impl ActionTransaction {
    /// A value with its required members; the optional ones are absent.
    #[must_use]
    pub fn new(mode: TransactionMode) -> Self {
        Self { mode, transaction_id: None, plan_id: None, compensation_for: None }
    }
}

wire_enum! {
    /// Transaction mode.
    ///
    /// Source: AIP 1.0 §13.
    pub enum TransactionMode {
        /// `execute`.
        Execute => "execute",
        /// `dry_run`.
        DryRun => "dry_run",
        /// `plan`.
        Plan => "plan",
        /// `commit`.
        Commit => "commit",
        /// `compensate`.
        Compensate => "compensate",
        /// `reconcile`.
        Reconcile => "reconcile",
        /// `rollback_not_supported`.
        RollbackNotSupported => "rollback_not_supported",
    }
}

/// Transaction request.
///
/// Source: AIP 1.0 §13.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TransactionRequest {
    /// Transaction id.
    pub transaction_id: TransactionId,
    /// Action.
    pub action: Action,
    /// Requested by.
    pub requested_by: Principal,
    /// Reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Metadata.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Value>,
    /// Provider operation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider_operation: Option<ProviderOperationRef>,
    /// Reconciliation cursor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reconciliation_cursor: Option<String>,
}

impl TransactionRequest {
    /// A value with its required members; the optional ones are absent.
    #[must_use]
    pub fn new(transaction_id: TransactionId, action: Action, requested_by: Principal) -> Self {
        Self {
            transaction_id,
            action,
            requested_by,
            reason: None,
            metadata: None,
            provider_operation: None,
            reconciliation_cursor: None,
        }
    }
}

/// Provider operation ref.
///
/// Source: AIP 1.0 §13.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProviderOperationRef {
    /// Provider.
    pub provider: String,
    /// Operation id.
    pub operation_id: String,
    /// Request id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
}

/// Transaction result.
///
/// Source: AIP 1.0 §13.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TransactionResult {
    /// Transaction id.
    pub transaction_id: TransactionId,
    /// Action id.
    pub action_id: ActionId,
    /// Capability id.
    pub capability_id: CapabilityId,
    /// Transaction.
    pub transaction: ActionTransaction,
    /// Status.
    pub status: TransactionProtocolStatus,
    /// Plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<TransactionPlan>,
    /// Result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<ActionResult>,
    /// Error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<ProtocolError>,
    /// Receipt chain.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub receipt_chain: Option<ReceiptChain>,
    /// Provider operation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider_operation: Option<ProviderOperationRef>,
    /// Reconciliation cursor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reconciliation_cursor: Option<String>,
    /// Reconcile after.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reconcile_after: Option<Timestamp>,
}

impl TransactionResult {
    /// A value with its required members; the optional ones are absent.
    #[must_use]
    pub fn new(
        transaction_id: TransactionId,
        action_id: ActionId,
        capability_id: CapabilityId,
        transaction: ActionTransaction,
        status: TransactionProtocolStatus,
    ) -> Self {
        Self {
            transaction_id,
            action_id,
            capability_id,
            transaction,
            status,
            plan: None,
            result: None,
            error: None,
            receipt_chain: None,
            provider_operation: None,
            reconciliation_cursor: None,
            reconcile_after: None,
        }
    }
}

wire_enum! {
    /// Transaction protocol status.
    ///
    /// Source: AIP 1.0 §13.
    pub enum TransactionProtocolStatus {
        /// `dry_run_completed`.
        DryRunCompleted => "dry_run_completed",
        /// `planned`.
        Planned => "planned",
        /// `prepared`.
        Prepared => "prepared",
        /// `committing`.
        Committing => "committing",
        /// `committed`.
        Committed => "committed",
        /// `compensating`.
        Compensating => "compensating",
        /// `compensated`.
        Compensated => "compensated",
        /// `requires_human`.
        RequiresHuman => "requires_human",
        /// `cancelled`.
        Cancelled => "cancelled",
        /// `rollback_not_supported`.
        RollbackNotSupported => "rollback_not_supported",
        /// `failed`.
        Failed => "failed",
        /// `outcome_unknown`.
        OutcomeUnknown => "outcome_unknown",
        /// `reconciling`.
        Reconciling => "reconciling",
        /// `reconciled`.
        Reconciled => "reconciled",
    }
}

/// Transaction plan.
///
/// Source: AIP 1.0 §13.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TransactionPlan {
    /// Plan id.
    pub plan_id: String,
    /// Transaction id.
    pub transaction_id: TransactionId,
    /// Action id.
    pub action_id: ActionId,
    /// Capability id.
    pub capability_id: CapabilityId,
    /// Transaction.
    pub transaction: ActionTransaction,
    /// Planned by.
    pub planned_by: Principal,
    /// SHA-256 over the canonical action input.
    pub input_hash: String,
    /// Input snapshot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_snapshot: Option<Value>,
    /// Predicted side effects.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub predicted_side_effects: Vec<SideEffect>,
    /// Approval required.
    pub approval_required: bool,
    /// Approval policy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval_policy: Option<ApprovalPolicy>,
    /// Compensation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compensation: Option<CompensationContract>,
    /// Dry run fidelity.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dry_run_fidelity: Option<DryRunFidelity>,
    /// Identity.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identity: Option<IdentityContext>,
    /// Created at.
    pub created_at: Timestamp,
    /// Expires at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
    /// Metadata.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Value>,
}

/// Transaction query request.
///
/// Source: AIP 1.0 §13.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TransactionQueryRequest {
    /// Selector.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transaction_id: Option<TransactionId>,
    /// Selector.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan_id: Option<String>,
    /// Selector.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action_id: Option<ActionId>,
    /// Tenant id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant_id: Option<String>,
    /// Include result.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub include_result: bool,
    /// Include receipts.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub include_receipts: bool,
}

/// Transaction view.
///
/// Source: AIP 1.0 §13.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TransactionView {
    /// Transaction id.
    pub transaction_id: TransactionId,
    /// Action id.
    pub action_id: ActionId,
    /// Capability id.
    pub capability_id: CapabilityId,
    /// Transaction.
    pub transaction: ActionTransaction,
    /// Free label here, enum in TransactionResult.
    pub status: String,
    /// Plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<TransactionPlan>,
    /// Result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<ActionResult>,
    /// Receipt chain.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub receipt_chain: Option<ReceiptChain>,
    /// Created at.
    pub created_at: Timestamp,
    /// Updated at.
    pub updated_at: Timestamp,
}
