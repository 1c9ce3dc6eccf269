//! Schemas from outside: what is compiled, what is refused, and what they say.
#![expect(clippy::unwrap_used, reason = "tests")]

use aip_schema::CapabilitySchema;
use aip_types::limits;
use serde_json::{Value, json};

#[track_caller]
fn refused(schema: &Value, rule: &str) {
    assert_eq!(CapabilitySchema::compile(schema).unwrap_err().rule, rule);
}

#[track_caller]
fn finding(schema: &Value, value: &Value) -> (String, String) {
    let fault = CapabilitySchema::compile(schema).unwrap().check(value).unwrap_err();
    (fault.pointer, fault.rule.into_owned())
}

#[test]
fn a_violation_has_its_place_and_rule() {
    let schema = json!({
        "type": "object", "additionalProperties": false, "required": ["terms"],
        "properties": {
            "terms": { "type": "array", "items": { "type": "number", "maximum": 10 }, "minItems": 1 },
            "a/b": { "anyOf": [{ "type": "null" }, { "type": "object", "required": ["x"], "properties": { "x": { "pattern": "^a+$" } } }] },
        },
    });
    let at = |pointer: &str, rule: &str| (pointer.to_owned(), rule.to_owned());
    let checked = CapabilitySchema::compile(&schema).unwrap();
    assert_eq!(checked.check(&json!({ "terms": [1, 2.5], "a/b": null })), Ok(()));
    assert_eq!(finding(&schema, &json!({})), at("/terms", "required"));
    assert_eq!(finding(&schema, &json!([])), at("", "type"));
    assert_eq!(finding(&schema, &json!({ "terms": [1, "x"] })), at("/terms/1", "type"));
    assert_eq!(finding(&schema, &json!({ "terms": [11] })), at("/terms/0", "maximum"));
    assert_eq!(finding(&schema, &json!({ "terms": [] })), at("/terms", "minItems"));
    assert_eq!(finding(&schema, &json!({ "terms": [1], "zz": 1 })), at("/zz", "additionalProperties"));
    assert_eq!(finding(&schema, &json!({ "terms": [1], "a/b": { "x": "b" } })), at("/a~1b/x", "pattern"));
    assert_eq!(finding(&schema, &json!({ "terms": [1], "a/b": {} })), at("/a~1b/x", "required"));
    assert_eq!(finding(&schema, &json!({ "terms": [1], "a/b": 7 })), at("/a~1b", "type"));
}

#[test]
fn older_drafts_are_understood_and_unknown_ones_refused() {
    let tuple = |draft: &str, items: &str| json!({ "$schema": draft, "type": "array", items: [{ "type": "string" }] });
    for (draft, items) in [
        ("http://json-schema.org/draft-07/schema#", "items"),
        ("https://json-schema.org/draft/2020-12/schema", "prefixItems"),
    ] {
        let schema = CapabilitySchema::compile(&tuple(draft, items)).unwrap();
        assert_eq!(schema.check(&json!(["a", 1])), Ok(()));
        assert_eq!(schema.check(&json!([1])).unwrap_err().pointer, "/0");
    }
    refused(&tuple("https://example.org/my-draft", "items"), "supported_draft");
    refused(&tuple("http://json-schema.org/draft-04/schema#", "items"), "supported_draft");
}

#[test]
fn nothing_is_fetched() {
    for target in ["https://example.org/s.json", "file:///etc/passwd", "other.json", "other.json#/a"] {
        refused(&json!({ "properties": { "a": { "$ref": target } } }), "remote_reference");
    }
    refused(&json!({ "properties": { "a": { "$id": "https://example.org/", "type": "object" } } }), "nested_id");
    refused(&json!({ "$ref": "#/$defs/none" }), "unknown_reference");
    refused(&json!({ "$ref": "#/%24defs/none" }), "escaped_reference");
}

#[test]
fn recursion_through_the_value_is_taken_and_through_itself_refused() {
    let tree = json!({ "type": "object", "properties": { "children": { "type": "array", "items": { "$ref": "#" } } }, "additionalProperties": false });
    let schema = CapabilitySchema::compile(&tree).unwrap();
    assert_eq!(schema.check(&json!({ "children": [{ "children": [] }] })), Ok(()));
    assert_eq!(schema.check(&json!({ "children": [{ "zz": 1 }] })).unwrap_err().pointer, "/children/0/zz");
    refused(&json!({ "$ref": "#" }), "reference_cycle");
    refused(
        &json!({ "$defs": { "a": { "allOf": [{ "$ref": "#/$defs/b" }] }, "b": { "not": { "$ref": "#/$defs/a" } } } }),
        "reference_cycle",
    );
    refused(
        &json!({ "$defs": { "a": { "$anchor": "here", "anyOf": [true, { "$dynamicRef": "#here" }] } } }),
        "reference_cycle",
    );
}

#[test]
fn a_ladder_that_doubles_is_refused() {
    let rungs = |count: usize| {
        let mut defs = serde_json::Map::new();
        for rung in 0..count {
            let next = json!({ "$ref": format!("#/$defs/r{}", rung + 1) });
            defs.insert(format!("r{rung}"), json!({ "allOf": [next, next] }));
        }
        defs.insert(format!("r{count}"), json!({ "type": "object" }));
        json!({ "$defs": defs, "$ref": "#/$defs/r0" })
    };
    assert!(CapabilitySchema::compile(&rungs(4)).is_ok());
    refused(&rungs(30), "expansion_max");
}

