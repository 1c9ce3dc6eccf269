//! A bound on the work of finding out *where* a value violates a foreign schema.
//!
//! The engine's verdict is memoised, its search for errors is not: a schema that refers to itself from several branches of
//! a union has 2ⁿ errors for a value of depth n. So the search runs on a copy of the schema in which every reference asks
//! for leave first: `{"$ref": r}` becomes `{"if": {BUDGET: true}, "then": {"$ref": r}, "else": false}`. When the leave is
//! used up all references fail at once and the search unwinds without a finding. The verdict never comes from the copy.

use core::cell::Cell;

use jsonschema::{Keyword, ValidationError, ValidationOptions};
use serde_json::{Value, json};

/// References that one search may follow.
const REFERENCES_MAX: u32 = 5_000;

/// The keyword that asks. A foreign schema that has it spoils nothing but its own findings.
const BUDGET: &str = "aip-reference-budget";

/// Members whose value is data, not schemas.
const DATA: [&str; 4] = ["const", "enum", "default", "examples"];
/// Members whose value maps free names to schemas.
const MAPS: [&str; 6] = ["properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies"];
const REFERENCES: [&str; 3] = ["$ref", "$dynamicRef", "$recursiveRef"];

thread_local! {
    static LEFT: Cell<u32> = const { Cell::new(0) };
}

/// Runs a search under a fresh budget. `None`: the budget was used up, and what was found means nothing.
pub(crate) fn bounded<T>(search: impl FnOnce() -> T) -> Option<T> {
    LEFT.set(REFERENCES_MAX);
    let found = search();
    (LEFT.get() > 0).then_some(found)
}

/// Teaches the engine the keyword.
pub(crate) fn with_budget(options: ValidationOptions<'_>) -> ValidationOptions<'_> {
    options.with_keyword(BUDGET, |_, _, _| Ok(Box::new(Leave)))
}

struct Leave;

impl Leave {
    fn take() -> bool {
        let left = LEFT.get();
        LEFT.set(left.saturating_sub(1));
        left > 0
    }
}

impl<'i> Keyword<'i> for Leave {
    fn validate(&self, _: &'i Value) -> Result<(), ValidationError<'i>> {
        if Self::take() { Ok(()) } else { Err(ValidationError::custom("the budget of references is used up")) }
    }

    fn is_valid(&self, _: &'i Value) -> bool {
        Self::take()
    }
}

/// Whether a member holds data, given what its object is.
pub(crate) fn is_data(name: &str, in_map: bool) -> bool {
    !in_map && DATA.contains(&name)
}

/// Whether a member maps free names to schemas, given what its object is.
pub(crate) fn is_map(name: &str, in_map: bool) -> bool {
    !in_map && MAPS.contains(&name)
}

/// Puts every reference of a schema under the budget. `siblings`: whether members beside a reference count, which they do
/// from draft 2019-09 on. Gives whether there was any reference. The caller has bounded the depth.
pub(crate) fn guard(schema: &mut Value, siblings: bool) -> bool {
    guard_inside(schema, siblings, false)
}

fn guard_inside(value: &mut Value, siblings: bool, in_map: bool) -> bool {
    let mut found = false;
    match value {
        Value::Object(members) => {
            for (name, member) in members.iter_mut().filter(|(name, _)| !is_data(name, in_map)) {
                found |= guard_inside(member, siblings, is_map(name, in_map));
            }
            if in_map {
                return found;
            }
            for name in REFERENCES {
                let Some(Value::String(_)) = members.get(name) else { continue };
                let target = members.remove(name).unwrap_or_default();
                let guarded = json!({ "if": { BUDGET: true }, "then": { name: target }, "else": false });
                if !siblings {
                    members.retain(|name, _| {
                        MAPS.contains(&name.as_str()) && name.contains("def") || name.starts_with('$')
                    });
                }
                match members.entry("allOf").or_insert_with(|| json!([])) {
                    Value::Array(all) => all.push(guarded),
                    Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_) => {}
                }
                found = true;
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| found |= guard_inside(item, siblings, false)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
    found
}
