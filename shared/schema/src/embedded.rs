//! The schemas of the wire, compiled once.

use std::collections::BTreeMap;
use std::sync::{LazyLock, OnceLock};

use aip_types::{AipVersion, ErrorCode, MessageType, Timestamp};
use jsonschema::{Registry, Validator};
use serde_json::{Map, Value, json};

use crate::fault::{Fault, join};

/// Where the schema files have their ids.
const BASE: &str = "https://aip.dev/schemas/aip/";

macro_rules! files {
    ($($name:literal),+ $(,)?) => {
        /// Every schema file of AIP 1.0 Appendix A: its name and its text, as they stand under `schemas/aip`.
        pub const FILES: &[(&str, &str)] = &[
            $(($name, include_str!(concat!("../../../schemas/aip/", $name))),)+
        ];
    };
}

files! {
    "ack.schema.json",
    "action.schema.json",
    "action_events.schema.json",
    "action_events_request.schema.json",
    "action_list.schema.json",
    "action_list_request.schema.json",
    "action_result.schema.json",
    "action_result_request.schema.json",
    "action_status.schema.json",
    "action_status_request.schema.json",
    "approval_decision.schema.json",
    "approval_list.schema.json",
    "approval_list_request.schema.json",
    "approval_query_request.schema.json",
    "approval_record_view.schema.json",
    "approval_request.schema.json",
    "audit_query_request.schema.json",
    "audit_query_result.schema.json",
    "callback_delivery_list.schema.json",
    "callback_delivery_list_request.schema.json",
    "callback_delivery_policy.schema.json",
    "callback_delivery_query_request.schema.json",
    "callback_delivery_record.schema.json",
    "capability_contract.schema.json",
    "channel_message.schema.json",
    "delegation_request.schema.json",
    "delegation_result.schema.json",
    "envelope.schema.json",
    "escalation.schema.json",
    "event.schema.json",
    "event_stream.schema.json",
    "identity_context.schema.json",
    "manifest.schema.json",
    "manifest_filter.schema.json",
    "receipt_query_request.schema.json",
    "resource_list.schema.json",
    "resource_list_request.schema.json",
    "resource_read_request.schema.json",
    "resource_read_result.schema.json",
    "session_close_request.schema.json",
    "session_list.schema.json",
    "session_list_request.schema.json",
    "session_request.schema.json",
    "session_resume.schema.json",
    "session_resume_request.schema.json",
    "session_view.schema.json",
    "stream_chunk.schema.json",
    "transaction_plan.schema.json",
    "transaction_query_request.schema.json",
    "transaction_request.schema.json",
    "transaction_result.schema.json",
    "transaction_view.schema.json",
}

/// The compiled schemas of the wire. Bodies are compiled when the first message of their type comes.
pub struct Schemas {
    registry: Registry<'static>,
    header: Validator,
    bodies: BTreeMap<MessageType, (Value, OnceLock<Option<Validator>>)>,
}

static EMBEDDED: LazyLock<Option<Schemas>> = LazyLock::new(|| Schemas::new().ok());

/// Checks an envelope by the schemas of this build: its own members, then its one body.
///
/// # Errors
/// As [`Schemas::check_envelope`]; [`ErrorCode::Internal`] if this build has no usable schemas, which a test excludes.
pub fn check_envelope(document: &Value) -> Result<(), Fault> {
    Schemas::embedded()?.check_envelope(document).map(drop)
}

