//! Typed reading that keeps the text of numbers.
//!
//! `serde_json` keeps it while it reads a text into a [`Value`] (but for the sign of an exponent), and loses it on the way
//! from a [`Value`] to a type: there `-0` becomes `0`, `0.0000001` becomes `1e-7`, `1e2` becomes `1e+2`. Hashes and
//! signatures cover the text, so raw values (inputs, outputs, extensions) must come through as they were written. The
//! untyped members of the wire types are read by the functions here, and [`typed`] reads a type from a document.
//!
//! Source: AIP 1.0 §5.5, §22.2; `design.md` §8.

use core::fmt;

use serde::de::value::{BorrowedStrDeserializer, StringDeserializer};
use serde::de::{DeserializeOwned, DeserializeSeed, Error as _, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, forward_to_deserialize_any};
use serde_json::{Error, Map, Number, Value};

use crate::document::{self, Bounds};

/// The name under which `serde_json` hands over the text of a number.
const NUMBER: &str = "$serde_json::private::Number";

/// Reads a type from a document; untyped members keep the text of their numbers.
///
/// # Errors
/// The document does not have the shape of the type. The error may repeat received values: it is not for a peer.
pub fn typed<T: DeserializeOwned>(document: &Value) -> Result<T, Error> {
    T::deserialize(Exact(document))
}

/// Reads a type from a text of our own, such as a stored entry; untyped members keep the text of their numbers.
///
/// As fast as `serde_json`, unless the text holds a number that `serde_json` would rewrite: one whose exponent has no sign.
///
/// # Errors
/// The text is no JSON, or has not the shape of the type. The error may repeat received values: it is not for a peer.
pub fn read<T: DeserializeOwned>(text: &[u8]) -> Result<T, Error> {
    if !has_bare_exponent(text) {
        return serde_json::from_slice(text);
    }
    let document = document::parse(text, Bounds::STORED).map_err(|fault| Error::custom(fault.rule))?;
    typed(&document)
}

/// Whether a number may have an exponent without a sign. Where a text inside a string looks like one, it says so too: that costs
/// time and changes nothing.
fn has_bare_exponent(text: &[u8]) -> bool {
    memchr::memchr2_iter(b'e', b'E', text).any(|at| {
        let (before, after) = (text.get(..at).unwrap_or_default(), text.get(at.saturating_add(1)));
        let whole = before.iter().rev().position(|byte| !(byte.is_ascii_digit() || matches!(byte, b'.' | b'-')));
        let start = whole.map_or(Some(&b' '), |length| before.iter().rev().nth(length));
        let (digit, number) = (before.last().is_some_and(u8::is_ascii_digit), after.is_some_and(u8::is_ascii_digit));
        digit && number && start.is_some_and(|byte| matches!(byte, b':' | b',' | b'[') || byte.is_ascii_whitespace())
    })
}

/// Reads an untyped member.
///
/// # Errors
/// It is no JSON value.
pub fn value<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Value, D::Error> {
    deserializer.deserialize_any(AnyValue)
}

/// Reads an optional untyped member; `null` stands for an absent one.
///
/// # Errors
/// It is no JSON value.
pub fn option<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    value(deserializer).map(|value| if value.is_null() { None } else { Some(value) })
}

/// Reads a list of untyped values.
pub(crate) fn list<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Value>, D::Error> {
    Vec::<Kept>::deserialize(deserializer).map(|items| items.into_iter().map(|item| item.0).collect())
}

/// Reads an optional number.
pub(crate) fn number<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Number>, D::Error> {
    match value(deserializer)? {
        Value::Null => Ok(None),
        Value::Number(number) => Ok(Some(number)),
        Value::Bool(_) | Value::String(_) | Value::Array(_) | Value::Object(_) => Err(D::Error::custom("not a number")),
    }
}

/// Reads the members of an object.
pub(crate) fn members<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Map<String, Value>, D::Error> {
    match value(deserializer)? {
        Value::Object(members) => Ok(members),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            Err(D::Error::custom("not an object"))
        }
    }
}

/// An untyped value inside another one.
struct Kept(Value);

impl<'de> Deserialize<'de> for Kept {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        value(deserializer).map(Self)
    }
}

struct AnyValue;

impl<'de> Visitor<'de> for AnyValue {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_none<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        value(deserializer)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_u128<E>(self, value: u128) -> Result<Value, E> {
        Ok(Number::from_u128(value).map_or(Value::Null, Value::Number))
    }

    fn visit_i128<E>(self, value: i128) -> Result<Value, E> {
        Ok(Number::from_i128(value).map_or(Value::Null, Value::Number))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(Kept(item)) = items.next_element()? {
            list.push(item);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some(name) = members.next_key::<String>()? {
            if object.is_empty() && name == NUMBER {
                let text: String = members.next_value()?;
                // It might come from a real member of that name, and would be written out as it stands.
                if !is_number(&text) {
                    return Err(A::Error::custom("not a number"));
                }
                return Ok(Value::Number(Number::from_string_unchecked(text)));
            }
            let Kept(member) = members.next_value()?;
            object.insert(name, member);
        }
        Ok(Value::Object(object))
    }
}

/// `-? int frac? exp?` of RFC 8259.
fn is_number(text: &str) -> bool {
    let unsigned = text.strip_prefix('-').unwrap_or(text);
    let (whole, rest) = digits(unsigned);
    if whole.is_empty() || (whole.len() > 1 && whole.starts_with('0')) {
        return false;
    }
    let rest = match rest.strip_prefix('.').map(digits) {
        Some(("", _)) => return false,
        Some((_, rest)) => rest,
        None => rest,
    };
    match rest.strip_prefix(['e', 'E']) {
        Some(exponent) => {
            let (power, rest) = digits(exponent.strip_prefix(['+', '-']).unwrap_or(exponent));
            !power.is_empty() && rest.is_empty()
        }
        None => rest.is_empty(),
    }
}

/// The digits that a text begins with, and the rest of it.
fn digits(text: &str) -> (&str, &str) {
    let count = text.bytes().take_while(u8::is_ascii_digit).count();
    text.split_at_checked(count).unwrap_or((text, ""))
}

/// A document that hands over the text of its numbers.
#[derive(Clone, Copy)]
struct Exact<'de>(&'de Value);

