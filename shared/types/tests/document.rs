//! The strict reader: what it takes, what it refuses, and where.
#![expect(clippy::unwrap_used, reason = "tests")]

use aip_types::document::{Bounds, DocumentFault, parse};
use aip_types::{ErrorCode, limits};
use serde_json::Value;

fn read(text: &str) -> Result<Value, DocumentFault> {
    parse(text.as_bytes(), Bounds::ENVELOPE)
}

#[track_caller]
fn refused(text: &str, code: ErrorCode, pointer: Option<&str>) {
    let fault = read(text).unwrap_err();
    assert_eq!((fault.code, fault.pointer.as_deref()), (code, pointer), "{:.80}", text);
}

fn nested(depth: usize) -> String {
    format!("{}{}", "[".repeat(depth), "]".repeat(depth))
}

#[test]
fn what_serde_json_reads_is_read_alike() {
    for text in [
        "null",
        "true",
        " [1, 2 ,{\"a\":[]}] ",
        "{}",
        "[]",
        "\"\"",
        "\"\\u0041\\ud83d\\ude00\\n\\/\\\\\\\"\\b\\f\\r\\t\"",
        "-0.5e+10",
        "{\"b\":1,\"a\":{\"c\":[null,false,\"ü\"]}}",
        "0",
        "-0",
    ] {
        assert_eq!(read(text).unwrap(), serde_json::from_str::<Value>(text).unwrap(), "{text}");
    }
}

#[test]
fn the_text_of_numbers_is_kept() {
    for number in [
        "1.0",
        "1.10",
        "1e2",
        "1E+2",
        "-0",
        "-0.0",
        "123456789012345678901234567890",
        "0.1000000000000000055511151231257827",
    ] {
        assert_eq!(read(&format!("[{number}]")).unwrap().to_string(), format!("[{number}]"));
    }
}

#[test]
fn what_is_no_json_is_refused() {
    for text in [
        "",
        " ",
        "{",
        "[",
        "[1",
        "[1,]",
        "{\"a\"}",
        "{\"a\":}",
        "{\"a\":1,}",
        "{a:1}",
        "'a'",
        "01",
        "1.",
        ".5",
        "+1",
        "-",
        "1e",
        "1e+",
        "NaN",
        "tru",
        "nul",
        "\"a",
        "\"\\x\"",
        "\"\\u12\"",
        "\"\\ud800\"",
        "\"\\ud800\\u0041\"",
        "\"\\udc00\"",
        "\"a\nb\"",
        "[1] 2",
        "{}{}",
        "\u{feff}{}",
        "[1 2]",
        "{\"a\":1 \"b\":2}",
        "]",
        "}",
        ",",
        "[}",
        "{]",
        "1,",
        "\"\\",
    ] {
        refused(text, ErrorCode::NotJson, None);
    }
    assert_eq!(parse(b"\"\xff\"", Bounds::ENVELOPE).unwrap_err().code, ErrorCode::NotJson);
}

#[test]
fn depth_64_is_read_and_65_is_refused() {
    assert!(read(&nested(limits::DEPTH_MAX)).is_ok());
    refused(&nested(limits::DEPTH_MAX + 1), ErrorCode::TooDeep, Some(&"/0".repeat(limits::DEPTH_MAX)));
    let objects = format!("{}1{}", "{\"a\":".repeat(65), "}".repeat(65));
    refused(&objects, ErrorCode::TooDeep, Some(&"/a".repeat(64)));
}

#[test]
fn a_million_brackets_do_not_overflow_the_stack() {
    let bounds =
        Bounds { depth_max: usize::MAX, nodes_max: usize::MAX, bytes_max: usize::MAX, string_bytes_max: usize::MAX };
    assert_eq!(parse("[".repeat(1_000_000).as_bytes(), bounds).unwrap_err().code, ErrorCode::NotJson);
}

#[test]
fn one_mebibyte_is_read_and_one_byte_more_is_refused() {
    let text = |bytes: usize| format!("[1{}]", " ".repeat(bytes - 3));
    assert!(read(&text(limits::ENVELOPE_BYTES_MAX)).is_ok());
    refused(&text(limits::ENVELOPE_BYTES_MAX + 1), ErrorCode::TooLarge, None);
}

#[test]
fn strings_and_names_are_bounded_by_their_decoded_bytes() {
    let max = limits::STRING_BYTES_MAX;
    let string = "a".repeat(max);
    assert!(read(&format!("{{\"{string}\":\"{string}\"}}")).is_ok());
    assert!(read(&format!("[\"{}\"]", "\\u0061".repeat(max / 8))).is_ok());
    refused(&format!("{{\"k\":\"{string}a\"}}"), ErrorCode::TooLarge, Some("/k"));
    refused(&format!("{{\"k\":{{\"{string}a\":1}}}}"), ErrorCode::TooLarge, Some("/k"));
    let bounds = Bounds { string_bytes_max: 4, ..Bounds::ENVELOPE };
    assert!(parse(b"\"\\n\\n\\n\\n\"", bounds).is_ok());
    assert_eq!(parse(b"\"\\n\\n\\n\\n\\n\"", bounds).unwrap_err().code, ErrorCode::TooLarge);
}

#[test]
fn values_are_counted() {
    let list = |items: usize| format!("[{}0]", "0,".repeat(items - 1));
    assert!(read(&list(limits::NODES_MAX - 1)).is_ok());
    refused(&list(limits::NODES_MAX), ErrorCode::TooLarge, Some("/99999"));
}

#[test]
fn numbers_are_bounded() {
    assert!(read(&"1".repeat(limits::NUMBER_BYTES_MAX)).is_ok());
    refused(&"1".repeat(limits::NUMBER_BYTES_MAX + 1), ErrorCode::TooLarge, Some(""));
}

#[test]
fn a_member_that_comes_twice_is_refused_at_any_level() {
    refused("{\"a\":1,\"a\":1}", ErrorCode::DuplicateMember, Some("/a"));
    refused("{\"x\":[0,{\"a~b\":1,\"c\":2,\"a~b\":1}]}", ErrorCode::DuplicateMember, Some("/x/1/a~0b"));
    refused("{\"a\":1,\"\\u0061\":1}", ErrorCode::DuplicateMember, Some("/a"));
}

#[test]
fn the_names_that_serde_json_uses_inside_are_refused() {
    refused(
        "{\"k/\":{\"$serde_json::private::Number\":\"1\"}}",
        ErrorCode::EnvelopeInvalid,
        Some("/k~1/$serde_json::private::Number"),
    );
    refused(
        "{\"$serde_json::private::RawValue\":\"1\"}",
        ErrorCode::EnvelopeInvalid,
        Some("/$serde_json::private::RawValue"),
    );
}
