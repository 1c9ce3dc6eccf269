//! One request over the bus: what an edge sends to an owner, and what came back.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use aip_bus::{
    Bus, BusError, Headers,
    subjects::{Peer, Tenant, owner},
};
use aip_service::{
    Context, Directory, Tasks,
    receive::{CONTEXT_HEADER, EdgeContext},
    since_start,
};
use aip_types::{ErrorBody, ErrorCode, MessageBody, MessageType, ProtocolError, limits};
use axum::http::HeaderMap;
use bytes::Bytes;
use serde::Deserialize;
use serde_json::value::RawValue;
use tracing::Span;

use crate::{bearer, message::Message};

/// What every request of an edge needs.
#[derive(Clone, Debug)]
pub struct Edge {
    bus: Bus,
    peer: Peer,
    directory: Arc<Directory>,
    pub(crate) tasks: Tasks,
}

impl Edge {
    /// The edge of a running service.
    #[must_use]
    pub fn new(ctx: &Context) -> Self {
        Self {
            bus: ctx.bus.clone(),
            peer: ctx.peer.clone(),
            directory: Arc::clone(&ctx.directory),
            tasks: ctx.tasks.clone(),
        }
    }

    /// Who sends a request; nobody where only a signature can tell.
    ///
    /// # Errors
    /// Those of [`bearer::identify`].
    pub fn identify(&self, headers: &HeaderMap) -> Result<EdgeContext, ProtocolError> {
        bearer::identify(headers, &self.directory)
    }

    /// Who sends a request that cannot be signed.
    ///
    /// # Errors
    /// Those of [`bearer::require`].
    pub fn require(&self, headers: &HeaderMap) -> Result<EdgeContext, ProtocolError> {
        bearer::require(headers, &self.directory)
    }

    /// Sends a message to the owner of its type and waits for its answer.
    ///
    /// # Errors
    /// - `aip.message.unsupported`: nobody answers such a message.
    /// - `aip.transport.unavailable`, `aip.transport.timeout`: the owner is away, or is not ready in time.
    /// - `aip.internal`: the answer is not one.
    pub async fn forward(&self, message: &Message, context: &EdgeContext) -> Result<Answer, ProtocolError> {
        if owner(message.message_type).is_none() {
            return Err(ProtocolError::from(ErrorCode::MessageUnsupported).with_finding("/message_type", "request"));
        }
        if let Some(correlation) = &message.correlation.correlation_id {
            Span::current().record("correlation_id", correlation.as_str());
        }
        let subject = self.peer.subject(message.message_type);
        let headers = headers(message, context)?;
        let since = since_start();
        let sent = self.bus.port().request(&subject, headers, wrapped(&message.text), message.within).await;
        let inbound = sent.map_err(|fault| undelivered(&fault, message, since.elapsed()))?;
        Answer::read(&inbound.payload).map_err(|fault| {
            tracing::error!(message_type = %message.message_type, %fault, "an owner's answer cannot be read");
            ErrorCode::Internal.into()
        })
    }
}

impl Edge {
    pub(crate) const fn bus(&self) -> &Bus {
        &self.bus
    }

    /// The tenant of whoever was identified.
    pub(crate) fn tenant(&self, context: &EdgeContext) -> Option<Tenant> {
        context.principal.as_ref().and_then(|id| self.directory.by_id(id)).map(|known| known.tenant.clone())
    }
}

/// The canonical wrapper around the text of an envelope (AIP 1.0 §20.4).
fn wrapped(text: &[u8]) -> Bytes {
    let parts: [&[u8]; 3] = [b"{\"envelope\":", text, b"}"];
    parts.concat().into()
}

/// The standard headers of AIP 1.0 §20.4, and the edge's word about the sender.
fn headers(message: &Message, context: &EdgeContext) -> Result<Headers, ProtocolError> {
    let context = serde_json::to_string(context).map_err(|_| ErrorCode::Internal)?;
    let Message { message_type, correlation, .. } = message;
    let claimed = [
        ("AIP-Message-Id", correlation.message_id.as_ref().map(AsRef::as_ref)),
        ("AIP-Session-Id", correlation.session_id.as_ref().map(AsRef::as_ref)),
        ("AIP-Correlation-Id", correlation.correlation_id.as_ref().map(AsRef::as_ref)),
    ];
    let own = [("AIP-Version", "1.0"), ("AIP-Message-Type", message_type.as_str()), (CONTEXT_HEADER, &context)];
    // an id may be any text; a header may not, and no owner decides by these
    let fits = |text: &&str| text.bytes().all(|byte| byte.is_ascii_graphic());
    let claimed = claimed.into_iter().filter_map(|(name, text)| text.filter(fits).map(|text| (name, text)));
    Ok(own.into_iter().chain(claimed).map(|(name, text)| (name.to_owned(), text.to_owned())).collect())
}

