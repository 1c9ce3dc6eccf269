//! Cursors: sealed places in a list. A reader gets one, keeps it and brings it back, and can do nothing else with it.
//!
//! Source: AIP 1.0 §16.2.

use std::{sync::Arc, time::Duration};

use aip_bus::nats::Seed;
use aip_types::{ErrorCode, Millis, ProtocolError};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use hmac::{Hmac, KeyInit as _, Mac as _};
use secrecy::{ExposeSecret as _, SecretBox};
use sha2::{Digest as _, Sha256};

use crate::clock::now;

/// How long a cursor is good for.
pub const CURSOR_TTL: Duration = Duration::from_secs(7 * 24 * 3_600);
/// Bytes of a cursor's text that are looked at.
const TEXT_BYTES_MAX: usize = 1_024;
/// Shape of what is sealed.
const VERSION: u8 = 1;
/// Version, and the second of sealing.
const HEAD: usize = 1 + 8;
/// Half of an HMAC-SHA256: as much as any forger can be asked to guess.
const MAC: usize = 16;
/// Bytes of a block of SHA-256.
const BLOCK: usize = 64;

/// Seals places and opens them again.
///
/// Its key is derived from the seed that all processes of a service share, so any of them opens what another sealed, and a new
/// seed ends all cursors: a reader begins anew.
#[derive(Clone, Debug)]
pub struct Cursors {
    /// Filled up to the block of SHA-256, as HMAC does with a shorter key (RFC 2104 §2).
    key: Arc<SecretBox<[u8; BLOCK]>>,
}

impl Cursors {
    /// With the key of a service's seed.
    ///
    /// # Errors
    /// The seed cannot be read.
    pub async fn of(seed: Seed) -> anyhow::Result<Self> {
        let seed = seed.read().await?;
        let mut hasher = Sha256::new_with_prefix(b"aip-fleet cursors\0");
        hasher.update(seed.as_ref().map(|seed| seed.expose_secret().as_bytes()).unwrap_or_default());
        let mut key = Box::new([0; BLOCK]);
        key.iter_mut().zip(hasher.finalize()).for_each(|(place, byte)| *place = byte);
        Ok(Self { key: Arc::new(SecretBox::new(key)) })
    }

    /// The text of a place. `binding`: who reads what, the whole query; the cursor is good for nothing else.
    #[must_use]
    pub fn seal(&self, binding: &str, place: &[u8]) -> String {
        self.seal_at(binding, place, now())
    }

    fn seal_at(&self, binding: &str, place: &[u8], at: Millis) -> String {
        let mut sealed = vec![VERSION];
        sealed.extend_from_slice(&(at.0 / 1_000).to_be_bytes());
        sealed.extend_from_slice(place);
        let mac = self.mac(binding, &sealed).finalize().into_bytes();
        sealed.extend_from_slice(mac.get(..MAC).unwrap_or_default());
        URL_SAFE_NO_PAD.encode(sealed)
    }

    /// The place in a text that was sealed for this binding.
    ///
    /// # Errors
    /// `aip.query.cursor_invalid`: anything else, or one that is older than [`CURSOR_TTL`].
    pub fn open(&self, binding: &str, text: &str) -> Result<Vec<u8>, ProtocolError> {
        self.open_at(binding, text, now()).ok_or_else(|| ErrorCode::CursorInvalid.into())
    }

    fn open_at(&self, binding: &str, text: &str, at: Millis) -> Option<Vec<u8>> {
        let sealed = (text.len() <= TEXT_BYTES_MAX).then(|| URL_SAFE_NO_PAD.decode(text).ok()).flatten()?;
        let (content, mac) = sealed.split_at_checked(sealed.len().checked_sub(MAC)?)?;
        self.mac(binding, content).verify_truncated_left(mac).ok()?;
        let (head, place) = content.split_at_checked(HEAD)?;
        let (version, second) = head.split_first()?;
        let sealed_at = Millis(u64::from_be_bytes(second.try_into().ok()?).saturating_mul(1_000));
        let fresh = Duration::from_millis(at.since(sealed_at)) <= CURSOR_TTL;
        (*version == VERSION && fresh).then(|| place.to_vec())
    }

    fn mac(&self, binding: &str, content: &[u8]) -> Hmac<Sha256> {
        let mut mac = Hmac::<Sha256>::new(self.key.expose_secret().into());
        // Its length first, so that no binding can borrow from the content.
        mac.update(&(binding.len() as u64).to_be_bytes());
        mac.update(binding.as_bytes());
        mac.update(content);
        mac
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn cursors(seed: &str) -> Cursors {
        Cursors::of(Seed::Text(seed.to_owned().into())).await.unwrap()
    }

    #[tokio::test]
    async fn a_place_comes_back_to_who_asks_the_same() {
        let (one, same, other) = (cursors("S").await, cursors("S").await, cursors("T").await);
        let text = one.seal("reader, query", b"place");
        assert_eq!(same.open("reader, query", &text).unwrap(), b"place");
        assert_eq!(one.open("reader, query", &one.seal("reader, query", b"")).unwrap(), b"");
        for refused in [other.open("reader, query", &text), same.open("another", &text), same.open("", &text)] {
            assert_eq!(refused.unwrap_err().code, "aip.query.cursor_invalid");
        }
    }

    #[tokio::test]
    async fn no_bit_of_it_can_be_changed_and_it_does_not_live_for_ever() {
        let cursors = cursors("S").await;
        let text = cursors.seal_at("q", b"place", Millis(1_000_000));
        let sealed = URL_SAFE_NO_PAD.decode(&text).unwrap();
        for at in 0..sealed.len() * 8 {
            let mut forged = sealed.clone();
            forged[at / 8] ^= 1 << (at % 8);
            assert_eq!(cursors.open_at("q", &URL_SAFE_NO_PAD.encode(forged), Millis(1_000_000)), None, "bit {at}");
        }
        for cut in ["", "AA", "=", "é", text.get(1..).unwrap(), &text.repeat(2), &"A".repeat(5_000)] {
            assert_eq!(cursors.open_at("q", cut, Millis(1_000_000)), None, "{cut}");
        }
        let end = Millis(1_000_000).plus(u64::try_from(CURSOR_TTL.as_millis()).unwrap());
        assert!(cursors.open_at("q", &text, end).is_some());
        assert_eq!(cursors.open_at("q", &text, end.plus(1)), None);
    }
}
