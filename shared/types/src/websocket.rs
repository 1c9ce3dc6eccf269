//! What the frames of a WebSocket mean on `aip.websocket.stream.v1`. The protocol below (masking, fragments, UTF-8) is the
//! library's that the edge uses; what arrives here is one whole frame.
//!
//! Source: AIP 1.0 §20.3; RFC 6455 §7.4.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::document::{self, Bounds};
use crate::error::ProtocolError;
use crate::error_codes::ErrorCode;
use crate::ids::CorrelationId;
use crate::limits;
use crate::sse::EventName;

/// Bytes of the payload of a ping or pong (RFC 6455 §5.5).
pub const CONTROL_BYTES_MAX: usize = 125;

/// One whole frame, as the library hands it over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Frame<'a> {
    /// Text.
    Text(&'a str),
    /// Binary data.
    Binary(&'a [u8]),
    /// A ping.
    Ping(&'a [u8]),
    /// A pong.
    Pong(&'a [u8]),
    /// The other side closes, with a code if it gave one.
    Close(Option<u16>),
}

/// Why we close (RFC 6455 §7.4.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CloseCode {
    /// The work is done, or the other side closed.
    Normal,
    /// The process stops.
    GoingAway,
    /// A frame breaks the protocol.
    ProtocolError,
    /// Data that is not text.
    Unsupported,
    /// The identity of the upgrade is not valid any more.
    Policy,
    /// A message is larger than an envelope may be.
    TooLarge,
    /// A fault of ours.
    Internal,
    /// Come back later.
    TryAgain,
}

impl CloseCode {
    /// Its number.
    #[must_use]
    pub const fn number(self) -> u16 {
        match self {
            Self::Normal => 1000,
            Self::GoingAway => 1001,
            Self::ProtocolError => 1002,
            Self::Unsupported => 1003,
            Self::Policy => 1008,
            Self::TooLarge => 1009,
            Self::Internal => 1011,
            Self::TryAgain => 1013,
        }
    }
}

/// What a frame asks for.
#[derive(Clone, Debug, PartialEq)]
pub enum Incoming {
    /// Judge and answer this envelope.
    Envelope(Value),
    /// Answer with a pong of the same bytes.
    Pong(Vec<u8>),
    /// Nothing.
    Nothing,
    /// Answer with this error; the connection goes on.
    Refused(ProtocolError),
    /// Close with this code, after this error if there is one.
    Close(CloseCode, Option<ProtocolError>),
}

/// Says what a received frame asks for.
///
/// A text frame that is no document is refused and the connection goes on; one that is too large, and every binary one,
/// ends it.
///
/// Source: AIP 1.0 §20.3.
#[must_use]
pub fn receive(frame: Frame<'_>) -> Incoming {
    match frame {
        Frame::Text(text) if text.len() > limits::ENVELOPE_BYTES_MAX => {
            Incoming::Close(CloseCode::TooLarge, Some(ErrorCode::TooLarge.into()))
        }
        Frame::Text(text) => match document::parse(text.as_bytes(), Bounds::ENVELOPE) {
            Ok(envelope) if envelope.is_object() => Incoming::Envelope(envelope),
            Ok(_) => {
                Incoming::Refused(ProtocolError::from(ErrorCode::EnvelopeInvalid).with_finding("", "envelope_object"))
            }
            Err(fault) => Incoming::Refused(fault.into()),
        },
        Frame::Binary(_) => Incoming::Close(CloseCode::Unsupported, Some(ErrorCode::MediaUnsupported.into())),
        Frame::Ping(payload) | Frame::Pong(payload) if payload.len() > CONTROL_BYTES_MAX => {
            Incoming::Close(CloseCode::ProtocolError, None)
        }
        Frame::Ping(payload) => Incoming::Pong(payload.to_vec()),
        Frame::Pong(_) => Incoming::Nothing,
        Frame::Close(code) => Incoming::Close(answer(code), None),
    }
}

/// The code that answers a close: the usual one, but for a code that must not be sent (RFC 6455 §7.4).
fn answer(code: Option<u16>) -> CloseCode {
    match code {
        None | Some(1000..=1003 | 1007..=1014 | 3000..=4999) => CloseCode::Normal,
        Some(_) => CloseCode::ProtocolError,
    }
}

/// The text frame of an envelope, as compact JSON.
///
/// # Errors
/// [`ErrorCode::TooLarge`]: it passes [`limits::ENVELOPE_BYTES_MAX`]. [`ErrorCode::EnvelopeInvalid`]: it is no object.
pub fn text(envelope: &Value) -> Result<String, ErrorCode> {
    if !envelope.is_object() {
        return Err(ErrorCode::EnvelopeInvalid);
    }
    let text = envelope.to_string();
    if text.len() > limits::ENVELOPE_BYTES_MAX { Err(ErrorCode::TooLarge) } else { Ok(text) }
}

/// The correlations that one connection follows. They say what is sent, never what may be seen: every message is
/// authorised before it comes here.
///
/// Source: AIP 1.0 §20.3.
#[derive(Clone, Debug, Default)]
pub struct Subscriptions {
    correlations: BTreeSet<CorrelationId>,
}

impl Subscriptions {
    /// Follows a correlation; following it twice is following it once.
    ///
    /// # Errors
    /// [`ErrorCode::RateLimited`]: the connection follows [`limits::WEBSOCKET_SUBSCRIPTIONS_MAX`] others.
    pub fn follow(&mut self, correlation: CorrelationId) -> Result<(), ErrorCode> {
        if !self.correlations.contains(&correlation) && self.correlations.len() >= limits::WEBSOCKET_SUBSCRIPTIONS_MAX {
            return Err(ErrorCode::RateLimited);
        }
        self.correlations.insert(correlation);
        Ok(())
    }

    /// Follows it no longer; whether it did.
    pub fn leave(&mut self, correlation: &CorrelationId) -> bool {
        self.correlations.remove(correlation)
    }

    /// How many correlations it follows.
    #[must_use]
    pub fn len(&self) -> usize {
        self.correlations.len()
    }

    /// Whether it follows none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.correlations.is_empty()
    }

    /// Whether an envelope of the stream is for this connection. A result or an error ends its subscription; the last chunk
    /// does not, since the result comes after it (AIP 1.0 §11.6).
    pub fn take(&mut self, envelope: &Value) -> bool {
        let Some(correlation) = envelope.get("correlation_id").and_then(Value::as_str).map(CorrelationId::new) else {
            return false;
        };
        let name = EventName::of(envelope);
        if name.is_terminal() && name != EventName::Done {
            self.correlations.remove(&correlation)
        } else {
            self.correlations.contains(&correlation)
        }
    }
}