fn undelivered(fault: &BusError, message: &Message, waited: Duration) -> ProtocolError {
    tracing::warn!(message_type = %message.message_type, waited_ms = waited.as_millis(), %fault, "no answer");
    let again = |code: ErrorCode| ProtocolError::from(code).with_retry_after_ms(limits::RETRY_AFTER_MS);
    match fault {
        BusError::Unavailable(_) if waited >= message.within => again(ErrorCode::TransportTimeout),
        BusError::NoResponders | BusError::Busy | BusError::Unavailable(_) => again(ErrorCode::TransportUnavailable),
        BusError::Conflict | BusError::Refused { .. } | BusError::Undecodable(_) => ErrorCode::Internal.into(),
    }
}

/// An owner's answer, as it came.
#[derive(Clone, Debug)]
pub struct Answer {
    pub(crate) envelope: Bytes,
    pub(crate) body: Bytes,
    pub(crate) kind: Kind,
}

/// What an edge must know about a body.
#[derive(Clone, Debug)]
pub(crate) enum Kind {
    Error(Box<ProtocolError>),
    Ack,
    Other,
}

/// Why an answer cannot be read.
#[derive(Debug, thiserror::Error)]
enum Unreadable {
    #[error("no wrapped envelope")]
    Json(#[from] serde_json::Error),
    #[error("not exactly one body")]
    Bodies,
}

impl Answer {
    /// The error, where it is one.
    #[must_use]
    pub fn error(&self) -> Option<&ProtocolError> {
        if let Kind::Error(error) = &self.kind { Some(error) } else { None }
    }

    /// The body, typed.
    ///
    /// # Errors
    /// `aip.internal`: it is none.
    pub fn body(&self) -> Result<MessageBody, ProtocolError> {
        aip_types::exact::read(&self.body).map_err(|fault| {
            tracing::error!(line = fault.line(), column = fault.column(), "an owner's body cannot be read");
            ErrorCode::Internal.into()
        })
    }

    fn read(payload: &Bytes) -> Result<Self, Unreadable> {
        #[derive(Deserialize)]
        struct Wrapper<'a> {
            #[serde(borrow)]
            envelope: &'a RawValue,
        }
        #[derive(Deserialize)]
        struct Head<'a> {
            #[serde(borrow)]
            body: &'a RawValue,
        }
        let Wrapper { envelope } = serde_json::from_slice(payload)?;
        let Head { body } = serde_json::from_str(envelope.get())?;
        let bodies: BTreeMap<String, &RawValue> = serde_json::from_str(body.get())?;
        let (Some((key, content)), true) = (bodies.first_key_value(), bodies.len() == 1) else {
            return Err(Unreadable::Bodies);
        };
        let kind = if key == MessageType::Error.body_key() {
            let ErrorBody { error } = serde_json::from_str(content.get())?;
            Kind::Error(Box::new(error))
        } else if key == MessageType::Ack.body_key() {
            Kind::Ack
        } else {
            Kind::Other
        };
        let piece = |raw: &RawValue| payload.slice_ref(raw.get().as_bytes());
        Ok(Self { envelope: piece(envelope), body: piece(body), kind })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<(String, String), Unreadable> {
        let text_of = |bytes: Bytes| String::from_utf8(bytes.to_vec()).unwrap();
        Answer::read(&Bytes::copy_from_slice(text.as_bytes()))
            .map(|answer| (text_of(answer.envelope), text_of(answer.body)))
    }

    #[test]
    fn an_answer_is_taken_apart_without_a_change() {
        let text = r#"{ "envelope" : {"x": 1.00, "body": {"ack": {"n": 1e2}}} , "metadata": {} }"#;
        let (envelope, body) = read(text).unwrap();
        assert_eq!(envelope, r#"{"x": 1.00, "body": {"ack": {"n": 1e2}}}"#);
        assert_eq!(body, r#"{"ack": {"n": 1e2}}"#);
    }

    #[test]
    fn what_is_no_answer_is_told() {
        for text in [
            "",
            "{}",
            r#"{"envelope":1}"#,
            r#"{"envelope":{"body":{}}}"#,
            r#"{"envelope":{"body":{"a":1,"b":2}}}"#,
            r#"{"envelope":{"body":{"error":{}}}}"#,
        ] {
            assert!(read(text).is_err(), "{text}");
        }
    }
}
