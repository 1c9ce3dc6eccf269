//! The parts that subjects are made of.

use std::fmt;

use aip_types::limits;
use sha2::{Digest as _, Sha256};

/// Longest folded token, in bytes.
pub const TOKEN_BYTES_MAX: usize = 128;
/// Longest connector name, in bytes.
const CONNECTOR_BYTES_MAX: usize = 48;
/// What a hashed id starts with; an id that starts with it is hashed too.
const HASHED: &str = "h_";
/// Number of virtual partitions.
pub const VPS: u8 = 64;

/// A text that cannot stand in a subject.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the text cannot be a part of a subject")]
pub struct BadToken;

/// One token of a canonical external subject. Folding is for these only: it is not injective (`design.md` §2).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Token(String);

impl Token {
    /// Folds `. / \` and space into `_` (AIP 1.0 §20.4) and refuses what would change a subscription.
    ///
    /// # Errors
    /// [`BadToken`] for an empty text, one above [`TOKEN_BYTES_MAX`], a wildcard, a control character or other white space.
    pub fn new(raw: &str) -> Result<Self, BadToken> {
        let refused = |c: char| matches!(c, '*' | '>') || c.is_control() || (c.is_whitespace() && c != ' ');
        if raw.is_empty() || raw.len() > TOKEN_BYTES_MAX || raw.contains(refused) {
            return Err(BadToken);
        }
        Ok(Self(raw.replace(['.', ' ', '/', '\\'], "_")))
    }

    /// The token.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A tenant id: `[A-Za-z0-9_-]{1,64}` (`design.md` §7).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[serde(transparent)]
pub struct Tenant(String);

impl Tenant {
    /// Checks a tenant id.
    ///
    /// # Errors
    /// [`BadToken`] when it is not `[A-Za-z0-9_-]{1,64}`.
    pub fn new(raw: &str) -> Result<Self, BadToken> {
        if raw.is_empty() || raw.len() > limits::TENANT_ID_BYTES_MAX || !raw.bytes().all(is_plain) {
            return Err(BadToken);
        }
        Ok(Self(raw.to_owned()))
    }

    /// The id.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The virtual partition that it lives on.
    #[must_use]
    pub fn vp(&self) -> Vp {
        Vp::of(self)
    }
}

impl fmt::Display for Tenant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl<'de> serde::Deserialize<'de> for Tenant {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = String::deserialize(deserializer)?;
        Self::new(&raw).map_err(serde::de::Error::custom)
    }
}

/// A connector's name: `[a-z0-9-]{1,48}`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[serde(transparent)]
pub struct ConnectorName(String);

impl ConnectorName {
    /// Checks a connector's name.
    ///
    /// # Errors
    /// [`BadToken`] when it is not `[a-z0-9-]{1,48}`.
    pub fn new(raw: &str) -> Result<Self, BadToken> {
        let allowed = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
        if raw.is_empty() || raw.len() > CONNECTOR_BYTES_MAX || !raw.bytes().all(allowed) {
            return Err(BadToken);
        }
        Ok(Self(raw.to_owned()))
    }

    /// The name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ConnectorName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl<'de> serde::Deserialize<'de> for ConnectorName {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = String::deserialize(deserializer)?;
        Self::new(&raw).map_err(serde::de::Error::custom)
    }
}

/// A virtual partition, 0 to 63, written with two digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Vp(u8);

impl Vp {
    /// The stable partition of a tenant: first byte of its SHA-256, modulo 64. Changing it would lose every record.
    #[must_use]
    pub fn of(tenant: &Tenant) -> Self {
        let digest = Sha256::digest(tenant.as_str().as_bytes());
        Self(digest.first().copied().unwrap_or_default() % VPS)
    }

    /// A partition by number, `None` above 63.
    #[must_use]
    pub const fn new(number: u8) -> Option<Self> {
        if number < VPS { Some(Self(number)) } else { None }
    }

    /// Its number.
    #[must_use]
    pub const fn number(self) -> u8 {
        self.0
    }

    pub(super) fn parse(raw: &str) -> Option<Self> {
        let vp = raw.parse().ok().and_then(Self::new)?;
        (vp.to_string() == raw).then_some(vp) // digits only: a sign is taken for a number too
    }
}

impl fmt::Display for Vp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:02}", self.0)
    }
}

/// The subject token of an id, injective (`design.md` §2): `[A-Za-z0-9_-]{1,96}` stands as it is unless it starts with
/// `h_`; anything else becomes `h_` and its SHA-256 in hex.
#[must_use]
pub fn id_token(id: &str) -> String {
    let plain = !id.is_empty()
        && id.len() <= limits::RECORD_ID_BYTES_MAX
        && id.bytes().all(is_plain)
        && !id.starts_with(HASHED);
    if plain { id.to_owned() } else { hashed(id) }
}

/// Whether [`id_token`] can have made this token.
pub(super) fn is_id_token(token: &str) -> bool {
    let hash = |hex: &str| hex.len() == 64 && hex.bytes().all(|b| b.is_ascii_digit() || matches!(b, b'a'..=b'f'));
    token.strip_prefix(HASHED).map_or_else(|| id_token(token) == token, hash)
}

/// The subject token of a capability id, injective: as [`id_token`], but `:` is written `=`, which no plain id contains.
pub(super) fn capability_token(capability: &str) -> String {
    let plain = !capability.is_empty()
        && capability.len() <= limits::RECORD_ID_BYTES_MAX
        && capability.bytes().all(|b| is_plain(b) || b == b':')
        && !capability.starts_with(HASHED);
    if plain { capability.replace(':', "=") } else { hashed(capability) }
}

fn hashed(id: &str) -> String {
    format!("{HASHED}{}", hex::encode(Sha256::digest(id.as_bytes())))
}

fn is_plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')
}
