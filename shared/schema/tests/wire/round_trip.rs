//! A document survives its type: every body, arbitrary members, odd numbers and texts (AIP 1.0 §5.1, §5.4, §5.5).

use aip_crypto::canonical;
use aip_schema::Schemas;
use aip_types::document::{self, Bounds};
use aip_types::{Envelope, MessageType, exact};
use proptest::prelude::*;
use serde_json::{Map, Value};

use crate::shapes::{Shapes, envelope};

/// Numbers as somebody may write them; none of them may be written anew.
const NUMBERS: [&str; 22] = [
    "0",
    "-0",
    "0.0",
    "-0.0",
    "1e16",
    "1E2",
    "1e+2",
    "1e-7",
    "0.0000001",
    "0.1",
    "100.50",
    "1.0",
    "1e400",
    "-1e-400",
    "9007199254740993",
    "9223372036854775807",
    "-9223372036854775808",
    "18446744073709551615",
    "18446744073709551616",
    "340282366920938463463374607431768211456",
    "12345678901234567890.12345678901234567890",
    "1e22",
];
const TEXTS: [&str; 8] = [
    "x",
    "",
    "Grüße",
    "\u{1f44b}\u{10ffff}",
    "\"\\/\u{8}\u{c}\n\r\t",
    "\u{0}\u{1f}\u{7f}",
    "\u{ffff}\u{d7ff}",
    "e\u{301}",
];
const INSTANTS: [&str; 3] =
    ["2026-11-29T12:00:00Z", "2026-11-29t16:00:00.123456789+04:00", "1969-12-31T23:59:59.9-23:59"];
const DEPTH_MAX: usize = 12;

/// Makes documents from choices: a byte each, 0 when they are used up, so that fewer choices make a smaller document.
struct Maker<'s> {
    shapes: &'s Shapes,
    choices: core::slice::Iter<'s, u8>,
}

impl Maker<'_> {
    fn choose(&mut self, of: usize) -> usize {
        self.choices.next().map_or(0, |choice| usize::from(*choice) % of)
    }

    fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.choose(of.len())]
    }

    fn number(&mut self) -> Value {
        Value::Number(serde_json::Number::from_string_unchecked(self.pick(&NUMBERS).to_owned()))
    }

    fn anything(&mut self, depth: usize) -> Value {
        match self.choose(if depth > DEPTH_MAX { 4 } else { 7 }) {
            0 => self.number(),
            1 => Value::from(self.pick(&TEXTS)),
            2 => Value::Bool(self.choose(2) == 1),
            3 => Value::Null,
            4 => (0..self.choose(4)).map(|_| self.anything(depth + 1)).collect(),
            _ => {
                let count = self.choose(4);
                Value::Object((0..count).map(|_| (self.pick(&TEXTS).to_owned(), self.anything(depth + 1))).collect())
            }
        }
    }

    fn make(&mut self, schema: &Value, depth: usize) -> Value {
        if let Some(branches) = schema.get("anyOf") {
            return if self.choose(4) == 3 { Value::Null } else { self.make(&branches[0], depth) };
        }
        let shapes = self.shapes;
        if let Some(name) = shapes.referred(schema) {
            let schema = shapes.definition(name).clone();
            let alias = schema["type"] == "string" && schema.get("enum").is_none();
            return if alias {
                Value::from(self.pick(&["id", "é\u{1f44b}", "\"\\\n"]))
            } else {
                self.make(&schema, depth)
            };
        }
        if let Some(fixed) = schema.get("const") {
            return fixed.clone();
        }
        if let Some(values) = schema["enum"].as_array() {
            return values[self.choose(values.len())].clone();
        }
        if let Some(branches) = schema["oneOf"].as_array() {
            let flat = |branch: &&Value| shapes.resolve(branch)["properties"].get("rules").is_none();
            let open: Vec<_> = branches.iter().filter(|branch| depth < DEPTH_MAX || flat(branch)).collect();
            let chosen = self.choose(open.len());
            return self.make(open[chosen], depth + 1);
        }
        let kind = match schema["type"].as_array() {
            Some(kinds) if self.choose(4) == 3 => kinds[1].as_str(),
            Some(kinds) => kinds[0].as_str(),
            None => schema["type"].as_str(),
        };
        match kind {
            Some("null") => Value::Null,
            Some("string") if schema["format"] == "date-time" => Value::from(self.pick(&INSTANTS)),
            Some("string") => Value::from(self.pick(&TEXTS)),
            Some("integer") if schema["format"] == "uint32" => Value::from(self.pick(&[0, 1, 7, u32::MAX])),
            Some("integer") => Value::from(self.pick(&[0, 1, 9_007_199_254_740_993, u64::MAX])),
            Some("number") => self.number(),
            Some("boolean") => Value::Bool(self.choose(2) == 1),
            Some("array") => {
                let count = if depth > DEPTH_MAX { 0 } else { self.choose(3) };
                (0..count).map(|_| self.make(&schema["items"], depth + 1)).collect()
            }
            Some("object") => self.object(schema, depth),
            Some(other) => panic!("{other}"),
            None => self.anything(depth),
        }
    }

    fn object(&mut self, schema: &Value, depth: usize) -> Value {
        let mut object = Map::new();
        let none = Map::new();
        let members = schema["properties"].as_object().unwrap_or(&none);
        if schema["maxProperties"] == 1 {
            let (name, inner) = members.iter().nth(self.choose(members.len())).unwrap();
            object.insert(name.clone(), self.make(inner, depth + 1));
            return Value::Object(object);
        }
        let required = schema["required"].as_array().cloned().unwrap_or_default();
        for (name, inner) in members {
            let needed = required.iter().any(|one| one == name);
            if needed || (depth < DEPTH_MAX && self.choose(2) == 1) {
                object.insert(name.clone(), self.make(inner, depth + 1));
            }
        }
        let open = &schema["additionalProperties"];
        let further = if open == false { 0 } else { self.choose(3) };
        for index in 0..further {
            let value = if open.is_object() { self.make(open, depth + 1) } else { self.anything(depth) };
            object.insert(format!("further-{index}"), value);
        }
        Value::Object(object)
    }
}

