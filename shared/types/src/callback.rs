//! Callback targets and deliveries.
//!
//! Source: AIP 1.0 §17.
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::ids::{ActionId, CorrelationId, MessageId, ProfileId, SessionId};
use crate::receipt::ReceiptChain;
use crate::time::Timestamp;
use crate::wire::wire_enum;

/// Callback.
///
/// Source: AIP 1.0 §17.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Callback {
    /// Profile.
    pub profile: ProfileId,
    /// URI or subject.
    pub target: String,
    /// Metadata.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Value>,
}

impl Callback {
    /// A value with its required members; the optional ones are absent.
    #[must_use]
    pub fn new(profile: ProfileId, target: String) -> Self {
        Self { profile, target, metadata: None }
    }
}

/// Callback delivery query request.
///
/// Source: AIP 1.0 §17.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CallbackDeliveryQueryRequest {
    /// Delivery id.
    pub delivery_id: String,
    /// Tenant id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant_id: Option<String>,
    /// Include receipts.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub include_receipts: bool,
}

impl CallbackDeliveryQueryRequest {
    /// A value with its required members; the optional ones are absent.
    #[must_use]
    pub fn new(delivery_id: String) -> Self {
        Self { delivery_id, tenant_id: None, include_receipts: false }
    }
}

/// Callback delivery list request.
///
/// Source: AIP 1.0 §17.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CallbackDeliveryListRequest {
    /// Action id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action_id: Option<ActionId>,
    /// Status.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<CallbackDeliveryStatus>,
    /// Profile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<ProfileId>,
    /// Target.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// Tenant id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant_id: Option<String>,
    /// Cursor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    /// Limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    /// Include receipts.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub include_receipts: bool,
}

wire_enum! {
    /// Callback delivery status.
    ///
    /// Source: AIP 1.0 §17.
    pub enum CallbackDeliveryStatus {
        /// `pending`.
        Pending => "pending",
        /// `running`.
        Running => "running",
        /// `delivered`.
        Delivered => "delivered",
        /// `failed`.
        Failed => "failed",
        /// `dead_lettered`.
        DeadLettered => "dead_lettered",
    }
}

/// Callback delivery record.
///
/// Source: AIP 1.0 §17.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CallbackDeliveryRecord {
    /// Delivery id.
    pub delivery_id: String,
    /// Policy.
    pub policy: CallbackDeliveryPolicy,
    /// Message id.
    pub message_id: MessageId,
    /// Plain string, not the MessageType enum.
    pub message_type: String,
    /// Action id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action_id: Option<ActionId>,
    /// Session id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<SessionId>,
    /// Correlation id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub correlation_id: Option<CorrelationId>,
    /// Tenant id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant_id: Option<String>,
    /// Status.
    pub status: CallbackDeliveryStatus,
    /// Attempts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attempts: Vec<CallbackDeliveryAttempt>,
    /// Next attempt at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_attempt_at: Option<Timestamp>,
    /// Leased by.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub leased_by: Option<String>,
    /// Lease expires at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease_expires_at: Option<Timestamp>,
    /// Last error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_error: Option<String>,
    /// Dead letter reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dead_letter_reason: Option<String>,
    /// Receipt chain.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub receipt_chain: Option<ReceiptChain>,
    /// Created at.
    pub created_at: Timestamp,
    /// Updated at.
    pub updated_at: Timestamp,
    /// Completed at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completed_at: Option<Timestamp>,
}

/// Callback delivery policy.
///
/// Source: AIP 1.0 §17.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CallbackDeliveryPolicy {
    /// Delivery id.
    pub delivery_id: String,
    /// Target.
    pub target: Callback,
    /// Max attempts.
    pub max_attempts: u32,
    /// Per attempt.
    pub timeout_ms: u64,
    /// One delay per retry.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub retry_backoff_ms: Vec<u64>,
    /// Idempotency key.
    pub idempotency_key: String,
    /// Sign payload.
    pub sign_payload: bool,
    /// Terminal only.
    pub terminal_only: bool,
}

/// Callback delivery attempt.
///
/// Source: AIP 1.0 §17.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CallbackDeliveryAttempt {
    /// Counted from 1; schema still allows 0.
    pub attempt: u32,
    /// Started at.
    pub started_at: Timestamp,
    /// Finished at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finished_at: Option<Timestamp>,
    /// Error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

impl CallbackDeliveryAttempt {
    /// A value with its required members; the optional ones are absent.
    #[must_use]
    pub fn new(attempt: u32, started_at: Timestamp) -> Self {
        Self { attempt, started_at, finished_at: None, error: None }
    }
}

/// Callback delivery list.
///
/// Source: AIP 1.0 §17.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CallbackDeliveryList {
    /// Deliveries.
    pub deliveries: Vec<CallbackDeliveryRecord>,
    /// Cursor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
}

impl CallbackDeliveryList {
    /// A value with its required members; the optional ones are absent.
    #[must_use]
    pub fn new(deliveries: Vec<CallbackDeliveryRecord>) -> Self {
        Self { deliveries, cursor: None }
    }
}
