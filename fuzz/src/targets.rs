//! The properties. Shared by path with the test that runs the corpora (`shared/bus/tests/fuzz_corpus.rs`).

use aip_bus::subjects::{self, CanonicalSubject, Token};
use aip_crypto::session::{Channel, Ephemeral, Lifetime, Sealed, Side, Terms};
use aip_crypto::{Did, SigningKey};
use aip_types::Millis;
use aip_types::document::{self, Bounds};
use aip_types::sse::{Decoder, EventName, ServerEvent, SseFault};
use aip_types::transport::TransportMessage;
use aip_types::websocket::{self, Frame, Incoming};
use serde_json::{Map, Value};

/// A message that is taken is written again as one that is taken, and then stays as it is.
pub fn envelope(bytes: &[u8]) {
    let Ok(received) = aip_schema::receive(bytes) else { return };
    let written = serde_json::to_string(&received.envelope).expect("an envelope is written");
    let again = aip_schema::receive(written.as_bytes()).unwrap_or_else(|fault| panic!("{fault}: {written}"));
    assert_eq!(again.envelope, received.envelope);
    assert_eq!(serde_json::to_string(&again.envelope).expect("an envelope is written"), written);
}

/// Canonical text reads back to its value, is its own canonical text, and is what another writer makes of sorted members.
pub fn canonical(bytes: &[u8]) {
    let Ok(value) = document::parse(bytes, Bounds::ENVELOPE) else {
        return;
    };
    let text = aip_crypto::canonical(&value);
    assert_eq!(text, sorted(&value).to_string());
    // Escapes may grow a text past the bounds of a document, so the check on the way back has room.
    let room = Bounds { bytes_max: usize::MAX, string_bytes_max: usize::MAX, ..Bounds::ENVELOPE };
    let again = document::parse(text.as_bytes(), room).unwrap_or_else(|fault| panic!("{fault}: {text}"));
    assert_eq!(again, value);
    assert_eq!(aip_crypto::canonical(&again), text);
    let loose: Value = serde_json::from_slice(bytes).expect("what the strict reader takes, every reader takes");
    assert!(loose.to_string().len() >= text.len(), "a number only grows when it is rewritten");
    signed(value);
}

