//! What a row of the rule table says, and how the table is printed.

use aip_types::ErrorCode;

pub use super::table::Rule;

/// One rule of the specification.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// The rule.
    pub rule: Rule,
    /// Its stable name: the `rule` of a [`crate::Fault`] where it is found on one message.
    pub name: &'static str,
    /// Section of AIP 1.0 that states it.
    pub section: &'static str,
    /// The constraints of the type tables that it covers.
    pub constraints: &'static [&'static str],
    /// The one public code of breaking it; `None` where no message of ours can be refused by it.
    pub code: Option<ErrorCode>,
    /// What holds.
    pub holds: &'static str,
    /// Where it is checked, and what fails when it is not.
    pub proof: Proof,
}

/// Where a rule is checked, and what fails when it is removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Proof {
    /// On one message, in this crate; negative fixtures of `schemas/fixtures`: file and name of the case.
    Fixtures(&'static [(&'static str, &'static str)]),
    /// On one message; tests that are no fixtures.
    Tests(&'static [&'static str]),
    /// Needs a record, a clock or another message: who enforces it, and the tests that show it.
    Record(&'static str, &'static [&'static str]),
    /// Not enforced yet: the crate with which it comes.
    Later(&'static str),
}

/// The table as a document: `docs/rules.md`.
///
/// Source: AIP 1.0 §5–§19, §22.
#[must_use]
pub fn docs() -> String {
    let mut out = String::from(HEAD);
    out.push_str("\n## On one message\n\n");
    out.push_str("| Rule | AIP | Constraint | Code | What holds | Test |\n| --- | --- | --- | --- | --- | --- |\n");
    let single = |row: &Row| matches!(row.proof, Proof::Fixtures(_) | Proof::Tests(_));
    Rule::ALL.iter().map(|rule| rule.row()).filter(single).for_each(|row| line(&mut out, &row));
    out.push_str("\n## With a record, a clock or another message\n\n");
    out.push_str("| Rule | AIP | Constraint | Code | What holds | Enforced by, test |\n");
    out.push_str("| --- | --- | --- | --- | --- | --- |\n");
    Rule::ALL.iter().map(|rule| rule.row()).filter(|row| !single(row)).for_each(|row| line(&mut out, &row));
    out
}

const HEAD: &str = "# Rules

Generated from `aip_schema::rules` by `cargo xtask generate`; do not edit. A refusal names its rule in `details.rule`, the
place in `details.pointer`. Every rule has one code. *Constraint* is the number in the reference list of constraints.

Precedence is fixed, so that one wrong message has one answer: the strict reader; version, type and the one body; the schema
of the envelope, then of its body; the rules of the envelope, then those of the body. An object's own rules come before those
of its members, members in the order of the specification, items in the order of their list.

A test reads `file: case` for a negative fixture `schemas/fixtures/<file>.json`, else it is the name of a test function.
";

fn line(out: &mut String, row: &Row) {
    let constraints = row.constraints.join(", ");
    let code = row.code.map_or_else(|| "–".to_owned(), |code| format!("`{}`", code.as_str()));
    let named = |tests: &[&str]| tests.iter().map(|test| format!("`{test}`")).collect::<Vec<_>>().join(", ");
    let proof = match row.proof {
        Proof::Fixtures(cases) => {
            cases.iter().map(|(file, case)| format!("{file}: {case}")).collect::<Vec<_>>().join("; ")
        }
        Proof::Tests(tests) => named(tests),
        Proof::Record(by, tests) => format!("{by}: {}", named(tests)),
        Proof::Later(with) => format!("not yet: {with}"),
    };
    out.push_str(&format!(
        "| `{}` | §{} | {constraints} | {code} | {} | {proof} |\n",
        row.name, row.section, row.holds
    ));
}