impl Schemas {
    /// The schemas of this build.
    ///
    /// # Errors
    /// [`ErrorCode::Internal`]: they do not compile, which a test excludes.
    pub fn embedded() -> Result<&'static Self, Fault> {
        EMBEDDED.as_ref().ok_or_else(|| Fault::new(ErrorCode::Internal, "", "schemas"))
    }

    fn new() -> Result<Self, Box<dyn std::error::Error>> {
        let text = FILES.iter().find(|(name, _)| *name == "envelope.schema.json").map_or("", |(_, text)| text);
        let mut root: Value = serde_json::from_str(text)?;
        strengthen(&mut root);
        let body_of = |kind: MessageType| {
            let target = root.pointer(&format!("/$defs/MessageBody/properties/{}/$ref", kind.body_key()));
            let target = target.and_then(Value::as_str).unwrap_or_default();
            (kind, (json!({ "$ref": format!("{BASE}envelope.schema.json{target}") }), OnceLock::new()))
        };
        let bodies = MessageType::ALL.iter().copied().map(body_of).collect();
        let mut header = root.clone();
        if let Some(members) = header.as_object_mut() {
            members.insert("$id".to_owned(), json!(format!("{BASE}header.schema.json")));
            let properties = members.get_mut("properties").and_then(Value::as_object_mut);
            properties.map(|properties| properties.insert("body".to_owned(), json!({ "type": "object" })));
        }
        let registry = Registry::new().add(format!("{BASE}envelope.schema.json"), root)?.prepare()?;
        let header = compile(&registry, &header)?;
        Ok(Self { registry, header, bodies })
    }

    /// Checks an envelope: version, type and body key by hand, then the envelope's own members, then the one body by its
    /// own schema, so that one mistake gives one finding. Gives the type of the message.
    ///
    /// # Errors
    /// In this order: [`ErrorCode::UnsupportedVersion`], [`ErrorCode::MessageUnsupported`] (no registered type),
    /// [`ErrorCode::EnvelopeInvalid`] for a body that is not exactly one known member, [`ErrorCode::TypeMismatch`], then
    /// [`ErrorCode::EnvelopeInvalid`] with the first place that violates the schema.
    pub fn check_envelope(&self, document: &Value) -> Result<MessageType, Fault> {
        let version = document.get("aip_version").and_then(Value::as_str);
        if version.is_some_and(|version| AipVersion::from_wire(version).is_none()) {
            return Err(Fault::new(ErrorCode::UnsupportedVersion, "/aip_version", "supported_version"));
        }
        let announced = document.get("message_type").and_then(Value::as_str).map(MessageType::from_wire);
        if announced == Some(None) {
            return Err(Fault::new(ErrorCode::MessageUnsupported, "/message_type", "registered_type"));
        }
        let one = document.get("body").and_then(Value::as_object).map(one_body).transpose()?;
        if let (Some((kind, _)), Some(announced)) = (one, announced)
            && announced != Some(kind)
        {
            return Err(Fault::new(ErrorCode::TypeMismatch, "/message_type", "type_of_body"));
        }
        check(&self.header, ErrorCode::EnvelopeInvalid, "", document)?;
        let (kind, body) = one.ok_or_else(|| Fault::new(ErrorCode::EnvelopeInvalid, "/body", "type"))?;
        self.check_body(kind, body)?;
        Ok(kind)
    }

    /// Checks one body against the schema of its type; pointers begin at the envelope.
    ///
    /// # Errors
    /// [`ErrorCode::EnvelopeInvalid`] with the first place that violates the schema.
    pub fn check_body(&self, kind: MessageType, body: &Value) -> Result<(), Fault> {
        let validator = self
            .bodies
            .get(&kind)
            .and_then(|(schema, compiled)| compiled.get_or_init(|| compile(&self.registry, schema).ok()).as_ref());
        let validator = validator.ok_or_else(|| Fault::new(ErrorCode::Internal, "", "schemas"))?;
        check(validator, ErrorCode::EnvelopeInvalid, &join("/body", kind.body_key()), body)
    }
}

/// The one member of a body.
fn one_body(body: &Map<String, Value>) -> Result<(MessageType, &Value), Fault> {
    let mut members = body.iter();
    match (members.next(), members.next()) {
        (Some((key, body)), None) => MessageType::from_body_key(key)
            .map(|kind| (kind, body))
            .ok_or_else(|| Fault::new(ErrorCode::EnvelopeInvalid, join("/body", key), "registered_body")),
        (_, _) => Err(Fault::new(ErrorCode::EnvelopeInvalid, "/body", "exactly_one_body")),
    }
}

