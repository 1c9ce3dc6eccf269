//! The dependency rule (style.md §2): which crate may use which, and who owns a foreign one.

use std::path::Path;

use anyhow::Context as _;
use serde_json::Value;

/// What a crate of ours may use of ours, tests apart.
enum May {
    /// These and nothing else.
    Use(&'static [&'static str]),
    /// Every one but the test kit.
    UseAll,
}

/// One row a member. A member without a row is refused: adding one is a decision.
const TABLE: &[(&str, May)] = &[
    ("aip-types", May::Use(&[])),
    ("aip-crypto", May::Use(&["aip-types"])),
    ("aip-schema", May::Use(&["aip-types", "aip-crypto"])),
    ("aip-core", May::Use(&["aip-types", "aip-crypto"])),
    ("aip-bus", May::Use(&["aip-types", "aip-core"])),
    ("aip-egress", May::Use(&["aip-types", "aip-crypto"])),
    ("aip-service", May::Use(&["aip-types", "aip-core", "aip-bus", "aip-crypto", "aip-schema"])),
    ("aip-edge", May::Use(&["aip-types", "aip-crypto", "aip-schema", "aip-bus", "aip-egress", "aip-service"])),
    ("aip-handler", May::Use(&["aip-types", "aip-bus", "aip-service"])),
    ("aip-testkit", May::UseAll),
    ("aip-edge-http", May::Use(EDGE)),
    ("aip-mcp-edge", May::Use(EDGE)),
    ("aip-a2a-edge", May::Use(EDGE)),
    ("aip-admission", May::Use(&["aip-types", "aip-core", "aip-bus", "aip-service", "aip-schema", "aip-crypto"])),
    ("aip-scheduler", May::Use(&["aip-types", "aip-core", "aip-bus", "aip-service", "aip-schema", "aip-crypto"])),
    ("aip-approval", May::Use(&["aip-types", "aip-core", "aip-bus", "aip-service"])),
    ("aip-callback-worker", May::Use(&["aip-types", "aip-core", "aip-bus", "aip-service", "aip-egress"])),
    ("aip-reconciler", May::Use(&["aip-types", "aip-core", "aip-bus", "aip-service"])),
    ("aip-connector", May::Use(&["aip-types", "aip-handler", "aip-egress", "aip-service"])),
    ("aip", May::UseAll),
    ("xtask", May::Use(&["aip-types", "aip-core", "aip-bus", "aip-schema"])),
];

const EDGE: &[&str] = &["aip-types", "aip-schema", "aip-edge", "aip-bus", "aip-service"];

/// Only ever a dev-dependency.
const TEST_KIT: &str = "aip-testkit";

/// A foreign crate with one place of its own.
struct Owned {
    /// The foreign crates.
    names: &'static [&'static str],
    /// Who may use them.
    owners: &'static [&'static str],
    /// Who may use them in tests as well.
    tests_of: &'static [&'static str],
}

const OWNED: &[Owned] = &[
    Owned { names: &["async-nats"], owners: &["aip-bus", TEST_KIT], tests_of: &["aip"] },
    Owned {
        names: &["reqwest", "hyper", "hyper-util", "ureq", "isahc", "curl", "attohttpc"],
        owners: &["aip-egress"],
        tests_of: &["aip"],
    },
    Owned {
        names: &["axum"],
        owners: &["aip-edge", "aip-service", "aip-edge-http", "aip-mcp-edge", "aip-a2a-edge"],
        tests_of: &["aip-egress", "aip"],
    },
];

/// One dependency of a member.
#[derive(Clone, Copy)]
struct Use<'m> {
    user: &'m str,
    name: &'m str,
    in_tests_only: bool,
}

/// Checks the output of `cargo metadata --no-deps` and the manifests that it names.
pub(crate) fn check(metadata: &Value, findings: &mut Vec<String>) -> anyhow::Result<()> {
    check_table(metadata, findings);
    for package in packages(metadata) {
        let path = Path::new(text(package, "manifest_path"));
        let manifest = std::fs::read_to_string(path).with_context(|| format!("reading {}", path.display()))?;
        check_manifest(text(package, "name"), &manifest, findings)?;
        if path.with_file_name("clippy.toml").exists() {
            findings.push(format!("{}: a clippy.toml of its own replaces the bans of the root", text(package, "name")));
        }
    }
    Ok(())
}

/// Compares every dependency with [`TABLE`] and [`OWNED`].
pub(crate) fn check_table(metadata: &Value, findings: &mut Vec<String>) {
    let members: Vec<&str> = packages(metadata).map(|package| text(package, "name")).collect();
    for package in packages(metadata) {
        let user = text(package, "name");
        if !TABLE.iter().any(|(row, _)| *row == user) {
            findings.push(format!("{user}: has no row in the dependency table (xtask/src/table.rs, style.md §2)"));
        }
        for dependency in package.get("dependencies").and_then(Value::as_array).into_iter().flatten() {
            let in_tests_only = dependency.get("kind").and_then(Value::as_str) == Some("dev");
            let one = Use { user, name: text(dependency, "name"), in_tests_only };
            findings.extend(if members.contains(&one.name) { check_ours(one) } else { check_foreign(one) });
        }
    }
}

