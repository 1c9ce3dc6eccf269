//! The one strict reader of JSON from outside.
//!
//! One pass, no recursion, every bound checked while reading: size, depth, strings, numbers and count of values. A
//! member name that comes twice is refused at any level, since two readers could see two documents in it. The text of
//! numbers is kept as received, because hashes and signatures cover it.
//!
//! Source: AIP 1.0 §5.1, §22.8; `design.md` §10.

use core::mem;

use serde_json::{Map, Number, Value};

use crate::error::ProtocolError;
use crate::error_codes::ErrorCode;
use crate::limits;

/// What a document may cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// Bytes of the whole text.
    pub bytes_max: usize,
    /// Arrays and objects inside each other.
    pub depth_max: usize,
    /// Bytes of one string or member name, escapes resolved.
    pub string_bytes_max: usize,
    /// Values: scalars, arrays and objects.
    pub nodes_max: usize,
}

impl Bounds {
    /// The bounds of an envelope, or of any body that holds one.
    pub const ENVELOPE: Self = Self {
        bytes_max: limits::ENVELOPE_BYTES_MAX,
        depth_max: limits::DEPTH_MAX,
        string_bytes_max: limits::STRING_BYTES_MAX,
        nodes_max: limits::NODES_MAX,
    };

    /// The bounds of what the fleet itself has stored or sent: an envelope's content and what stands around it.
    pub const STORED: Self = Self {
        bytes_max: 2 * limits::ENVELOPE_BYTES_MAX,
        depth_max: limits::DEPTH_MAX + 16,
        string_bytes_max: 2 * limits::ENVELOPE_BYTES_MAX,
        nodes_max: limits::NODES_MAX * 4,
    };

    /// The bounds of a capability's input or output schema.
    pub const SCHEMA: Self =
        Self { bytes_max: limits::SCHEMA_BYTES_MAX, nodes_max: limits::SCHEMA_NODES_MAX, ..Self::ENVELOPE };
}

/// Why a document was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{rule} at byte {offset}")]
pub struct DocumentFault {
    /// The public code.
    pub code: ErrorCode,
    /// JSON Pointer of the value that breaks the rule; `None` where no document was recognised.
    pub pointer: Option<String>,
    /// The rule, as a fixed word.
    pub rule: &'static str,
    /// Byte of the text at which it was noticed.
    pub offset: usize,
}

impl From<DocumentFault> for ProtocolError {
    fn from(fault: DocumentFault) -> Self {
        let error = Self::from(fault.code);
        match &fault.pointer {
            Some(pointer) => error.with_finding(pointer, fault.rule),
            None => error,
        }
    }
}

/// Reads one JSON document.
///
/// # Errors
/// - [`ErrorCode::TooLarge`]: text, a string, a number or the count of values is past its bound.
/// - [`ErrorCode::TooDeep`]: arrays and objects nest more than `depth_max` levels.
/// - [`ErrorCode::DuplicateMember`]: an object names a member twice.
/// - [`ErrorCode::EnvelopeInvalid`]: a member name is reserved by the implementation.
/// - [`ErrorCode::NotJson`]: no UTF-8, no JSON, or something after the document.
pub fn parse(bytes: &[u8], bounds: Bounds) -> Result<Value, DocumentFault> {
    if bytes.len() > bounds.bytes_max {
        return Err(DocumentFault {
            code: ErrorCode::TooLarge,
            pointer: None,
            rule: "document_bytes_max",
            offset: bounds.bytes_max,
        });
    }
    let text = core::str::from_utf8(bytes).map_err(|fault| DocumentFault {
        code: ErrorCode::NotJson,
        pointer: None,
        rule: "utf8",
        offset: fault.valid_up_to(),
    })?;
    let mut reader = Reader { text, at: 0, bounds, nodes: 0, open: Vec::new() };
    reader.document().map_err(|(code, rule)| DocumentFault {
        code,
        pointer: (code != ErrorCode::NotJson).then(|| bounded_pointer(reader.pointer())),
        rule,
        offset: reader.at,
    })
}

/// The pointer, or its nearest parent that has at most [`limits::POINTER_BYTES_MAX`] bytes: member names are the sender's,
/// and an answer must not grow with them.
#[must_use]
pub fn bounded_pointer(mut pointer: String) -> String {
    while pointer.len() > limits::POINTER_BYTES_MAX {
        pointer.truncate(pointer.rfind('/').unwrap_or(0));
    }
    pointer
}

