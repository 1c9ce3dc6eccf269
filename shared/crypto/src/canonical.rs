//! Canonical JSON (AIP 1.0 §5.5, §18.2, §22.2).

use alloc::string::String;
use alloc::vec::Vec;

use serde_json::{Map, Value};

/// The canonical text of `value`: compact JSON whose object members are sorted, at every level, by the UTF-8 bytes of
/// their names.
///
/// Numbers stand as they were written (`1.0` stays `1.0`, `1E2` stays `1E2`, 40 digits stay 40 digits): `value` is a
/// document as [`aip_types::document::parse`] read it, since `serde_json`'s own reader rewrites exponents. Arrays keep
/// their order. Strings escape only `"`, `\` and the controls below U+0020 (short forms where JSON has one, else
/// `\u00xx` in lower case). There is no Unicode normalisation. Nulls stay. This is not RFC 8785, which rewrites numbers
/// and sorts by UTF-16.
///
/// Source: AIP 1.0 §5.5, §22.2; decision on numbers: design §8.
#[must_use]
pub fn canonical(value: &Value) -> String {
    canonical_without(value, &[])
}

/// The canonical text of `value` without the one member that `path` names; an empty path omits nothing.
///
/// Only the exact path is omitted: a member of the same name elsewhere stays (AIP 1.0 §22.2).
pub(crate) fn canonical_without(value: &Value, path: &[&str]) -> String {
    let mut out = String::new();
    write_value(value, path, &mut out);
    out
}

fn write_value(value: &Value, omit: &[&str], out: &mut String) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(true) => out.push_str("true"),
        Value::Bool(false) => out.push_str("false"),
        Value::Number(number) => out.push_str(number.as_str()),
        Value::String(text) => write_string(text, out),
        Value::Array(items) => write_array(items, out),
        Value::Object(members) => write_object(members, omit, out),
    }
}

fn write_array(items: &[Value], out: &mut String) {
    out.push('[');
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            out.push(',');
        }
        write_value(item, &[], out);
    }
    out.push(']');
}

fn write_object(members: &Map<String, Value>, omit: &[&str], out: &mut String) {
    // Sorted here and not left to the map: a dependency that switches on `preserve_order` must change nothing.
    if members.keys().is_sorted() {
        write_members(members.iter(), omit, out);
    } else {
        let mut sorted: Vec<(&String, &Value)> = members.iter().collect();
        sorted.sort_unstable_by(|left, right| left.0.as_bytes().cmp(right.0.as_bytes()));
        write_members(sorted.into_iter(), omit, out);
    }
}

fn write_members<'a>(members: impl Iterator<Item = (&'a String, &'a Value)>, omit: &[&str], out: &mut String) {
    let mut first = true;
    out.push('{');
    for (name, value) in members {
        let inner = match omit.split_first() {
            Some((head, [])) if *head == name.as_str() => continue,
            Some((head, rest)) if *head == name.as_str() => rest,
            Some(_) | None => &[],
        };
        if !first {
            out.push(',');
        }
        first = false;
        write_string(name, out);
        out.push(':');
        write_value(value, inner, out);
    }
    out.push('}');
}

fn write_string(text: &str, out: &mut String) {
    out.push('"');
    if text.bytes().any(|byte| byte < 0x20 || byte == b'"' || byte == b'\\') {
        text.chars().for_each(|character| write_escaped(character, out));
    } else {
        out.push_str(text);
    }
    out.push('"');
}

fn write_escaped(character: char, out: &mut String) {
    match character {
        '"' => out.push_str("\\\""),
        '\\' => out.push_str("\\\\"),
        '\u{08}' => out.push_str("\\b"),
        '\t' => out.push_str("\\t"),
        '\n' => out.push_str("\\n"),
        '\u{0c}' => out.push_str("\\f"),
        '\r' => out.push_str("\\r"),
        control if control < ' ' => {
            let code = u32::from(control);
            out.push_str("\\u00");
            out.extend([code >> 4, code & 0xf].into_iter().filter_map(|digit| char::from_digit(digit, 16)));
        }
        plain => out.push(plain),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use aip_types::document::{Bounds, parse};
    use alloc::string::ToString as _;
    use serde_json::json;

    fn of(text: &str) -> String {
        canonical(&parse(text.as_bytes(), Bounds::ENVELOPE).unwrap())
    }

    #[test]
    fn members_are_sorted_at_every_level_and_arrays_keep_their_order() {
        assert_eq!(
            of(r#"{"b":[{"z":1,"a":2},3],"a":{"y":null,"x":true}}"#),
            r#"{"a":{"x":true,"y":null},"b":[{"a":2,"z":1},3]}"#
        );
    }

    #[test]
    fn names_sort_by_utf8_bytes_and_not_by_utf16() {
        assert_eq!(
            of("{\"\u{10000}\":1,\"\u{e000}\":2,\"é\":3,\"z\":4}"),
            "{\"z\":4,\"é\":3,\"\u{e000}\":2,\"\u{10000}\":1}"
        );
    }

    #[test]
    fn numbers_stand_as_written() {
        let text = "[1,1.0,1e2,1E21,1e+2,0.10,-0,-0.0,18446744073709551616,9007199254740993,1e400,1e-7]";
        assert_eq!(of(text), text);
    }

    #[test]
    fn only_quote_backslash_and_controls_are_escaped() {
        let value = json!("\u{0}\u{1f}\u{8}\t\n\u{c}\r\"\\/\u{7f}é\u{2028}\u{1f600}");
        assert_eq!(canonical(&value), "\"\\u0000\\u001f\\b\\t\\n\\f\\r\\\"\\\\/\u{7f}é\u{2028}\u{1f600}\"");
    }

    #[test]
    fn only_the_member_at_the_path_is_omitted() {
        let value = json!({"security": {"signature": "s", "did": "d"}, "body": {"security": {"signature": "in"}}, "signature": "top"});
        assert_eq!(
            canonical_without(&value, &["security", "signature"]),
            r#"{"body":{"security":{"signature":"in"}},"security":{"did":"d"},"signature":"top"}"#
        );
        assert_eq!(canonical_without(&json!({"hash": 1}), &["hash"]), "{}");
        assert_eq!(canonical_without(&json!([{"hash": 1}]), &["hash"]).to_string(), r#"[{"hash":1}]"#);
    }
}
