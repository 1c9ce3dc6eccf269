//! Where a rule looks, and what was found.

use core::fmt;

use aip_types::ErrorCode;
use aip_types::document::bounded_pointer;
use serde_json::Value;

use super::registry::Rule;
use crate::capability::SchemaFault;
use crate::fault::Fault;

/// Findings of one document that are kept. One is enough to refuse it; the rest is for the person who mends it.
pub const FINDINGS_MAX: usize = 1_000;

/// A place in a document: a chain of steps on the stack. Its text is made for a finding only.
#[derive(Clone, Copy)]
pub(super) struct At<'a> {
    parent: Option<&'a At<'a>>,
    step: Step,
}

#[derive(Clone, Copy)]
enum Step {
    /// The beginning: a JSON Pointer, or nothing.
    Root(&'static str),
    Member(&'static str),
    Item(usize),
}

impl<'a> At<'a> {
    pub(super) const fn root(pointer: &'static str) -> Self {
        Self { parent: None, step: Step::Root(pointer) }
    }

    /// A member of the object here. Names of the wire need no escape.
    pub(super) const fn member(&'a self, name: &'static str) -> Self {
        Self { parent: Some(self), step: Step::Member(name) }
    }

    /// An item of the array here.
    pub(super) const fn item(&'a self, index: usize) -> Self {
        Self { parent: Some(self), step: Step::Item(index) }
    }
}

impl fmt::Display for At<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.parent.map_or(Ok(()), |parent| parent.fmt(f))?;
        match self.step {
            Step::Root(pointer) => f.write_str(pointer),
            Step::Member(name) => write!(f, "/{name}"),
            Step::Item(index) => write!(f, "/{index}"),
        }
    }
}

/// Collects findings in the order in which the rules are looked at, which is their precedence.
pub(super) struct Findings<'d> {
    /// What was received: receipts are hashed as they came, not as they are understood.
    document: &'d Value,
    found: Vec<Fault>,
    max: usize,
}

impl<'d> Findings<'d> {
    pub(super) const fn new(document: &'d Value, max: usize) -> Self {
        Self { document, found: Vec::new(), max }
    }

    /// Notes the rule unless it holds.
    pub(super) fn require(&mut self, holds: bool, rule: Rule, at: At<'_>) {
        if !holds && !self.is_full() {
            self.found.push(Fault::broken(rule, at.to_string()));
        }
    }

    /// Notes what is wrong with a capability's schema, which stands at a place.
    pub(super) fn note(&mut self, fault: &SchemaFault, at: At<'_>) {
        if !self.is_full() {
            let pointer = bounded_pointer(format!("{at}{}", fault.pointer));
            self.found.push(Fault::new(ErrorCode::ManifestRejected, pointer, fault.rule));
        }
    }

    /// Whether further findings are not wanted, so that dear checks can be left out.
    pub(super) const fn is_full(&self) -> bool {
        self.found.len() >= self.max
    }

    /// The document at a place, as received.
    pub(super) fn received(&self, at: At<'_>) -> Option<&'d Value> {
        self.document.pointer(&at.to_string())
    }

    pub(super) fn into_faults(self) -> Vec<Fault> {
        self.found
    }
}
