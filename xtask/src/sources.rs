//! Rules about source files: sizes, names, and what may not be written (style.md §2, §3, §5).

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::Context as _;

use crate::code::Code;

const FUNCTION_LINES_MAX: usize = 70;
const FILE_LINES_MAX: usize = 500;
const TEST_FILE_LINES_MAX: usize = 800;
const SERVICE_LINES_MAX: usize = 1_500;
const ARCHITECTURE_LINES_MAX: usize = 300;

/// The binary that links all services: its size says nothing about one of them.
const WITHOUT_SERVICE_LIMIT: &str = "aip";
const FORBIDDEN_MODULES: [&str; 8] = ["utils", "util", "helpers", "helper", "common", "manager", "managers", "misc"];
const FORBIDDEN_CODE: [(&str, &str); 5] = [
    ("#[ignore", "a test that does not run proves nothing"),
    ("#[should_panic", "assert the error, not the panic"),
    ("todo!", "finish it or leave it out"),
    ("unimplemented!", "finish it or leave it out"),
    ("#![allow(", "use #![expect(lint, reason = \"…\")]"),
];

/// Checks every Rust file under `root`, and the length of `ARCHITECTURE.md`.
pub(crate) fn check(root: &Path, findings: &mut Vec<String>) -> anyhow::Result<()> {
    let mut files = Vec::new();
    collect(root, root, &mut files)?;
    let mut services: BTreeMap<String, usize> = BTreeMap::new();
    for path in &files {
        let source = std::fs::read_to_string(root.join(path)).with_context(|| format!("reading {}", path.display()))?;
        let report = check_file(path, &source);
        findings.extend(report.findings);
        if let Some(service) = service_of(path) {
            let total = services.entry(service).or_default();
            *total = total.saturating_add(report.lines_without_tests);
        }
    }
    findings.extend(services.iter().filter_map(|(name, lines)| check_service(name, *lines)));
    let architecture = std::fs::read_to_string(root.join("ARCHITECTURE.md")).unwrap_or_default().lines().count();
    if architecture > ARCHITECTURE_LINES_MAX {
        findings.push(format!("ARCHITECTURE.md: {architecture} lines, at most {ARCHITECTURE_LINES_MAX}"));
    }
    Ok(())
}

/// What one file has to say.
pub(crate) struct Report {
    pub(crate) findings: Vec<String>,
    pub(crate) lines_without_tests: usize,
}

/// Checks one file; `path` is relative to the workspace.
pub(crate) fn check_file(path: &Path, source: &str) -> Report {
    let code = Code::parse(source);
    let lines = source.lines().count();
    let test_file = is_test_file(path);
    let tests = code.test_lines();
    let is_test = |line: usize| test_file || tests.iter().any(|range| range.contains(&line));
    let mut findings = Vec::new();

    let limit = if test_file { TEST_FILE_LINES_MAX } else { FILE_LINES_MAX };
    if lines > limit {
        findings.push(format!("{}: {lines} lines, at most {limit}", path.display()));
    }
    for function in code.functions() {
        if function.lines > FUNCTION_LINES_MAX && !is_test(function.line) {
            let (name, line, lines) = (function.name, function.line, function.lines);
            findings
                .push(format!("{}:{line}: fn {name} has {lines} lines, at most {FUNCTION_LINES_MAX}", path.display()));
        }
    }
    findings.extend(forbidden_names(path, &code));
    findings.extend(forbidden_code(path, &code));
    let lines_without_tests = (1..=lines).filter(|line| !is_test(*line)).count();
    Report { findings, lines_without_tests }
}

/// The finding about a service that is too large.
pub(crate) fn check_service(name: &str, lines: usize) -> Option<String> {
    let over = lines > SERVICE_LINES_MAX && name != WITHOUT_SERVICE_LIMIT;
    over.then(|| {
        format!("services/{name}: {lines} lines without tests, at most {SERVICE_LINES_MAX}: semantics belong in core")
    })
}

fn forbidden_names(path: &Path, code: &Code) -> Vec<String> {
    let own = path.components().filter_map(|part| Path::new(part.as_os_str()).file_stem()?.to_str().map(str::to_owned));
    let mut bad: Vec<String> =
        own.chain(code.modules()).filter(|name| FORBIDDEN_MODULES.contains(&name.as_str())).collect();
    bad.dedup();
    bad.into_iter()
        .map(|name| format!("{}: a module called {name} says nothing about what it holds", path.display()))
        .collect()
}

fn forbidden_code(path: &Path, code: &Code) -> Vec<String> {
    let text = code.text();
    let mut findings = Vec::new();
    for (number, line) in text.lines().enumerate() {
        for (word, reason) in FORBIDDEN_CODE {
            if line.contains(word) {
                findings.push(format!("{}:{}: {word}: {reason}", path.display(), number.saturating_add(1)));
            }
        }
    }
    findings
}

