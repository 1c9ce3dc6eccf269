//! The schemas of the wire, compiled once.

use std::collections::BTreeMap;
use std::sync::{LazyLock, OnceLock};

use aip_types::{AipVersion, ErrorCode, MessageType, Timestamp};
use jsonschema::{Registry, Validator};
use serde_json::{Map, Value, json};

use crate::fault::{Fault, join};
use crate::files::FILES;
use crate::rules::{FINDINGS_MAX, Rule};

/// Where the schema files have their ids.
const BASE: &str = "https://aip.dev/schemas/aip/";

/// The schemas of the wire. Each body is compiled once, at its first use, in some milliseconds: a process that answers
/// messages makes that use at its start, off the async threads ([`Schemas::prepare`]), and keeps only what it answers.
pub struct Schemas {
    registry: Registry<'static>,
    header: Validator,
    bodies: BTreeMap<MessageType, Body>,
}

struct Body {
    /// Where its definition is in the schema of the envelope.
    target: String,
    compiled: OnceLock<Option<Validator>>,
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
        let mut header = root.clone();
        if let Some(members) = header.as_object_mut() {
            members.insert("$id".to_owned(), json!(format!("{BASE}header.schema.json")));
            let properties = members.get_mut("properties").and_then(Value::as_object_mut);
            properties.map(|properties| properties.insert("body".to_owned(), json!({ "type": "object" })));
        }
        let body_of = |kind: MessageType| {
            let pointer = format!("/$defs/MessageBody/properties/{}/$ref", kind.body_key());
            let target = root.pointer(&pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
            (kind, Body { target, compiled: OnceLock::new() })
        };
        let bodies = MessageType::ALL.iter().copied().map(body_of).collect();
        let registry = Registry::new().add(format!("{BASE}envelope.schema.json"), root)?.prepare()?;
        let header = compile(&registry, &header)?;
        Ok(Self { registry, header, bodies })
    }

    /// Compiles the bodies of these types, so that no message waits for it.
    ///
    /// # Errors
    /// [`ErrorCode::Internal`]: one does not compile, which a test excludes.
    pub fn prepare(&self, kinds: impl IntoIterator<Item = MessageType>) -> Result<(), Fault> {
        kinds.into_iter().try_for_each(|kind| self.body(kind).map(drop))
    }

    fn body(&self, kind: MessageType) -> Result<&Validator, Fault> {
        let compiled = self.bodies.get(&kind).and_then(|body| {
            let schema = || json!({ "$ref": format!("{BASE}envelope.schema.json{}", body.target) });
            body.compiled.get_or_init(|| compile(&self.registry, &schema()).ok()).as_ref()
        });
        compiled.ok_or_else(|| Fault::new(ErrorCode::Internal, "", "schemas"))
    }

    /// Checks an envelope: version, type and body key by hand, then the envelope's own members, then the one body by its
    /// own schema, so that one mistake gives one finding. Gives the type of the message.
    ///
    /// # Errors
    /// In this order: [`ErrorCode::UnsupportedVersion`], [`ErrorCode::MessageUnsupported`] (no registered type),
    /// [`ErrorCode::EnvelopeInvalid`] for a body that is not exactly one known member, [`ErrorCode::TypeMismatch`], then
    /// [`ErrorCode::EnvelopeInvalid`] with the first place that violates the schema.
    pub fn check_envelope(&self, document: &Value) -> Result<MessageType, Fault> {
        announced(document)?;
        check(&self.header, ErrorCode::EnvelopeInvalid, "", document)?;
        let (kind, body) =
            only_body(document)?.ok_or_else(|| Fault::new(ErrorCode::EnvelopeInvalid, "/body", "type"))?;
        self.check_body(kind, body)?;
        Ok(kind)
    }

    /// Every finding of [`Self::check_envelope`], in its order.
    pub(crate) fn envelope_findings(&self, document: &Value) -> Vec<Fault> {
        let mut found: Vec<Fault> = announced(document).err().into_iter().collect();
        found.extend(all(&self.header, "", document));
        if let Ok(Some((kind, body))) = only_body(document) {
            found.extend(self.body_findings(kind, "/body", body));
        }
        // A wrong version or type is one finding and not one of the engine as well.
        let mut seen = std::collections::BTreeSet::new();
        found.retain(|fault| seen.insert(fault.pointer.clone()) || fault.rule == "additionalProperties");
        found
    }

    /// Every finding in one body; `prefix` leads to the object that holds it.
    pub(crate) fn body_findings(&self, kind: MessageType, prefix: &str, body: &Value) -> Vec<Fault> {
        self.body(kind).map_or_else(|fault| vec![fault], |body_of| all(body_of, &join(prefix, kind.body_key()), body))
    }

    /// Every finding in a manifest that stands alone.
    pub(crate) fn manifest_findings(&self, document: &Value) -> Vec<Fault> {
        self.body(MessageType::Manifest).map_or_else(|fault| vec![fault], |manifest| all(manifest, "", document))
    }

    /// Checks one body against the schema of its type; pointers begin at the envelope.
    ///
    /// # Errors
    /// [`ErrorCode::EnvelopeInvalid`] with the first place that violates the schema.
    pub fn check_body(&self, kind: MessageType, body: &Value) -> Result<(), Fault> {
        check(self.body(kind)?, ErrorCode::EnvelopeInvalid, &join("/body", kind.body_key()), body)
    }
}

/// Version, type and body key agree with each other, as far as they are there.
fn announced(document: &Value) -> Result<(), Fault> {
    let version = document.get("aip_version").and_then(Value::as_str);
    if version.is_some_and(|version| AipVersion::from_wire(version).is_none()) {
        return Err(Fault::broken(Rule::SupportedVersion, "/aip_version"));
    }
    let announced = document.get("message_type").and_then(Value::as_str).map(MessageType::from_wire);
    if announced == Some(None) {
        return Err(Fault::broken(Rule::RegisteredType, "/message_type"));
    }
    match (only_body(document)?, announced) {
        (Some((kind, _)), Some(announced)) if announced != Some(kind) => {
            Err(Fault::broken(Rule::TypeOfBody, "/message_type"))
        }
        (_, _) => Ok(()),
    }
}

/// The one member of the envelope's body, if there is an object.
fn only_body(document: &Value) -> Result<Option<(MessageType, &Value)>, Fault> {
    document.get("body").and_then(Value::as_object).map(one_body).transpose()
}

/// The one member of a body.
fn one_body(body: &Map<String, Value>) -> Result<(MessageType, &Value), Fault> {
    let mut members = body.iter();
    match (members.next(), members.next()) {
        (Some((key, body)), None) => MessageType::from_body_key(key)
            .map(|kind| (kind, body))
            .ok_or_else(|| Fault::broken(Rule::RegisteredBody, join("/body", key))),
        (_, _) => Err(Fault::broken(Rule::ExactlyOneBody, "/body")),
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

/// Every violation, each at its most precise place; at most [`FINDINGS_MAX`].
fn all(validator: &Validator, prefix: &str, value: &Value) -> Vec<Fault> {
    let errors = validator.iter_errors(value).take(FINDINGS_MAX);
    errors.flat_map(|error| Fault::each(ErrorCode::EnvelopeInvalid, prefix, &error)).take(FINDINGS_MAX).collect()
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
        assert_eq!(schemas.bodies.len(), 58);
        schemas.prepare(MessageType::ALL.iter().copied()).unwrap();
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
