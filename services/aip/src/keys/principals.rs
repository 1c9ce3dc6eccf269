//! The demo tenants and principals of a new fleet, and their proofs: token, NATS user, signing key.

use aip_crypto::SigningKey;
use aip_service::{ConnectorSetting, PrincipalSetting, Settings, TenantSetting};
use aip_types::PrincipalKind;
use anyhow::{Context as _, anyhow};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};

use crate::{
    env_file::{self, Variables},
    failure::Failure,
    home::{self, Home},
};

use super::roster::nkey;

/// A principal of a new fleet.
#[derive(Debug)]
pub(super) struct Demo {
    pub(super) name: &'static str,
    tenant: &'static str,
    capabilities: &'static [&'static str],
    scopes: &'static [&'static str],
    /// What its variables in `DIR/env` end with.
    suffix: &'static str,
}

/// All of them.
pub(super) const DEMO: [Demo; 3] = [
    Demo {
        name: "demo-client",
        tenant: "demo",
        capabilities: &["cap:demo:*", "cap:rogue:*"],
        scopes: &["action:read:any"],
        suffix: "",
    },
    Demo { name: "demo-other", tenant: "demo", capabilities: &["cap:demo:*"], scopes: &[], suffix: "_DEMO_OTHER" },
    Demo { name: "other-client", tenant: "other", capabilities: &["cap:demo:*"], scopes: &[], suffix: "_OTHER" },
];

const TENANTS: [&str; 2] = ["demo", "other"];
const HEAD: &str = "# Who is who in this fleet, and who may call what. Made by `aip keys`, yours from then on.
# Tokens stand here as SHA-256 only, NATS users and signers by their public keys.\n\n";

impl Demo {
    pub(super) fn variable(&self, base: &str) -> String {
        format!("{base}{}", self.suffix)
    }
}

/// The settings in `aip.toml`, made where there are none.
pub(super) fn ensure(home: &Home, trust_domain: &str, rogue: bool) -> Result<Settings, Failure> {
    let path = home.config();
    let variables = env_file::read(home)?;
    if home::read(&path)?.is_none() {
        let text = new_settings(home, variables, trust_domain, rogue)?;
        home::write_private(&path, &text)?;
    } else if !DEMO.iter().all(|demo| variables.contains_key(&demo.variable("AIP_TOKEN"))) {
        let lost = "holds no tokens, and aip.toml has only their hashes; remove aip.toml to make new ones";
        return Err(Failure::Settings(anyhow!("{} {lost}", home.env().display())));
    }
    let settings = Settings::read(&path).map_err(Failure::settings)?;
    if rogue && settings.connectors.iter().all(|connector| connector.name != "rogue") {
        return Err(Failure::Settings(anyhow!("{} has no connector `rogue`; add it there", path.display())));
    }
    Ok(settings)
}

fn new_settings(home: &Home, mut variables: Variables, trust_domain: &str, rogue: bool) -> Result<String, Failure> {
    let mut principals = Vec::new();
    for demo in &DEMO {
        let token = variables.entry(demo.variable("AIP_TOKEN")).or_insert_with(new_token);
        principals.push(principal(home, demo, token)?);
    }
    env_file::write(home, &variables)?; // before their hashes, so that no token is ever lost
    let connector =
        |name: &str| ConnectorSetting { name: name.to_owned(), capabilities: vec![format!("cap:{name}:*")] };
    let mut connectors = vec![connector("demo")];
    connectors.extend(rogue.then(|| connector("rogue")));
    let settings = Settings {
        trust_domain: trust_domain.to_owned(),
        service: "aip".to_owned(),
        version: "v1".to_owned(),
        tenants: TENANTS.map(|id| TenantSetting { id: id.to_owned() }).into(),
        principals,
        connectors,
    };
    let text = toml::to_string_pretty(&settings).context("writing the settings").map_err(Failure::Settings)?;
    let text = format!("{HEAD}{text}");
    Settings::parse(&text).map_err(Failure::settings)?;
    Ok(text)
}

fn principal(home: &Home, demo: &Demo, token: &str) -> Result<PrincipalSetting, Failure> {
    let owned = |all: &[&str]| all.iter().map(|&one| one.to_owned()).collect();
    Ok(PrincipalSetting {
        id: format!("service:{}", demo.name),
        kind: PrincipalKind::Service,
        tenant: demo.tenant.to_owned(),
        token_sha256: vec![aip_crypto::sha256_hex(token.as_bytes())],
        nkeys: vec![nkey(home, demo.name)?.as_str().to_owned()],
        dids: vec![signer(home, demo.name)?],
        capabilities: owned(demo.capabilities),
        scopes: owned(demo.scopes),
        requests_per_second: None,
    })
}

/// The DID of a signer; its seed is made where there is none.
fn signer(home: &Home, name: &str) -> Result<String, Failure> {
    let path = home.signer(name);
    let at = || format!("the signing key {}", path.display());
    let key = match home::read(&path)? {
        Some(text) => SigningKey::from_file_text(&text).with_context(at).map_err(Failure::Settings)?,
        None => {
            let key = SigningKey::from_seed(&random_32()).with_context(at).map_err(Failure::Settings)?;
            home::write_private(&path, &key.to_file_text())?;
            key
        }
    };
    Ok(key.did().as_str().to_owned())
}

fn new_token() -> String {
    URL_SAFE_NO_PAD.encode(random_32())
}

fn random_32() -> [u8; 32] {
    let mut bytes = [0; 32];
    let (low, high) = bytes.split_at_mut(16);
    low.copy_from_slice(&aip_bus::random());
    high.copy_from_slice(&aip_bus::random());
    bytes
}
