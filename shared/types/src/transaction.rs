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

/// The part that an action plays in a transaction.
///
/// Source: AIP 1.0 §13.1.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ActionTransaction {
    /// What to do.
    pub mode: TransactionMode,
    /// The transaction.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transaction_id: Option<TransactionId>,
    /// The plan to commit; needed with `commit`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan_id: Option<String>,
    /// The action whose effect is undone; needed with `compensate`.
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
    /// What an action does with its transaction.
    ///
    /// Source: AIP 1.0 §13.1.
    pub enum TransactionMode {
        /// Run it without a plan.
        Execute => "execute",
        /// Tell what would happen.
        DryRun => "dry_run",
        /// Make a plan.
        Plan => "plan",
        /// Carry out a plan.
        Commit => "commit",
        /// Undo an earlier action.
        Compensate => "compensate",
        /// Find out what happened.
        Reconcile => "reconcile",
        /// Declares that there is no way back.
        RollbackNotSupported => "rollback_not_supported",
    }
}

/// Asks to run an action as a step of a transaction.
///
/// Source: AIP 1.0 §13.1.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TransactionRequest {
    /// The transaction.
    pub transaction_id: TransactionId,
    /// The action.
    pub action: Action,
    /// Who asks.
    pub requested_by: Principal,
    /// Why, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Free metadata.
    #[serde(default, deserialize_with = "crate::exact::option", skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Value>,
    /// The operation as the provider knows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider_operation: Option<ProviderOperationRef>,
    /// Opaque place in the provider's reconciliation feed.
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

/// The operation as the provider knows it; what reconciliation asks for.
///
/// Source: AIP 1.0 §13.6.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProviderOperationRef {
    /// The provider.
    pub provider: String,
    /// The operation there.
    pub operation_id: String,
    /// The request there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
}

/// The outcome of a transaction step.
///
/// Source: AIP 1.0 §13.5.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TransactionResult {
    /// The transaction.
    pub transaction_id: TransactionId,
    /// The action.
    pub action_id: ActionId,
    /// The capability.
    pub capability_id: CapabilityId,
    /// The part that the action plays in a transaction.
    pub transaction: ActionTransaction,
    /// Where it stands.
    pub status: TransactionProtocolStatus,
    /// The plan; needed when the status is `planned`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<TransactionPlan>,
    /// The result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<ActionResult>,
    /// The failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<ProtocolError>,
    /// The evidence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub receipt_chain: Option<ReceiptChain>,
    /// The operation as the provider knows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider_operation: Option<ProviderOperationRef>,
    /// Opaque place in the provider's reconciliation feed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reconciliation_cursor: Option<String>,
    /// Not before this instant is it worth asking the provider.
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
    /// Where a transaction stands.
    ///
    /// Source: AIP 1.0 §13.5.
    pub enum TransactionProtocolStatus {
        /// The dry run is done.
        DryRunCompleted => "dry_run_completed",
        /// There is a plan.
        Planned => "planned",
        /// All is ready for a commit.
        Prepared => "prepared",
        /// The commit runs.
        Committing => "committing",
        /// The commit is done.
        Committed => "committed",
        /// The effect is being undone.
        Compensating => "compensating",
        /// The effect was undone.
        Compensated => "compensated",
        /// It waits for a person.
        RequiresHuman => "requires_human",
        /// It was stopped.
        Cancelled => "cancelled",
        /// There is no way back.
        RollbackNotSupported => "rollback_not_supported",
        /// It failed.
        Failed => "failed",
        /// Nobody knows whether it took effect.
        OutcomeUnknown => "outcome_unknown",
        /// The provider is being asked.
        Reconciling => "reconciling",
        /// The provider told what happened.
        Reconciled => "reconciled",
    }
}

/// What a commit would do, bound to its input.
///
/// Source: AIP 1.0 §13.3.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TransactionPlan {
    /// The plan.
    pub plan_id: String,
    /// The transaction.
    pub transaction_id: TransactionId,
    /// The action.
    pub action_id: ActionId,
    /// The capability.
    pub capability_id: CapabilityId,
    /// The part that the action plays in a transaction.
    pub transaction: ActionTransaction,
    /// Who planned it.
    pub planned_by: Principal,
    /// SHA-256 of the canonical action input.
    pub input_hash: String,
    /// The input, as planned.
    #[serde(default, deserialize_with = "crate::exact::option", skip_serializing_if = "Option::is_none")]
    pub input_snapshot: Option<Value>,
    /// Effects that a commit would have.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub predicted_side_effects: Vec<SideEffect>,
    /// Whether a commit needs an approval.
    pub approval_required: bool,
    /// What an approval needs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval_policy: Option<ApprovalPolicy>,
    /// How the effect can be undone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compensation: Option<CompensationContract>,
    /// How close a dry run comes to the real thing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dry_run_fidelity: Option<DryRunFidelity>,
    /// On whose account.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identity: Option<IdentityContext>,
    /// When the record was made.
    pub created_at: Timestamp,
    /// The instant after which it no longer holds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
    /// Free metadata.
    #[serde(default, deserialize_with = "crate::exact::option", skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Value>,
}

/// Asks for a transaction by one of its ids.
///
/// Source: AIP 1.0 §13.5.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TransactionQueryRequest {
    /// The transaction.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transaction_id: Option<TransactionId>,
    /// The plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan_id: Option<String>,
    /// The action.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action_id: Option<ActionId>,
    /// The tenant; must be one that the caller may ask about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant_id: Option<String>,
    /// Whether to add the result.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub include_result: bool,
    /// Whether to add the receipt chain.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub include_receipts: bool,
}

/// A transaction as a reader may see it.
///
/// Source: AIP 1.0 §13.5.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TransactionView {
    /// The transaction.
    pub transaction_id: TransactionId,
    /// The action.
    pub action_id: ActionId,
    /// The capability.
    pub capability_id: CapabilityId,
    /// The part that the action plays in a transaction.
    pub transaction: ActionTransaction,
    /// Where it stands, a free label.
    pub status: String,
    /// The plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<TransactionPlan>,
    /// The result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<ActionResult>,
    /// The evidence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub receipt_chain: Option<ReceiptChain>,
    /// When the record was made.
    pub created_at: Timestamp,
    /// When the record last changed.
    pub updated_at: Timestamp,
}
