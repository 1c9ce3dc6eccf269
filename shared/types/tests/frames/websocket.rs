//! WebSocket frames and subscriptions (AIP 1.0 §20.3).

use aip_types::websocket::{CloseCode, Frame, Incoming, Subscriptions, receive, text as frame};
use aip_types::{CorrelationId, ErrorCode, limits};
use serde_json::{Value, json};

use crate::sse::unhex;
use crate::{fixtures, read, text};

fn received(fixture: &Value) -> Incoming {
    let bytes = |member: &str| fixture[member].as_str().map(unhex);
    if let Some(text) = fixture["text"].as_str() {
        return receive(Frame::Text(text));
    }
    if let Some(bytes) = bytes("binary") {
        return receive(Frame::Binary(&bytes));
    }
    if let Some(bytes) = bytes("ping") {
        return receive(Frame::Ping(&bytes));
    }
    if let Some(bytes) = bytes("pong_received") {
        return receive(Frame::Pong(&bytes));
    }
    let code = &fixture["closed"];
    receive(Frame::Close(code.as_u64().map(|code| u16::try_from(code).unwrap())))
}

#[test]
fn frames_mean_what_is_published() {
    for fixture in fixtures("websocket", "received") {
        let name = &fixture["name"];
        match received(&fixture) {
            Incoming::Envelope(envelope) => assert_eq!(envelope.to_string(), text(&fixture, "envelope"), "{name}"),
            Incoming::Pong(payload) => assert_eq!(payload, unhex(text(&fixture, "pong")), "{name}"),
            Incoming::Nothing => assert_eq!(fixture["nothing"], true, "{name}"),
            Incoming::Refused(error) => assert_eq!(error.code, text(&fixture, "refused"), "{name}"),
            Incoming::Close(code, error) => {
                assert_eq!(fixture["close"], code.number(), "{name}");
                assert_eq!(error.map(|error| error.code).as_deref(), fixture["error"].as_str(), "{name}");
            }
        }
    }
}

#[test]
fn a_text_frame_is_at_most_an_envelope() {
    let spaces = |bytes: usize| format!("{{}}{}", " ".repeat(bytes - 2));
    assert!(matches!(receive(Frame::Text(&spaces(limits::ENVELOPE_BYTES_MAX))), Incoming::Envelope(_)));
    let Incoming::Close(CloseCode::TooLarge, Some(error)) =
        receive(Frame::Text(&spaces(limits::ENVELOPE_BYTES_MAX + 1)))
    else {
        panic!("taken")
    };
    assert_eq!(error.error_code(), Some(ErrorCode::TooLarge));
    assert_eq!(frame(&json!({"x": "y".repeat(limits::ENVELOPE_BYTES_MAX)})), Err(ErrorCode::TooLarge));
    assert_eq!(frame(&json!([])), Err(ErrorCode::EnvelopeInvalid));
}

#[test]
fn an_envelope_is_sent_with_its_numbers_as_they_came() {
    let envelope = r#"{"a":1e16,"b":[-0,0.10]}"#;
    assert_eq!(frame(&read(envelope)).unwrap(), envelope);
}

fn of(correlation: &str, key: &str, body: Value) -> Value {
    json!({"correlation_id": correlation, "body": {key: body}})
}

#[test]
fn a_connection_gets_the_correlations_that_it_follows_and_no_other() {
    let mut subscriptions = Subscriptions::default();
    let chunk = |correlation| of(correlation, "stream_chunk", json!({"kind": "data"}));
    assert!(!subscriptions.take(&chunk("corr_1")));
    subscriptions.follow(CorrelationId::new("corr_1")).unwrap();
    assert!(subscriptions.take(&chunk("corr_1")) && !subscriptions.take(&chunk("corr_2")));
    for foreign in [json!({}), json!({"correlation_id": null}), json!({"correlation_id": 1}), json!([])] {
        assert!(!subscriptions.take(&foreign), "{foreign}");
    }
    assert!(subscriptions.leave(&CorrelationId::new("corr_1")) && subscriptions.is_empty());
    assert!(!subscriptions.take(&chunk("corr_1")));
}

#[test]
fn a_result_ends_its_subscription_and_the_last_chunk_does_not() {
    let mut subscriptions = Subscriptions::default();
    for (key, body) in [("action_result", json!({})), ("delegation_result", json!({})), ("error", json!({}))] {
        subscriptions.follow(CorrelationId::new("corr_1")).unwrap();
        assert!(subscriptions.take(&of("corr_1", "stream_chunk", json!({"kind": "done"}))));
        assert!(subscriptions.take(&of("corr_1", key, body.clone())), "{key}");
        assert!(!subscriptions.take(&of("corr_1", key, body)) && subscriptions.is_empty(), "{key}");
    }
}

#[test]
fn the_subscriptions_of_a_connection_are_bounded() {
    let mut subscriptions = Subscriptions::default();
    for number in 0..limits::WEBSOCKET_SUBSCRIPTIONS_MAX {
        subscriptions.follow(CorrelationId::new(format!("corr_{number}"))).unwrap();
    }
    assert_eq!(subscriptions.follow(CorrelationId::new("corr_0")), Ok(()));
    assert_eq!(subscriptions.follow(CorrelationId::new("one more")), Err(ErrorCode::RateLimited));
    assert_eq!(subscriptions.len(), limits::WEBSOCKET_SUBSCRIPTIONS_MAX);
}
