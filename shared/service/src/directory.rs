//! Who is known, by each way to prove it.

use std::{collections::HashMap, sync::Arc, time::Duration};

use aip_bus::subjects::{ConnectorName, Tenant};
use aip_types::{CapabilityId, Principal};
use governor::{DefaultDirectRateLimiter, Quota, RateLimiter, clock::Clock as _};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use crate::settings::{ConfigFaults, Settings};

/// A configured principal.
#[derive(Clone, Debug, PartialEq)]
pub struct Known {
    /// Who it is.
    pub principal: Principal,
    /// Its tenant.
    pub tenant: Tenant,
    scopes: Vec<String>,
    capabilities: Vec<String>,
}

impl Known {
    /// Whether it may see and call a capability.
    #[must_use]
    pub fn may_call(&self, capability: &CapabilityId) -> bool {
        self.capabilities.iter().any(|pattern| covers(pattern, capability.as_str()))
    }

    /// Whether it holds a scope.
    #[must_use]
    pub fn has_scope(&self, scope: &str) -> bool {
        self.scopes.iter().any(|held| held == scope)
    }
}

/// A pattern is an exact text, or a prefix and `*`.
fn covers(pattern: &str, text: &str) -> bool {
    pattern.strip_suffix('*').map_or(pattern == text, |prefix| text.starts_with(prefix))
}

/// All that the settings say about identities. Immutable.
#[derive(Clone, Debug, Default)]
pub struct Directory {
    tokens: Vec<([u8; 32], Arc<Known>)>,
    nkeys: HashMap<String, Arc<Known>>,
    dids: HashMap<String, Arc<Known>>,
    ids: HashMap<String, Arc<Known>>,
    connectors: HashMap<ConnectorName, Vec<String>>,
    /// Of those principals that have a bound. Shared by all copies.
    rates: HashMap<String, Arc<DefaultDirectRateLimiter>>,
}

impl Directory {
    /// Builds it from checked settings.
    ///
    /// # Errors
    /// What [`Settings::parse`] would have refused.
    pub fn new(settings: &Settings) -> Result<Self, ConfigFaults> {
        let mut directory = Self::default();
        for setting in &settings.principals {
            let tenant =
                Tenant::new(&setting.tenant).map_err(|_| ConfigFaults(vec![format!("tenant `{}`", setting.tenant)]))?;
            let known = Arc::new(Known {
                principal: setting.principal(),
                tenant,
                scopes: setting.scopes.clone(),
                capabilities: setting.capabilities.clone(),
            });
            for token in &setting.token_sha256 {
                let mut digest = [0; 32];
                hex::decode_to_slice(token, &mut digest).map_err(|_| ConfigFaults(vec!["token_sha256".to_owned()]))?;
                directory.tokens.push((digest, Arc::clone(&known)));
            }
            directory.nkeys.extend(setting.nkeys.iter().map(|key| (key.clone(), Arc::clone(&known))));
            directory.dids.extend(setting.dids.iter().map(|did| (did.clone(), Arc::clone(&known))));
            if let Some(rate) = setting.requests_per_second {
                directory.rates.insert(setting.id.clone(), Arc::new(RateLimiter::direct(Quota::per_second(rate))));
            }
            directory.ids.insert(setting.id.clone(), known);
        }
        for setting in &settings.connectors {
            let name = ConnectorName::new(&setting.name)
                .map_err(|_| ConfigFaults(vec![format!("connector `{}`", setting.name)]))?;
            directory.connectors.insert(name, setting.capabilities.clone());
        }
        Ok(directory)
    }

    /// Who holds a bearer token. Compares hashes in constant time.
    #[must_use]
    pub fn by_token(&self, token: &str) -> Option<Arc<Known>> {
        let digest: [u8; 32] = Sha256::digest(token.as_bytes()).into();
        let mut found = None;
        for (held, known) in &self.tokens {
            if bool::from(held.ct_eq(&digest)) {
                found = Some(Arc::clone(known));
            }
        }
        found
    }

    /// Who connects with a NATS user's public nkey.
    #[must_use]
    pub fn by_nkey(&self, key: &str) -> Option<Arc<Known>> {
        self.nkeys.get(key).cloned()
    }

    /// Whom a DID signs for.
    #[must_use]
    pub fn by_did(&self, did: &str) -> Option<Arc<Known>> {
        self.dids.get(did).cloned()
    }

    /// The principal of this id.
    #[must_use]
    pub fn by_id(&self, id: &str) -> Option<Arc<Known>> {
        self.ids.get(id).cloned()
    }

    /// Counts a request of a principal against its bound.
    ///
    /// # Errors
    /// It has asked too often: the time after which its next request is taken.
    pub fn count_request(&self, known: &Known) -> Result<(), Duration> {
        let Some(limiter) = self.rates.get(known.principal.id.as_str()) else { return Ok(()) };
        limiter.check().map_err(|early| early.wait_time_from(limiter.clock().now()))
    }

    /// Whether a connector may register a capability; unknown connectors may register nothing.
    #[must_use]
    pub fn may_register(&self, connector: &ConnectorName, capability: &CapabilityId) -> bool {
        self.connectors
            .get(connector)
            .is_some_and(|patterns| patterns.iter().any(|pattern| covers(pattern, capability.as_str())))
    }
}
