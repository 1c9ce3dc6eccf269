//! Files that are printed from code. `cargo xtask generate` writes them; tidy refuses a file that has drifted.

use std::path::Path;

use anyhow::Context as _;

/// One generated file.
pub(crate) struct Generated {
    /// Where it lies, from the root of the workspace.
    pub(crate) path: &'static str,
    /// Prints its whole content.
    pub(crate) render: fn() -> String,
}

/// Every generated file. Nothing else writes these paths.
pub(crate) const GENERATED: &[Generated] = &[
    Generated { path: "docs/errors.md", render: aip_types::error_codes::docs },
    Generated { path: "docs/events.md", render: aip_types::event_kinds::docs },
    Generated { path: "docs/rules.md", render: aip_schema::rules::docs },
    Generated { path: "docs/states/action.md", render: aip_core::action::matrix },
    Generated { path: "docs/states/approval.md", render: aip_core::approval::matrix },
    Generated { path: "docs/states/callback.md", render: aip_core::callback::matrix },
    Generated { path: "docs/states/delegation.md", render: aip_core::delegation::matrix },
    Generated { path: "docs/states/escalation.md", render: aip_core::escalation::matrix },
    Generated { path: "docs/states/session.md", render: aip_core::session::matrix },
    Generated { path: "docs/states/transaction.md", render: aip_core::transaction::matrix },
    Generated { path: "docs/subjects.md", render: aip_bus::subjects::docs },
    Generated { path: "nats-config/accounts.conf", render: aip_bus::accounts::sample },
];

/// Names every file of `entries` that is absent or not what its code prints.
pub(crate) fn check(root: &Path, entries: &[Generated], findings: &mut Vec<String>) {
    for entry in entries {
        let kept = std::fs::read_to_string(root.join(entry.path)).ok();
        if kept.as_deref() != Some((entry.render)().as_str()) {
            let state = if kept.is_some() { "is not what the code prints" } else { "is missing" };
            findings.push(format!("{}: {state}; run `cargo xtask generate` and read the difference", entry.path));
        }
    }
}

/// Writes every file of `entries`.
pub(crate) fn write(root: &Path, entries: &[Generated]) -> anyhow::Result<()> {
    for entry in entries {
        let path = root.join(entry.path);
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder)?;
        }
        std::fs::write(&path, (entry.render)()).with_context(|| format!("writing {}", entry.path))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_drifts_is_refused_until_it_is_written_again() {
        let root = std::env::temp_dir().join(format!("xtask-generated-{}", std::process::id()));
        let entries = [Generated { path: "docs/one.md", render: || "one\n".to_owned() }];
        let findings = || {
            let mut findings = Vec::new();
            check(&root, &entries, &mut findings);
            findings
        };
        assert!(findings()[0].contains("is missing"));
        write(&root, &entries).unwrap();
        assert_eq!(findings(), Vec::<String>::new());
        std::fs::write(root.join("docs/one.md"), "one").unwrap();
        assert!(findings()[0].contains("is not what the code prints"));
        std::fs::remove_dir_all(&root).unwrap();
    }
}