/// The usual case is one pass without a finding; the finding is worked out only for what is refused.
pub(crate) fn check(validator: &Validator, code: ErrorCode, prefix: &str, value: &Value) -> Result<(), Fault> {
    if validator.is_valid(value) {
        return Ok(());
    }
    match validator.validate(value) {
        Ok(()) => Ok(()),
        Err(error) => Err(Fault::of(code, prefix, &error)),
    }
}

fn compile(registry: &Registry<'static>, schema: &Value) -> Result<Validator, Box<dyn std::error::Error>> {
    jsonschema::options()
        .with_draft(jsonschema::Draft::Draft202012)
        .with_registry(registry)
        .offline()
        .should_validate_formats(true)
        .should_ignore_unknown_formats(true)
        .with_format("date-time", |text: &str| Timestamp::parse(text).is_ok())
        .build(schema)
        .map_err(|error| error.to_string().into())
}

/// Adds what the specification says and the files leave to annotations: ids are not empty (AIP 1.0 §5.3) and integers
/// stay within the width that their format names (AIP 1.0 §5.1). Turns unions into a choice by tag: the engine would try
/// every branch, which for rules inside rules is exponential.
fn strengthen(schema: &mut Value) {
    let Some(defs) = schema.get_mut("$defs").and_then(Value::as_object_mut) else { return };
    let chosen: Vec<_> = defs.iter().filter_map(|(name, union)| Some((name.clone(), by_tag(defs, union)?))).collect();
    defs.extend(chosen);
    for definition in defs.values_mut().filter_map(Value::as_object_mut) {
        let alias = definition.get("type") == Some(&json!("string")) && !definition.contains_key("enum");
        if alias {
            definition.insert("minLength".to_owned(), json!(1));
        }
    }
    bound_integers(schema);
}

/// A union of tagged objects as one condition a tag.
fn by_tag(defs: &Map<String, Value>, union: &Value) -> Option<Value> {
    let mut tags = Vec::new();
    let mut conditions = Vec::new();
    let mut tag = "";
    for branch in union.get("oneOf")?.as_array()? {
        let name = branch.get("$ref")?.as_str()?.strip_prefix("#/$defs/")?;
        let mut members = defs.get(name)?.get("properties")?.as_object()?.iter();
        let (member, value) = members.find_map(|(member, schema)| Some((member, schema.get("const")?)))?;
        tag = member;
        tags.push(value.clone());
        conditions.push(json!({ "if": { "properties": { tag: { "const": value } } }, "then": branch }));
    }
    let tag_schema = json!({ tag: { "enum": tags } });
    Some(json!({ "type": "object", "required": [tag], "properties": tag_schema, "allOf": conditions }))
}

fn bound_integers(schema: &mut Value) {
    if let Value::Object(members) = schema {
        let max = match members.get("format").and_then(Value::as_str) {
            Some("uint32") => Some(u64::from(u32::MAX)),
            Some("uint64") => Some(u64::MAX),
            Some(_) | None => None,
        };
        if let Some(max) = max {
            members.insert("maximum".to_owned(), json!(max));
        }
        members.values_mut().for_each(bound_integers);
    } else if let Value::Array(items) = schema {
        items.iter_mut().for_each(bound_integers);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_body_compiles_and_every_file_is_embedded_under_its_id() {
        let schemas = Schemas::new().unwrap();
        for (kind, (schema, _)) in &schemas.bodies {
            compile(&schemas.registry, schema).unwrap_or_else(|error| panic!("{kind}: {error}"));
        }
        assert_eq!(FILES.len(), 52);
        let envelope: Value = serde_json::from_str(include_str!("../../../schemas/aip/envelope.schema.json")).unwrap();
        for (name, text) in FILES {
            let file: Value = serde_json::from_str(text).unwrap();
            assert_eq!(file["$id"], format!("{BASE}{name}"));
            assert_eq!(file["$schema"], "https://json-schema.org/draft/2020-12/schema");
            jsonschema::meta::validate(&file).unwrap();
            let pointer = file["$ref"].as_str().map(|target| target.strip_prefix("envelope.schema.json#").unwrap());
            assert!(pointer.is_none_or(|pointer| envelope.pointer(pointer).is_some()), "{name}");
        }
    }
}
