//! Resume tokens (AIP 1.0 §10.5): bearer secrets that work once. A record holds their SHA-256 and never the text.

use aip_crypto::sha256_hex;
use alloc::{format, string::String};
use serde::{Deserialize, Serialize};

/// SHA-256 of a resume token. It can only be made from the token, so no record can hold the text by mistake.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TokenHash(String);

impl TokenHash {
    /// The hash of this token.
    #[must_use]
    pub fn of(token: &str) -> Self {
        Self(sha256_hex(token.as_bytes()))
    }
}

/// The text of the `generation`th token of a session: a credential. `random` must come from a cryptographic source.
#[must_use]
pub fn token(generation: u32, random: [u8; 32]) -> String {
    random.iter().fold(format!("{generation}."), |text, byte| format!("{text}{byte:02x}"))
}

/// A token as somebody presents it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PresentedToken {
    /// The generation that it claims. Tells a used token from an unknown one, and decides nothing else.
    pub generation: Option<u32>,
    /// What decides.
    pub hash: TokenHash,
}

impl PresentedToken {
    /// Reads a token that was received.
    #[must_use]
    pub fn read(text: &str) -> Self {
        let generation = text.split_once('.').and_then(|(generation, _)| generation.parse().ok());
        Self { generation, hash: TokenHash::of(text) }
    }
}