fn check_ours(one: Use<'_>) -> Option<String> {
    let Use { user, name, in_tests_only } = one;
    if name == TEST_KIT {
        return (!in_tests_only).then(|| format!("{user}: {TEST_KIT} may only be a dev-dependency"));
    }
    let allowed = TABLE.iter().find(|(row, _)| *row == user).is_none_or(|(_, may)| match may {
        May::UseAll => true,
        May::Use(names) => names.contains(&name),
    });
    (!allowed && !in_tests_only).then(|| format!("{user}: may not use {name} (dependency table, style.md §2)"))
}

fn check_foreign(one: Use<'_>) -> Option<String> {
    let Use { user, name, in_tests_only } = one;
    let owned = OWNED.iter().find(|owned| owned.names.contains(&name))?;
    let allowed = owned.owners.contains(&user) || (in_tests_only && owned.tests_of.contains(&user));
    (!allowed).then(|| format!("{user}: {name} belongs to {}", owned.owners.join(", ")))
}

/// Every member takes the lints and the versions of the workspace.
pub(crate) fn check_manifest(name: &str, manifest: &str, findings: &mut Vec<String>) -> anyhow::Result<()> {
    let manifest: toml::Table = manifest.parse().with_context(|| format!("manifest of {name}"))?;
    let inherits = |value: &toml::Value| value.get("workspace").and_then(toml::Value::as_bool) == Some(true);
    if !manifest.get("lints").is_some_and(inherits) {
        findings.push(format!("{name}: [lints] workspace = true is missing"));
    }
    for section in ["dependencies", "dev-dependencies", "build-dependencies"] {
        let table = manifest.get(section).and_then(toml::Value::as_table);
        for (dependency, value) in table.into_iter().flatten() {
            if !inherits(value) {
                findings.push(format!("{name}: {dependency} must take its version from the workspace"));
            }
        }
    }
    Ok(())
}

fn packages(metadata: &Value) -> impl Iterator<Item = &Value> {
    metadata.get("packages").and_then(Value::as_array).into_iter().flatten()
}

fn text<'v>(value: &'v Value, member: &str) -> &'v str {
    value.get(member).and_then(Value::as_str).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn findings(user: &str, name: &str, kind: Option<&str>) -> Vec<String> {
        let members = TABLE.iter().map(|(row, _)| *row).chain(["aip-new"]);
        let packages: Vec<Value> = members
            .map(|member| {
                let uses = json!([{"name": name, "kind": kind}]);
                json!({"name": member, "dependencies": if member == user { uses } else { json!([]) }})
            })
            .filter(|package| text(package, "name") != "aip-new" || user == "aip-new")
            .collect();
        let mut findings = Vec::new();
        check_table(&json!({"packages": packages}), &mut findings);
        findings
    }

    #[test]
    fn what_stands_in_the_row_is_allowed_and_nothing_else() {
        assert_eq!(findings("aip-core", "aip-crypto", None), Vec::<String>::new());
        assert_eq!(
            findings("aip-core", "aip-bus", None),
            ["aip-core: may not use aip-bus (dependency table, style.md §2)"]
        );
        assert_eq!(findings("aip-edge-http", "aip-core", None).len(), 1);
        assert_eq!(findings("aip-admission", "aip-scheduler", None).len(), 1);
        assert_eq!(findings("aip", "aip-scheduler", None), Vec::<String>::new());
        assert_eq!(findings("aip-core", "aip-bus", Some("build")).len(), 1);
    }

    #[test]
    fn a_member_without_a_row_is_refused() {
        assert_eq!(findings("aip-new", "serde", None).len(), 1);
    }

    #[test]
    fn the_test_kit_is_for_tests() {
        assert_eq!(findings("aip-bus", TEST_KIT, Some("dev")), Vec::<String>::new());
        assert_eq!(findings("aip", TEST_KIT, None), ["aip: aip-testkit may only be a dev-dependency"]);
    }

    #[test]
    fn a_foreign_crate_stays_with_its_owner() {
        assert_eq!(findings("aip-bus", "async-nats", None), Vec::<String>::new());
        assert_eq!(
            findings("aip-scheduler", "async-nats", None),
            ["aip-scheduler: async-nats belongs to aip-bus, aip-testkit"]
        );
        assert_eq!(findings("aip", "async-nats", Some("dev")), Vec::<String>::new());
        assert_eq!(findings("aip", "async-nats", None).len(), 1);
        assert_eq!(findings("aip-edge", "reqwest", None).len(), 1);
        assert_eq!(findings("aip", "reqwest", Some("dev")), Vec::<String>::new());
        assert_eq!(findings("aip-admission", "axum", None).len(), 1);
    }

    #[test]
    fn a_manifest_takes_lints_and_versions_from_the_workspace() {
        let of = |manifest: &str| {
            let mut findings = Vec::new();
            check_manifest("x", manifest, &mut findings).unwrap();
            findings
        };
        assert_eq!(
            of(
                "[lints]\nworkspace = true\n[dependencies]\na.workspace = true\nb = { workspace = true, features = [] }"
            ),
            Vec::<String>::new()
        );
        assert_eq!(of("[dependencies]\na.workspace = true"), ["x: [lints] workspace = true is missing"]);
        assert_eq!(
            of("[lints]\nworkspace = true\n[dev-dependencies]\na = \"1\""),
            ["x: a must take its version from the workspace"]
        );
    }
}