/// Code and rule; the reader knows the place.
type Fault = (ErrorCode, &'static str);

const SYNTAX: Fault = (ErrorCode::NotJson, "json_syntax");

/// An array or object that is not closed yet.
enum Open {
    Array(Vec<Value>),
    Object { members: Map<String, Value>, name: String },
}

/// What comes next in the text.
enum Next {
    /// A value must begin.
    Value,
    /// This value is complete: it belongs to what is open, or it is the document.
    Done(Value),
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    bounds: Bounds,
    nodes: usize,
    open: Vec<Open>,
}

impl Reader<'_> {
    fn document(&mut self) -> Result<Value, Fault> {
        let mut next = Next::Value;
        loop {
            next = match next {
                Next::Value => self.value()?,
                Next::Done(value) => match self.open.pop() {
                    Some(Open::Array(items)) => self.after_item(items, value)?,
                    Some(Open::Object { members, name }) => self.after_member(members, name, value)?,
                    None => {
                        self.space();
                        return if self.at == self.text.len() {
                            Ok(value)
                        } else {
                            Err((ErrorCode::NotJson, "trailing_bytes"))
                        };
                    }
                },
            };
        }
    }

    /// Begins a value; scalars and empty containers are complete at once.
    fn value(&mut self) -> Result<Next, Fault> {
        self.space();
        self.nodes = self.nodes.saturating_add(1);
        if self.nodes > self.bounds.nodes_max {
            return Err((ErrorCode::TooLarge, "values_max"));
        }
        let value = match self.peek() {
            Some(b'"') => Value::String(self.string()?),
            Some(b'-' | b'0'..=b'9') => Value::Number(self.number()?),
            Some(b'{') => {
                self.enter()?;
                if self.take(b'}') {
                    return Ok(Next::Done(Value::Object(Map::new())));
                }
                return self.member(Map::new());
            }
            Some(b'[') => {
                self.enter()?;
                if self.take(b']') {
                    return Ok(Next::Done(Value::Array(Vec::new())));
                }
                self.open.push(Open::Array(Vec::new()));
                return Ok(Next::Value);
            }
            Some(b't') => self.word("true", Value::Bool(true))?,
            Some(b'f') => self.word("false", Value::Bool(false))?,
            Some(b'n') => self.word("null", Value::Null)?,
            Some(_) | None => return Err(SYNTAX),
        };
        Ok(Next::Done(value))
    }

    /// Steps over the opening bracket.
    fn enter(&mut self) -> Result<(), Fault> {
        if self.open.len() >= self.bounds.depth_max {
            return Err((ErrorCode::TooDeep, "depth_max"));
        }
        self.at = self.at.saturating_add(1);
        self.space();
        Ok(())
    }

    fn after_item(&mut self, mut items: Vec<Value>, value: Value) -> Result<Next, Fault> {
        items.push(value);
        self.space();
        if self.take(b',') {
            self.open.push(Open::Array(items));
            Ok(Next::Value)
        } else if self.take(b']') {
            Ok(Next::Done(Value::Array(items)))
        } else {
            Err(SYNTAX)
        }
    }

    fn after_member(&mut self, mut members: Map<String, Value>, name: String, value: Value) -> Result<Next, Fault> {
        members.insert(name, value);
        self.space();
        if self.take(b',') {
            self.space();
            self.member(members)
        } else if self.take(b'}') {
            Ok(Next::Done(Value::Object(members)))
        } else {
            Err(SYNTAX)
        }
    }

    /// Reads a member name and its colon.
    fn member(&mut self, members: Map<String, Value>) -> Result<Next, Fault> {
        if self.peek() != Some(b'"') {
            return Err(SYNTAX);
        }
        let name = self.string()?;
        let twice = members.contains_key(&name);
        // serde_json carries numbers and raw text through objects with such a member; a real one would be taken for it.
        let reserved = name.starts_with("$serde_json::private::");
        self.open.push(Open::Object { members, name });
        if twice {
            return Err((ErrorCode::DuplicateMember, "unique_members"));
        }
        if reserved {
            return Err((ErrorCode::EnvelopeInvalid, "reserved_member"));
        }
        self.space();
        if self.take(b':') { Ok(Next::Value) } else { Err(SYNTAX) }
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn take(&mut self, byte: u8) -> bool {
        let there = self.peek() == Some(byte);
        self.at = self.at.saturating_add(usize::from(there));
        there
    }

    fn space(&mut self) {
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = self.peek() {
            self.at = self.at.saturating_add(1);
        }
    }

    fn word(&mut self, word: &str, value: Value) -> Result<Value, Fault> {
        let rest = self.text.as_bytes().get(self.at..).unwrap_or_default();
        if !rest.starts_with(word.as_bytes()) {
            return Err(SYNTAX);
        }
        self.at = self.at.saturating_add(word.len());
        Ok(value)
    }

    /// `-? int frac? exp?`, kept as text.
    fn number(&mut self) -> Result<Number, Fault> {
        let start = self.at;
        self.take(b'-');
        if !self.take(b'0') && self.digits() == 0 {
            return Err(SYNTAX);
        }
        if self.take(b'.') && self.digits() == 0 {
            return Err(SYNTAX);
        }
        if self.take(b'e') || self.take(b'E') {
            let _signed = self.take(b'+') || self.take(b'-');
            if self.digits() == 0 {
                return Err(SYNTAX);
            }
        }
        let text = self.text.get(start..self.at).unwrap_or_default();
        if text.len() > limits::NUMBER_BYTES_MAX {
            return Err((ErrorCode::TooLarge, "number_bytes_max"));
        }
        // `str::parse` would rewrite `1e2` to `1e+2`, and a signature over the first would not verify.
        Ok(Number::from_string_unchecked(text.to_owned()))
    }

    fn digits(&mut self) -> usize {
        let start = self.at;
        while let Some(b'0'..=b'9') = self.peek() {
            self.at = self.at.saturating_add(1);
        }
        self.at.saturating_sub(start)
    }

    /// A string, the opening quote included; most have no escape and are copied in one piece.
    fn string(&mut self) -> Result<String, Fault> {
        self.at = self.at.saturating_add(1);
        let mut out = String::new();
        loop {
            let rest = self.text.get(self.at..).unwrap_or_default();
            let plain = rest.bytes().position(|byte| matches!(byte, b'"' | b'\\' | 0..0x20)).ok_or(SYNTAX)?;
            let (piece, tail) = rest.split_at_checked(plain).ok_or(SYNTAX)?;
            self.at = self.at.saturating_add(plain);
            if out.len().saturating_add(piece.len()) > self.bounds.string_bytes_max {
                return Err((ErrorCode::TooLarge, "string_bytes_max"));
            }
            out.push_str(piece);
            match tail.as_bytes().first() {
                Some(b'"') => {
                    self.at = self.at.saturating_add(1);
                    return if out.len() > self.bounds.string_bytes_max {
                        Err((ErrorCode::TooLarge, "string_bytes_max"))
                    } else {
                        Ok(out)
                    };
                }
                Some(b'\\') => out.push(self.escape()?),
                Some(_) | None => return Err(SYNTAX),
            }
        }
    }

    fn escape(&mut self) -> Result<char, Fault> {
        self.at = self.at.saturating_add(1);
        let kind = self.peek().ok_or(SYNTAX)?;
        self.at = self.at.saturating_add(1);
        match kind {
            b'"' => Ok('"'),
            b'\\' => Ok('\\'),
            b'/' => Ok('/'),
            b'b' => Ok('\u{8}'),
            b'f' => Ok('\u{c}'),
            b'n' => Ok('\n'),
            b'r' => Ok('\r'),
            b't' => Ok('\t'),
            b'u' => self.unicode(),
            _ => Err(SYNTAX),
        }
    }

    /// The character of `\uXXXX`, or of a surrogate pair of them; a lone surrogate is no character.
    fn unicode(&mut self) -> Result<char, Fault> {
        let first = self.hex4()?;
        if !(0xd800..0xdc00).contains(&first) {
            return char::from_u32(first).ok_or(SYNTAX);
        }
        if !(self.take(b'\\') && self.take(b'u')) {
            return Err(SYNTAX);
        }
        let second = self.hex4()?;
        if !(0xdc00..0xe000).contains(&second) {
            return Err(SYNTAX);
        }
        char::from_u32(0x1_0000 + ((first - 0xd800) << 10) + (second - 0xdc00)).ok_or(SYNTAX)
    }

    fn hex4(&mut self) -> Result<u32, Fault> {
        let mut value = 0;
        for _ in 0..4 {
            let digit = self.peek().and_then(|byte| char::from(byte).to_digit(16)).ok_or(SYNTAX)?;
            value = value << 4 | digit;
            self.at = self.at.saturating_add(1);
        }
        Ok(value)
    }

    /// The JSON Pointer of the place that is being read.
    fn pointer(&mut self) -> String {
        let mut pointer = String::new();
        for open in mem::take(&mut self.open) {
            pointer.push('/');
            match open {
                Open::Array(items) => pointer.push_str(&items.len().to_string()),
                Open::Object { name, .. } => pointer.push_str(&name.replace('~', "~0").replace('/', "~1")),
            }
        }
        pointer
    }
}
/// Whether a value nests deeper than this. It was read by a parser that bounds nesting, so the recursion is bounded too.
#[must_use]
pub fn deeper_than(value: &Value, depth: usize) -> bool {
    let Some(left) = depth.checked_sub(1) else {
        return value.is_array() || value.is_object();
    };
    match value {
        Value::Array(items) => items.iter().any(|item| deeper_than(item, left)),
        Value::Object(members) => members.values().any(|member| deeper_than(member, left)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}
