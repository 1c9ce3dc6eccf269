//! The table of rules against fixtures, tests and the reference list of constraints.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use aip_schema::rules::{Proof, Rule};
use aip_schema::{inspect, receive};
use aip_types::MessageType;
use serde_json::{Value, json};

use crate::shapes::{Shapes, envelope};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn fixture(file: &str) -> Value {
    serde_json::from_slice(&std::fs::read(root().join(format!("schemas/fixtures/{file}.json"))).unwrap()).unwrap()
}

/// All Rust sources of the workspace in one text.
fn sources() -> String {
    let mut open = ["shared", "services", "tests", "xtask"].map(|folder| root().join(folder)).to_vec();
    let mut text = String::new();
    while let Some(path) = open.pop() {
        if path.is_dir() {
            open.extend(std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            text.push_str(&std::fs::read_to_string(path).unwrap());
        }
    }
    text
}

#[test]
fn every_constraint_of_the_reference_has_a_row() {
    let covered: BTreeSet<_> = Rule::ALL.iter().flat_map(|rule| rule.row().constraints).copied().collect();
    let wanted: BTreeSet<_> = (1..=65).map(|number| format!("SC{number:02}")).collect();
    assert_eq!(covered, wanted.iter().map(String::as_str).collect());
}

#[test]
fn a_rule_has_one_name() {
    let names: BTreeSet<_> = Rule::ALL.iter().map(|rule| rule.row().name).collect();
    assert_eq!(names.len(), Rule::ALL.len());
}

#[test]
fn every_rule_names_a_fixture_that_breaks_it_or_a_test_that_exists() {
    let sources = sources();
    for rule in Rule::ALL {
        let row = rule.row();
        match row.proof {
            Proof::Fixtures(cases) => {
                assert!(!cases.is_empty(), "{rule:?}");
                for (file, name) in cases {
                    let fixture = fixture(file);
                    let case = fixture["invalid"].as_array().unwrap().iter().find(|case| case["name"] == *name);
                    let case = case.unwrap_or_else(|| panic!("{rule:?}: {file} has no case `{name}`"));
                    assert_eq!(case["rule"], row.name, "{rule:?}: {file}, {name}");
                    assert_eq!(case["code"], row.code.unwrap().as_str(), "{rule:?}: {file}, {name}");
                }
            }
            Proof::Tests(tests) | Proof::Record(_, tests) => {
                assert!(!tests.is_empty(), "{rule:?}");
                for test in tests {
                    assert!(sources.contains(&format!("fn {test}(")), "{rule:?}: there is no test `{test}`");
                }
            }
            Proof::Later(with) => assert!(!with.is_empty(), "{rule:?}"),
        }
    }
}

#[test]
fn every_finding_of_a_fixture_is_a_rule_of_the_table() {
    for kind in MessageType::ALL {
        for case in fixture(kind.body_key())["invalid"].as_array().unwrap() {
            let known = Rule::ALL.iter().map(|rule| rule.row()).find(|row| case["rule"] == row.name);
            let row = known.unwrap_or_else(|| panic!("{kind}, {}: no row", case["name"]));
            assert_eq!(case["code"], row.code.unwrap().as_str(), "{kind}, {}", case["name"]);
        }
    }
}

#[test]
fn a_page_has_a_thousand_records_and_no_more() {
    let shapes = Shapes::read();
    for (kind, member) in [
        (MessageType::ActionList, "actions"),
        (MessageType::ActionEvents, "events"),
        (MessageType::SessionList, "sessions"),
        (MessageType::ApprovalList, "approvals"),
        (MessageType::EventStream, "events"),
        (MessageType::ResourceList, "resources"),
        (MessageType::CallbackDeliveryList, "deliveries"),
        (MessageType::AuditQueryResult, "events"),
    ] {
        let body = shapes.definition(&shapes.body(kind));
        let item = shapes.smallest(&shapes.resolve(&body["properties"][member])["items"]);
        for (records, taken) in [(1_000, true), (1_001, false)] {
            let mut page = shapes.smallest(body);
            page[member] = json!(vec![item.clone(); records]);
            let answer = receive(envelope(kind, &page).to_string().as_bytes());
            let found = answer.err().map(|fault| (fault.pointer, fault.rule.into_owned()));
            let wanted = (!taken).then(|| (format!("/body/{}/{member}", kind.body_key()), "list_page".to_owned()));
            assert_eq!(found, wanted, "{kind}, {records}");
        }
    }
}

#[test]
fn a_document_is_told_everything_that_is_wrong_with_it() {
    let found = |document: Value| -> Vec<(String, String)> {
        let findings = inspect(document.to_string().as_bytes()).findings;
        findings.into_iter().map(|fault| (fault.pointer, fault.rule.into_owned())).collect()
    };
    let pairs = |pairs: &[(&str, &str)]| -> Vec<(String, String)> {
        pairs.iter().map(|(pointer, rule)| ((*pointer).to_owned(), (*rule).to_owned())).collect()
    };
    let action = json!({ "id": "", "capability_id": 7, "input": null, "x": 1, "y": 2 });
    let mut schema = found(envelope(MessageType::Action, &action));
    schema.sort();
    assert_eq!(
        schema,
        pairs(&[
            ("/body/action/capability_id", "type"),
            ("/body/action/id", "minLength"),
            ("/body/action/x", "additionalProperties"),
            ("/body/action/y", "additionalProperties"),
        ])
    );
    let action = json!({ "id": "a", "capability_id": "c", "input": null, "timeout_ms": 0, "idempotency_key": "" });
    let rules =
        [("input", "action_input"), ("idempotency_key", "action_key_not_empty"), ("timeout_ms", "action_timeout")];
    let at = |prefix: &str| -> Vec<(String, String)> {
        rules.iter().map(|(member, rule)| (format!("{prefix}/{member}"), (*rule).to_owned())).collect()
    };
    assert_eq!(found(envelope(MessageType::Action, &action)), at("/body/action"));
    assert_eq!(found(json!({ "action": action })), at("/action"));
    assert_eq!(
        found(json!({ "manifest_version": "2", "agent": { "id": "a", "kind": "agent" }, "profiles": [] })),
        pairs(&[("/manifest_version", "manifest_version"), ("/profiles", "manifest_profiles")])
    );
    assert_eq!(found(json!({ "actions": {} })), {
        let missing = ["aip_version", "body", "message_id", "message_type", "sent_at"];
        let mut all: Vec<_> = missing.iter().map(|name| (format!("/{name}"), "required".to_owned())).collect();
        all.insert(0, ("/actions".to_owned(), "additionalProperties".to_owned()));
        let mut got = found(json!({ "actions": {} }));
        got.sort();
        all.sort();
        assert_eq!(got, all);
        found(json!({ "actions": {} }))
    });
}
