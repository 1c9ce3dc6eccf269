//! The frames of the bindings, by the fixtures of `schemas/frames` and by properties.
#![expect(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

mod sse;
mod transport;
mod websocket;

use std::path::Path;

use aip_types::document::{Bounds, parse};
use serde_json::Value;

/// One list of a file of fixtures.
fn fixtures(file: &str, list: &str) -> Vec<Value> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../schemas/frames").join(file).with_extension("json");
    let document: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let fixtures = document[list].as_array().unwrap().clone();
    assert!(!fixtures.is_empty(), "{file}: {list} is empty");
    fixtures
}

fn text<'f>(fixture: &'f Value, member: &str) -> &'f str {
    fixture[member].as_str().unwrap_or_else(|| panic!("{member} is missing in {}", fixture["name"]))
}

fn read(text: &str) -> Value {
    parse(text.as_bytes(), Bounds::ENVELOPE).unwrap()
}
