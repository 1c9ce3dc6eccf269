//! One finding: a place, a rule, a public code.

use std::borrow::Cow;

use aip_types::document::{DocumentFault, bounded_pointer};
use aip_types::{ErrorCode, ProtocolError};
use jsonschema::ValidationError;
use jsonschema::error::ValidationErrorKind;

use crate::rules::Rule;

/// Why a document was refused. Holds no received value; the pointer may hold received member names.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{code}: {rule} at `{pointer}`")]
pub struct Fault {
    /// The public code.
    pub code: ErrorCode,
    /// JSON Pointer of the offending value; of the missing member where one is missing.
    pub pointer: String,
    /// The rule that is broken: a JSON Schema keyword or a fixed word of ours.
    pub rule: Cow<'static, str>,
}

impl Fault {
    /// A fault at a place.
    #[must_use]
    pub fn new(code: ErrorCode, pointer: impl Into<String>, rule: &'static str) -> Self {
        Self { code, pointer: bounded_pointer(pointer.into()), rule: Cow::Borrowed(rule) }
    }

    /// A broken rule of the specification at a place, with the code of its row.
    #[must_use]
    pub(crate) fn broken(rule: Rule, pointer: impl Into<String>) -> Self {
        let row = rule.row();
        Self::new(row.code.unwrap_or(ErrorCode::EnvelopeInvalid), pointer, row.name)
    }

    /// The protocol error for the sender, with pointer and rule in its details.
    #[must_use]
    pub fn error(&self) -> ProtocolError {
        self.code.error().with_finding(&self.pointer, &self.rule)
    }

    /// The finding of the schema engine, brought to its most precise place. `prefix` leads to the validated value.
    pub(crate) fn of(code: ErrorCode, prefix: &str, error: &ValidationError<'_>) -> Self {
        let (place, rule) = narrow(error);
        Self { code, pointer: bounded_pointer(format!("{prefix}{place}")), rule: Cow::Owned(rule) }
    }
}

impl Fault {
    /// The findings of one error of the engine: several where an object has several members that it must not have.
    pub(crate) fn each(code: ErrorCode, prefix: &str, error: &ValidationError<'_>) -> Vec<Self> {
        let kind = error.kind();
        if let ValidationErrorKind::AdditionalProperties { unexpected }
        | ValidationErrorKind::UnevaluatedProperties { unexpected } = kind
        {
            let place = error.instance_path().as_str();
            let at = |name: &String| bounded_pointer(format!("{prefix}{}", join(place, name)));
            let keyword = kind.keyword().to_owned();
            unexpected.iter().map(|name| Self { code, pointer: at(name), rule: Cow::Owned(keyword.clone()) }).collect()
        } else {
            vec![Self::of(code, prefix, error)]
        }
    }
}

impl From<DocumentFault> for Fault {
    fn from(fault: DocumentFault) -> Self {
        Self::new(fault.code, fault.pointer.unwrap_or_default(), fault.rule)
    }
}

/// Appends a member name to a JSON Pointer.
pub(crate) fn join(pointer: &str, name: &str) -> String {
    format!("{pointer}/{}", name.replace('~', "~0").replace('/', "~1"))
}

/// Pointer and rule of an error; descends into the branch of a union that the value was meant for.
fn narrow(error: &ValidationError<'_>) -> (String, String) {
    let place = error.instance_path().as_str();
    let kind = error.kind();
    match (named_member(kind), branches(kind)) {
        (Some(name), _) => (join(place, name), kind.keyword().to_owned()),
        (None, Some(branches)) => match meant(place, branches) {
            Some(inner) => narrow(inner),
            None => (place.to_owned(), kind.keyword().to_owned()),
        },
        (None, None) => (place.to_owned(), kind.keyword().to_owned()),
    }
}

/// The member that is missing or must not be there.
fn named_member(kind: &ValidationErrorKind) -> Option<&str> {
    if let ValidationErrorKind::Required { property } = kind {
        property.as_str()
    } else if let ValidationErrorKind::AdditionalProperties { unexpected }
    | ValidationErrorKind::UnevaluatedProperties { unexpected } = kind
    {
        unexpected.first().map(String::as_str)
    } else {
        None
    }
}

fn branches(kind: &ValidationErrorKind) -> Option<&[Vec<ValidationError<'static>>]> {
    if let ValidationErrorKind::AnyOf { context } | ValidationErrorKind::OneOfNotValid { context } = kind {
        Some(context)
    } else {
        None
    }
}

/// The first error of the one branch whose shape and tag the value has; else the tag that names no branch, else the shape.
fn meant<'e>(place: &str, branches: &'e [Vec<ValidationError<'static>>]) -> Option<&'e ValidationError<'static>> {
    let is_tag = |error: &ValidationError<'_>| matches!(error.kind(), ValidationErrorKind::Constant { .. });
    let is_shape = |error: &ValidationError<'_>| {
        matches!(error.kind(), ValidationErrorKind::Type { .. }) && error.instance_path().as_str() == place
    };
    let mut fitting = branches.iter().filter(|errors| !errors.iter().any(|error| is_tag(error) || is_shape(error)));
    match (fitting.next(), fitting.next()) {
        (Some(errors), None) => errors.first(),
        (Some(_), Some(_)) => None,
        (None, _) => {
            let mut errors = branches.iter().flatten();
            errors.clone().find(|error| is_tag(error)).or_else(|| errors.find(|error| is_shape(error)))
        }
    }
}