#[test]
fn the_search_for_a_finding_is_bounded() {
    let branch = |name: &str| json!({ "properties": { "a": { "$ref": "#" } }, "required": [name] });
    let schema = CapabilitySchema::compile(&json!({ "anyOf": [branch("y"), branch("z")] })).unwrap();
    let deep = (0..limits::DEPTH_MAX - 1).fold(json!({}), |inner, _| json!({ "a": inner }));
    let fault = schema.check(&deep).unwrap_err();
    assert_eq!((fault.pointer.as_str(), fault.rule.as_ref()), ("", "schema"));
    assert_eq!(schema.check(&json!({ "a": { "y": 1 }, "z": 1 })), Ok(()));
    let one = CapabilitySchema::compile(
        &json!({ "items": { "$ref": "#/$defs/n" }, "$defs": { "n": { "type": "integer" } } }),
    )
    .unwrap();
    assert_eq!(one.check(&json!(vec![1; limits::NODES_MAX])), Ok(()));
}

#[test]
fn data_that_looks_like_schemas_stays_data() {
    let schema = json!({ "properties": { "const": { "const": { "$ref": "https://example.org/" } }, "$ref": { "type": "string" } } });
    let schema = CapabilitySchema::compile(&schema).unwrap();
    assert_eq!(schema.check(&json!({ "const": { "$ref": "https://example.org/" }, "$ref": "x" })), Ok(()));
    assert_eq!(schema.check(&json!({ "$ref": 1 })).unwrap_err().pointer, "/$ref");
    refused(&json!({ "$ref": "#/const", "const": { "$ref": "#" } }), "unknown_reference");
}

#[test]
fn members_beside_a_reference_count_from_draft_2019_09_on() {
    let schema = |draft: &str| json!({ "$schema": draft, "properties": { "a": { "$ref": "#/definitions/s", "maxLength": 1 } }, "definitions": { "s": { "type": "string" } } });
    let value = json!({ "a": "long" });
    let old = CapabilitySchema::compile(&schema("http://json-schema.org/draft-07/schema#")).unwrap();
    assert_eq!(old.check(&value), Ok(()));
    assert_eq!(old.check(&json!({ "a": 1 })).unwrap_err().rule, "type");
    let new = CapabilitySchema::compile(&schema("https://json-schema.org/draft/2019-09/schema")).unwrap();
    assert_eq!(new.check(&value).unwrap_err().rule, "maxLength");
}

#[test]
fn size_nodes_and_depth_are_bounded() {
    let nodes = |count: usize| json!({ "enum": vec![json!(1); count - 2] });
    assert!(CapabilitySchema::compile(&json!({ "examples": vec![json!(1); limits::SCHEMA_NODES_MAX - 2] })).is_ok());
    refused(&nodes(limits::SCHEMA_NODES_MAX + 1), "schema_nodes_max");
    let sized = |bytes: usize| json!({ "description": "a".repeat(bytes - r#"{"description":""}"#.len()) });
    assert!(CapabilitySchema::compile(&sized(limits::SCHEMA_BYTES_MAX)).is_ok());
    refused(&sized(limits::SCHEMA_BYTES_MAX + 1), "schema_bytes_max");
    let deep = |levels: usize| (1..levels).fold(json!({}), |inner, _| json!([inner]));
    let in_object = |levels: usize| json!({ "default": deep(levels - 1) });
    assert!(CapabilitySchema::compile(&in_object(limits::DEPTH_MAX)).is_ok());
    refused(&in_object(limits::DEPTH_MAX + 1), "schema_depth_max");
}

#[test]
fn patterns_are_linear_or_refused() {
    let schema = CapabilitySchema::compile(&json!({ "pattern": "^(a+)+$" })).unwrap();
    assert!(schema.check(&json!(format!("{}!", "a".repeat(100_000)))).is_err());
    refused(&json!({ "pattern": "(?=a)b" }), "valid_schema");
    refused(&json!({ "pattern": "(a)\\1" }), "valid_schema");
    refused(&json!({ "pattern": "((((a{100}){100}){100}){100})" }), "valid_schema");
}

#[test]
fn what_is_no_schema_is_refused() {
    refused(&json!(7), "schema_shape");
    refused(&json!(null), "schema_shape");
    refused(&json!({ "type": "thing" }), "valid_schema");
    refused(&json!({ "required": "a" }), "valid_schema");
}

#[test]
fn numbers_beyond_64_bits_are_compared_exactly() {
    let schema = CapabilitySchema::compile(&json!({ "type": "integer", "maximum": 10 })).unwrap();
    let value: Value = serde_json::from_str("123456789012345678901234567890").unwrap();
    assert_eq!(schema.check(&value).unwrap_err().rule, "maximum");
    for huge in ["1e999999999", "-1e999999999", "1e-999999999"] {
        let value: Value = serde_json::from_str(huge).unwrap();
        let within = schema.check(&value).is_ok();
        assert_eq!(within, huge == "-1e999999999", "{huge}");
    }
}
