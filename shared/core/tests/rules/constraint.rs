//! Constraints over the governed input (AIP 1.0 §12.4).

use aip_core::approval::constraint::{Fault, check};
use aip_types::ApprovalConstraint;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::approval_fixtures::input;

fn on(input: &Value, field: &str, operator: &str, value: Value) -> Result<(), Fault> {
    check(&ApprovalConstraint { field: field.to_owned(), operator: operator.to_owned(), value }, input)
}

fn number(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

const YES: Result<(), Fault> = Ok(());
const NO: Result<(), Fault> = Err(Fault::Failed);
const UNENFORCEABLE: Result<(), Fault> = Err(Fault::Unenforceable);

#[test]
fn every_operator_holds_and_fails() {
    let input = input();
    for (field, operator, holds, fails) in [
        ("amount", "eq", json!(100), json!(101)),
        ("currency", "neq", json!("USD"), json!("EUR")),
        ("amount", "lt", json!(101), json!(100)),
        ("amount", "lte", json!(100), json!(99)),
        ("amount", "gt", json!(99), json!(100)),
        ("amount", "gte", json!(100), json!(101)),
        ("items", "contains", json!("b"), json!("c")),
        ("currency", "contains", json!("EU"), json!("US")),
        ("currency", "max_length", json!(3), json!(2)),
        ("items", "min_length", json!(2), json!(3)),
        ("currency", "in", json!(["USD", "EUR"]), json!(["USD"])),
    ] {
        assert_eq!(on(&input, field, operator, holds), YES, "{operator}");
        assert_eq!(on(&input, field, operator, fails), NO, "{operator}");
    }
}

#[test]
fn a_field_is_a_pointer_or_a_member_at_the_top() {
    let input = json!({"a/b": 1, "to": {"name": "Ann"}, "items": ["x"]});
    assert_eq!(on(&input, "/to/name", "eq", json!("Ann")), YES);
    assert_eq!(on(&input, "/items/0", "eq", json!("x")), YES);
    assert_eq!(on(&input, "/a~1b", "eq", json!(1)), YES);
    assert_eq!(on(&input, "a/b", "eq", json!(1)), YES);
}

/// What nobody can tell does not hold, whichever way it is asked.
#[test]
fn what_cannot_be_enforced_is_no_pass() {
    let input = input();
    for (field, operator, value) in [
        ("absent", "neq", json!(1)),
        ("/to/absent", "eq", json!(null)),
        ("", "neq", json!(1)),
        ("amount", "matches", json!(100)),
        ("amount", "EQ", json!(100)),
        ("currency", "lt", json!("ZZZ")),
        ("amount", "lt", json!("101")),
        ("amount", "max_length", json!(9)),
        ("currency", "max_length", json!(-1)),
        ("currency", "max_length", json!("3")),
        ("to", "contains", json!("name")),
        ("amount", "in", json!(100)),
        ("amount", "neq", number("1e99999999999999999999")),
    ] {
        assert_eq!(on(&input, field, operator, value), UNENFORCEABLE, "{field} {operator}");
    }
    assert_eq!(on(&json!("text"), "0", "neq", json!(1)), UNENFORCEABLE);
}

#[test]
fn numbers_are_compared_by_value_and_exactly() {
    let input = |text| json!({"n": number(text)});
    for (left, right) in [
        ("9007199254740993", "9007199254740992"),
        ("18446744073709551616", "18446744073709551615"),
        ("0.30000000000000000004", "0.30000000000000000003"),
        ("1e400", "9e399"),
        ("-1", "-2"),
        ("0", "-1e-400"),
        ("10", "9.99"),
        ("1e-3", "0.00099"),
    ] {
        assert_eq!(on(&input(left), "n", "gt", number(right)), YES, "{left} {right}");
        assert_eq!(on(&input(left), "n", "lte", number(right)), NO, "{left} {right}");
        assert_eq!(on(&input(right), "n", "lt", number(left)), YES, "{left} {right}");
    }
    for (left, right) in
        [("1", "1.0"), ("100", "1e2"), ("0", "-0.0"), ("0.10", "1E-1"), ("0e9", "0"), ("12e-1", "1.20")]
    {
        assert_eq!(on(&input(left), "n", "eq", number(right)), YES, "{left} {right}");
        assert_eq!(on(&input(left), "n", "neq", number(right)), NO, "{left} {right}");
        assert_eq!(on(&input(left), "n", "gte", number(right)), YES, "{left} {right}");
    }
    assert_eq!(on(&json!({"n": [1, {"a": 2.0}]}), "n", "eq", json!([1.0, {"a": 2}])), YES);
}

proptest! {
    #[test]
    fn integers_compare_as_integers_do(left: i64, right: i64) {
        let input = json!({"n": left});
        prop_assert_eq!(on(&input, "n", "lt", json!(right)).is_ok(), left < right);
        prop_assert_eq!(on(&input, "n", "eq", json!(right)).is_ok(), left == right);
        prop_assert_eq!(on(&input, "n", "gte", json!(right)).is_ok(), left >= right);
    }

    #[test]
    fn fractions_compare_as_fractions_do(left in -1.0e6..1.0e6_f64, right in -1.0e6..1.0e6_f64) {
        prop_assert_eq!(on(&json!({"n": left}), "n", "lt", json!(right)).is_ok(), left < right);
    }
}
