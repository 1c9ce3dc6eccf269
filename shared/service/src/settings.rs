//! `aip.toml`: who is who and who may call what. Parsed whole before a port opens; every mistake is listed at once.

use std::{collections::BTreeSet, num::NonZeroU32, path::Path};

use aip_bus::subjects::{ConnectorName, Peer, Tenant};
use aip_types::{Principal, PrincipalId, PrincipalKind};
use serde::{Deserialize, Serialize};

/// The file, as written.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// Trust domain token of the canonical subjects.
    pub trust_domain: String,
    /// Service token of the canonical subjects.
    pub service: String,
    /// Version token of the canonical subjects.
    pub version: String,
    /// Tenants, each with a NATS account of its own.
    pub tenants: Vec<TenantSetting>,
    /// Who may call.
    #[serde(default)]
    pub principals: Vec<PrincipalSetting>,
    /// Which connectors there are.
    #[serde(default)]
    pub connectors: Vec<ConnectorSetting>,
}

/// One tenant.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TenantSetting {
    /// `[A-Za-z0-9_-]{1,64}`.
    pub id: String,
}

/// One principal: how it proves itself, and what it may do. Default deny.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PrincipalSetting {
    /// Its id, e.g. `service:billing`.
    pub id: String,
    /// Its kind.
    pub kind: PrincipalKind,
    /// Its tenant.
    pub tenant: String,
    /// SHA-256 (lower-case hex) of each of its bearer tokens.
    #[serde(default)]
    pub token_sha256: Vec<String>,
    /// Public nkeys of its NATS users.
    #[serde(default)]
    pub nkeys: Vec<String>,
    /// DIDs that sign for it.
    #[serde(default)]
    pub dids: Vec<String>,
    /// Capabilities that it may see and call: exact ids, or a prefix and `*`.
    #[serde(default)]
    pub capabilities: Vec<String>,
    /// Scopes, e.g. `action:read:any`: read what others of its tenant started.
    #[serde(default)]
    pub scopes: Vec<String>,
    /// Requests in a second, and as many at once after a pause, that each process takes from it; no bound of its own when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requests_per_second: Option<NonZeroU32>,
}

/// One connector.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ConnectorSetting {
    /// `[a-z0-9-]{1,48}`; its account is named after it.
    pub name: String,
    /// Capabilities that it may register: exact ids, or a prefix and `*`.
    pub capabilities: Vec<String>,
}

/// Every mistake of a file.
#[derive(Debug, thiserror::Error)]
#[error("{}", .0.join("\n"))]
pub struct ConfigFaults(pub Vec<String>);

impl Settings {
    /// Reads and checks a file.
    ///
    /// # Errors
    /// All mistakes.
    pub fn read(path: &Path) -> Result<Self, ConfigFaults> {
        let text = std::fs::read_to_string(path)
            .map_err(|fault| ConfigFaults(vec![format!("{}: {fault}", path.display())]))?;
        Self::parse(&text).map_err(|ConfigFaults(faults)| {
            ConfigFaults(faults.into_iter().map(|fault| format!("{}: {fault}", path.display())).collect())
        })
    }

    /// Parses and checks a text.
    ///
    /// # Errors
    /// All mistakes.
    pub fn parse(text: &str) -> Result<Self, ConfigFaults> {
        let settings: Self = toml::from_str(text).map_err(|fault| ConfigFaults(vec![fault.message().to_owned()]))?;
        let faults = settings.faults();
        if faults.is_empty() { Ok(settings) } else { Err(ConfigFaults(faults)) }
    }

    /// The place of the canonical subjects.
    ///
    /// # Errors
    /// A token that cannot stand in a subject; never after [`Settings::parse`].
    pub fn peer(&self) -> Result<Peer, ConfigFaults> {
        Peer::new(&self.trust_domain, &self.service, &self.version)
            .map_err(|_| ConfigFaults(vec!["trust_domain, service, version: must be subject tokens".to_owned()]))
    }

    fn faults(&self) -> Vec<String> {
        let mut faults = Vec::new();
        if let Err(ConfigFaults(more)) = self.peer() {
            faults.extend(more);
        }
        let mut tenants = BTreeSet::new();
        for TenantSetting { id } in &self.tenants {
            if Tenant::new(id).is_err() {
                faults.push(format!("tenants: `{id}` is no tenant id ([A-Za-z0-9_-]{{1,64}})"));
            }
            if !tenants.insert(id.as_str()) {
                faults.push(format!("tenants: `{id}` stands twice"));
            }
        }
        let mut seen = BTreeSet::new();
        for principal in &self.principals {
            principal.faults(&tenants, &mut seen, &mut faults);
        }
        let mut names = BTreeSet::new();
        for ConnectorSetting { name, capabilities } in &self.connectors {
            if ConnectorName::new(name).is_err() {
                faults.push(format!("connectors: `{name}` is no connector name ([a-z0-9-]{{1,48}})"));
            }
            if !names.insert(name.as_str()) {
                faults.push(format!("connectors: `{name}` stands twice"));
            }
            if capabilities.is_empty() {
                faults.push(format!("connectors: `{name}` may register nothing"));
            }
        }
        faults
    }
}

impl PrincipalSetting {
    /// The principal that it names.
    #[must_use]
    pub fn principal(&self) -> Principal {
        Principal::new(PrincipalId::new(self.id.clone()), self.kind)
    }

    fn faults<'a>(
        &'a self,
        tenants: &BTreeSet<&str>,
        seen: &mut BTreeSet<(&'static str, &'a str)>,
        faults: &mut Vec<String>,
    ) {
        let id = &self.id;
        if id.is_empty() {
            faults.push("principals: an id is empty".to_owned());
        }
        if !tenants.contains(self.tenant.as_str()) {
            faults.push(format!("principals: `{id}` belongs to the unknown tenant `{}`", self.tenant));
        }
        let sha256 = |text: &&String| {
            text.len() != 64 || !text.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
        };
        for bad in self.token_sha256.iter().filter(sha256) {
            faults.push(format!(
                "principals: `{id}` has a token_sha256 of {} characters, 64 hex digits are wanted",
                bad.len()
            ));
        }
        for bad in self.nkeys.iter().filter(|key| !key.starts_with('U') || key.len() != 56) {
            faults.push(format!("principals: `{id}` has the nkey `{bad}`, a public user key is wanted"));
        }
        for bad in self.dids.iter().filter(|did| aip_crypto::Did::parse(did).is_err()) {
            faults.push(format!("principals: `{id}` has the did `{bad}`, did:key with Ed25519 is wanted"));
        }
        let proofs = [
            ("principal id", vec![&self.id]),
            ("token_sha256", self.token_sha256.iter().collect()),
            ("nkey", self.nkeys.iter().collect()),
            ("did", self.dids.iter().collect::<Vec<_>>()),
        ];
        for (what, values) in proofs {
            for value in values {
                if !seen.insert((what, value)) {
                    faults.push(format!("principals: `{id}` shares a {what} with another"));
                }
            }
        }
    }
}
