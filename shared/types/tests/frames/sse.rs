//! Server-sent events (AIP 1.0 §20.2).

use aip_types::sse::{Decoder, EventName, ServerEvent, SseFault, comment, frame};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::{fixtures, read, text};

const ROOM: usize = 4_096;

fn bytes(fixture: &Value) -> Vec<u8> {
    match fixture["hex"].as_str() {
        Some(digits) => unhex(digits),
        None => text(fixture, "stream").as_bytes().to_vec(),
    }
}

pub(crate) fn unhex(digits: &str) -> Vec<u8> {
    let pair = |at| u8::from_str_radix(digits.get(at..at + 2).unwrap(), 16).unwrap();
    (0..digits.len()).step_by(2).map(pair).collect()
}

/// All events of a stream that comes in these pieces, and whether it could be read to its end.
fn events<'p>(
    pieces: impl IntoIterator<Item = &'p [u8]>,
    room: usize,
) -> (Vec<ServerEvent>, Result<(), SseFault>, Decoder) {
    let (mut decoder, mut events) = (Decoder::new(room), Vec::new());
    let mut end = Ok(());
    for piece in pieces {
        end = decoder.feed(piece, &mut events);
    }
    (events, end, decoder)
}

#[test]
fn frames_are_written_as_published() {
    for fixture in fixtures("sse", "written") {
        let envelope = read(text(&fixture, "envelope"));
        let name = EventName::of(&envelope);
        let written = frame(text(&fixture, "id"), fixture["retry_ms"].as_u64(), &envelope).unwrap();
        assert_eq!(written, text(&fixture, "frame"), "{}", fixture["name"]);
        assert_eq!(name.as_str(), text(&fixture, "event"), "{}", fixture["name"]);
        assert_eq!(name.is_terminal(), fixture["terminal"].as_bool().unwrap(), "{}", fixture["name"]);
        let (events, _, decoder) = events([written.as_bytes()], ROOM);
        assert_eq!(events.len(), 1, "{}", fixture["name"]);
        assert_eq!(read(&events[0].data), envelope, "{}", fixture["name"]);
        assert_eq!(decoder.last_event_id(), text(&fixture, "id"), "{}", fixture["name"]);
    }
    for fixture in fixtures("sse", "not_written") {
        assert_eq!(frame(text(&fixture, "id"), None, &json!({})), Err(SseFault::Id), "{}", fixture["name"]);
    }
}

#[test]
fn streams_are_read_as_published_wherever_they_are_cut() {
    for fixture in fixtures("sse", "read") {
        let bytes = bytes(&fixture);
        let expected: Vec<ServerEvent> = fixture["events"]
            .as_array()
            .unwrap()
            .iter()
            .map(|event| {
                let part = |at: usize| event[at].as_str().unwrap().to_owned();
                ServerEvent { id: part(0), event: part(1), data: part(2) }
            })
            .collect();
        let whole = events([bytes.as_slice()], ROOM);
        assert_eq!((&whole.0, whole.1), (&expected, Ok(())), "{}", fixture["name"]);
        assert_eq!(events(bytes.chunks(1), ROOM).0, expected, "{}", fixture["name"]);
        for cut in 0..bytes.len() {
            let (head, tail) = bytes.split_at(cut);
            assert_eq!(events([head, tail], ROOM).0, expected, "{} cut at {cut}", fixture["name"]);
        }
        if let Some(id) = fixture["last_event_id"].as_str() {
            assert_eq!(whole.2.last_event_id(), id, "{}", fixture["name"]);
        }
        assert_eq!(whole.2.retry_ms(), fixture["retry_ms"].as_u64(), "{}", fixture["name"]);
    }
}

#[test]
fn an_event_is_bounded_and_one_byte_more_breaks_the_stream() {
    let stream = |bytes: usize| format!("data: first\n\ndata:{}\n\n", "x".repeat(bytes - 5));
    let (read, end, _) = events([stream(100).as_bytes()], 100);
    assert_eq!((read.len(), end), (2, Ok(())));
    let (read, end, mut decoder) = events([stream(101).as_bytes()], 100);
    assert_eq!((read.len(), end), (1, Err(SseFault::TooLarge)));
    let mut more = Vec::new();
    assert_eq!(decoder.feed(b"\n\ndata: a\n\n", &mut more), Err(SseFault::TooLarge));
    assert!(more.is_empty());
    let lines = "data: 12345678\n".repeat(50);
    assert_eq!(events([lines.as_bytes()], 100).1, Err(SseFault::TooLarge));
    let endless = events(std::iter::repeat_n(b"x".as_slice(), 101), 100);
    assert_eq!(endless.1, Err(SseFault::TooLarge));
}

#[test]
fn a_comment_is_no_event_whatever_it_says() {
    for said in ["", "alive", "a\n\ndata: x\n\nb", "\r\r\ndata: x"] {
        assert_eq!(events([comment(said).as_bytes()], ROOM).0, Vec::new(), "{said:?}");
    }
}

#[test]
fn a_body_that_cannot_be_told_is_a_message() {
    for envelope in [json!({}), json!([]), json!({"body": {}}), json!({"body": {"nothing": 1}}), json!({"body": 1})] {
        assert_eq!(EventName::of(&envelope), EventName::Message);
    }
}

/// Bytes that look like a stream.
fn stream() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        "(data|event|id|retry|x)?:? ?[a-z0-9é\u{0}]{0,6}".prop_map(String::into_bytes),
        Just(b"\r".to_vec()),
        Just(b"\n".to_vec()),
        Just(b"\r\n".to_vec()),
        Just(b"\n\n".to_vec()),
        Just(b"\xef\xbb\xbf".to_vec()),
        prop::collection::vec(any::<u8>(), 0..4),
    ];
    prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn where_a_stream_is_cut_does_not_matter(
        bytes in stream(),
        cuts in prop::collection::vec(1_usize..9, 1..40),
        room in 1_usize..200,
    ) {
        let whole = events([bytes.as_slice()], room);
        let (mut pieces, mut rest) = (Vec::new(), bytes.as_slice());
        for cut in cuts {
            let (piece, tail) = rest.split_at(cut.min(rest.len()));
            pieces.push(piece);
            rest = tail;
        }
        pieces.push(rest);
        let cut = events(pieces, room);
        prop_assert_eq!((whole.0, whole.1), (cut.0, cut.1));
        prop_assert_eq!(whole.2.last_event_id(), cut.2.last_event_id());
        prop_assert_eq!(whole.2.retry_ms(), cut.2.retry_ms());
    }

    #[test]
    fn what_is_written_is_read(ids in prop::collection::vec("[^\r\n\u{0}]{1,8}", 1..6), said in any::<String>()) {
        let envelope = json!({"body": {"ack": {"reason": said}}});
        let stream: String = ids.iter().map(|id| frame(id, None, &envelope).unwrap() + &comment(&said)).collect();
        let (events, end, _) = events([stream.as_bytes()], 65_536);
        prop_assert_eq!(end, Ok(()));
        let read_ids: Vec<&str> = events.iter().map(|event| event.id.as_str()).collect();
        prop_assert_eq!(&read_ids, &ids);
        let data = envelope.to_string();
        prop_assert!(events.iter().all(|event| event.event == "ack" && event.data == data));
    }
}
