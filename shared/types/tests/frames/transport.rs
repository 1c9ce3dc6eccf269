//! Payloads and headers on NATS (AIP 1.0 §20.4).

use aip_types::transport::{TransportFault, TransportMessage};
use aip_types::{ErrorCode, limits};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::{fixtures, text};

fn message(fixture: &Value) -> TransportMessage {
    TransportMessage::read(text(fixture, "payload").as_bytes())
        .unwrap_or_else(|fault| panic!("{}: {fault}", fixture["name"]))
}

fn headers(fixture: &Value) -> Vec<(&str, &str)> {
    let pairs = fixture["headers"].as_array().unwrap();
    pairs.iter().map(|pair| (pair[0].as_str().unwrap(), pair[1].as_str().unwrap())).collect()
}

#[test]
fn a_wrapper_or_an_envelope_is_read_and_a_wrapper_is_sent() {
    for fixture in fixtures("transport", "valid") {
        let message = message(&fixture);
        assert_eq!(message.write().unwrap(), text(&fixture, "written"), "{}", fixture["name"]);
        assert_eq!(message.headers().unwrap(), headers(&fixture), "{}", fixture["name"]);
        assert_eq!(message.check_headers(headers(&fixture)), Ok(()), "{}", fixture["name"]);
        assert_eq!(TransportMessage::read(text(&fixture, "written").as_bytes()).unwrap(), message);
    }
}

#[test]
fn what_is_no_transport_message_is_refused() {
    for fixture in fixtures("transport", "refused") {
        let fault = TransportMessage::read(text(&fixture, "payload").as_bytes()).unwrap_err();
        let error = fault.error();
        assert_eq!(error.code, text(&fixture, "code"), "{}", fixture["name"]);
        if let Some(rule) = fixture["rule"].as_str() {
            assert_eq!(error.details.unwrap()["rule"], rule, "{}", fixture["name"]);
        }
    }
}

#[test]
fn headers_say_what_the_envelope_says() {
    for fixture in fixtures("transport", "headers_accepted") {
        assert_eq!(message(&fixture).check_headers(headers(&fixture)), Ok(()), "{}", fixture["name"]);
    }
    for fixture in fixtures("transport", "headers_refused") {
        match message(&fixture).check_headers(headers(&fixture)) {
            Err(TransportFault::HeaderMismatch(header)) => assert_eq!(header, text(&fixture, "header")),
            other => panic!("{}: {other:?}", fixture["name"]),
        }
    }
    for fixture in fixtures("transport", "headers_not_built") {
        match message(&fixture).headers() {
            Err(TransportFault::HeaderValue(header)) => assert_eq!(header, text(&fixture, "header")),
            other => panic!("{}: {other:?}", fixture["name"]),
        }
    }
}

#[test]
fn the_envelope_has_its_own_bounds_inside_the_wrapper() {
    let padded = |bytes: usize| {
        let full = "y".repeat(200_000);
        let mut envelope = json!({"a": full, "b": full, "c": full, "d": full, "e": full, "f": ""});
        envelope["f"] = json!("y".repeat(bytes - envelope.to_string().len()));
        envelope
    };
    let largest = padded(limits::ENVELOPE_BYTES_MAX);
    let sent = TransportMessage::new(largest).write().unwrap();
    assert!(TransportMessage::read(sent.as_bytes()).is_ok());

    let larger = padded(limits::ENVELOPE_BYTES_MAX + 1);
    assert_eq!(TransportMessage::new(larger.clone()).write(), Err(TransportFault::TooLarge));
    let forced = format!("{{\"envelope\":{larger}}}");
    assert_eq!(TransportMessage::read(forced.as_bytes()).unwrap_err().error().error_code(), Some(ErrorCode::TooLarge));

    let around = |bytes: usize| {
        format!(r#"{{"envelope":{{}},"metadata":{{"a":"{}"}}}}"#, "y".repeat(bytes - r#"{"a":""}"#.len()))
    };
    let metadata = |bytes: usize| TransportMessage::read(around(bytes).as_bytes()).map_err(|fault| fault.error().code);
    assert!(metadata(limits::TRANSPORT_METADATA_BYTES_MAX).is_ok());
    assert_eq!(metadata(limits::TRANSPORT_METADATA_BYTES_MAX + 1).unwrap_err(), "aip.envelope.too_large");

    // As many values as an envelope may have, and one more; alone and in the wrapper.
    let dense = |values: usize| format!("{{\"a\":[{}]}}", vec!["1"; values - 2].join(","));
    for wrap in [|envelope: &str| envelope.to_owned(), |envelope: &str| format!("{{\"envelope\":{envelope}}}")] {
        assert!(TransportMessage::read(wrap(&dense(limits::NODES_MAX)).as_bytes()).is_ok());
        let error = TransportMessage::read(wrap(&dense(limits::NODES_MAX + 1)).as_bytes()).unwrap_err().error();
        assert_eq!(error.error_code(), Some(ErrorCode::TooLarge));
    }

    let deep = |levels: usize| format!("{}1{}", "{\"a\":".repeat(levels), "}".repeat(levels));
    let wrapped = |levels| format!("{{\"envelope\":{}}}", deep(levels));
    assert!(TransportMessage::read(wrapped(limits::DEPTH_MAX).as_bytes()).is_ok());
    assert!(TransportMessage::read(deep(limits::DEPTH_MAX).as_bytes()).is_ok());
    for payload in [wrapped(limits::DEPTH_MAX + 1), deep(limits::DEPTH_MAX + 1)] {
        let error = TransportMessage::read(payload.as_bytes()).unwrap_err().error();
        assert_eq!(error.error_code(), Some(ErrorCode::TooDeep));
    }
}

proptest! {
    /// Whatever ids an envelope has: if its headers can be built, they agree with it, and with no other id.
    #[test]
    fn built_headers_agree(id in any::<String>(), session in any::<Option<String>>(), other in any::<String>()) {
        let envelope = json!({"aip_version": "1.0", "message_type": "aip.core.v1.ack", "message_id": id, "session_id": session});
        let message = TransportMessage::new(envelope);
        if let Ok(headers) = message.headers() {
            prop_assert_eq!(message.check_headers(headers.iter().copied()), Ok(()));
            prop_assert!(headers.iter().all(|(_, value)| !value.contains(['\r', '\n']) && value.trim() == *value));
        }
        let same = other == id;
        prop_assert_eq!(message.check_headers([("AIP-Message-Id", other.as_str())]).is_ok(), same);
    }
}
