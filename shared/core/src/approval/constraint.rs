//! Constraints of a decision over the governed input (AIP 1.0 §12.4, §12.5).
//!
//! `field` is a JSON Pointer, or the name of a member at the top. Numbers are compared by value, exactly, however many digits
//! they have. What cannot be compared is not enforceable, and what is not enforceable is refused: nothing passes by accident.

use aip_types::ApprovalConstraint;
use alloc::vec::Vec;
use core::cmp::Ordering;
use serde_json::Value;

/// Why a constraint does not hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// Nobody could say whether it holds: an unknown operator, an absent member, values of kinds that do not compare.
    #[error("the constraint cannot be enforced")]
    Unenforceable,
    /// The input does not meet it.
    #[error("the input does not meet the constraint")]
    Failed,
}

/// Whether an input meets a constraint.
///
/// # Errors
/// [`Fault`]: it does not, or it cannot be told.
pub fn check(constraint: &ApprovalConstraint, input: &Value) -> Result<(), Fault> {
    let actual = member(&constraint.field, input).ok_or(Fault::Unenforceable)?;
    let bound = &constraint.value;
    let met = match constraint.operator.as_str() {
        "eq" => same(actual, bound),
        "neq" => same(actual, bound).map(|same| !same),
        "lt" => compare(actual, bound).map(Ordering::is_lt),
        "lte" => compare(actual, bound).map(Ordering::is_le),
        "gt" => compare(actual, bound).map(Ordering::is_gt),
        "gte" => compare(actual, bound).map(Ordering::is_ge),
        "contains" => contains(actual, bound),
        "max_length" => length(actual).zip(bound.as_u64()).map(|(length, max)| length <= max),
        "min_length" => length(actual).zip(bound.as_u64()).map(|(length, min)| length >= min),
        "in" => bound.as_array().and_then(|of| among(actual, of)),
        _ => None,
    };
    match met {
        Some(true) => Ok(()),
        Some(false) => Err(Fault::Failed),
        None => Err(Fault::Unenforceable),
    }
}

fn member<'a>(field: &str, input: &'a Value) -> Option<&'a Value> {
    if field.starts_with('/') { input.pointer(field) } else { input.get(field) }
}

fn contains(actual: &Value, bound: &Value) -> Option<bool> {
    match (actual, bound) {
        (Value::String(text), Value::String(part)) => Some(text.contains(part.as_str())),
        (Value::Array(items), one) => among(one, items),
        (Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_), _) => None,
    }
}

/// Characters of a text, items of a list.
fn length(actual: &Value) -> Option<u64> {
    match actual {
        Value::String(text) => u64::try_from(text.chars().count()).ok(),
        Value::Array(items) => u64::try_from(items.len()).ok(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => None,
    }
}

fn among(value: &Value, of: &[Value]) -> Option<bool> {
    of.iter().try_fold(false, |found, one| Some(found || same(value, one)?))
}

/// Whether two values are equal, numbers by value; nothing, where a number cannot be read.
fn same(left: &Value, right: &Value) -> Option<bool> {
    match (left, right) {
        (Value::Number(_), Value::Number(_)) => compare(left, right).map(Ordering::is_eq),
        (Value::Array(left), Value::Array(right)) if left.len() == right.len() => {
            left.iter().zip(right).try_fold(true, |equal, (left, right)| Some(equal && same(left, right)?))
        }
        (Value::Object(left), Value::Object(right)) if left.len() == right.len() => {
            left.iter().try_fold(true, |equal, (name, left)| {
                Some(equal && right.get(name).map_or(Some(false), |right| same(left, right))?)
            })
        }
        (
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) | Value::Object(_),
            _,
        ) => Some(left == right),
    }
}

/// Orders two numbers.
fn compare(left: &Value, right: &Value) -> Option<Ordering> {
    let (Value::Number(left), Value::Number(right)) = (left, right) else { return None };
    let (left, right) = (Decimal::read(left.as_str())?, Decimal::read(right.as_str())?);
    Some(match (left.sign(), right.sign()) {
        (1, 1) => left.size().cmp(&right.size()),
        (-1, -1) => right.size().cmp(&left.size()),
        (left, right) => left.cmp(&right),
    })
}

/// A JSON number as `0.d₁d₂… × 10^exponent`, without zeros on either side of its digits; zero has none.
struct Decimal {
    negative: bool,
    exponent: i64,
    digits: Vec<u8>,
}

impl Decimal {
    fn read(text: &str) -> Option<Self> {
        let (negative, text) = text.strip_prefix('-').map_or((false, text), |text| (true, text));
        let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let all = || whole.bytes().chain(fraction.bytes());
        if whole.is_empty() || !all().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        let zeros = all().take_while(|byte| *byte == b'0').count();
        let mut digits: Vec<u8> = all().skip(zeros).collect();
        while digits.last() == Some(&b'0') {
            digits.pop();
        }
        let point = i64::try_from(whole.len()).ok()?.checked_sub(i64::try_from(zeros).ok()?)?;
        Some(Self { negative, exponent: exponent.parse::<i64>().ok()?.checked_add(point)?, digits })
    }

    const fn sign(&self) -> i8 {
        match (self.digits.is_empty(), self.negative) {
            (true, _) => 0,
            (false, true) => -1,
            (false, false) => 1,
        }
    }

    fn size(&self) -> (i64, &[u8]) {
        (self.exponent, &self.digits)
    }
}
