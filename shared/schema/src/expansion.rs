//! How much work a schema can make for one value, found before it is compiled.
//!
//! Keywords such as `allOf` and `$ref` apply further schemas to the *same* value. A cycle of them never ends, and a
//! ladder of them doubles at every rung, so both are refused.

use std::collections::HashMap;

use serde_json::Value;

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
    root: &'s Value,
    anchors: HashMap<&'s str, &'s Value>,
    marks: HashMap<usize, Mark>,
}

/// Checks every schema inside `root`. The caller has bounded its depth and size.
pub(crate) fn check(root: &Value) -> Result<(), Broken> {
    let mut walk = Walk { root, anchors: HashMap::new(), marks: HashMap::new() };
    let mut all = Vec::new();
    let mut open = vec![root];
    while let Some(value) = open.pop() {
        if let Value::Object(members) = value {
            if !core::ptr::eq(value, root) && members.get("$id").is_some_and(Value::is_string) {
                return Err("nested_id");
            }
            let anchors = ["$anchor", "$dynamicAnchor"].into_iter().filter_map(|name| members.get(name)?.as_str());
            walk.anchors.extend(anchors.map(|name| (name, value)));
            all.push(value);
            open.extend(members.values());
        } else if let Value::Array(items) = value {
            open.extend(items);
        }
    }
    all.into_iter().try_for_each(|schema| walk.cost(schema).map(drop))
}

impl<'s> Walk<'s> {
    fn cost(&mut self, schema: &'s Value) -> Result<Cost, Broken> {
        let Value::Object(members) = schema else { return Ok(Cost { applied: 1, depth: 0 }) };
        let key = core::ptr::from_ref(schema).addr();
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
        if fragment.is_empty() || fragment.starts_with('/') {
            self.root.pointer(fragment).ok_or("unknown_reference")
        } else {
            self.anchors.get(fragment).copied().ok_or("unknown_reference")
        }
    }
}
