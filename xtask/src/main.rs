//! The tasks of this workspace: `cargo xtask tidy`, `generate`, `dist` and `ci`.
//!
//! Tidy checks what neither the compiler nor clippy can: the dependency table, the sizes, the names, the generated
//! files. Start reading at `tidy`, then `table` (who may use whom) and `generated` (what is printed from code).

mod code;
mod dist;
mod generated;
mod sources;
mod table;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context as _, bail};
use serde_json::Value;

use crate::dist::Build;

const USAGE: &str = "usage: cargo xtask <task>
  tidy       check the dependency table, sizes, names and generated files
  generate   write the generated files
  dist       put what the images need into dist/ (--debug: quickly, into dist/debug/)
  ci         fmt, clippy, tidy, doc, test: what CI runs";

/// What CI runs beside tidy, in order, each with its arguments to cargo.
const BEFORE_TIDY: &[&[&str]] =
    &[&["fmt", "--all", "--check"], &["clippy", "--workspace", "--all-targets", "--locked", "--", "-D", "warnings"]];
const AFTER_TIDY: &[&[&str]] =
    &[&["doc", "--workspace", "--no-deps", "--locked"], &["test", "--workspace", "--locked"]];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let task = match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["tidy"] => tidy(),
        ["generate"] => root().and_then(|root| generated::write(&root, generated::GENERATED)),
        ["dist"] => root().and_then(|root| dist::dist(&root, Build::Release)),
        ["dist", "--debug"] => root().and_then(|root| dist::dist(&root, Build::Debug)),
        ["ci"] => ci(),
        _ => {
            say(USAGE);
            return ExitCode::from(2);
        }
    };
    match task {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            say(&format!("error: {error:#}"));
            ExitCode::FAILURE
        }
    }
}

fn tidy() -> anyhow::Result<()> {
    let root = root()?;
    let mut findings = Vec::new();
    table::check(&metadata(&root)?, &mut findings)?;
    sources::check(&root, &mut findings)?;
    generated::check(&root, generated::GENERATED, &mut findings);
    findings.iter().for_each(|finding| say(finding));
    if findings.is_empty() { Ok(()) } else { bail!("tidy: {} findings", findings.len()) }
}

fn ci() -> anyhow::Result<()> {
    BEFORE_TIDY.iter().try_for_each(|arguments| cargo(arguments))?;
    tidy()?;
    AFTER_TIDY.iter().try_for_each(|arguments| cargo(arguments))
}

fn cargo(arguments: &[&str]) -> anyhow::Result<()> {
    say(&format!("cargo {}", arguments.join(" ")));
    let status = cargo_command().args(arguments).env("RUSTDOCFLAGS", "-D warnings").current_dir(root()?).status()?;
    if status.success() { Ok(()) } else { bail!("cargo {}: {status}", arguments.join(" ")) }
}

/// Cargo without what `cargo run` tells this program about its own package: build scripts (ring's) would take that for a
/// change, and half of the dependencies would be built anew, here and again in the next ordinary build.
fn cargo_command() -> Command {
    let mut command = Command::new("cargo");
    for (name, _) in std::env::vars_os() {
        if ["CARGO_PKG_", "CARGO_MANIFEST_"].iter().any(|own| name.to_string_lossy().starts_with(own)) {
            command.env_remove(name);
        }
    }
    command
}

fn metadata(root: &Path) -> anyhow::Result<Value> {
    let run =
        Command::new("cargo").args(["metadata", "--format-version", "1", "--no-deps"]).current_dir(root).output()?;
    if !run.status.success() {
        bail!("cargo metadata: {}", String::from_utf8_lossy(&run.stderr));
    }
    serde_json::from_slice(&run.stdout).context("cargo metadata")
}

fn root() -> anyhow::Result<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().context("xtask has no parent folder")?;
    Ok(root.to_path_buf())
}

#[expect(clippy::print_stderr, reason = "a task talks to the person who runs it")]
fn say(line: &str) {
    eprintln!("{line}");
}
