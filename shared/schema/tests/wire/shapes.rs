//! The types of the wire as the schemas describe them.

use aip_types::MessageType;
use serde_json::{Map, Value, json};

/// The schema definitions, by name.
pub(crate) struct Shapes {
    root: Value,
}

/// An envelope around a body.
pub(crate) fn envelope(kind: MessageType, body: &Value) -> Value {
    json!({
        "aip_version": "1.0", "message_type": kind.as_str(), "message_id": "msg_1", "sent_at": "2026-11-29T12:00:00Z",
        "body": { kind.body_key(): body },
    })
}

impl Shapes {
    pub(crate) fn read() -> Self {
        let (text, _) = aip_schema::file("envelope.schema.json").unwrap();
        Self { root: serde_json::from_str(text).unwrap() }
    }

    pub(crate) fn definition(&self, name: &str) -> &Value {
        &self.root["$defs"][name]
    }

    /// The type of a body.
    pub(crate) fn body(&self, kind: MessageType) -> String {
        let reference = &self.root["$defs"]["MessageBody"]["properties"][kind.body_key()]["$ref"];
        reference.as_str().unwrap().strip_prefix("#/$defs/").unwrap().to_owned()
    }

    /// The name of the type that a schema refers to, a null beside it apart.
    pub(crate) fn referred<'s>(&self, schema: &'s Value) -> Option<&'s str> {
        let direct = schema.get("$ref").or_else(|| schema["anyOf"][0].get("$ref"));
        direct?.as_str()?.strip_prefix("#/$defs/")
    }

    /// The schema itself, behind references and without a null beside it.
    pub(crate) fn resolve<'s>(&'s self, schema: &'s Value) -> &'s Value {
        match (self.referred(schema), schema.get("anyOf")) {
            (Some(name), _) => self.resolve(self.definition(name)),
            (None, Some(branches)) => self.resolve(&branches[0]),
            (None, None) => schema,
        }
    }

    /// The smallest value of a schema.
    pub(crate) fn smallest(&self, schema: &Value) -> Value {
        let schema = self.resolve(schema);
        if let Some(value) = schema.get("const").or_else(|| schema["enum"].get(0)) {
            return value.clone();
        }
        if let Some(branches) = schema.get("oneOf") {
            let branches = branches.as_array().unwrap();
            let plain = branches.iter().find(|branch| self.resolve(branch)["properties"].get("rules").is_none());
            return self.smallest(plain.unwrap());
        }
        let kind = schema["type"].as_str().or_else(|| schema["type"][0].as_str());
        match kind {
            Some("string") if schema["format"] == "date-time" => json!("2026-11-29T12:00:00Z"),
            Some("string") => json!("x"),
            Some("integer" | "number") => json!(1),
            Some("boolean") => json!(true),
            Some("array") => json!([]),
            Some("object") => self.smallest_object(schema),
            Some(_) | None => json!({ "k": "v" }),
        }
    }

    fn smallest_object(&self, schema: &Value) -> Value {
        let required = schema["required"].as_array().cloned().unwrap_or_default();
        let names = required.iter().map(|name| name.as_str().unwrap());
        let mut object: Map<_, _> =
            names.map(|name| (name.to_owned(), self.smallest(&schema["properties"][name]))).collect();
        if let (Some(1), true) = (schema["minProperties"].as_u64(), object.is_empty()) {
            let (name, inner) = schema["properties"].as_object().unwrap().iter().next().unwrap();
            object.insert(name.clone(), self.smallest(inner));
        }
        Value::Object(object)
    }
}
