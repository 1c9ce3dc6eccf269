//! What an approval needs: selectors, rules, evidence and separation of duties.
//!
//! Source: AIP 1.0 §12.1.

use serde::{Deserialize, Serialize};

use crate::ids::PrincipalId;
use crate::time::Timestamp;
use crate::wire::{tagged_union, wire_enum};

/// What an approval needs to be valid.
///
/// Source: AIP 1.0 §12.1.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ApprovalPolicy {
    /// Whether an approval is needed.
    pub required: bool,
    /// Why, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Who may approve.
    pub approver_selector: ApproverSelector,
    /// Milliseconds that a request stays open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttl_ms: Option<u64>,
    /// What a decision must bring along.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evidence_requirements: Vec<EvidenceRequirement>,
    /// Authority that was lent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delegated_authority: Option<DelegatedApprovalAuthority>,
    /// The rule over decisions; absent, the selector is a rule of one leaf.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<ApprovalRule>,
    /// How many different principals must approve; one when absent.
    #[serde(default = "crate::wire::one", skip_serializing_if = "crate::wire::is_one")]
    pub minimum_distinct_principals: u32,
    /// Who may not decide about what.
    #[serde(default, skip_serializing_if = "SeparationOfDuties::is_default")]
    pub separation_of_duties: SeparationOfDuties,
    /// The version of the policy.
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
    /// Who may approve. The member `type` names the variant.
    ///
    /// Source: AIP 1.0 §12.1.
    pub enum ApproverSelector by "type" {
        /// One principal.
        Principal(PrincipalSelector) => "principal",
        /// Whoever has a role.
        Role(RoleSelector) => "role",
        /// Whoever is in a group.
        Group(GroupSelector) => "group",
        /// Whom the policy of the tenant names.
        TenantPolicy(TenantPolicySelector) => "tenant_policy",
        /// Whom another system names.
        ExternalSystem(ExternalSystemSelector) => "external_system",
    }
}

/// One principal.
///
/// Source: AIP 1.0 §12.1.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PrincipalSelector {
    /// The id.
    pub id: PrincipalId,
}

/// Whoever has a role.
///
/// Source: AIP 1.0 §12.1.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RoleSelector {
    /// A name.
    pub name: String,
}

/// Whoever is in a group.
///
/// Source: AIP 1.0 §12.1.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GroupSelector {
    /// A name.
    pub name: String,
}

/// Whom the policy of the tenant names.
///
/// Source: AIP 1.0 §12.1.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TenantPolicySelector {}

/// Whom another system names.
///
/// Source: AIP 1.0 §12.1.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExternalSystemSelector {
    /// The system that knows it.
    pub system: String,
}

tagged_union! {
    /// A rule over decisions; rules nest. The member `operator` names the variant.
    ///
    /// Source: AIP 1.0 §12.1.
    pub enum ApprovalRule by "operator" {
        /// All of several rules.
        All(AllRule) => "all",
        /// One of several rules.
        Any(AnyRule) => "any",
        /// A number of several rules.
        Quorum(QuorumRule) => "quorum",
        /// One principal.
        Principal(PrincipalRule) => "principal",
        /// Whoever has a role.
        Role(RoleRule) => "role",
        /// Whoever is in a group.
        Group(GroupRule) => "group",
        /// Whom a policy of the tenant names.
        TenantPolicy(TenantPolicyRule) => "tenant_policy",
        /// Whom another system names.
        ExternalSystem(ExternalSystemRule) => "external_system",
        /// Whoever holds authority that was lent.
        DelegatedAuthority(DelegatedAuthorityRule) => "delegated_authority",
    }
}

/// All of several rules.
///
/// Source: AIP 1.0 §12.1.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AllRule {
    /// All of these must hold.
    pub rules: Vec<ApprovalRule>,
    /// Whether one decision may count for several of them.
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

/// One of several rules.
///
/// Source: AIP 1.0 §12.1.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AnyRule {
    /// One of these must hold.
    pub rules: Vec<ApprovalRule>,
}

/// A number of several rules.
///
/// Source: AIP 1.0 §12.1.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct QuorumRule {
    /// How many must hold.
    pub required: u32,
    /// Of these.
    pub rules: Vec<ApprovalRule>,
    /// Whether they must be held by different principals; true when absent.
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

/// One principal.
///
/// Source: AIP 1.0 §12.1.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PrincipalRule {
    /// The id.
    pub id: PrincipalId,
}

/// Whoever has a role.
///
/// Source: AIP 1.0 §12.1.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RoleRule {
    /// A name.
    pub name: String,
}

/// Whoever is in a group.
///
/// Source: AIP 1.0 §12.1.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GroupRule {
    /// A name.
    pub name: String,
}

/// Whom a policy of the tenant names.
///
/// Source: AIP 1.0 §12.1.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TenantPolicyRule {
    /// The policy of the tenant.
    pub policy_id: String,
}

/// Whom another system names.
///
/// Source: AIP 1.0 §12.1.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExternalSystemRule {
    /// The system that knows it.
    pub system: String,
}

/// Whoever holds authority that was lent.
///
/// Source: AIP 1.0 §12.1.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DelegatedAuthorityRule {
    /// The scope of the authority.
    pub scope: String,
    /// The highest risk that it covers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_risk: Option<RiskLevel>,
    /// The highest amount that it covers.
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
    /// What a decision must bring along.
    ///
    /// Source: AIP 1.0 §12.1.
    pub enum EvidenceRequirement {
        /// A reason.
        Reason => "reason",
        /// The input as it was decided about.
        InputSnapshot => "input_snapshot",
        /// The policy decision.
        PolicyDecision => "policy_decision",
        /// A ticket in another system.
        ExternalTicket => "external_ticket",
        /// An attachment.
        Attachment => "attachment",
    }
}

/// Authority to approve, lent to a principal.
///
/// Source: AIP 1.0 §12.1.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DelegatedApprovalAuthority {
    /// The id of the principal that holds it.
    pub principal: PrincipalId,
    /// What it covers; a list, despite its name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub scope: Vec<String>,
    /// The instant after which it no longer holds.
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
    /// How risky an operation is, in ascending order.
    ///
    /// Source: AIP 1.0 §9.3.
    pub enum RiskLevel {
        /// Little harm is possible.
        Low => "low",
        /// Some harm is possible.
        Medium => "medium",
        /// Much harm is possible.
        High => "high",
        /// Harm is possible that cannot be borne.
        Critical => "critical",
    }
}

/// Who may not decide about what.
///
/// Source: AIP 1.0 §12.1.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SeparationOfDuties {
    /// Whether the requester may not approve.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub requester_must_differ: bool,
    /// Whether the operator may not approve.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub operator_must_differ: bool,
    /// Whether the subject may approve for itself.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub allow_self_approval: bool,
}

impl SeparationOfDuties {
    /// Whether nothing is required: the value that an absent member stands for.
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}
