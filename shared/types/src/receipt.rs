//! Receipts and receipt chains.
//!
//! Source: AIP 1.0 §18.
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::ids::{CorrelationId, ReceiptId};
use crate::principal::Principal;
use crate::time::Timestamp;
use crate::wire::wire_enum;

/// Receipt chain.
///
/// Source: AIP 1.0 §18.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReceiptChain {
    /// Chain id.
    pub chain_id: String,
    /// Receipts.
    pub receipts: Vec<Receipt>,
    /// Root hash.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub root_hash: Option<String>,
}

impl ReceiptChain {
    /// A value with its required members; the optional ones are absent.
    #[must_use]
    pub fn new(chain_id: String, receipts: Vec<Receipt>) -> Self {
        Self { chain_id, receipts, root_hash: None }
    }
}

/// Receipt.
///
/// Source: AIP 1.0 §18.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Receipt {
    /// Id.
    pub id: ReceiptId,
    /// Receipt type.
    pub receipt_type: ReceiptType,
    /// Actor.
    pub actor: Principal,
    /// Occurred at.
    pub occurred_at: Timestamp,
    /// Correlation id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub correlation_id: Option<CorrelationId>,
    /// Data.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Value>,
    /// Previous hash.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub previous_hash: Option<String>,
    /// Hash.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hash: Option<String>,
}

impl Receipt {
    /// A value with its required members; the optional ones are absent.
    #[must_use]
    pub fn new(id: ReceiptId, receipt_type: ReceiptType, actor: Principal, occurred_at: Timestamp) -> Self {
        Self { id, receipt_type, actor, occurred_at, correlation_id: None, data: None, previous_hash: None, hash: None }
    }
}

wire_enum! {
    /// Receipt type.
    ///
    /// Source: AIP 1.0 §18.
    pub enum ReceiptType {
        /// `request_received`.
        RequestReceived => "request_received",
        /// `action_accepted`.
        ActionAccepted => "action_accepted",
        /// `policy_decision`.
        PolicyDecision => "policy_decision",
        /// `approval_requested`.
        ApprovalRequested => "approval_requested",
        /// `approval_granted`.
        ApprovalGranted => "approval_granted",
        /// `approval_denied`.
        ApprovalDenied => "approval_denied",
        /// `approval_expired`.
        ApprovalExpired => "approval_expired",
        /// `approval_revoked`.
        ApprovalRevoked => "approval_revoked",
        /// `tool_executed`.
        ToolExecuted => "tool_executed",
        /// `delegation_made`.
        DelegationMade => "delegation_made",
        /// `human_approved`.
        HumanApproved => "human_approved",
        /// `result_returned`.
        ResultReturned => "result_returned",
        /// `settlement_recorded`.
        SettlementRecorded => "settlement_recorded",
        /// `transaction_planned`.
        TransactionPlanned => "transaction_planned",
        /// `transaction_commit_started`.
        TransactionCommitStarted => "transaction_commit_started",
        /// `transaction_committed`.
        TransactionCommitted => "transaction_committed",
        /// `transaction_compensated`.
        TransactionCompensated => "transaction_compensated",
        /// `transaction_dry_run_completed`.
        TransactionDryRunCompleted => "transaction_dry_run_completed",
        /// `transaction_rollback_unsupported`.
        TransactionRollbackUnsupported => "transaction_rollback_unsupported",
        /// `transaction_failed`.
        TransactionFailed => "transaction_failed",
        /// `callback_delivery_attempted`.
        CallbackDeliveryAttempted => "callback_delivery_attempted",
        /// `callback_delivered`.
        CallbackDelivered => "callback_delivered",
        /// `callback_delivery_failed`.
        CallbackDeliveryFailed => "callback_delivery_failed",
    }
}

/// Receipt ref.
///
/// Source: AIP 1.0 §18.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReceiptRef {
    /// Id.
    pub id: ReceiptId,
    /// Hash.
    pub hash: String,
}

/// Receipt query request.
///
/// Source: AIP 1.0 §18.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReceiptQueryRequest {
    /// Selector.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chain_id: Option<String>,
    /// Selector.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub receipt_id: Option<ReceiptId>,
}
