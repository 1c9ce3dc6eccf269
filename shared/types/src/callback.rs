//! Callback targets and deliveries.
//!
//! Source: AIP 1.0 §17.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::ids::{ActionId, CorrelationId, MessageId, ProfileId, SessionId};
use crate::receipt::ReceiptChain;
use crate::time::Timestamp;
use crate::wire::wire_enum;

/// Where to report the end of an action.
///
/// Source: AIP 1.0 §17.1.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Callback {
    /// The profile to use.
    pub profile: ProfileId,
    /// A URI or a subject.
    pub target: String,
    /// Free metadata.
    #[serde(default, deserialize_with = "crate::exact::option", skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Value>,
}

impl Callback {
    /// A value with its required members; the optional ones are absent.
    #[must_use]
    pub fn new(profile: ProfileId, target: String) -> Self {
        Self { profile, target, metadata: None }
    }
}

/// Asks for one delivery.
///
/// Source: AIP 1.0 §17.3.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CallbackDeliveryQueryRequest {
    /// The delivery; the same over all its attempts.
    pub delivery_id: String,
    /// The tenant; must be one that the caller may ask about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant_id: Option<String>,
    /// Whether to add the receipt chain.
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

/// Asks for the deliveries that the filters select.
///
/// Source: AIP 1.0 §17.3.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CallbackDeliveryListRequest {
    /// The action.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action_id: Option<ActionId>,
    /// Where it stands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<CallbackDeliveryStatus>,
    /// Only deliveries of this profile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<ProfileId>,
    /// Only deliveries to this target.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// The tenant; must be one that the caller may ask about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant_id: Option<String>,
    /// Opaque place in the sequence: in a request where to go on, in an answer where the next page begins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    /// Records in one page, 1 to 1000.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    /// Whether to add the receipt chain.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub include_receipts: bool,
}

wire_enum! {
    /// Where a delivery stands.
    ///
    /// Source: AIP 1.0 §17.3.
    pub enum CallbackDeliveryStatus {
        /// It waits for its next attempt.
        Pending => "pending",
        /// An attempt is being made.
        Running => "running",
        /// It arrived.
        Delivered => "delivered",
        /// The last attempt failed.
        Failed => "failed",
        /// It was given up.
        DeadLettered => "dead_lettered",
    }
}

/// A delivery as a reader may see it.
///
/// Source: AIP 1.0 §17.3.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CallbackDeliveryRecord {
    /// The delivery; the same over all its attempts.
    pub delivery_id: String,
    /// How it is delivered.
    pub policy: CallbackDeliveryPolicy,
    /// The delivered message.
    pub message_id: MessageId,
    /// The type of the delivered message.
    pub message_type: String,
    /// The action.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action_id: Option<ActionId>,
    /// The session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<SessionId>,
    /// Ties the messages of one piece of work together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub correlation_id: Option<CorrelationId>,
    /// The tenant; must be one that the caller may ask about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant_id: Option<String>,
    /// Where it stands.
    pub status: CallbackDeliveryStatus,
    /// The attempts so far.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attempts: Vec<CallbackDeliveryAttempt>,
    /// When the next attempt is due.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_attempt_at: Option<Timestamp>,
    /// The worker that holds it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub leased_by: Option<String>,
    /// When the lease of the worker ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease_expires_at: Option<Timestamp>,
    /// Why the last attempt failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_error: Option<String>,
    /// Why it was given up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dead_letter_reason: Option<String>,
    /// The evidence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub receipt_chain: Option<ReceiptChain>,
    /// When the record was made.
    pub created_at: Timestamp,
    /// When the record last changed.
    pub updated_at: Timestamp,
    /// When the end was reached.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completed_at: Option<Timestamp>,
}

/// How a callback is delivered.
///
/// Source: AIP 1.0 §17.2.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CallbackDeliveryPolicy {
    /// The delivery; the same over all its attempts.
    pub delivery_id: String,
    /// Where to deliver.
    pub target: Callback,
    /// Attempts before it is given up.
    pub max_attempts: u32,
    /// Milliseconds for one attempt.
    pub timeout_ms: u64,
    /// Milliseconds before each retry, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub retry_backoff_ms: Vec<u64>,
    /// The key that makes repeats recognisable.
    pub idempotency_key: String,
    /// Whether the payload is signed.
    pub sign_payload: bool,
    /// Whether only the end is reported.
    pub terminal_only: bool,
}

/// One attempt of a delivery.
///
/// Source: AIP 1.0 §17.3.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CallbackDeliveryAttempt {
    /// The number of the attempt, from one.
    pub attempt: u32,
    /// When the work began.
    pub started_at: Timestamp,
    /// When the attempt ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finished_at: Option<Timestamp>,
    /// Why it failed.
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

/// One page of deliveries.
///
/// Source: AIP 1.0 §17.3.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CallbackDeliveryList {
    /// The deliveries.
    pub deliveries: Vec<CallbackDeliveryRecord>,
    /// Opaque place in the sequence: in a request where to go on, in an answer where the next page begins.
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
