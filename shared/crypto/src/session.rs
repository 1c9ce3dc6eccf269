//! Session encryption, profile `aip-session-v1` (AIP 1.0 §22.11; written down in `docs/session-encryption.md`).
//!
//! Two peers agree on a key by ephemeral X25519 and seal whole envelopes with AES-256-GCM. Nothing here reads a clock or
//! makes randomness: both come in as arguments. It says nothing about *who* the peer is: the ephemeral keys must travel in
//! signed envelopes. Start at [`Channel::establish`], then [`Channel::seal`] and [`Channel::open`].

mod sealed;

use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use aes_gcm::aead::{Aead as _, Payload};
use aes_gcm::{Aes256Gcm, KeyInit as _, Nonce};
use aip_types::{Millis, limits};
use hkdf::Hkdf;
use serde_json::json;
use sha2::Sha256;
use x25519_dalek::{PublicKey, StaticSecret};
use zeroize::Zeroizing;

use crate::canonical::canonical;

pub use sealed::{Sealed, SealedFault};

/// Name of the profile, and the `info` of its key derivation.
pub const PROFILE: &str = "aip-session-v1";
/// Messages that one key may protect in one direction.
pub const MESSAGES_MAX: u64 = 1 << 32;
/// Milliseconds that one key may live: 24 hours.
pub const LIFETIME_MS_MAX: u64 = 24 * 60 * 60 * 1_000;
/// Bytes of one plaintext: an envelope.
pub const PLAINTEXT_BYTES_MAX: usize = limits::ENVELOPE_BYTES_MAX;
/// Bytes that sealing adds: the tag of AES-GCM.
pub const TAG_BYTES: usize = 16;

/// Which end of the session somebody is. The two ends own disjoint halves of the nonces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Who sent the handshake.
    Initiator,
    /// Who answered it.
    Responder,
}

impl Side {
    /// The name in the associated data.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Initiator => "initiator",
            Self::Responder => "responder",
        }
    }

    /// The other end.
    #[must_use]
    pub const fn other(self) -> Self {
        match self {
            Self::Initiator => Self::Responder,
            Self::Responder => Self::Initiator,
        }
    }

    /// First byte of every nonce that this end makes.
    const fn prefix(self) -> u8 {
        match self {
            Self::Initiator => 1,
            Self::Responder => 2,
        }
    }
}

/// How long one key may be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lifetime {
    messages: u64,
    ms: u64,
}

impl Lifetime {
    /// At most `messages` in each direction (1 to [`MESSAGES_MAX`]) and `ms` milliseconds (1 to [`LIFETIME_MS_MAX`]);
    /// `None` outside of these.
    #[must_use]
    pub const fn new(messages: u64, ms: u64) -> Option<Self> {
        if messages == 0 || messages > MESSAGES_MAX || ms == 0 || ms > LIFETIME_MS_MAX {
            return None;
        }
        Some(Self { messages, ms })
    }
}

/// Why a session refuses. No refusal changes the state of a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SessionFault {
    /// The session id is empty: it is the salt of the key.
    #[error("the session has no id")]
    SessionId,
    /// The peer's key gives a shared secret that everybody knows (a point of small order).
    #[error("the key of the peer is not usable")]
    WeakKey,
    /// The peer's key is our own, or one of the two is that of the epoch before.
    #[error("an ephemeral key was used before")]
    KeyReused,
    /// The key protected as many messages as it may: rekey.
    #[error("the key has protected its last message")]
    MessagesExhausted,
    /// The key is as old as it may be: rekey.
    #[error("the key has expired")]
    Expired,
    /// No epoch follows the last one: open a new session.
    #[error("there is no further epoch")]
    EpochsExhausted,
    /// The plaintext is larger than an envelope may be.
    #[error("the message is too large")]
    TooLarge,
    /// The message is of another epoch than the current one.
    #[error("the message is of another epoch")]
    Epoch,
    /// A message with this number was opened before.
    #[error("the message was received before")]
    Replayed,
    /// A message before this one has not come.
    #[error("a message is missing before this one")]
    OutOfOrder,
    /// The message was not sealed by the peer for this place of this session.
    #[error("the message is not authentic")]
    Forged,
}

