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

/// Asks a person to step in.
///
/// Source: AIP 1.0 §12.7.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Escalation {
    /// What kind it is.
    pub kind: EscalationKind,
    /// Why, for people.
    pub reason: String,
    /// Who asks.
    pub requested_by: Principal,
    /// A form to fill in.
    #[serde(default, deserialize_with = "crate::exact::option", skip_serializing_if = "Option::is_none")]
    pub form: Option<Value>,
    /// How risky it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub risk: Option<RiskLevel>,
    /// Milliseconds until it is given up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// Decisions that the person may take.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub allowed_decisions: Vec<EscalationDecision>,
    /// The conversation.
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
    /// Why a person is needed.
    ///
    /// Source: AIP 1.0 §12.7.
    pub enum EscalationKind {
        /// A decision is needed.
        Approval => "approval",
        /// An input is needed.
        Input => "input",
        /// A person shall take over.
        Handoff => "handoff",
        /// An exception from policy is needed.
        PolicyException => "policy_exception",
    }
}

wire_enum! {
    /// What the person may decide.
    ///
    /// Source: AIP 1.0 §12.7.
    pub enum EscalationDecision {
        /// Let it run.
        Approve => "approve",
        /// Do not let it run.
        Reject => "reject",
        /// Let it run with changes.
        Modify => "modify",
        /// Take over.
        Handoff => "handoff",
        /// Stop it.
        Cancel => "cancel",
    }
}

/// What the person decided.
///
/// Source: AIP 1.0 §12.7.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EscalationResolution {
    /// Where it stands.
    pub status: EscalationResolutionStatus,
    /// Who resolved it.
    pub resolved_by: Principal,
    /// When it was resolved.
    pub resolved_at: Timestamp,
    /// What came of it.
    #[serde(default, deserialize_with = "crate::exact::option", skip_serializing_if = "Option::is_none")]
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
    /// How an escalation ended.
    ///
    /// Source: AIP 1.0 §12.7.
    pub enum EscalationResolutionStatus {
        /// It may run.
        Approved => "approved",
        /// It may not run.
        Rejected => "rejected",
        /// It may run with changes.
        Modified => "modified",
        /// A person took over.
        HandoffCompleted => "handoff_completed",
        /// Nobody answered in time.
        Expired => "expired",
        /// It was stopped.
        Cancelled => "cancelled",
    }
}
