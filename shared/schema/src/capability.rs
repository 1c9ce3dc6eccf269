//! Schemas that come from outside: the input and output schemas of capabilities.

use aip_types::{ErrorCode, limits};
use jsonschema::{PatternOptions, Validator};
use serde_json::Value;

use crate::embedded::check;
use crate::expansion;
use crate::fault::Fault;

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
/// JSON Schema draft 2020-12, or the older draft that `$schema` names. Formats are annotations. Patterns are matched in
/// linear time; those that need look-around or back references are refused.
pub struct CapabilitySchema {
    validator: Validator,
}

impl CapabilitySchema {
    /// Compiles a schema that somebody else wrote.
    ///
    /// # Errors
    /// [`SchemaFault`] with one of these rules: `schema_bytes_max` (64 KiB), `schema_nodes_max` (2,000 values),
    /// `schema_depth_max` (64 levels), `schema_shape` (neither object nor boolean), `remote_reference`,
    /// `unknown_reference`, `escaped_reference`, `nested_id`, `reference_cycle`, `expansion_max` (it would apply too many
    /// schemas to one value), `valid_schema` (no valid JSON Schema, or a pattern that is not supported).
    ///
    /// Source: AIP 1.0 §9.3, §22.8.
    pub fn compile(schema: &Value) -> Result<Self, SchemaFault> {
        let whole = |rule| SchemaFault { pointer: String::new(), rule };
        bounded(schema).map_err(whole)?;
        if !(schema.is_object() || schema.is_boolean()) {
            return Err(whole("schema_shape"));
        }
        expansion::check(schema).map_err(whole)?;
        jsonschema::options()
            .offline()
            .should_validate_formats(false)
            .with_pattern_options(PatternOptions::regex().size_limit(1 << 20).dfa_size_limit(1 << 20))
            .build(schema)
            .map(|validator| Self { validator })
            .map_err(|error| SchemaFault { pointer: error.instance_path().as_str().to_owned(), rule: "valid_schema" })
    }

    /// Checks a value; the pointer of a fault begins at the value.
    ///
    /// # Errors
    /// [`ErrorCode::InputInvalid`] with the first place that violates the schema. For an output the caller says
    /// [`ErrorCode::OutputInvalid`] instead.
    pub fn check(&self, value: &Value) -> Result<(), Fault> {
        check(&self.validator, ErrorCode::InputInvalid, "", value)
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
