//! How much work a schema can make for one value, found before it is compiled.
//!
//! Keywords such as `allOf` and `$ref` apply further schemas to the *same* value. A cycle of them never ends, and a
//! ladder of them doubles at every rung, so both are refused.

use std::collections::HashMap;

use serde_json::Value;

use crate::budget::{is_data, is_map};

/// Schemas that may be applied to one and the same value.
const APPLIED_MAX: u32 = 4_000;
/// Schemas inside each other that may be applied to one and the same value.
const APPLIED_DEPTH_MAX: u32 = 16;

const LISTS: [&str; 3] = ["allOf", "anyOf", "oneOf"];
const SINGLES: [&str; 4] = ["not", "if", "then", "else"];
const MAPS: [&str; 2] = ["dependentSchemas", "dependencies"];
const REFERENCES: [&str; 3] = ["$ref", "$dynamicRef", "$recursiveRef"];

/// A rule that the schema breaks.
type Broken = &'static str;

#[derive(Clone, Copy)]
enum Mark {
    /// Its cost is being worked out: to meet it again is a cycle.
    Open,
    Known(Cost),
}

#[derive(Clone, Copy, Default)]
struct Cost {
    applied: u32,
    depth: u32,
}

struct Walk<'s> {
    /// Every object that may be a schema, by address. What lies inside data, such as under `const`, is none.
    schemas: HashMap<usize, &'s Value>,
    root: &'s Value,
    anchors: HashMap<&'s str, &'s Value>,
    marks: HashMap<usize, Mark>,
}

/// Checks every schema inside `root`. The caller has bounded its depth and size.
pub(crate) fn check(root: &Value) -> Result<(), Broken> {
    let mut walk = Walk { schemas: HashMap::new(), root, anchors: HashMap::new(), marks: HashMap::new() };
    let mut open = vec![(root, false)];
    while let Some((value, in_map)) = open.pop() {
        if let Value::Object(members) = value {
            let inside = members.iter().filter(|(name, _)| !is_data(name, in_map));
            open.extend(inside.map(|(name, member)| (member, is_map(name, in_map))));
            if !in_map {
                walk.schema(value)?;
            }
        } else if let Value::Array(items) = value {
            open.extend(items.iter().map(|item| (item, false)));
        }
    }
    let schemas: Vec<_> = walk.schemas.values().copied().collect();
    schemas.into_iter().try_for_each(|schema| walk.cost(schema).map(drop))
}

/// What tells two equal values of one document apart.
fn address(value: &Value) -> usize {
    core::ptr::from_ref(value).addr()
}

impl<'s> Walk<'s> {
    /// Notes an object that may be a schema.
    fn schema(&mut self, value: &'s Value) -> Result<(), Broken> {
        let text = |name| value.get(name).and_then(Value::as_str);
        if !core::ptr::eq(value, self.root) && (text("$id").is_some() || text("$schema").is_some()) {
            return Err("nested_id");
        }
        self.anchors.extend(["$anchor", "$dynamicAnchor"].into_iter().filter_map(text).map(|name| (name, value)));
        self.schemas.insert(address(value), value);
        Ok(())
    }

    fn cost(&mut self, schema: &'s Value) -> Result<Cost, Broken> {
        let Value::Object(members) = schema else { return Ok(Cost { applied: 1, depth: 0 }) };
        let key = address(schema);
        match self.marks.get(&key) {
            Some(Mark::Known(cost)) => return Ok(*cost),
            Some(Mark::Open) => return Err("reference_cycle"),
            None => {}
        }
        self.marks.insert(key, Mark::Open);
        let lists = LISTS.iter().filter_map(|name| members.get(*name)?.as_array()).flatten();
        let singles = SINGLES.iter().filter_map(|name| members.get(*name));
        let maps = MAPS.iter().filter_map(|name| members.get(*name)?.as_object()).flat_map(|map| map.values());
        let mut children: Vec<&'s Value> = lists.chain(singles).chain(maps).collect();
        for name in REFERENCES {
            if let Some(Value::String(target)) = members.get(name) {
                children.push(self.resolve(target)?);
            }
        }
        let mut cost = Cost { applied: 1, depth: 0 };
        for child in children {
            let inner = self.cost(child)?;
            cost.applied = cost.applied.saturating_add(inner.applied);
            cost.depth = cost.depth.max(inner.depth.saturating_add(1));
            if cost.applied > APPLIED_MAX || cost.depth > APPLIED_DEPTH_MAX {
                return Err("expansion_max");
            }
        }
        self.marks.insert(key, Mark::Known(cost));
        Ok(cost)
    }

    /// The schema that a reference names. Only references into the same document are admitted.
    fn resolve(&self, target: &str) -> Result<&'s Value, Broken> {
        let fragment = target.strip_prefix('#').ok_or("remote_reference")?;
        if fragment.contains('%') {
            return Err("escaped_reference");
        }
        let found = if fragment.is_empty() || fragment.starts_with('/') {
            self.root.pointer(fragment)
        } else {
            self.anchors.get(fragment).copied()
        };
        let is_schema = |value: &&Value| value.is_boolean() || self.schemas.contains_key(&address(value));
        found.filter(is_schema).ok_or("unknown_reference")
    }
}