/// What is left of a document when everything is omitted that means the same as its absence (AIP 1.0 §5.4).
fn plain(shapes: &Shapes, schema: &Value, value: &Value) -> Value {
    if value.is_null() {
        return Value::Null;
    }
    let schema = schema.get("anyOf").map_or(schema, |branches| &branches[0]);
    if let Some(name) = shapes.referred(schema) {
        return plain(shapes, shapes.definition(name), value);
    }
    if let Some(branches) = schema["oneOf"].as_array() {
        let is_meant = |branch: &&Value| {
            let members = shapes.resolve(branch)["properties"].as_object().unwrap();
            members.iter().any(|(name, member)| member.get("const").is_some_and(|fixed| value[name] == *fixed))
        };
        return plain(shapes, branches.iter().find(is_meant).unwrap(), value);
    }
    match (value, schema.get("items")) {
        (Value::Array(items), Some(inner)) => items.iter().map(|item| plain(shapes, inner, item)).collect(),
        (Value::Object(members), _) if schema["type"] == "object" => {
            let empty = Map::new();
            let known = schema["properties"].as_object().unwrap_or(&empty);
            let required = schema["required"].as_array().cloned().unwrap_or_default();
            let mut object = Map::new();
            for (name, member) in members {
                let Some(inner) = known.get(name) else {
                    object.insert(name.clone(), member.clone());
                    continue;
                };
                let member = plain(shapes, inner, member);
                let list = inner["type"] == "array" && member.as_array().is_some_and(Vec::is_empty);
                // A group of flags that has none set is left out as well.
                let map = (inner["type"] == "object" || inner.get("$ref").is_some())
                    && member.as_object().is_some_and(Map::is_empty);
                let absent = member.is_null() || list || map || inner.get("default") == Some(&member);
                if required.iter().any(|one| one == name) || !absent {
                    object.insert(name.clone(), member);
                }
            }
            Value::Object(object)
        }
        (_, _) => value.clone(),
    }
}

fn read(text: &str) -> (Value, Envelope) {
    let document = document::parse(text.as_bytes(), Bounds::ENVELOPE).unwrap();
    let typed = exact::typed(&document).unwrap();
    (document, typed)
}

fn survives(shapes: &Shapes, kind: MessageType, choices: &[u8]) -> Result<(), TestCaseError> {
    let body = shapes.body(kind);
    let mut maker = Maker { shapes, choices: choices.iter() };
    let mut whole = envelope(kind, &maker.make(shapes.definition(&body), 0));
    for member in ["trace", "extensions"] {
        whole[member] = maker.anything(0);
    }
    let text = canonical(&whole);
    let received = document::parse(text.as_bytes(), Bounds::ENVELOPE).unwrap();
    if let Err(fault) = Schemas::embedded().unwrap().check_envelope(&received) {
        prop_assert!(false, "the generator made what the schema refuses: {fault}: {text}");
    }
    let (first_document, first) = read(&text);
    prop_assert_eq!(canonical(&first_document), text.clone(), "the reader keeps every number");
    let once = serde_json::to_string(&first).unwrap();
    let (once_document, second) = read(&once);
    let twice = serde_json::to_string(&second).unwrap();
    prop_assert_eq!(&once, &twice, "what was written is read and written alike");
    prop_assert_eq!(&first, &second);
    let mut wanted = whole.clone();
    wanted["body"][kind.body_key()] = plain(shapes, shapes.definition(&body), &whole["body"][kind.body_key()]);
    for member in ["trace", "extensions"] {
        if wanted[member].is_null() {
            wanted.as_object_mut().unwrap().remove(member);
        }
    }
    prop_assert_eq!(canonical(&once_document), canonical(&wanted), "nothing but absent members is lost");
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 16, max_shrink_iters: 200, ..ProptestConfig::default() })]
    #[test]
    fn every_body_survives_its_type(choices in prop::collection::vec(any::<u8>(), 0..1_500)) {
        let shapes = Shapes::read();
        for kind in MessageType::ALL {
            survives(&shapes, *kind, &choices)?;
        }
    }
}

#[test]
fn escapes_and_surrogate_pairs_are_one_text_however_they_were_written() {
    let text = r#"{"aip_version":"1.0","message_type":"aip.core.v1.action","message_id":"msg_1","sent_at":"2026-11-29T12:00:00Z",
        "body":{"action":{"id":"act_1","capability_id":"cap","input":{"a":"\ud83d\udc4b\u00e9\/\u000a","b":[-0,1e16,0.10,1E2,0.0000001]}}}}"#;
    let (_, envelope) = read(text);
    let again = serde_json::to_string(&envelope).unwrap();
    assert!(again.contains(r#"{"a":"👋é/\n","b":[-0,1e16,0.10,1E2,0.0000001]}"#), "{again}");
}
