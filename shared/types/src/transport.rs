//! The payload and headers of a message on NATS, and how the two must agree.
//!
//! The envelope stays the document that was received: hashes and signatures cover it. Bodies are not looked at.
//!
//! Source: AIP 1.0 §20.4.

use serde::Deserialize;
use serde_json::{Map, Value, value::RawValue};

use crate::document::{self, Bounds, DocumentFault};
use crate::error::ProtocolError;
use crate::error_codes::ErrorCode;
use crate::limits;

/// A standard header and the envelope member that it repeats.
const HEADERS: [(&str, &str); 5] = [
    ("AIP-Version", "aip_version"),
    ("AIP-Message-Type", "message_type"),
    ("AIP-Message-Id", "message_id"),
    ("AIP-Session-Id", "session_id"),
    ("AIP-Correlation-Id", "correlation_id"),
];
/// How many of them every message has.
const HEADERS_ALWAYS: usize = 3;

/// Bounds of a payload: an envelope in a wrapper, which is one value more. Metadata counts with the envelope.
const WRAPPED: Bounds = Bounds {
    bytes_max: limits::ENVELOPE_BYTES_MAX + limits::TRANSPORT_METADATA_BYTES_MAX,
    depth_max: limits::DEPTH_MAX + 1,
    nodes_max: limits::NODES_MAX + 1,
    ..Bounds::ENVELOPE
};

/// A shorter text has no more values than an envelope may have: each takes two bytes at least.
const DENSE_BYTES_MIN: usize = 2 * limits::NODES_MAX;

/// What a NATS message carries: one envelope and, perhaps, what the transport says about it.
///
/// Source: AIP 1.0 §20.4.
#[derive(Clone, Debug, PartialEq)]
pub struct TransportMessage {
    /// The envelope, as a document.
    pub envelope: Value,
    /// What the transport adds: texts. No authority: whoever wrote the payload wrote this too.
    pub metadata: Option<Map<String, Value>>,
}

