//! Escalations to a person, and how they end.
//!
//! Source: AIP 1.0 §12.7.
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::conversation::Conversation;
use crate::policy::RiskLevel;
use crate::principal::Principal;
use crate::time::Timestamp;
use crate::wire::wire_enum;

/// Escalation.
///
/// Source: AIP 1.0 §12.7.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Escalation {
    /// Kind.
    pub kind: EscalationKind,
    /// Reason.
    pub reason: String,
    /// Requested by.
    pub requested_by: Principal,
    /// Form.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub form: Option<Value>,
    /// Risk.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub risk: Option<RiskLevel>,
    /// Timeout ms.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// Allowed decisions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub allowed_decisions: Vec<EscalationDecision>,
    /// Conversation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversation: Option<Conversation>,
}

impl Escalation {
    /// A value with its required members; the optional ones are absent.
    #[must_use]
    pub fn new(kind: EscalationKind, reason: String, requested_by: Principal) -> Self {
        Self {
            kind,
            reason,
            requested_by,
            form: None,
            risk: None,
            timeout_ms: None,
            allowed_decisions: Vec::new(),
            conversation: None,
        }
    }
}

wire_enum! {
    /// Escalation kind.
    ///
    /// Source: AIP 1.0 §12.7.
    pub enum EscalationKind {
        /// `approval`.
        Approval => "approval",
        /// `input`.
        Input => "input",
        /// `handoff`.
        Handoff => "handoff",
        /// `policy_exception`.
        PolicyException => "policy_exception",
    }
}

wire_enum! {
    /// Escalation decision.
    ///
    /// Source: AIP 1.0 §12.7.
    pub enum EscalationDecision {
        /// `approve`.
        Approve => "approve",
        /// `reject`.
        Reject => "reject",
        /// `modify`.
        Modify => "modify",
        /// `handoff`.
        Handoff => "handoff",
        /// `cancel`.
        Cancel => "cancel",
    }
}

/// Escalation resolution.
///
/// Source: AIP 1.0 §12.7.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EscalationResolution {
    /// Status.
    pub status: EscalationResolutionStatus,
    /// Resolved by.
    pub resolved_by: Principal,
    /// Resolved at.
    pub resolved_at: Timestamp,
    /// Result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<Value>,
}

impl EscalationResolution {
    /// A value with its required members; the optional ones are absent.
    #[must_use]
    pub fn new(status: EscalationResolutionStatus, resolved_by: Principal, resolved_at: Timestamp) -> Self {
        Self { status, resolved_by, resolved_at, result: None }
    }
}

wire_enum! {
    /// Escalation resolution status.
    ///
    /// Source: AIP 1.0 §12.7.
    pub enum EscalationResolutionStatus {
        /// `approved`.
        Approved => "approved",
        /// `rejected`.
        Rejected => "rejected",
        /// `modified`.
        Modified => "modified",
        /// `handoff_completed`.
        HandoffCompleted => "handoff_completed",
        /// `expired`.
        Expired => "expired",
        /// `cancelled`.
        Cancelled => "cancelled",
    }
}
