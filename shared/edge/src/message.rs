//! Messages on their way to an owner: what routing needs, and the very bytes.

use std::time::Duration;

use aip_bus::random;
use aip_service::{Correlation, now, receive::claimed_correlation};
use aip_types::{
    Envelope, ErrorCode, MessageBody, MessageId, MessageType, ProtocolError, Timestamp,
    document::{self, Bounds},
    limits,
};
use bytes::Bytes;
use serde_json::Value;
use tracing::Span;

use crate::{media::MediaType, respond::Refusal};

/// How much longer than the owner an edge waits.
const MARGIN: Duration = Duration::from_secs(3);

/// One envelope to be sent. Its text is what was received: signatures and hashes cover it.
#[derive(Clone, Debug)]
pub struct Message {
    pub(crate) text: Bytes,
    pub(crate) message_type: MessageType,
    pub(crate) correlation: Correlation,
    pub(crate) within: Duration,
}

impl Message {
    /// Reads a received envelope as far as routing needs it. Its owner checks the rest.
    ///
    /// # Errors
    /// The codes of [`document::parse`]; `aip.envelope.invalid` without a message type; `aip.message.unsupported` for an
    /// unknown one. The refusal copies the ids that were readable, and is in this media type.
    pub fn received(text: Bytes, media: &MediaType) -> Result<Self, Refusal> {
        let refused = |error, correlation| Refusal::new(error, correlation, media.clone());
        let document =
            document::parse(&text, Bounds::ENVELOPE).map_err(|fault| refused(fault.into(), Correlation::default()))?;
        let correlation = claimed_correlation(&document);
        match claimed_type(&document) {
            Ok(message_type) => {
                let body = document.get("body").and_then(|body| body.get(message_type.body_key()));
                if let Some(id) = body.and_then(|body| claimed_action(message_type, body)) {
                    Span::current().record("action_id", id);
                }
                let within = body.map_or(MARGIN, |body| patience(message_type, body));
                Ok(Self { text, message_type, correlation, within })
            }
            Err(error) => Err(refused(error, correlation)),
        }
    }

    /// An envelope of the edge's own, around the body that it translated a request to. The owner may take `wait_ms`.
    ///
    /// # Errors
    /// `aip.internal`: it cannot be written as JSON.
    pub fn translated(body: MessageBody, wait_ms: Option<u64>) -> Result<Self, ProtocolError> {
        let at = now();
        let envelope = Envelope::new(MessageId::generate(at, random()), Timestamp::from_millis(at), body);
        let text = serde_json::to_vec(&envelope).map_err(|fault| {
            tracing::error!(%fault, "writing an envelope");
            ProtocolError::from(ErrorCode::Internal)
        })?;
        let correlation = Correlation { message_id: Some(envelope.message_id), ..Correlation::default() };
        Ok(Self {
            text: text.into(),
            message_type: envelope.message_type,
            correlation,
            within: waiting(wait_ms.unwrap_or(0)),
        })
    }

    /// Its type, as claimed.
    #[must_use]
    pub const fn message_type(&self) -> MessageType {
        self.message_type
    }

    /// What an answer to it copies.
    #[must_use]
    pub const fn correlation(&self) -> &Correlation {
        &self.correlation
    }
}

fn claimed_type(document: &Value) -> Result<MessageType, ProtocolError> {
    let invalid =
        |pointer: &str, rule: &str| ProtocolError::from(ErrorCode::EnvelopeInvalid).with_finding(pointer, rule);
    let members = document.as_object().ok_or_else(|| invalid("", "type"))?;
    let claimed = members.get("message_type").ok_or_else(|| invalid("/message_type", "required"))?;
    let claimed = claimed.as_str().ok_or_else(|| invalid("/message_type", "type"))?;
    MessageType::from_wire(claimed)
        .ok_or_else(|| ProtocolError::from(ErrorCode::MessageUnsupported).with_finding("/message_type", "registered"))
}