/// The value with the members of every object inserted in the order of their bytes, whatever map serde_json is built with.
fn sorted(value: &Value) -> Value {
    match value {
        Value::Array(items) => Value::Array(items.iter().map(sorted).collect()),
        Value::Object(members) => {
            let mut names: Vec<&String> = members.keys().collect();
            names.sort_by(|one, other| one.as_bytes().cmp(other.as_bytes()));
            Value::Object(names.into_iter().map(|name| (name.clone(), sorted(&members[name]))).collect::<Map<_, _>>())
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.clone(),
    }
}

/// Whatever can be signed verifies, and no longer after a change.
fn signed(mut value: Value) {
    let Ok(key) = SigningKey::from_seed(&[7; 32]) else { panic!("a seed is a key") };
    let received = aip_crypto::verify_envelope(&value);
    if aip_crypto::sign_envelope(&mut value, &key).is_ok() {
        assert_eq!(aip_crypto::verify_envelope(&value).as_ref(), Ok(key.did()), "{received:?}");
        value["security"]["signed_by"] = Value::from("somebody else");
        assert!(aip_crypto::verify_envelope(&value).is_err());
    }
}

/// Nothing that is read from a subject is built otherwise, and no text changes the shape of a subject.
pub fn subject(bytes: &[u8]) {
    let Ok(text) = core::str::from_utf8(bytes) else { return };
    if let Some(read) = CanonicalSubject::parse(text) {
        assert_eq!(read.build(), text);
    }
    if let Ok(token) = Token::new(text) {
        assert_is_token(token.as_str());
        assert_eq!(Token::new(token.as_str()).as_ref(), Ok(&token));
    }
    let id = subjects::id_token(text);
    assert_is_token(&id);
    assert!(id == text || id.len() == 66 && id.starts_with("h_"), "{id}");
    if let Some(entry) = subjects::EntrySubject::parse(text) {
        // A live copy (`aipl`) names the entry (`aipj`) that it is a copy of.
        let of = text.strip_prefix("aipl.").map_or_else(|| text.to_owned(), |rest| format!("aipj.{rest}"));
        assert_eq!(entry.key.entry(&entry.event), of);
    }
    let _read = (
        subjects::DueSubject::parse(text),
        subjects::Origin::parse(text),
        subjects::parse_report(text),
        (subjects::parse_lease(text), subjects::parse_registry(text), subjects::parse_liveness(text)),
        (subjects::parse_chunk_fence(text), subjects::is_inbox(text), subjects::is_foreign(text)),
    );
}

fn assert_is_token(token: &str) {
    assert!(!token.is_empty(), "an empty token");
    assert!(
        !token.contains(|c: char| matches!(c, '.' | '*' | '>') || c.is_whitespace() || c.is_control()),
        "{token:?}"
    );
}

/// A key has one DID and a DID one spelling.
pub fn did_key(bytes: &[u8]) {
    if let Ok(text) = core::str::from_utf8(bytes)
        && let Ok(did) = Did::parse(text)
    {
        assert_eq!(did.as_str(), text);
        assert_eq!(Did::from_key(did.key()).as_ref(), Ok(&did));
    }
    if let Some(key) = bytes.first_chunk::<32>()
        && let Ok(did) = Did::from_key(*key)
    {
        assert_eq!(did.key(), *key);
        assert_eq!(Did::parse(did.as_str()).as_ref(), Ok(&did));
    }
    if let Ok(text) = core::str::from_utf8(bytes)
        && let Ok(key) = SigningKey::from_file_text(text)
    {
        assert_eq!(Did::parse(key.did().as_str()).as_ref(), Ok(key.did()));
        assert_eq!(key.to_file_text().trim(), text.trim().to_ascii_lowercase());
    }
}

/// Frames mean the same wherever they are cut, and what is taken is written again as something that is taken.
pub fn frames(bytes: &[u8]) {
    let (room, stream) = bytes.split_first().map_or((0, bytes), |(first, rest)| (usize::from(*first), rest));
    server_events(stream, room);
    websocket_frames(bytes);
    if let Ok(message) = TransportMessage::read(bytes) {
        let written = message.write().expect("what was read is written");
        assert_eq!(TransportMessage::read(written.as_bytes()).as_ref(), Ok(&message));
        if let Ok(headers) = message.headers() {
            assert_eq!(message.check_headers(headers), Ok(()));
        }
        sealed(&message.envelope);
    }
}

type Read = (Vec<ServerEvent>, Result<(), SseFault>, String, Option<u64>);

fn server_events(stream: &[u8], room: usize) {
    let read = |pieces: &mut dyn Iterator<Item = &[u8]>| -> Read {
        let (mut decoder, mut events, mut end) = (Decoder::new(room), Vec::new(), Ok(()));
        for piece in pieces {
            end = decoder.feed(piece, &mut events);
        }
        (events, end, decoder.last_event_id().to_owned(), decoder.retry_ms())
    };
    let whole = read(&mut core::iter::once(stream));
    assert_eq!(read(&mut stream.chunks(1)), whole);
    assert_eq!(read(&mut stream.chunks(room.max(2))), whole);
    let middle = stream.split_at(stream.len() / 2);
    assert_eq!(read(&mut [middle.0, middle.1].into_iter()), whole);
}

fn websocket_frames(bytes: &[u8]) {
    let _told = (websocket::receive(Frame::Binary(bytes)), websocket::receive(Frame::Ping(bytes)));
    let Ok(text) = core::str::from_utf8(bytes) else { return };
    if let Incoming::Envelope(envelope) = websocket::receive(Frame::Text(text)) {
        let written = websocket::text(&envelope).expect("what was taken is sent");
        assert_eq!(websocket::receive(Frame::Text(&written)), Incoming::Envelope(envelope.clone()));
        if let Ok(frame) = aip_types::sse::frame("1", None, &envelope) {
            let mut events = Vec::new();
            assert_eq!(Decoder::new(frame.len()).feed(frame.as_bytes(), &mut events), Ok(()));
            let [event] = events.as_slice() else { panic!("one frame is one event") };
            assert_eq!((event.event.as_str(), &event.data), (EventName::of(&envelope).as_str(), &written));
        }
    }
}

/// No document opens in a session that did not seal it.
fn sealed(value: &Value) {
    let Ok(sealed) = Sealed::from_value(value) else { return };
    assert_eq!(Sealed::from_value(&sealed.to_value()).as_ref(), Ok(&sealed));
    let (own, peer) = (Ephemeral::new(&[1; 32]), Ephemeral::new(&[2; 32]).public());
    let lifetime = Lifetime::new(u64::from(u32::MAX), 1_000).expect("a lifetime");
    let terms = Terms { session_id: &sealed.session_id, side: Side::Initiator, lifetime };
    if let Ok(mut channel) = Channel::establish(own, &peer, terms, Millis(0)) {
        assert!(channel.open(&sealed, Millis(1)).is_err());
    }
}
