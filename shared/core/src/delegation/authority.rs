//! The rules of a delegation chain (AIP 1.0 §14.3). An [`Authority`] can only be made by them, so whoever has one holds
//! authority that narrowed at every hop.

use aip_types::{DelegationEntry, Millis, Principal, PrincipalId, limits};
use alloc::{collections::BTreeSet, string::String, vec::Vec};

use super::{Rejection, Scope};
use crate::step::bare;

/// Whose authority a chain passes on. Authenticated, or vouched for by the peer that sent the chain.
#[derive(Clone, Debug)]
pub struct VerifiedOrigin {
    /// Who.
    pub principal: Principal,
    /// Its trust domain.
    pub trust_domain: String,
    /// What it may do itself.
    pub scope: Scope,
}

/// One hop, and what the service found out about it. The entry alone is a claim.
#[derive(Clone, Debug)]
pub struct VerifiedHop {
    /// The hop.
    pub entry: DelegationEntry,
    /// Trust domain of the delegate.
    pub trust_domain: String,
    /// When the grant behind it ends, if it ends by itself.
    pub expires_at: Option<Millis>,
    /// The grant was taken back.
    pub revoked: bool,
    /// Tenant policy admits it.
    pub tenant_allowed: bool,
    /// Data residency policy admits it.
    pub residency_allowed: bool,
}

/// What the deployment says about every hop.
#[derive(Clone, Debug)]
pub struct HopPolicy {
    /// Hops that a chain may have; more than `limits::DELEGATION_CHAIN_MAX` counts as that.
    pub hops_max: usize,
    /// Trust domains through which no authority may pass.
    pub forbidden_domains: BTreeSet<String>,
    /// Now.
    pub at: Millis,
}

/// Authority as it came through a chain that keeps all rules.
#[derive(Clone, Debug, PartialEq)]
pub struct Authority {
    origin: Principal,
    entries: Vec<DelegationEntry>,
    scope: Scope,
    expires_at: Option<Millis>,
}

impl Authority {
    /// The authority of a principal of its own.
    ///
    /// # Errors
    /// [`Rejection::DomainForbidden`].
    pub fn of(origin: VerifiedOrigin, policy: &HopPolicy) -> Result<Self, Rejection> {
        if policy.forbidden_domains.contains(&origin.trust_domain) {
            return Err(Rejection::DomainForbidden);
        }
        let VerifiedOrigin { principal, scope, .. } = origin;
        Ok(Self { origin: bare(&principal), entries: Vec::new(), scope, expires_at: None })
    }

    /// A chain that was received: all its hops, the last of which must end at the acting principal.
    ///
    /// # Errors
    /// The first rule that the first offending hop breaks, in the order of [`Authority::extend`];
    /// [`Rejection::ChainBroken`] if the chain ends at somebody else.
    pub fn received(
        origin: VerifiedOrigin,
        hops: impl IntoIterator<Item = VerifiedHop>,
        acting: &PrincipalId,
        policy: &HopPolicy,
    ) -> Result<Self, Rejection> {
        let start = Self::of(origin, policy)?;
        let authority = hops.into_iter().try_fold(start, |authority, hop| authority.extend(hop, policy))?;
        if authority.holder().id == *acting { Ok(authority) } else { Err(Rejection::ChainBroken) }
    }

    /// Passes the authority on by one hop.
    ///
    /// # Errors
    /// The first rule that the hop breaks, in this order: length, contiguity, loops, form of the scope, narrowing, times,
    /// the grant, trust domains, tenants, residency.
    pub fn extend(&self, hop: VerifiedHop, policy: &HopPolicy) -> Result<Self, Rejection> {
        let entry = &hop.entry;
        if self.entries.len() >= policy.hops_max.min(limits::DELEGATION_CHAIN_MAX) {
            return Err(Rejection::ChainTooLong);
        }
        if (&entry.from.id, entry.from.kind) != (&self.holder().id, self.holder().kind) {
            return Err(Rejection::ChainBroken);
        }
        if self.has(&entry.to.id) {
            return Err(Rejection::Loop);
        }
        let scope = Scope::read(&entry.scope)?;
        if !self.scope.covers(&scope) {
            return Err(Rejection::ScopeWidened);
        }
        let delegated_at = entry.delegated_at.millis();
        let earliest = self.entries.last().map_or(Millis::ZERO, |last| last.delegated_at.millis());
        if delegated_at < earliest || delegated_at > policy.at.plus(limits::REPLAY_FUTURE_MS) {
            return Err(Rejection::TimeInvalid);
        }
        let expires_at = [self.expires_at, hop.expires_at].into_iter().flatten().min();
        if hop.revoked || expires_at.is_some_and(|end| policy.at >= end) {
            return Err(Rejection::GrantExpired);
        }
        if policy.forbidden_domains.contains(&hop.trust_domain) {
            return Err(Rejection::DomainForbidden);
        }
        if !hop.tenant_allowed {
            return Err(Rejection::TenantForbidden);
        }
        if !hop.residency_allowed {
            return Err(Rejection::ResidencyForbidden);
        }
        let mut entries = self.entries.clone();
        entries.push(DelegationEntry { from: bare(&entry.from), to: bare(&entry.to), ..hop.entry });
        Ok(Self { origin: self.origin.clone(), entries, scope, expires_at })
    }

    /// Who holds it now: the delegate of the last hop, or the origin.
    #[must_use]
    pub fn holder(&self) -> &Principal {
        self.entries.last().map_or(&self.origin, |last| &last.to)
    }

    /// What it is.
    #[must_use]
    pub const fn scope(&self) -> &Scope {
        &self.scope
    }

    /// How it came here.
    #[must_use]
    pub fn entries(&self) -> &[DelegationEntry] {
        &self.entries
    }

    /// When the first of its grants ends.
    #[must_use]
    pub const fn expires_at(&self) -> Option<Millis> {
        self.expires_at
    }

    fn has(&self, principal: &PrincipalId) -> bool {
        self.origin.id == *principal || self.entries.iter().any(|entry| entry.to.id == *principal)
    }
}