/// Why a payload is no transport message, or its headers are not those of its envelope.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TransportFault {
    /// The payload is not a document, or passes a bound.
    #[error(transparent)]
    Document(#[from] DocumentFault),
    /// The payload is no JSON object.
    #[error("the payload is not an object")]
    NotAnObject,
    /// A wrapper has another member than `envelope` and `metadata`.
    #[error("the wrapper has an unknown member")]
    UnknownMember(String),
    /// `envelope` is no object.
    #[error("the envelope is not an object")]
    Envelope,
    /// `metadata` is no object of texts.
    #[error("the metadata is not an object of texts")]
    Metadata,
    /// Envelope or metadata alone pass their bound.
    #[error("a part of the payload is too large")]
    TooLarge,
    /// A header does not say what the envelope says, or is there twice.
    #[error("{0} does not agree with the envelope")]
    HeaderMismatch(&'static str),
    /// A member cannot be a header: it is absent where it must be there, no text, or has characters that end a header.
    #[error("{0} cannot be built from the envelope")]
    HeaderValue(&'static str),
}

impl TransportFault {
    /// The public error.
    #[must_use]
    pub fn error(&self) -> ProtocolError {
        let invalid = |pointer, rule| ProtocolError::from(ErrorCode::EnvelopeInvalid).with_finding(pointer, rule);
        match self {
            Self::Document(fault) => fault.clone().into(),
            Self::NotAnObject => invalid("", "type"),
            Self::UnknownMember(name) => {
                let pointer = document::bounded_pointer(format!("/{}", name.replace('~', "~0").replace('/', "~1")));
                invalid(&pointer, "additionalProperties")
            }
            Self::Envelope => invalid("/envelope", "type"),
            Self::Metadata => invalid("/metadata", "type"),
            Self::TooLarge => ErrorCode::TooLarge.into(),
            Self::HeaderMismatch(_) => ErrorCode::ContextRefused.into(),
            Self::HeaderValue(_) => invalid("", "transport_header"),
        }
    }
}

impl TransportMessage {
    /// An envelope without metadata.
    #[must_use]
    pub const fn new(envelope: Value) -> Self {
        Self { envelope, metadata: None }
    }

    /// Reads a payload: the wrapper, or for compatibility an envelope alone. What has a member `envelope` is a wrapper, since
    /// no envelope has one. The envelope itself is not judged.
    ///
    /// # Errors
    /// [`TransportFault`] by the first rule that the payload breaks.
    ///
    /// Source: AIP 1.0 §20.4.
    pub fn read(payload: &[u8]) -> Result<Self, TransportFault> {
        let Value::Object(mut members) = document::parse(payload, WRAPPED)? else {
            return Err(TransportFault::NotAnObject);
        };
        let Some(envelope) = members.remove("envelope") else {
            let envelope = Value::Object(members);
            // The bounds of an envelope are tighter; only one that may pass them is worth a second look.
            if payload.len() >= DENSE_BYTES_MIN || document::deeper_than(&envelope, limits::DEPTH_MAX) {
                document::parse(payload, Bounds::ENVELOPE)?;
            }
            return Ok(Self::new(envelope));
        };
        if payload.len() > limits::ENVELOPE_BYTES_MAX && envelope_bytes(payload) > limits::ENVELOPE_BYTES_MAX {
            return Err(TransportFault::TooLarge);
        }
        let metadata = match members.remove("metadata") {
            None => None,
            Some(Value::Object(metadata)) if metadata.values().all(Value::is_string) => Some(metadata),
            Some(_) => return Err(TransportFault::Metadata),
        };
        if let Some(name) = members.into_iter().next().map(|(name, _)| name) {
            return Err(TransportFault::UnknownMember(name));
        }
        if !envelope.is_object() {
            return Err(TransportFault::Envelope);
        }
        let message = Self { envelope, metadata };
        message.check_metadata()?;
        Ok(message)
    }

    /// The canonical payload: compact JSON of the wrapper.
    ///
    /// # Errors
    /// [`TransportFault::Envelope`] for an envelope that is no object; [`TransportFault::TooLarge`].
    pub fn write(&self) -> Result<String, TransportFault> {
        if !self.envelope.is_object() {
            return Err(TransportFault::Envelope);
        }
        if document::deeper_than(&self.envelope, limits::DEPTH_MAX) {
            return Err(TransportFault::TooLarge);
        }
        self.check_metadata()?;
        if self.envelope.to_string().len() > limits::ENVELOPE_BYTES_MAX {
            return Err(TransportFault::TooLarge);
        }
        // `Value` writes itself with its numbers as they came, and cannot fail.
        Ok(match &self.metadata {
            None => format!("{{\"envelope\":{}}}", self.envelope),
            Some(metadata) => {
                format!("{{\"envelope\":{},\"metadata\":{}}}", self.envelope, Value::Object(metadata.clone()))
            }
        })
    }

    fn check_metadata(&self) -> Result<(), TransportFault> {
        let text = |metadata: &Map<String, Value>| Value::Object(metadata.clone()).to_string().len();
        let bytes = self.metadata.as_ref().map_or(0, text);
        if bytes > limits::TRANSPORT_METADATA_BYTES_MAX { Err(TransportFault::TooLarge) } else { Ok(()) }
    }

    /// The standard headers of the envelope: version, type and id, then session and correlation where it has them.
    ///
    /// # Errors
    /// [`TransportFault::HeaderValue`] names the header that cannot be built.
    ///
    /// Source: AIP 1.0 §20.4.
    pub fn headers(&self) -> Result<Vec<(&'static str, &str)>, TransportFault> {
        let mut headers = Vec::with_capacity(HEADERS.len());
        for (index, (header, member)) in HEADERS.into_iter().enumerate() {
            match self.envelope.get(member) {
                None | Some(Value::Null) if index >= HEADERS_ALWAYS => {}
                Some(Value::String(text)) if is_header_value(text) => headers.push((header, text.as_str())),
                None | Some(_) => return Err(TransportFault::HeaderValue(header)),
            }
        }
        Ok(headers)
    }

    /// Holds the received headers against the envelope: a standard header that is there is there once and says the same.
    /// Others are not looked at, and an absent one is no fault, since the envelope has it all. Names have no case.
    ///
    /// # Errors
    /// [`TransportFault::HeaderMismatch`] names the first header that disagrees.
    pub fn check_headers<'h>(
        &self,
        received: impl IntoIterator<Item = (&'h str, &'h str)>,
    ) -> Result<(), TransportFault> {
        let mut seen = [false; HEADERS.len()];
        for (name, value) in received {
            let known = HEADERS.into_iter().zip(&mut seen).find(|((header, _), _)| header.eq_ignore_ascii_case(name));
            let Some(((header, member), seen)) = known else { continue };
            if *seen || self.envelope.get(member).and_then(Value::as_str) != Some(value) {
                return Err(TransportFault::HeaderMismatch(header));
            }
            *seen = true;
        }
        Ok(())
    }
}

/// Length of the envelope inside a wrapper, as it was sent.
fn envelope_bytes(payload: &[u8]) -> usize {
    #[derive(Deserialize)]
    struct Wrapper<'a> {
        #[serde(borrow)]
        envelope: &'a RawValue,
    }
    serde_json::from_slice::<Wrapper<'_>>(payload).map_or(usize::MAX, |wrapper| wrapper.envelope.get().len())
}

/// Whether a text comes through as a header: not empty, no controls, and no space at its ends, which readers cut off.
fn is_header_value(text: &str) -> bool {
    !text.is_empty()
        && text.len() <= limits::ID_BYTES_MAX
        && text.trim() == text
        && !text.contains(|character: char| character.is_control())
}