/// An ephemeral X25519 secret. Good for one agreement, which consumes it; wiped when dropped; has no `Debug`.
pub struct Ephemeral(StaticSecret);

impl Ephemeral {
    /// The secret of 32 bytes from a cryptographic random source, never used before. The caller wipes its own copy.
    #[must_use]
    pub fn new(random: &[u8; 32]) -> Self {
        Self(StaticSecret::from(*random))
    }

    /// The public key, for the peer.
    #[must_use]
    pub fn public(&self) -> [u8; 32] {
        PublicKey::from(&self.0).to_bytes()
    }
}

/// What both ends know of a session before they agree on a key.
#[derive(Clone, Copy, Debug)]
pub struct Terms<'a> {
    /// Its id, the salt of every key; never empty.
    pub session_id: &'a str,
    /// Which end this is.
    pub side: Side,
    /// How long each key may be used. Both ends enforce their own.
    pub lifetime: Lifetime,
}

/// One end of an encrypted session. Its keys are wiped when it is dropped or rekeyed; it has no `Debug`.
pub struct Channel {
    session_id: String,
    side: Side,
    lifetime: Lifetime,
    key: EpochKey,
}

/// The key of one epoch and how far it was used.
struct EpochKey {
    cipher: Aes256Gcm, // wipes itself
    epoch: u32,
    own: [u8; 32],
    peer: [u8; 32],
    since: Millis,
    sent: u64,
    received: u64,
}

impl Channel {
    /// Agrees on the key of epoch 1. `peer`: the ephemeral public key of the other end, from a message whose sender was
    /// verified. `at`: now; the lifetime counts from here.
    ///
    /// # Errors
    /// [`SessionFault::SessionId`], [`SessionFault::KeyReused`] for our own key sent back, [`SessionFault::WeakKey`].
    ///
    /// Source: AIP 1.0 §22.11.
    pub fn establish(own: Ephemeral, peer: &[u8; 32], terms: Terms<'_>, at: Millis) -> Result<Self, SessionFault> {
        let Terms { session_id, side, lifetime } = terms;
        if session_id.is_empty() {
            return Err(SessionFault::SessionId);
        }
        let key = EpochKey::agree(own, peer, session_id, 1, at)?;
        Ok(Self { session_id: session_id.to_string(), side, lifetime, key })
    }

    /// Goes on to the next epoch with new ephemeral keys of both ends. The old key is wiped and its messages are refused
    /// from now on; after a refusal the old key goes on.
    ///
    /// # Errors
    /// As [`Channel::establish`]; [`SessionFault::KeyReused`] also for a key of the epoch before, and
    /// [`SessionFault::EpochsExhausted`].
    pub fn rekey(&mut self, own: Ephemeral, peer: &[u8; 32], at: Millis) -> Result<(), SessionFault> {
        let public = own.public();
        if [public, *peer].iter().any(|key| [self.key.own, self.key.peer].contains(key)) {
            return Err(SessionFault::KeyReused);
        }
        let epoch = self.key.epoch.checked_add(1).ok_or(SessionFault::EpochsExhausted)?;
        self.key = EpochKey::agree(own, peer, &self.session_id, epoch, at)?;
        Ok(())
    }

    /// The current epoch, from 1.
    #[must_use]
    pub const fn epoch(&self) -> u32 {
        self.key.epoch
    }

    /// Encrypts and authenticates one message and uses up its number. `at`: now.
    ///
    /// # Errors
    /// [`SessionFault::TooLarge`], [`SessionFault::Expired`], [`SessionFault::MessagesExhausted`].
    pub fn seal(&mut self, message_type: &str, plaintext: &[u8], at: Millis) -> Result<Sealed, SessionFault> {
        if plaintext.len() > PLAINTEXT_BYTES_MAX {
            return Err(SessionFault::TooLarge);
        }
        let sequence = self.next(self.key.sent, at)?;
        let aad = self.associated_data(self.side, sequence, message_type);
        // Used up before it is used: whatever happens, no nonce comes twice.
        self.key.sent = sequence;
        let ciphertext = self
            .key
            .cipher
            .encrypt(&nonce(self.side, sequence), Payload { msg: plaintext, aad: aad.as_bytes() })
            .map_err(|_| SessionFault::TooLarge)?;
        Ok(Sealed {
            session_id: self.session_id.clone(),
            epoch: self.key.epoch,
            sequence,
            message_type: message_type.to_string(),
            ciphertext,
        })
    }

