//! From bytes to a message that may be believed in its form, not yet in its content.

use aip_types::document::{self, Bounds};
use aip_types::{Envelope, exact};
use serde_json::Value;

use crate::embedded::Schemas;
use crate::fault::Fault;
use crate::rules::{self, Rule};

/// A message that passed all checks of its form.
#[derive(Clone, Debug, PartialEq)]
pub struct Received {
    /// The document as it came, for signatures and hashes over what was sent.
    pub document: Value,
    /// The same, typed.
    pub envelope: Envelope,
}

impl Received {
    /// Checks a document that was read by [`document::parse`].
    ///
    /// # Errors
    /// As [`receive`], without those of reading.
    pub fn of(document: Value) -> Result<Self, Fault> {
        let kind = Schemas::embedded()?.check_envelope(&document)?;
        let envelope = exact::typed::<Envelope>(&document)
            .map_err(|_| Fault::broken(Rule::PlainIntegers, format!("/body/{}", kind.body_key())))?;
        rules::check(&document, &envelope)?;
        Ok(Self { document, envelope })
    }
}

/// Does all that a receiver can check on the bytes of one message: the strict reader, the schema, the types and the rules
/// of the specification that concern one message alone.
///
/// # Errors
/// The first [`Fault`], in that order. `plain_integers` is left for what a schema admits and no integer type can hold,
/// such as `1.0`.
pub fn receive(bytes: &[u8]) -> Result<Received, Fault> {
    Received::of(document::parse(bytes, Bounds::ENVELOPE)?)
}
