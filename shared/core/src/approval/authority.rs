//! What is known of a decider, and which leaf of a rule it satisfies (AIP 1.0 §8.4, §12.1).

use aip_types::{
    ApprovalPolicy, ApproverSelector, CapabilityId, DelegatedApprovalAuthority, DelegatedAuthorityRule, Millis,
    Principal, PrincipalId, RiskLevel,
};
use alloc::{collections::BTreeSet, format, string::String, vec::Vec};
use serde::{Deserialize, Serialize};

/// Verified: the authority of an authenticated principal, from a trusted resolver and never from a payload.
#[derive(Clone, Debug, PartialEq)]
pub struct VerifiedAuthority {
    /// Whom the transport or a signature authenticated.
    pub principal: Principal,
    /// The tenant in which the rest holds.
    pub tenant: String,
    /// Roles.
    pub roles: BTreeSet<String>,
    /// Groups.
    pub groups: BTreeSet<String>,
    /// Policies of the tenant that name the principal.
    pub tenant_policies: BTreeSet<String>,
    /// Other systems that name the principal.
    pub external_systems: BTreeSet<String>,
    /// Authority that others lent to it.
    pub grants: Vec<VerifiedGrant>,
    /// Revision of the resolver's entry.
    pub revision: u64,
    /// When all of it ends.
    pub expires_at: Option<Millis>,
    /// All of it was taken back.
    pub revoked: bool,
}

impl VerifiedAuthority {
    /// The authority of a principal of whom the resolver knows nothing more.
    #[must_use]
    pub const fn none(principal: Principal, tenant: String) -> Self {
        Self {
            principal,
            tenant,
            roles: BTreeSet::new(),
            groups: BTreeSet::new(),
            tenant_policies: BTreeSet::new(),
            external_systems: BTreeSet::new(),
            grants: Vec::new(),
            revision: 0,
            expires_at: None,
            revoked: false,
        }
    }

    fn is_over(&self, at: Millis) -> bool {
        self.revoked || is_past(self.expires_at, at)
    }
}

/// Verified: one authority that was lent to a principal (AIP 1.0 §8.4).
#[derive(Clone, Debug, PartialEq)]
pub struct VerifiedGrant {
    /// Who lent it, where the resolver knows.
    pub lent_by: Option<PrincipalId>,
    /// What it covers.
    pub scope: String,
    /// The capability that it covers; any when absent.
    pub capability_id: Option<CapabilityId>,
    /// The highest risk that it covers; any when absent.
    pub max_risk: Option<RiskLevel>,
    /// The highest value that it covers; any when absent.
    pub max_value: Option<u64>,
    /// When it ends.
    pub expires_at: Option<Millis>,
    /// It was taken back.
    pub revoked: bool,
}

/// What is decided about, as far as limits of authority look at it.
#[derive(Clone, Debug)]
pub struct Governed<'a> {
    /// Its tenant.
    pub tenant: &'a str,
    /// Its capability.
    pub capability_id: &'a CapabilityId,
    /// Who may not approve it, and so may not lend the authority to approve it either.
    pub barred: BTreeSet<&'a PrincipalId>,
    /// Its risk.
    pub risk: Option<RiskLevel>,
    /// Its value.
    pub value: Option<u64>,
}

/// A leaf of the rule that a decider satisfies, and how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Standing {
    /// Number of the leaf, in the order in which the rule is written.
    pub leaf: u8,
    /// From when on it counts no more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Millis>,
}

impl Standing {
    /// Whether it counts.
    #[must_use]
    pub fn holds(&self, at: Millis) -> bool {
        !is_past(self.until, at)
    }
}

