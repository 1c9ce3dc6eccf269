//! `did:key` for Ed25519 (AIP 1.0 §22.2).

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use ed25519_dalek::VerifyingKey;

const PREFIX: &str = "did:key:z";
const MULTICODEC: [u8; 2] = [0xed, 0x01];
/// Base58btc of 34 bytes is at most this long: longer text is refused before the quadratic decoder sees it.
const BASE58_LEN_MAX: usize = 47;

/// A well-formed Ed25519 `did:key`: `did:key:z` and the base58btc of `0xed 0x01` and a 32-byte public key.
///
/// Names a key, not a principal: who it stands for is the binding of the deployment (AIP 1.0 §22.2).
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Did {
    text: String,
    key: [u8; 32],
}

/// Why a text is no Ed25519 `did:key`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DidFault {
    /// It does not begin with `did:key:z`.
    #[error("a did must begin with did:key:z")]
    Prefix,
    /// What follows is not base58btc, or too long for a key.
    #[error("the did is not base58btc of a key")]
    Base58,
    /// The bytes are not `0xed 0x01` and 32 more.
    #[error("the did does not hold an Ed25519 key of 32 bytes")]
    NotEd25519,
    /// The 32 bytes are no point of the curve, not its canonical encoding, or a point of small order.
    #[error("the did does not hold a usable Ed25519 key")]
    Key,
}

impl Did {
    /// Reads a `did:key`. Only the one spelling that [`Did::from_key`] gives is accepted: no fragment, no path.
    ///
    /// # Errors
    /// [`DidFault`] by the first rule that the text breaks.
    pub fn parse(text: &str) -> Result<Self, DidFault> {
        let encoded = text.strip_prefix(PREFIX).ok_or(DidFault::Prefix)?;
        if encoded.len() > BASE58_LEN_MAX {
            return Err(DidFault::Base58);
        }
        let bytes = bs58::decode(encoded).into_vec().map_err(|_| DidFault::Base58)?;
        let key = bytes.strip_prefix(&MULTICODEC).ok_or(DidFault::NotEd25519)?;
        let key = <[u8; 32]>::try_from(key).map_err(|_| DidFault::NotEd25519)?;
        let did = Self::from_key(key)?;
        // Base58 has one spelling a value; this holds it to that whatever the decoder forgives.
        if did.text == text { Ok(did) } else { Err(DidFault::Base58) }
    }

    /// The `did:key` of a public key.
    ///
    /// # Errors
    /// [`DidFault::Key`] for 32 bytes that are no usable public key.
    pub fn from_key(key: [u8; 32]) -> Result<Self, DidFault> {
        verifying_key(&key)?;
        let mut bytes = Vec::with_capacity(34);
        bytes.extend_from_slice(&MULTICODEC);
        bytes.extend_from_slice(&key);
        let mut text = String::from(PREFIX);
        text.push_str(&bs58::encode(bytes).into_string());
        Ok(Self { text, key })
    }

    /// The text, `did:key:z…`.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The 32 bytes of the public key.
    #[must_use]
    pub fn key(&self) -> [u8; 32] {
        self.key
    }

    pub(crate) fn verifying_key(&self) -> Result<VerifyingKey, DidFault> {
        verifying_key(&self.key)
    }
}

impl fmt::Display for Did {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl fmt::Debug for Did {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Did").field(&self.text).finish()
    }
}

fn verifying_key(bytes: &[u8; 32]) -> Result<VerifyingKey, DidFault> {
    let key = VerifyingKey::from_bytes(bytes).map_err(|_| DidFault::Key)?;
    if key.is_weak() || !is_canonical(bytes) { Err(DidFault::Key) } else { Ok(key) }
}

/// Whether the y coordinate is below 2^255 - 19, that is, the only encoding of its point.
fn is_canonical(bytes: &[u8; 32]) -> bool {
    let [low, middle @ .., high] = bytes;
    !(high & 0x7f == 0x7f && middle.iter().all(|byte| *byte == 0xff) && *low >= 0xed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::format;
    use alloc::string::ToString as _;
    use alloc::vec;

    const KNOWN: &str = "did:key:z6MkiTBz1ymuepAQ4HEHYSF1H8quG5GLVVQR3djdX3mDooWp";

    fn spelled(bytes: &[u8]) -> String {
        format!("did:key:z{}", bs58::encode(bytes).into_string())
    }

    #[test]
    fn a_published_did_reads_and_writes_to_itself() {
        let did = Did::parse(KNOWN).unwrap();
        assert_eq!(did.as_str(), KNOWN);
        assert_eq!(hex::encode(did.key()), "3b6a27bcceb6a42d62a3a8d02a6f0d73653215771de243a63ac048a18b59da29");
        assert_eq!(Did::from_key(did.key()).unwrap(), did);
    }

    #[test]
    fn every_malformed_form_is_refused() {
        let key = Did::parse(KNOWN).unwrap().key();
        let mut short = vec![0xed, 0x01];
        short.extend_from_slice(&key[..31]);
        let mut long = vec![0xed, 0x01];
        long.extend_from_slice(&key);
        long.push(0);
        let mut x25519 = vec![0xec, 0x01];
        x25519.extend_from_slice(&key);
        let mut leading = vec![0x00];
        leading.extend_from_slice(&short);
        let base58 = KNOWN.strip_prefix("did:key:z").unwrap();

        let cases = [
            (String::new(), DidFault::Prefix),
            ("did:web:example.org".to_string(), DidFault::Prefix),
            (format!("did:key:u{base58}"), DidFault::Prefix),
            (format!("DID:KEY:z{base58}"), DidFault::Prefix),
            (format!(" {KNOWN}"), DidFault::Prefix),
            (base58.to_string(), DidFault::Prefix),
            ("did:key:z".to_string(), DidFault::NotEd25519),
            (format!("{KNOWN}#{base58}"), DidFault::Base58),
            (format!("{KNOWN} "), DidFault::Base58),
            (format!("{KNOWN}1"), DidFault::Base58),
            (KNOWN.replace("6Mk", "6M0"), DidFault::Base58),
            (format!("did:key:z1{base58}"), DidFault::Base58),
            (format!("did:key:z{}", "1".repeat(100_000)), DidFault::Base58),
            (spelled(&short), DidFault::NotEd25519),
            (spelled(&long), DidFault::Base58),
            (spelled(&x25519), DidFault::NotEd25519),
            (spelled(&leading), DidFault::NotEd25519),
        ];
        for (text, fault) in cases {
            assert_eq!(Did::parse(&text), Err(fault), "{}", text.get(..text.len().min(80)).unwrap());
        }
    }

    #[test]
    fn keys_off_the_curve_of_small_order_or_not_canonical_are_refused() {
        let mut off_curve = [0_u8; 32];
        off_curve[0] = 2;
        let identity = {
            let mut bytes = [0_u8; 32];
            bytes[0] = 1;
            bytes
        };
        let mut above_p = [0xff_u8; 32];
        above_p[31] = 0x7f;
        for first in 0xed..=0xff_u8 {
            above_p[0] = first;
            assert_eq!(Did::from_key(above_p), Err(DidFault::Key), "{first:02x}");
        }
        for key in [off_curve, identity, [0; 32]] {
            assert_eq!(Did::from_key(key), Err(DidFault::Key));
            let mut bytes = vec![0xed, 0x01];
            bytes.extend_from_slice(&key);
            assert_eq!(Did::parse(&spelled(&bytes)), Err(DidFault::Key));
        }
    }
}
