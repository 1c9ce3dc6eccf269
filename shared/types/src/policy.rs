//! What an approval needs: selectors, rules, evidence and separation of duties.
//!
//! Source: AIP 1.0 §12.1.
use serde::{Deserialize, Serialize};

use crate::ids::PrincipalId;
use crate::time::Timestamp;
use crate::wire::{tagged_union, wire_enum};

/// Approval policy.
///
/// Source: AIP 1.0 §12.1.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ApprovalPolicy {
    /// Required.
    pub required: bool,
    /// Reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Approver selector.
    pub approver_selector: ApproverSelector,
    /// Ttl ms.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttl_ms: Option<u64>,
    /// Evidence requirements.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evidence_requirements: Vec<EvidenceRequirement>,
    /// Delegated authority.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delegated_authority: Option<DelegatedApprovalAuthority>,
    /// When absent the selector acts as a one-leaf rule.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<ApprovalRule>,
    /// Minimum distinct principals.
    #[serde(default = "crate::wire::one", skip_serializing_if = "crate::wire::is_one")]
    pub minimum_distinct_principals: u32,
    /// Separation of duties.
    #[serde(default, skip_serializing_if = "SeparationOfDuties::is_default")]
    pub separation_of_duties: SeparationOfDuties,
    /// Policy version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy_version: Option<String>,
}

impl ApprovalPolicy {
    /// A value with its required members; the optional ones are absent.
    #[must_use]
    pub fn new(required: bool, approver_selector: ApproverSelector) -> Self {
        Self {
            required,
            reason: None,
            approver_selector,
            ttl_ms: None,
            evidence_requirements: Vec::new(),
            delegated_authority: None,
            rule: None,
            minimum_distinct_principals: 1,
            separation_of_duties: SeparationOfDuties::default(),
            policy_version: None,
        }
    }
}

tagged_union! {
    /// Approver selector.
    ///
    /// Source: AIP 1.0 §12.1.
    pub enum ApproverSelector by "type" {
        /// `principal`.
        Principal(PrincipalSelector) => "principal",
        /// `role`.
        Role(RoleSelector) => "role",
        /// `group`.
        Group(GroupSelector) => "group",
        /// `tenant_policy`.
        TenantPolicy(TenantPolicySelector) => "tenant_policy",
        /// `external_system`.
        ExternalSystem(ExternalSystemSelector) => "external_system",
    }
}

/// `principal`.
///
/// Source: AIP 1.0 §12.1.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PrincipalSelector {
    /// Id.
    pub id: PrincipalId,
}

/// `role`.
///
/// Source: AIP 1.0 §12.1.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RoleSelector {
    /// Name.
    pub name: String,
}

/// `group`.
///
/// Source: AIP 1.0 §12.1.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GroupSelector {
    /// Name.
    pub name: String,
}

/// `tenant_policy`.
///
/// Source: AIP 1.0 §12.1.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TenantPolicySelector {}

/// `external_system`.
///
/// Source: AIP 1.0 §12.1.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExternalSystemSelector {
    /// System.
    pub system: String,
}

tagged_union! {
    /// Approval rule.
    ///
    /// Source: AIP 1.0 §12.1.
    pub enum ApprovalRule by "operator" {
        /// `all`.
        All(AllRule) => "all",
        /// `any`.
        Any(AnyRule) => "any",
        /// `quorum`.
        Quorum(QuorumRule) => "quorum",
        /// `principal`.
        Principal(PrincipalRule) => "principal",
        /// `role`.
        Role(RoleRule) => "role",
        /// `group`.
        Group(GroupRule) => "group",
        /// `tenant_policy`.
        TenantPolicy(TenantPolicyRule) => "tenant_policy",
        /// `external_system`.
        ExternalSystem(ExternalSystemRule) => "external_system",
        /// `delegated_authority`.
        DelegatedAuthority(DelegatedAuthorityRule) => "delegated_authority",
    }
}

/// `all`.
///
/// Source: AIP 1.0 §12.1.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AllRule {
    /// Rules.
    pub rules: Vec<ApprovalRule>,
    /// Allow decision reuse.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub allow_decision_reuse: bool,
}

