//! Everything that is wrong with a document, for the person who mends it. A receiver stops at the first finding
//! ([`crate::receive`]); both judge by the same schemas and rules.

use aip_types::document::{self, Bounds};
use aip_types::{Envelope, Manifest, MessageBody, MessageType, exact};
use serde_json::Value;

use crate::embedded::Schemas;
use crate::fault::{Fault, join};
use crate::rules::{self, Rule};

/// What a document was taken for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// A native envelope. Also what cannot be recognised.
    Envelope,
    /// One tagged body, such as `{"action": {…}}`.
    Body(MessageType),
    /// A manifest without a tag.
    Manifest,
}

/// An inspected document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inspected {
    /// What it was taken for.
    pub form: Form,
    /// What is wrong with it, in the order of precedence; empty if nothing is.
    pub findings: Vec<Fault>,
}

/// Reads a document and finds everything that is wrong with it. Rules beyond the schema are looked at where the schema is
/// satisfied. Pointers begin at the document.
#[must_use]
pub fn inspect(bytes: &[u8]) -> Inspected {
    let document = match document::parse(bytes, Bounds::ENVELOPE) {
        Ok(document) => document,
        Err(fault) => return Inspected { form: Form::Envelope, findings: vec![fault.into()] },
    };
    let form = form(&document);
    let findings = Schemas::embedded().map_or_else(
        |fault| vec![fault],
        |schemas| match form {
            Form::Envelope => envelope(schemas, &document),
            Form::Body(kind) => body(schemas, kind, &document),
            Form::Manifest => manifest(schemas, &document),
        },
    );
    Inspected { form, findings }
}

fn form(document: &Value) -> Form {
    let Some(members) = document.as_object() else { return Form::Envelope };
    let mut names = members.keys();
    match (names.next(), names.next()) {
        (Some(key), None) => MessageType::from_body_key(key).map_or(Form::Envelope, Form::Body),
        (_, _) if members.contains_key("manifest_version") => Form::Manifest,
        (_, _) => Form::Envelope,
    }
}

fn envelope(schemas: &Schemas, document: &Value) -> Vec<Fault> {
    let found = schemas.envelope_findings(document);
    if !found.is_empty() {
        return found;
    }
    let whole = |envelope: Envelope| rules::findings(document, &envelope);
    exact::typed(document).map_or_else(|_| vec![Fault::broken(Rule::PlainIntegers, "/body")], whole)
}

fn body(schemas: &Schemas, kind: MessageType, document: &Value) -> Vec<Fault> {
    let inner = document.get(kind.body_key()).unwrap_or(&Value::Null);
    let found = schemas.body_findings(kind, "", inner);
    if !found.is_empty() {
        return found;
    }
    let at = || join("", kind.body_key());
    let whole = |body: MessageBody| rules::body_findings(document, &body);
    exact::typed(document).map_or_else(|_| vec![Fault::broken(Rule::PlainIntegers, at())], whole)
}

fn manifest(schemas: &Schemas, document: &Value) -> Vec<Fault> {
    let found = schemas.manifest_findings(document);
    if !found.is_empty() {
        return found;
    }
    let whole = |manifest: Manifest| rules::manifest(&manifest);
    exact::typed(document).map_or_else(|_| vec![Fault::broken(Rule::PlainIntegers, "")], whole)
}
