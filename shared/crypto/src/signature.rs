//! Signed native envelopes (AIP 1.0 §22.2).

use alloc::string::{String, ToString as _};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ed25519_dalek::Signature;
use serde_json::{Map, Value};

use crate::canonical::canonical_without;
use crate::did::{Did, DidFault};
use crate::key::SigningKey;

/// Why an envelope carries no valid signature.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SignatureFault {
    /// The envelope is not a JSON object.
    #[error("the envelope is not an object")]
    NotAnObject,
    /// `security` is absent or not an object.
    #[error("security is not an object")]
    Security,
    /// `security.did` is absent or not a string.
    #[error("security.did is not a string")]
    DidMissing,
    /// `security.did` is no Ed25519 `did:key`.
    #[error("security.did is not an Ed25519 did:key")]
    Did(#[source] DidFault),
    /// `security.signature` is absent or not a string.
    #[error("security.signature is not a string")]
    SignatureMissing,
    /// `security.signature` is not standard padded Base64 of 64 bytes.
    #[error("security.signature is not standard Base64 of 64 bytes")]
    Encoding,
    /// The key of `security.did` did not make this signature over this envelope.
    #[error("the signature does not match the envelope")]
    Mismatch,
}

/// What is signed: the canonical text of the envelope without exactly `security.signature` (AIP 1.0 §22.2, step 3).
///
/// A member called `signature` anywhere else stays inside.
#[must_use]
pub fn signing_text(envelope: &Value) -> String {
    canonical_without(envelope, &["security", "signature"])
}

/// Signs `envelope` in place: sets `security.did` and `security.signature`. Other members of `security` stay and are
/// signed with the rest; an absent or null `security` becomes an object. Nothing may be changed afterwards.
///
/// # Errors
/// [`SignatureFault::NotAnObject`], or [`SignatureFault::Security`] where `security` is something else than an object.
///
/// Source: AIP 1.0 §22.2.
pub fn sign_envelope(envelope: &mut Value, key: &SigningKey) -> Result<(), SignatureFault> {
    security_of(envelope)?.insert("did".to_string(), Value::String(key.did().to_string()));
    let signature = key.sign(signing_text(envelope).as_bytes());
    security_of(envelope)?.insert("signature".to_string(), Value::String(signature));
    Ok(())
}

fn security_of(envelope: &mut Value) -> Result<&mut Map<String, Value>, SignatureFault> {
    let members = envelope.as_object_mut().ok_or(SignatureFault::NotAnObject)?;
    let security = members.entry("security").or_insert(Value::Null);
    if security.is_null() {
        *security = Value::Object(Map::new());
    }
    security.as_object_mut().ok_or(SignatureFault::Security)
}

/// Checks the signature of a received envelope and says whose key made it.
///
/// Proves that the key was held and nothing more: the caller binds the DID to a principal (AIP 1.0 §22.2) and claims
/// the message id against replay (§22.3). `envelope` is the document as received. Verification is strict: small-order
/// keys and signatures that have a second encoding are refused.
///
/// # Errors
/// [`SignatureFault`] by the first rule that the envelope breaks.
pub fn verify_envelope(envelope: &Value) -> Result<Did, SignatureFault> {
    let members = envelope.as_object().ok_or(SignatureFault::NotAnObject)?;
    let security = members.get("security").and_then(Value::as_object).ok_or(SignatureFault::Security)?;
    let did = security.get("did").and_then(Value::as_str).ok_or(SignatureFault::DidMissing)?;
    let signature = security.get("signature").and_then(Value::as_str).ok_or(SignatureFault::SignatureMissing)?;
    let did = Did::parse(did).map_err(SignatureFault::Did)?;
    let signature = signature_of(signature)?;
    let key = did.verifying_key().map_err(SignatureFault::Did)?;
    match key.verify_strict(signing_text(envelope).as_bytes(), &signature) {
        Ok(()) => Ok(did),
        Err(_) => Err(SignatureFault::Mismatch),
    }
}

fn signature_of(text: &str) -> Result<Signature, SignatureFault> {
    const TEXT_LEN: usize = 88; // 64 bytes in padded Base64
    if text.len() != TEXT_LEN {
        return Err(SignatureFault::Encoding);
    }
    let bytes = STANDARD.decode(text).map_err(|_| SignatureFault::Encoding)?;
    let bytes = <[u8; 64]>::try_from(bytes).map_err(|_| SignatureFault::Encoding)?;
    Ok(Signature::from_bytes(&bytes))
}
