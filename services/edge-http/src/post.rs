//! Envelopes that are posted.

use aip_edge::{Edge, MediaType, Message, Refusal, body};
use aip_service::{Correlation, receive::EdgeContext};
use aip_types::{
    Cancel, CancelTarget, ErrorCode, MessageType, ProtocolError,
    document::{self, Bounds},
    limits,
};
use axum::{
    body::Body,
    extract::{Request, State},
    http::{Response, request::Parts},
};

use serde_json::Value;

use crate::query::Query;
use crate::read::{Id, action_id};

/// `POST /aip/v1/messages`: any envelope.
pub(crate) async fn message(State(edge): State<Edge>, request: Request) -> Result<Response<Body>, Refusal> {
    forward(&edge, request, None).await
}

/// `POST /aip/v1/actions`: an envelope with an action.
pub(crate) async fn action(State(edge): State<Edge>, request: Request) -> Result<Response<Body>, Refusal> {
    forward(&edge, request, Some(MessageType::Action)).await
}

/// The reason in the optional body of a cancellation: `{"reason": "…"}`, or nothing.
fn reason(text: &[u8]) -> Result<Option<String>, ProtocolError> {
    let document = document::parse(text, Bounds::ENVELOPE)?;
    let mut members = document.as_object().into_iter().flatten();
    match (document.is_object(), members.next(), members.next()) {
        (true, None, None) => Ok(None),
        (true, Some((name, Value::String(reason))), None) if name == "reason" => Ok(Some(reason.clone())),
        (_, _, _) => Err(ProtocolError::from(ErrorCode::EnvelopeInvalid).with_finding("", "cancel_body")),
    }
}

/// `POST /aip/v1/actions/{action_id}/cancel`, with `{"reason": …}` or without a body.
pub(crate) async fn cancel(State(edge): State<Edge>, id: Id, request: Request) -> Result<Response<Body>, Refusal> {
    let (parts, content) = request.into_parts();
    let context = match edge.require(&parts.headers) {
        Ok(context) => context,
        Err(error) => {
            body::discard(&parts.headers, content).await;
            return Err(Refusal::from(error));
        }
    };
    Query::of(&parts.uri)?.end()?;
    let text = body::read(&parts.headers, content, limits::REQUEST_BODY_BYTES_MAX).await?;
    let reason = if text.is_empty() {
        None
    } else {
        MediaType::of(&parts.headers)?;
        reason(&text)?
    };
    let cancel = Cancel { reason, ..Cancel::new(CancelTarget::Action(action_id(id)?)) };
    let message = Message::translated(cancel.into(), None)?;
    let answer = edge.forward(&message, &context).await;
    let answer = answer.map_err(|error| Refusal::new(error, message.correlation().clone(), MediaType::default()))?;
    Ok(answer.into_body(MediaType::default()))
}

async fn forward(edge: &Edge, request: Request, only: Option<MessageType>) -> Result<Response<Body>, Refusal> {
    let (parts, content) = request.into_parts();
    let (media, context) = match judge(edge, &parts) {
        Ok(judged) => judged,
        Err(error) => {
            body::discard(&parts.headers, content).await;
            let media = MediaType::of(&parts.headers).unwrap_or_default();
            return Err(Refusal::new(error, Correlation::default(), media));
        }
    };
    let refuse =
        |error: ProtocolError, correlation: &Correlation| Refusal::new(error, correlation.clone(), media.clone());
    let text = body::read(&parts.headers, content, limits::ENVELOPE_BYTES_MAX)
        .await
        .map_err(|error| refuse(error, &Correlation::default()))?;
    let message = Message::received(text, &media)?;
    if only.is_some_and(|only| only != message.message_type()) {
        let error = ProtocolError::from(ErrorCode::MessageUnsupported).with_finding("/message_type", "action");
        return Err(refuse(error, message.correlation()));
    }
    let answer = edge.forward(&message, &context).await.map_err(|error| refuse(error, message.correlation()))?;
    Ok(answer.into_envelope(media))
}

/// What the head of a request tells, before its body is read.
fn judge(edge: &Edge, parts: &Parts) -> Result<(MediaType, EdgeContext), ProtocolError> {
    let media = MediaType::of(&parts.headers)?;
    let context = edge.identify(&parts.headers)?;
    Query::of(&parts.uri)?.end()?;
    Ok((media, context))
}