/// The action that a request is about, for the log.
fn claimed_action(message_type: MessageType, body: &Value) -> Option<&str> {
    let name = if message_type == MessageType::Action { "id" } else { "action_id" };
    body.get(name).and_then(Value::as_str).filter(|id| id.len() <= limits::ID_BYTES_MAX)
}

/// An action may take its timeout, a query its wait; both are bounded.
fn patience(message_type: MessageType, body: &Value) -> Duration {
    let member = |name: &str| body.get(name).and_then(Value::as_u64);
    if message_type == MessageType::Action {
        waiting(member("timeout_ms").unwrap_or(limits::WAIT_MS_MAX))
    } else {
        waiting(member("wait_ms").unwrap_or(0))
    }
}

fn waiting(ms: u64) -> Duration {
    Duration::from_millis(ms.min(limits::WAIT_MS_MAX)).saturating_add(MARGIN)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn received(text: &str) -> Result<(MessageType, u64), String> {
        let message = Message::received(Bytes::copy_from_slice(text.as_bytes()), &MediaType::default());
        let waits = |message: Message| u64::try_from(message.within.as_millis()).unwrap();
        message.map(|message| (message.message_type, waits(message))).map_err(|refusal| refusal.error().code.clone())
    }

    #[test]
    fn the_owner_may_take_the_bounded_timeout_or_wait_of_the_request() {
        let action =
            |more: &str| format!(r#"{{"message_type":"aip.core.v1.action","body":{{"action":{{"id":"a"{more}}}}}}}"#);
        assert_eq!(received(&action("")), Ok((MessageType::Action, 33_000)));
        assert_eq!(received(&action(r#","timeout_ms":500"#)), Ok((MessageType::Action, 3_500)));
        assert_eq!(received(&action(r#","timeout_ms":86400000"#)), Ok((MessageType::Action, 33_000)));
        let read = |more: &str| {
            format!(
                r#"{{"message_type":"aip.lifecycle.v1.action_status_request","body":{{"action_status_request":{{"action_id":"a"{more}}}}}}}"#
            )
        };
        assert_eq!(received(&read("")), Ok((MessageType::ActionStatusRequest, 3_000)));
        assert_eq!(received(&read(r#","wait_ms":2000"#)), Ok((MessageType::ActionStatusRequest, 5_000)));
        assert_eq!(received(&read(r#","wait_ms":999999"#)), Ok((MessageType::ActionStatusRequest, 33_000)));
    }

    #[test]
    fn what_cannot_be_routed_is_refused_with_what_to_change() {
        for (text, code) in [
            ("", "aip.envelope.not_json"),
            ("{", "aip.envelope.not_json"),
            ("{} {}", "aip.envelope.not_json"),
            ("[]", "aip.envelope.invalid"),
            ("{}", "aip.envelope.invalid"),
            (r#"{"message_type":1}"#, "aip.envelope.invalid"),
            (r#"{"message_type":"aip.core.v1.nothing"}"#, "aip.message.unsupported"),
            (r#"{"message_type":"a","message_type":"b"}"#, "aip.envelope.duplicate_member"),
        ] {
            assert_eq!(received(text), Err(code.to_owned()), "{text}");
        }
        let deep = format!("{}{}", "[".repeat(limits::DEPTH_MAX + 1), "]".repeat(limits::DEPTH_MAX + 1));
        assert_eq!(received(&deep), Err("aip.envelope.too_deep".to_owned()));
    }

    #[test]
    fn a_refusal_copies_the_ids_that_were_readable() {
        let text = Bytes::from_static(br#"{"message_id":"msg_1","correlation_id":"corr_1","message_type":"x"}"#);
        let refusal = Message::received(text, &MediaType::default()).unwrap_err();
        let correlation = refusal.correlation().clone();
        assert_eq!(correlation.message_id.unwrap().as_str(), "msg_1");
        assert_eq!(correlation.correlation_id.unwrap().as_str(), "corr_1");
    }
}