    /// Checks and decrypts the next message of the peer. Messages are opened in the order of their numbers, each once and
    /// none left out. `at`: now.
    ///
    /// # Errors
    /// [`SessionFault`] by the first rule that the message breaks; the channel is as before.
    pub fn open(&mut self, sealed: &Sealed, at: Millis) -> Result<Vec<u8>, SessionFault> {
        if sealed.ciphertext.len() > PLAINTEXT_BYTES_MAX.saturating_add(TAG_BYTES) {
            return Err(SessionFault::TooLarge);
        }
        if sealed.epoch != self.key.epoch {
            return Err(SessionFault::Epoch);
        }
        if sealed.sequence <= self.key.received {
            return Err(SessionFault::Replayed);
        }
        let sequence = self.next(self.key.received, at)?;
        if sealed.sequence != sequence {
            return Err(SessionFault::OutOfOrder);
        }
        if sealed.session_id != self.session_id {
            return Err(SessionFault::Forged);
        }
        let sender = self.side.other();
        let aad = self.associated_data(sender, sequence, &sealed.message_type);
        let payload = Payload { msg: &sealed.ciphertext, aad: aad.as_bytes() };
        let plaintext = self.key.cipher.decrypt(&nonce(sender, sequence), payload).map_err(|_| SessionFault::Forged)?;
        self.key.received = sequence;
        Ok(plaintext)
    }

    /// The number after `used`, if the key may still be used.
    fn next(&self, used: u64, at: Millis) -> Result<u64, SessionFault> {
        if at.since(self.key.since) >= self.lifetime.ms {
            return Err(SessionFault::Expired);
        }
        if used >= self.lifetime.messages {
            return Err(SessionFault::MessagesExhausted);
        }
        Ok(used.saturating_add(1))
    }

    /// What is authenticated beside the plaintext.
    fn associated_data(&self, sender: Side, sequence: u64, message_type: &str) -> String {
        let (initiator, responder) = match self.side {
            Side::Initiator => (&self.key.own, &self.key.peer),
            Side::Responder => (&self.key.peer, &self.key.own),
        };
        canonical(&json!({
            "direction": sender.as_str(),
            "epoch": self.key.epoch,
            "initiator_key": hex::encode(initiator),
            "message_type": message_type,
            "profile": PROFILE,
            "responder_key": hex::encode(responder),
            "sequence": sequence,
            "session_id": self.session_id,
        }))
    }
}

impl EpochKey {
    fn agree(
        own: Ephemeral,
        peer: &[u8; 32],
        session_id: &str,
        epoch: u32,
        since: Millis,
    ) -> Result<Self, SessionFault> {
        let public = own.public();
        if public == *peer {
            return Err(SessionFault::KeyReused);
        }
        let shared = own.0.diffie_hellman(&PublicKey::from(*peer));
        if !shared.was_contributory() {
            return Err(SessionFault::WeakKey);
        }
        let mut key = Zeroizing::new([0_u8; 32]);
        Hkdf::<Sha256>::new(Some(session_id.as_bytes()), shared.as_bytes())
            .expand(PROFILE.as_bytes(), key.as_mut_slice())
            .map_err(|_| SessionFault::WeakKey)?; // 32 bytes are never too many for it
        let cipher = Aes256Gcm::new_from_slice(key.as_slice()).map_err(|_| SessionFault::WeakKey)?;
        Ok(Self { cipher, epoch, own: public, peer: *peer, since, sent: 0, received: 0 })
    }
}

/// `side`, three zero bytes, the number in 8 bytes, most significant first.
fn nonce(side: Side, sequence: u64) -> Nonce<aes_gcm::aead::consts::U12> {
    let [a, b, c, d, e, f, g, h] = sequence.to_be_bytes();
    Nonce::from([side.prefix(), 0, 0, 0, a, b, c, d, e, f, g, h])
}