fn is_test_file(path: &Path) -> bool {
    path.components().any(|part| matches!(part.as_os_str().to_str(), Some("tests" | "tests.rs" | "benches")))
}

fn service_of(path: &Path) -> Option<String> {
    let mut parts = path.components().filter_map(|part| part.as_os_str().to_str());
    (parts.next()? == "services").then(|| parts.next().map(str::to_owned))?
}

/// Rust files below `folder`, relative to `root`; hidden folders and build output apart.
fn collect(root: &Path, folder: &Path, files: &mut Vec<PathBuf>) -> anyhow::Result<()> {
    let mut entries = std::fs::read_dir(folder)?.collect::<Result<Vec<_>, _>>()?;
    entries.sort_by_key(std::fs::DirEntry::file_name);
    for entry in entries {
        let (path, name) = (entry.path(), entry.file_name());
        let hidden = name.to_string_lossy().starts_with('.') || name == "target";
        if entry.file_type()?.is_dir() && !hidden {
            collect(root, &path, files)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path.strip_prefix(root)?.to_path_buf());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(path: &str, source: &str) -> Vec<String> {
        check_file(Path::new(path), source).findings
    }

    fn function(lines: usize) -> String {
        format!("fn long() {{\n{}}}\n", "    step();\n".repeat(lines.saturating_sub(2)))
    }

    #[test]
    fn a_function_is_refused_one_line_past_its_limit() {
        assert_eq!(findings("shared/core/src/a.rs", &function(70)), Vec::<String>::new());
        assert_eq!(
            findings("shared/core/src/a.rs", &function(71)),
            ["shared/core/src/a.rs:1: fn long has 71 lines, at most 70"]
        );
        assert_eq!(findings("shared/core/tests/a.rs", &function(71)), Vec::<String>::new());
        let inside = format!("#[cfg(test)]\nmod tests {{\n{}}}\n", function(71));
        assert_eq!(findings("shared/core/src/a.rs", &inside), Vec::<String>::new());
    }

    #[test]
    fn a_file_is_refused_one_line_past_its_limit() {
        let line = "const A: u8 = 0;\n";
        assert_eq!(findings("services/aip/src/a.rs", &line.repeat(500)).len(), 0);
        assert_eq!(
            findings("services/aip/src/a.rs", &line.repeat(501)),
            ["services/aip/src/a.rs: 501 lines, at most 500"]
        );
        assert_eq!(findings("services/aip/tests/a.rs", &line.repeat(800)).len(), 0);
        assert_eq!(
            findings("services/aip/tests/a.rs", &line.repeat(801)),
            ["services/aip/tests/a.rs: 801 lines, at most 800"]
        );
    }

    #[test]
    fn a_service_is_refused_past_its_total_but_the_binary_is_not() {
        assert_eq!(check_service("admission", 1_500), None);
        assert!(check_service("admission", 1_501).is_some());
        assert_eq!(check_service("aip", 9_000), None);
        assert_eq!(service_of(Path::new("services/admission/src/lib.rs")).as_deref(), Some("admission"));
        assert_eq!(service_of(Path::new("shared/core/src/lib.rs")), None);
    }

    #[test]
    fn tests_do_not_count_for_the_service_total() {
        let source = "fn a() {}\n#[cfg(test)]\nmod tests {\n    fn b() {}\n}\n";
        assert_eq!(check_file(Path::new("services/admission/src/a.rs"), source).lines_without_tests, 1);
        assert_eq!(check_file(Path::new("services/admission/tests/a.rs"), source).lines_without_tests, 0);
    }

    #[test]
    fn names_that_say_nothing_are_refused() {
        for path in ["shared/bus/src/utils.rs", "shared/bus/src/helpers/mod.rs", "shared/bus/tests/common/mod.rs"] {
            assert_eq!(findings(path, "").len(), 1, "{path}");
        }
        assert_eq!(findings("shared/bus/src/lib.rs", "mod manager;\n").len(), 1);
        assert_eq!(findings("shared/bus/src/lib.rs", "mod lanes;\n// mod utils;\n"), Vec::<String>::new());
    }

    #[test]
    fn unfinished_and_unrun_code_is_refused() {
        for source in [
            "fn a() { todo!() }",
            "fn a() { unimplemented!() }",
            "#[test]\n#[ignore]\nfn a() {}",
            "#[should_panic]\nfn a() {}",
        ] {
            assert_eq!(findings("shared/bus/src/lib.rs", source).len(), 1, "{source}");
        }
        assert_eq!(findings("shared/bus/src/lib.rs", "// todo!\nconst A: &str = \"#[ignore]\";"), Vec::<String>::new());
    }
}
