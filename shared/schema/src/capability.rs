//! Schemas that come from outside: the input and output schemas of capabilities.

use aip_types::{ErrorCode, limits};
use jsonschema::{Draft, PatternOptions, ValidationError, ValidationOptions, Validator};
use serde_json::Value;

use crate::embedded::check;
use crate::fault::Fault;
use crate::{budget, expansion};

/// Bytes of one compiled pattern.
const PATTERN_BYTES_MAX: usize = 1 << 20;

/// Why a schema was not taken. Holds no text of the schema.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{rule} at `{pointer}`")]
pub struct SchemaFault {
    /// JSON Pointer inside the schema; empty for the schema as a whole.
    pub pointer: String,
    /// The rule that is broken, as a fixed word.
    pub rule: &'static str,
}

/// A compiled schema of a capability's input or output.
///
/// JSON Schema draft 2020-12, or 2019-09 or draft-07 if `$schema` names it. Formats are annotations. Patterns are matched in
/// linear time; those that need look-around or back references are refused.
pub struct CapabilitySchema {
    validator: Validator,
    refers: bool,
    /// Finds the place of a violation under a budget; only for schemas that refer to parts of themselves.
    finder: Option<Finder>,
}

/// A schema whose references are under the budget.
struct Finder(Validator);

impl CapabilitySchema {
    /// Compiles a schema that somebody else wrote.
    ///
    /// # Errors
    /// [`SchemaFault`] with one of these rules: `schema_bytes_max` (64 KiB), `schema_nodes_max` (2,000 values),
    /// `schema_depth_max` (64 levels), `schema_shape` (neither object nor boolean), `supported_draft`,
    /// `remote_reference`, `unknown_reference`, `escaped_reference`, `nested_id` (also a nested `$schema`), `reference_cycle`, `expansion_max` (it would apply too many
    /// schemas to one value), `valid_schema` (no valid JSON Schema, or a pattern that is not supported).
    ///
    /// Source: AIP 1.0 §9.3, §22.8.
    pub fn compile(schema: &Value) -> Result<Self, SchemaFault> {
        let whole = |rule| SchemaFault { pointer: String::new(), rule };
        bounded(schema).map_err(whole)?;
        if !(schema.is_object() || schema.is_boolean()) {
            return Err(whole("schema_shape"));
        }
        let draft = draft(schema).ok_or_else(|| whole("supported_draft"))?;
        expansion::check(schema).map_err(whole)?;
        let invalid = |error: &ValidationError<'_>| SchemaFault {
            pointer: error.instance_path().as_str().to_owned(),
            rule: "valid_schema",
        };
        jsonschema::meta::validate(schema).map_err(|error| invalid(&error))?;
        let validator = options(draft).build(schema).map_err(|error| invalid(&error))?;
        let mut guarded = schema.clone();
        let refers = budget::guard(&mut guarded, draft != Draft::Draft7);
        // Compiled here and not when a finding is needed: that would be on an async thread.
        let build = || budget::with_budget(options(draft)).build(&guarded).ok().map(Finder);
        let finder = if refers { build() } else { None };
        Ok(Self { validator, refers, finder })
    }

    /// Checks a value; the pointer of a fault begins at the value.
    ///
    /// # Errors
    /// [`ErrorCode::InputInvalid`] with the first place that violates the schema; with the rule `schema` at the whole
    /// value if the search for the place was given up. For an output the caller says [`ErrorCode::OutputInvalid`] instead.
    pub fn check(&self, value: &Value) -> Result<(), Fault> {
        if !self.refers {
            return check(&self.validator, ErrorCode::InputInvalid, "", value);
        }
        if self.validator.is_valid(value) {
            return Ok(());
        }
        let found = self.finder.as_ref().and_then(|finder| finder.find(value));
        Err(found.unwrap_or_else(|| Fault::new(ErrorCode::InputInvalid, "", "schema")))
    }
}

impl Finder {
    fn find(&self, value: &Value) -> Option<Fault> {
        budget::bounded(|| self.0.validate(value).err().map(|error| Fault::of(ErrorCode::InputInvalid, "", &error)))?
    }
}

/// How foreign schemas are compiled: nothing is fetched, formats are annotations, patterns are linear.
fn options(draft: Draft) -> ValidationOptions<'static> {
    let patterns = PatternOptions::regex().size_limit(PATTERN_BYTES_MAX).dfa_size_limit(PATTERN_BYTES_MAX);
    jsonschema::options().with_draft(draft).offline().should_validate_formats(false).with_pattern_options(patterns)
}

/// The draft that a schema is written in, if we take it.
fn draft(schema: &Value) -> Option<Draft> {
    let Some(named) = schema.get("$schema") else { return Some(Draft::Draft202012) };
    match named.as_str()?.trim_end_matches('#') {
        "https://json-schema.org/draft/2020-12/schema" => Some(Draft::Draft202012),
        "https://json-schema.org/draft/2019-09/schema" => Some(Draft::Draft201909),
        "http://json-schema.org/draft-07/schema" | "https://json-schema.org/draft-07/schema" => Some(Draft::Draft7),
        _ => None,
    }
}

impl core::fmt::Debug for CapabilitySchema {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("CapabilitySchema")
    }
}

/// Depth, count of values and bytes, without recursion.
fn bounded(schema: &Value) -> Result<(), &'static str> {
    let mut nodes = 0_usize;
    let mut open = vec![(schema, 0_usize)];
    while let Some((value, depth)) = open.pop() {
        nodes = nodes.saturating_add(1);
        if nodes > limits::SCHEMA_NODES_MAX {
            return Err("schema_nodes_max");
        }
        let inner = depth.saturating_add(1);
        let container = value.is_object() || value.is_array();
        if container && inner > limits::DEPTH_MAX {
            return Err("schema_depth_max");
        }
        match value {
            Value::Object(members) => open.extend(members.values().map(|value| (value, inner))),
            Value::Array(items) => open.extend(items.iter().map(|value| (value, inner))),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
    let bytes = serde_json::to_vec(schema).map_or(usize::MAX, |text| text.len());
    if bytes > limits::SCHEMA_BYTES_MAX { Err("schema_bytes_max") } else { Ok(()) }
}
