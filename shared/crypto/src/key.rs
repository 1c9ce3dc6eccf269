//! The signing key: a 32-byte Ed25519 seed that is never shown.

use alloc::string::String;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ed25519_dalek::Signer as _;
use zeroize::{Zeroize as _, Zeroizing};

use crate::did::Did;

/// An Ed25519 signing key and its DID. Wiped when dropped; has neither `Debug` nor `Serialize`, so it reaches no log.
pub struct SigningKey {
    key: ed25519_dalek::SigningKey, // wipes itself
    did: Did,
}

/// Why a text is no signing key. Carries nothing of the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeyFault {
    /// The file holds something else than 64 hexadecimal digits.
    #[error("a signing key file holds one line of 64 hexadecimal digits")]
    NotHex,
    /// The seed gives no usable public key.
    #[error("the seed gives no usable key")]
    Unusable,
}

impl SigningKey {
    /// The key of a 32-byte seed (RFC 8032 §5.1.5). The caller wipes its own copy of the seed.
    ///
    /// # Errors
    /// [`KeyFault::Unusable`] where the seed gives no usable public key; no seed is known that does.
    pub fn from_seed(seed: &[u8; 32]) -> Result<Self, KeyFault> {
        let key = ed25519_dalek::SigningKey::from_bytes(seed);
        let did = Did::from_key(key.verifying_key().to_bytes()).map_err(|_| KeyFault::Unusable)?;
        Ok(Self { key, did })
    }

    /// Reads the text of a key file: the seed as 64 hexadecimal digits, with white space around it allowed.
    ///
    /// # Errors
    /// [`KeyFault::NotHex`] for any other text.
    pub fn from_file_text(text: &str) -> Result<Self, KeyFault> {
        let mut seed = Zeroizing::new([0_u8; 32]);
        hex::decode_to_slice(text.trim(), seed.as_mut_slice()).map_err(|_| KeyFault::NotHex)?;
        Self::from_seed(&seed)
    }

    /// The text of a key file for this key, wiped when dropped. Write it with mode 0600 and nowhere else.
    #[must_use]
    pub fn to_file_text(&self) -> Zeroizing<String> {
        let mut seed = self.key.to_bytes();
        let mut text = Zeroizing::new(hex::encode(seed));
        seed.zeroize();
        text.push('\n');
        text
    }

    /// The `did:key` of the public half.
    #[must_use]
    pub fn did(&self) -> &Did {
        &self.did
    }

    /// The Ed25519 signature of `message` as standard padded Base64 (88 characters).
    #[must_use]
    pub fn sign(&self, message: &[u8]) -> String {
        STANDARD.encode(self.key.sign(message).to_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::format;

    // RFC 8032 §7.1, test 1.
    const SEED: &str = "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60";

    #[test]
    fn the_first_vector_of_rfc_8032_is_met() {
        let key = SigningKey::from_file_text(SEED).unwrap_or_else(|_| panic!("vector"));
        assert_eq!(hex::encode(key.did().key()), "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a");
        let signature = STANDARD.decode(key.sign(b"")).unwrap();
        assert_eq!(
            hex::encode(signature),
            "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b"
        );
    }

    #[test]
    fn a_key_file_reads_back_and_nothing_else_is_a_key_file() {
        let key = SigningKey::from_file_text(&format!("  {SEED}\n")).unwrap_or_else(|_| panic!("vector"));
        assert_eq!(key.to_file_text().trim(), SEED);
        let doubled = format!("{SEED}{SEED}");
        for text in ["", "00", &doubled, &SEED.replace('9', "g"), SEED.get(1..).unwrap()] {
            assert_eq!(SigningKey::from_file_text(text).err(), Some(KeyFault::NotHex));
        }
    }
}
