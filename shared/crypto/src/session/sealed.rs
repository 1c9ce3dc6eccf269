//! The frame of a sealed message: what stands where the binding would carry an envelope.

use alloc::string::{String, ToString};
use alloc::vec::Vec;

use aip_types::limits;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::{PLAINTEXT_BYTES_MAX, PROFILE, TAG_BYTES};

/// One sealed message. All of it is public; what it says is proved when it is opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sealed {
    /// The session that it belongs to.
    pub session_id: String,
    /// The key that it is sealed with.
    pub epoch: u32,
    /// Its number in its direction, from 1.
    pub sequence: u64,
    /// Message type of the envelope inside.
    pub message_type: String,
    /// The encrypted envelope and its tag.
    pub ciphertext: Vec<u8>,
}

/// A document that is no frame of this profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a sealed message: {member}")]
pub struct SealedFault {
    /// The first member that is absent, of another shape, or not known.
    pub member: &'static str,
}

impl Sealed {
    /// The frame, as a JSON document.
    #[must_use]
    pub fn to_value(&self) -> Value {
        json!({
            "profile": PROFILE,
            "session_id": self.session_id,
            "epoch": self.epoch,
            "sequence": self.sequence,
            "message_type": self.message_type,
            "ciphertext": STANDARD.encode(&self.ciphertext),
        })
    }

    /// Reads a frame. It has these six members and no other.
    ///
    /// # Errors
    /// [`SealedFault`] names the first member that is wrong.
    pub fn from_value(value: &Value) -> Result<Self, SealedFault> {
        const MEMBERS: usize = 6;
        const TEXT_LEN_MAX: usize = (PLAINTEXT_BYTES_MAX + TAG_BYTES).div_ceil(3) * 4;
        let fault = |member| move || SealedFault { member };
        let text = |member| {
            let text = value.get(member).and_then(Value::as_str);
            text.filter(|text| text.len() <= limits::ID_BYTES_MAX).map(ToString::to_string).ok_or_else(fault(member))
        };
        let number = |member| value.get(member).and_then(Value::as_u64).ok_or_else(fault(member));
        if text("profile")? != PROFILE {
            return Err(SealedFault { member: "profile" });
        }
        let session_id = text("session_id")?;
        let epoch = u32::try_from(number("epoch")?).map_err(|_| SealedFault { member: "epoch" })?;
        let sequence = number("sequence")?;
        let message_type = text("message_type")?;
        let ciphertext = value
            .get("ciphertext")
            .and_then(Value::as_str)
            .filter(|text| text.len() <= TEXT_LEN_MAX)
            .and_then(|text| STANDARD.decode(text).ok())
            .ok_or_else(fault("ciphertext"))?;
        if value.as_object().is_none_or(|members| members.len() != MEMBERS) {
            return Err(SealedFault { member: "another" });
        }
        Ok(Self { session_id, epoch, sequence, message_type, ciphertext })
    }
}
