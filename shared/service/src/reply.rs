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
    if inbound.reply.is_none() {
        return Ok(());
    }
    let (headers, payload) = transport(&envelope(correlation, answer))?;
    bus.reply(inbound, headers, payload).await
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
    let standard = [
        ("AIP-Version", Some("1.0")),
        ("AIP-Message-Type", Some(envelope.message_type.as_str())),
        ("AIP-Message-Id", Some(envelope.message_id.as_str())),
        ("AIP-Session-Id", envelope.session_id.as_ref().map(|id| id.as_str())),
        ("AIP-Correlation-Id", envelope.correlation_id.as_ref().map(|id| id.as_str())),
    ];
    // Ids come from outside and are opaque: one that cannot stand in a header is in the envelope only.
    let fits = |text: &&str| !text.chars().any(char::is_control);
    let headers =
        standard.into_iter().filter_map(|(name, text)| Some((name.to_owned(), text.filter(fits)?.to_owned())));
    let headers: Headers = headers.collect();
    Ok((headers, Bytes::from(payload)))
}
