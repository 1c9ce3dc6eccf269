//! Audit events and economic settlement.
//!
//! Source: AIP 1.0 §18.3.
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::ids::{ActionId, PrincipalId, SessionId, TransactionId};
use crate::principal::{IdentityContext, Principal};
use crate::receipt::ReceiptChain;
use crate::time::Timestamp;

/// Audit event.
///
/// Source: AIP 1.0 §18.3.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AuditEvent {
    /// Plain string, not EventId.
    pub id: String,
    /// Actor.
    pub actor: Principal,
    /// Identity.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identity: Option<IdentityContext>,
    /// Audit label, not an Action.
    pub action: String,
    /// Occurred at.
    pub occurred_at: Timestamp,
    /// Data.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Value>,
}

/// Audit query request.
///
/// Source: AIP 1.0 §18.3.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AuditQueryRequest {
    /// Action id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action_id: Option<ActionId>,
    /// Session id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<SessionId>,
    /// Principal id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub principal_id: Option<PrincipalId>,
    /// Transaction id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transaction_id: Option<TransactionId>,
    /// Tenant id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant_id: Option<String>,
    /// Inclusive lower bound.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<Timestamp>,
    /// Inclusive upper bound.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<Timestamp>,
    /// Cursor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    /// Limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    /// Include receipts.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub include_receipts: bool,
    /// Evidence-export switch.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub export: bool,
}

/// Audit query result.
///
/// Source: AIP 1.0 §18.3.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AuditQueryResult {
    /// Events.
    pub events: Vec<AuditEvent>,
    /// Receipt chains.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub receipt_chains: Vec<ReceiptChain>,
    /// Cursor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
}

impl AuditQueryResult {
    /// A value with its required members; the optional ones are absent.
    #[must_use]
    pub fn new(events: Vec<AuditEvent>) -> Self {
        Self { events, receipt_chains: Vec::new(), cursor: None }
    }
}

/// Batch settlement.
///
/// Source: AIP 1.0 §18.3.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BatchSettlement {
    /// Id.
    pub id: String,
    /// Free label.
    pub model: String,
    /// Records.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub records: Vec<Value>,
}
