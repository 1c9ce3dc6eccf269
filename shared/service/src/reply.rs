//! Answers: the envelope around a body, and the message around the envelope (AIP 1.0 §6.2, §20.4).

use aip_bus::{Bus, BusError, Headers, Inbound, random};
use aip_types::{
    AipVersion, CorrelationId, Envelope, ErrorBody, MessageBody, MessageId, MessageReference, Principal, PrincipalId,
    PrincipalKind, ProtocolError, SessionId, Timestamp,
};
use bytes::Bytes;
use serde_json::{Value, json};

use crate::clock::now;

/// What an answer copies from its request.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Correlation {
    /// The request's message id.
    pub message_id: Option<MessageId>,
    /// Its correlation id.
    pub correlation_id: Option<CorrelationId>,
    /// Its session id.
    pub session_id: Option<SessionId>,
    /// Its authenticated sender.
    pub to: Option<Principal>,
}

/// What an owner answers.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// The body.
    pub body: MessageBody,
    /// The envelope's extensions.
    pub extensions: Option<Value>,
}

impl<B: Into<MessageBody>> From<B> for Answer {
    fn from(body: B) -> Self {
        Self { body: body.into(), extensions: None }
    }
}

impl Answer {
    /// Marks the answer, under the fleet's own name (AIP 1.0 §23.4).
    #[must_use]
    pub fn with_extension(mut self, name: &str, value: Value) -> Self {
        self.extensions = Some(json!({ "dev.aip-fleet": { name: value } }));
        self
    }
}

/// An answer's envelope.
#[must_use]
pub fn envelope(correlation: &Correlation, answer: impl Into<Answer>) -> Envelope {
    let Answer { body, extensions } = answer.into();
    let at = now();
    Envelope {
        aip_version: AipVersion::V1_0,
        message_type: body.message_type(),
        message_id: MessageId::generate(at, random()),
        sent_at: Timestamp::from_millis(at),
        body,
        session_id: correlation.session_id.clone(),
        correlation_id: correlation.correlation_id.clone(),
        in_response_to: correlation.message_id.as_ref().map(|id| MessageReference::new(id.as_str())),
        idempotency_key: None,
        from: Some(Principal::new(PrincipalId::new("service:aip-fleet"), PrincipalKind::Service)),
        to: correlation.to.clone(),
        trace: None,
        security: None,
        extensions,
    }
}

/// The body of a refusal.
#[must_use]
pub fn refusal(error: ProtocolError) -> MessageBody {
    MessageBody::from(ErrorBody { error })
}

/// Sends an answer, where one is wanted.
///
/// # Errors
/// [`BusError::Unavailable`].
pub async fn answer(
    bus: &Bus,
    inbound: &Inbound,
    correlation: &Correlation,
    answer: impl Into<Answer>,
) -> Result<(), BusError> {
    let Some(reply) = &inbound.reply else { return Ok(()) };
    let envelope = envelope(correlation, answer);
    let (headers, payload) = transport(&envelope)?;
    bus.port().publish(reply, None, headers, payload).await
}

/// The canonical NATS message of an envelope: wrapper and standard headers.
///
/// # Errors
/// [`BusError::Undecodable`] when it cannot be written as JSON.
pub fn transport(envelope: &Envelope) -> Result<(Headers, Bytes), BusError> {
    let text = serde_json::to_vec(envelope).map_err(|fault| BusError::Undecodable(Box::new(fault)))?;
    let mut payload = Vec::with_capacity(text.len().saturating_add(16));
    payload.extend_from_slice(b"{\"envelope\":");
    payload.extend_from_slice(&text);
    payload.push(b'}');
    let mut headers = Headers::new();
    headers.insert("AIP-Version".to_owned(), "1.0".to_owned());
    headers.insert("AIP-Message-Type".to_owned(), envelope.message_type.as_str().to_owned());
    headers.insert("AIP-Message-Id".to_owned(), envelope.message_id.to_string());
    if let Some(session) = &envelope.session_id {
        headers.insert("AIP-Session-Id".to_owned(), session.to_string());
    }
    if let Some(correlation) = &envelope.correlation_id {
        headers.insert("AIP-Correlation-Id".to_owned(), correlation.to_string());
    }
    Ok((headers, Bytes::from(payload)))
}