impl AllRule {
    /// A value with its required members; the optional ones are absent.
    #[must_use]
    pub fn new(rules: Vec<ApprovalRule>) -> Self {
        Self { rules, allow_decision_reuse: false }
    }
}

/// `any`.
///
/// Source: AIP 1.0 §12.1.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AnyRule {
    /// Rules.
    pub rules: Vec<ApprovalRule>,
}

/// `quorum`.
///
/// Source: AIP 1.0 §12.1.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct QuorumRule {
    /// Required.
    pub required: u32,
    /// Rules.
    pub rules: Vec<ApprovalRule>,
    /// Distinct principals.
    #[serde(default = "crate::wire::yes", skip_serializing_if = "Clone::clone")]
    pub distinct_principals: bool,
}

impl QuorumRule {
    /// A value with its required members; the optional ones are absent.
    #[must_use]
    pub fn new(required: u32, rules: Vec<ApprovalRule>) -> Self {
        Self { required, rules, distinct_principals: true }
    }
}

/// `principal`.
///
/// Source: AIP 1.0 §12.1.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PrincipalRule {
    /// Id.
    pub id: PrincipalId,
}

/// `role`.
///
/// Source: AIP 1.0 §12.1.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RoleRule {
    /// Name.
    pub name: String,
}

/// `group`.
///
/// Source: AIP 1.0 §12.1.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GroupRule {
    /// Name.
    pub name: String,
}

/// `tenant_policy`.
///
/// Source: AIP 1.0 §12.1.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TenantPolicyRule {
    /// Policy id.
    pub policy_id: String,
}

/// `external_system`.
///
/// Source: AIP 1.0 §12.1.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExternalSystemRule {
    /// System.
    pub system: String,
}

/// `delegated_authority`.
///
/// Source: AIP 1.0 §12.1.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DelegatedAuthorityRule {
    /// Scope.
    pub scope: String,
    /// Max risk.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_risk: Option<RiskLevel>,
    /// Max value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_value: Option<u64>,
}

impl DelegatedAuthorityRule {
    /// A value with its required members; the optional ones are absent.
    #[must_use]
    pub fn new(scope: String) -> Self {
        Self { scope, max_risk: None, max_value: None }
    }
}

wire_enum! {
    /// Evidence requirement.
    ///
    /// Source: AIP 1.0 §12.1.
    pub enum EvidenceRequirement {
        /// `reason`.
        Reason => "reason",
        /// `input_snapshot`.
        InputSnapshot => "input_snapshot",
        /// `policy_decision`.
        PolicyDecision => "policy_decision",
        /// `external_ticket`.
        ExternalTicket => "external_ticket",
        /// `attachment`.
        Attachment => "attachment",
    }
}

/// Delegated approval authority.
///
/// Source: AIP 1.0 §12.1.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DelegatedApprovalAuthority {
    /// Id, not Principal.
    pub principal: PrincipalId,
    /// A list under a singular name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub scope: Vec<String>,
    /// Expires at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
}

impl DelegatedApprovalAuthority {
    /// A value with its required members; the optional ones are absent.
    #[must_use]
    pub fn new(principal: PrincipalId) -> Self {
        Self { principal, scope: Vec::new(), expires_at: None }
    }
}

wire_enum! {
    /// Risk level.
    ///
    /// Source: AIP 1.0 §12.1.
    pub enum RiskLevel {
        /// `low`.
        Low => "low",
        /// `medium`.
        Medium => "medium",
        /// `high`.
        High => "high",
        /// `critical`.
        Critical => "critical",
    }
}

/// Separation of duties.
///
/// Source: AIP 1.0 §12.1.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SeparationOfDuties {
    /// Requester must differ.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub requester_must_differ: bool,
    /// Operator must differ.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub operator_must_differ: bool,
    /// Allow self approval.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub allow_self_approval: bool,
}

impl SeparationOfDuties {
    /// Whether nothing is required: the value that an absent member stands for.
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}
