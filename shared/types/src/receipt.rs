//! Receipts and receipt chains.
//!
//! Source: AIP 1.0 §18.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::ids::{CorrelationId, ReceiptId};
use crate::principal::Principal;
use crate::time::Timestamp;
use crate::wire::wire_enum;

/// Receipts in order, each linked to the one before by its hash.
///
/// Source: AIP 1.0 §18.2.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReceiptChain {
    /// The chain; for an action, its action id.
    pub chain_id: String,
    /// The receipts, in order.
    pub receipts: Vec<Receipt>,
    /// SHA-256 over the joined receipt hashes; needed when there are receipts.
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

/// Evidence that something happened.
///
/// Source: AIP 1.0 §18.1.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Receipt {
    /// The id.
    pub id: ReceiptId,
    /// What it attests.
    pub receipt_type: ReceiptType,
    /// Who did what it attests.
    pub actor: Principal,
    /// When it happened.
    pub occurred_at: Timestamp,
    /// Ties the messages of one piece of work together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub correlation_id: Option<CorrelationId>,
    /// Free structured data.
    #[serde(default, deserialize_with = "crate::exact::option", skip_serializing_if = "Option::is_none")]
    pub data: Option<Value>,
    /// The hash of the receipt before; absent on the first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub previous_hash: Option<String>,
    /// SHA-256, lowercase hex.
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
    /// What a receipt attests.
    ///
    /// Source: AIP 1.0 §18.1.
    pub enum ReceiptType {
        /// A request came in.
        RequestReceived => "request_received",
        /// An action was admitted.
        ActionAccepted => "action_accepted",
        /// Policy decided.
        PolicyDecision => "policy_decision",
        /// An approval was asked for.
        ApprovalRequested => "approval_requested",
        /// An approval was given.
        ApprovalGranted => "approval_granted",
        /// An approval was denied.
        ApprovalDenied => "approval_denied",
        /// An approval was not decided in time.
        ApprovalExpired => "approval_expired",
        /// An approval was taken back.
        ApprovalRevoked => "approval_revoked",
        /// A handler ran.
        ToolExecuted => "tool_executed",
        /// An action was delegated.
        DelegationMade => "delegation_made",
        /// A person approved.
        HumanApproved => "human_approved",
        /// A result was given.
        ResultReturned => "result_returned",
        /// A settlement was recorded.
        SettlementRecorded => "settlement_recorded",
        /// A plan was made.
        TransactionPlanned => "transaction_planned",
        /// A commit began.
        TransactionCommitStarted => "transaction_commit_started",
        /// A commit was done.
        TransactionCommitted => "transaction_committed",
        /// An effect was undone.
        TransactionCompensated => "transaction_compensated",
        /// A dry run was done.
        TransactionDryRunCompleted => "transaction_dry_run_completed",
        /// It was declared that there is no way back.
        TransactionRollbackUnsupported => "transaction_rollback_unsupported",
        /// A transaction failed.
        TransactionFailed => "transaction_failed",
        /// A callback was tried.
        CallbackDeliveryAttempted => "callback_delivery_attempted",
        /// A callback arrived.
        CallbackDelivered => "callback_delivered",
        /// A callback was given up.
        CallbackDeliveryFailed => "callback_delivery_failed",
    }
}

/// A receipt by id and hash.
///
/// Source: AIP 1.0 §18.1.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReceiptRef {
    /// The id.
    pub id: ReceiptId,
    /// SHA-256, lowercase hex.
    pub hash: String,
}

/// Asks for a chain or for the chain of a receipt.
///
/// Source: AIP 1.0 §18.1.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReceiptQueryRequest {
    /// The chain; for an action, its action id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chain_id: Option<String>,
    /// A receipt of the chain.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub receipt_id: Option<ReceiptId>,
}