macro_rules! numbers {
    ($($read:ident $visit:ident)+) => {
        $(fn $read<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
            match self.0 {
                Value::Number(number) => match number.as_str().parse() {
                    Ok(number) => visitor.$visit(number),
                    Err(_) => Err(Error::custom("a number of another kind")),
                },
                Value::Null | Value::Bool(_) | Value::String(_) | Value::Array(_) | Value::Object(_) => {
                    self.deserialize_any(visitor)
                }
            }
        })+
    };
}

impl<'de> Deserializer<'de> for Exact<'de> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.0 {
            Value::Null => visitor.visit_unit(),
            Value::Bool(value) => visitor.visit_bool(*value),
            Value::Number(number) => visitor.visit_map(Text(Some(number.as_str()))),
            Value::String(text) => visitor.visit_borrowed_str(text),
            Value::Array(items) => visitor.visit_seq(Items(items.iter())),
            Value::Object(members) => visitor.visit_map(Members { members: members.iter(), value: None }),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        if self.0.is_null() { visitor.visit_none() } else { visitor.visit_some(self) }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    /// No enum of the wire has untyped content, so the ordinary way is exact.
    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.0.deserialize_enum(name, variants, visitor)
    }

    numbers! {
        deserialize_u8 visit_u8 deserialize_u16 visit_u16 deserialize_u32 visit_u32 deserialize_u64 visit_u64
        deserialize_i8 visit_i8 deserialize_i16 visit_i16 deserialize_i32 visit_i32 deserialize_i64 visit_i64
        deserialize_f32 visit_f32 deserialize_f64 visit_f64
    }

    forward_to_deserialize_any! {
        bool i128 u128 char str string bytes byte_buf unit unit_struct seq tuple tuple_struct map struct identifier
        ignored_any
    }
}

struct Items<'de>(core::slice::Iter<'de, Value>);

impl<'de> SeqAccess<'de> for Items<'de> {
    type Error = Error;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Error> {
        self.0.next().map(|item| seed.deserialize(Exact(item))).transpose()
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.0.len())
    }
}

struct Members<'de> {
    members: serde_json::map::Iter<'de>,
    value: Option<&'de Value>,
}

impl<'de> MapAccess<'de> for Members<'de> {
    type Error = Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Error> {
        let Some((name, value)) = self.members.next() else { return Ok(None) };
        self.value = Some(value);
        seed.deserialize(BorrowedStrDeserializer::new(name)).map(Some)
    }

    fn next_value_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<T::Value, Error> {
        let value = self.value.take().ok_or_else(|| Error::custom("a value without a name"))?;
        seed.deserialize(Exact(value))
    }
}

/// A number as `serde_json` hands it over: one member with its text.
struct Text<'de>(Option<&'de str>);

impl<'de> MapAccess<'de> for Text<'de> {
    type Error = Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Error> {
        self.0.map(|_| seed.deserialize(BorrowedStrDeserializer::new(NUMBER))).transpose()
    }

    fn next_value_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<T::Value, Error> {
        let text = self.0.take().ok_or_else(|| Error::custom("a value without a name"))?;
        seed.deserialize(StringDeserializer::new(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_of_our_own_keeps_its_numbers() {
        for text in [
            r#"[1e16,1E5,-0,0.10,1e-7,18446744073709551616]"#,
            r#"{"a":"1e5","b":"\"1e5","c":1.50}"#,
            r#"{"deep":[{"n":3e7}]}"#,
        ] {
            let Kept(value) = read(text.as_bytes()).unwrap();
            assert_eq!(value.to_string(), text);
        }
        assert!(!has_bare_exponent(br#"{"id":"evt_3e4","escaped":"\\\"3e4","n":1e+5,"t":true}"#));
        assert!(has_bare_exponent(br#"{"id":"x\\","n":1e5}"#));
        assert!(read::<Kept>(b"[1e5").is_err());
    }

    #[test]
    fn only_numbers_pass_for_numbers() {
        for text in ["0", "-0", "10", "1.50", "1e2", "1E+2", "-0.0e-0", "123456789012345678901234567890.5"] {
            assert!(is_number(text), "{text}");
        }
        for text in ["", "-", "01", "1.", ".5", "1e", "1e+", "+1", "1 ", "NaN", "1,2", "0x1", "1e2.5"] {
            assert!(!is_number(text), "{text}");
        }
        let forged = r#"{"$serde_json::private::Number":"1,\"admin\":true"}"#;
        assert!(serde_json::from_str::<Kept>(forged).is_err());
    }
}
