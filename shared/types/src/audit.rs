//! Audit events and economic settlement.
//!
//! Source: AIP 1.0 §18.3.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::ids::{ActionId, PrincipalId, SessionId, TransactionId};
use crate::principal::{IdentityContext, Principal};
use crate::receipt::ReceiptChain;
use crate::time::Timestamp;

/// One entry of the audit log.
///
/// Source: AIP 1.0 §18.3.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AuditEvent {
    /// The id.
    pub id: String,
    /// Who did it.
    pub actor: Principal,
    /// On whose account.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identity: Option<IdentityContext>,
    /// What was done.
    pub action: String,
    /// When it happened.
    pub occurred_at: Timestamp,
    /// Free structured data.
    #[serde(default, deserialize_with = "crate::exact::option", skip_serializing_if = "Option::is_none")]
    pub data: Option<Value>,
}

/// Asks for audit events that the filters select.
///
/// Source: AIP 1.0 §16.7.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AuditQueryRequest {
    /// The action.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action_id: Option<ActionId>,
    /// The session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<SessionId>,
    /// The principal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub principal_id: Option<PrincipalId>,
    /// The transaction.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transaction_id: Option<TransactionId>,
    /// The tenant; must be one that the caller may ask about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant_id: Option<String>,
    /// Not before this instant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<Timestamp>,
    /// Not after this instant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<Timestamp>,
    /// Opaque place in the sequence: in a request where to go on, in an answer where the next page begins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    /// Records in one page, 1 to 1000.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    /// Whether to add the receipt chain.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub include_receipts: bool,
    /// Whether the answer is meant to leave the system: a sensitive export.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub export: bool,
}

/// One page of audit events.
///
/// Source: AIP 1.0 §16.7.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AuditQueryResult {
    /// The events, in order.
    pub events: Vec<AuditEvent>,
    /// The evidence.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub receipt_chains: Vec<ReceiptChain>,
    /// Opaque place in the sequence: in a request where to go on, in an answer where the next page begins.
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

/// Settlement records in one batch.
///
/// Source: AIP 1.0 §18.4.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BatchSettlement {
    /// The id.
    pub id: String,
    /// The economic model.
    pub model: String,
    /// The records.
    #[serde(default, deserialize_with = "crate::exact::list", skip_serializing_if = "Vec::is_empty")]
    pub records: Vec<Value>,
}