/// One condition on one decider.
#[derive(Clone, Copy, Debug)]
pub(super) enum Leaf<'a> {
    Principal(&'a PrincipalId),
    Role(&'a str),
    Group(&'a str),
    /// A named policy of the tenant, or any.
    TenantPolicy(Option<&'a str>),
    ExternalSystem(&'a str),
    DelegatedAuthority(&'a DelegatedAuthorityRule),
    /// The principal to whom the policy itself lends the authority of its selector.
    Delegate(&'a DelegatedApprovalAuthority),
}

/// Whether a decider satisfies a leaf.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Satisfies {
    No,
    /// It would, had what it rests on not expired or been revoked.
    NoMore,
    Until(Option<Millis>),
}

impl<'a> Leaf<'a> {
    /// The selector of a policy without a rule.
    pub(super) fn of_selector(policy: &'a ApprovalPolicy) -> Self {
        match &policy.approver_selector {
            ApproverSelector::Principal(selector) => Self::Principal(&selector.id),
            ApproverSelector::Role(selector) => Self::Role(&selector.name),
            ApproverSelector::Group(selector) => Self::Group(&selector.name),
            ApproverSelector::TenantPolicy(_) => Self::TenantPolicy(None),
            ApproverSelector::ExternalSystem(selector) => Self::ExternalSystem(&selector.system),
        }
    }

    /// Its place in an authority path.
    pub(super) fn path(&self) -> String {
        match self {
            Self::Principal(id) => format!("principal:{id}"),
            Self::Role(name) => format!("role:{name}"),
            Self::Group(name) => format!("group:{name}"),
            Self::TenantPolicy(Some(id)) => format!("tenant_policy:{id}"),
            Self::TenantPolicy(None) => String::from("tenant_policy"),
            Self::ExternalSystem(system) => format!("external_system:{system}"),
            Self::DelegatedAuthority(rule) => format!("delegated_authority:{}", rule.scope),
            Self::Delegate(lent) => format!("delegate:{}", lent.principal),
        }
    }

    /// Evaluates the leaf. Another tenant's authority satisfies nothing.
    pub(super) fn check(&self, authority: &VerifiedAuthority, governed: &Governed<'_>, at: Millis) -> Satisfies {
        let found = self.find(authority, governed, at);
        match found {
            Satisfies::No => Satisfies::No,
            _ if authority.tenant != governed.tenant => Satisfies::No,
            Satisfies::NoMore => Satisfies::NoMore,
            Satisfies::Until(_) if authority.is_over(at) => Satisfies::NoMore,
            Satisfies::Until(until) => Satisfies::Until(earlier(until, authority.expires_at)),
        }
    }

    fn find(&self, authority: &VerifiedAuthority, governed: &Governed<'_>, at: Millis) -> Satisfies {
        let found = match self {
            Self::Principal(id) => authority.principal.id == **id,
            Self::Role(name) => authority.roles.contains(*name),
            Self::Group(name) => authority.groups.contains(*name),
            Self::TenantPolicy(Some(id)) => authority.tenant_policies.contains(*id),
            Self::TenantPolicy(None) => !authority.tenant_policies.is_empty(),
            Self::ExternalSystem(system) => authority.external_systems.contains(*system),
            Self::DelegatedAuthority(rule) => {
                if !covers(rule.max_risk, rule.max_value, governed) {
                    return Satisfies::No;
                }
                return granted(authority, &rule.scope, governed, at);
            }
            Self::Delegate(lent) => return delegate(lent, authority, governed, at),
        };
        if found { Satisfies::Until(None) } else { Satisfies::No }
    }
}

/// The delegate must hold every scope that the policy lends, from the resolver; a policy that lends none lends nothing.
fn delegate(
    lent: &DelegatedApprovalAuthority,
    authority: &VerifiedAuthority,
    governed: &Governed<'_>,
    at: Millis,
) -> Satisfies {
    if authority.principal.id != lent.principal || lent.scope.is_empty() {
        return Satisfies::No;
    }
    let mut until = lent.expires_at.as_ref().map(aip_types::Timestamp::millis);
    let mut over = is_past(until, at);
    for scope in &lent.scope {
        match granted(authority, scope, governed, at) {
            Satisfies::No => return Satisfies::No,
            Satisfies::NoMore => over = true,
            Satisfies::Until(end) => until = earlier(until, end),
        }
    }
    if over { Satisfies::NoMore } else { Satisfies::Until(until) }
}

/// The longest of the grants that cover the scope.
fn granted(authority: &VerifiedAuthority, scope: &str, governed: &Governed<'_>, at: Millis) -> Satisfies {
    let covering = authority.grants.iter().filter(|grant| {
        grant.scope == scope
            && grant.capability_id.as_ref().is_none_or(|id| id == governed.capability_id)
            && grant.lent_by.as_ref().is_none_or(|lender| !governed.barred.contains(lender))
            && covers(grant.max_risk, grant.max_value, governed)
    });
    let mut best = Satisfies::No;
    for grant in covering {
        let over = grant.revoked || is_past(grant.expires_at, at);
        best = match best {
            Satisfies::No | Satisfies::NoMore if over => Satisfies::NoMore,
            Satisfies::No | Satisfies::NoMore => Satisfies::Until(grant.expires_at),
            Satisfies::Until(_) if over => best,
            Satisfies::Until(until) => Satisfies::Until(later(until, grant.expires_at)),
        };
    }
    best
}

/// A limit covers what is known to lie within it.
fn covers(max_risk: Option<RiskLevel>, max_value: Option<u64>, governed: &Governed<'_>) -> bool {
    max_risk.is_none_or(|max| governed.risk.is_some_and(|risk| risk <= max))
        && max_value.is_none_or(|max| governed.value.is_some_and(|value| value <= max))
}

fn is_past(end: Option<Millis>, at: Millis) -> bool {
    end.is_some_and(|end| at >= end)
}

fn earlier(left: Option<Millis>, right: Option<Millis>) -> Option<Millis> {
    match (left, right) {
        (Some(left), Some(right)) => Some(left.min(right)),
        (end, None) | (None, end) => end,
    }
}

fn later(left: Option<Millis>, right: Option<Millis>) -> Option<Millis> {
    match (left, right) {
        (Some(left), Some(right)) => Some(left.max(right)),
        (_, None) | (None, _) => None,
    }
}
