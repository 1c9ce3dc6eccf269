//! `cargo xtask dist`: what the Dockerfile copies: a static binary, the pinned nats-server, and an empty folder.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, bail};
use serde_json::Value;

/// How the binary is built.
#[derive(Clone, Copy)]
pub(crate) enum Build {
    /// Optimised, into `dist/`.
    Release,
    /// Quickly, into `dist/debug/`: for tests.
    Debug,
}

/// For the binary alone: everything below it stays as other builds left it, since only linking differs.
const STATIC: &[&str] = &["-C", "target-feature=+crt-static", "-C", "strip=symbols"];

pub(crate) fn dist(root: &Path, build: Build) -> anyhow::Result<()> {
    let dist = match build {
        Build::Release => root.join("dist"),
        Build::Debug => root.join("dist").join("debug"),
    };
    std::fs::create_dir_all(dist.join("empty")).context("making dist/")?;
    put(&static_binary(root, build)?, &dist.join("aip"))?;
    put(&nats_server(&dist.join("aip"))?, &dist.join("nats-server"))
}

fn static_binary(root: &Path, build: Build) -> anyhow::Result<PathBuf> {
    let profile: &[&str] = match build {
        Build::Release => &["--release"],
        Build::Debug => &[],
    };
    let built = crate::cargo_command()
        .args(["rustc", "--locked", "--package", "aip", "--bin", "aip", "--message-format=json-render-diagnostics"])
        .args(profile)
        .arg("--")
        .args(STATIC)
        .current_dir(root)
        .stderr(Stdio::inherit())
        .output()
        .context("starting cargo")?;
    if !built.status.success() {
        bail!("the static build failed");
    }
    let executable = |line: &str| {
        let message: Value = serde_json::from_str(line).ok()?;
        Some(PathBuf::from(message.get("executable")?.as_str()?))
    };
    let messages = String::from_utf8(built.stdout).context("cargo's messages")?;
    messages.lines().rev().find_map(executable).context("cargo names no binary")
}

fn nats_server(aip: &Path) -> anyhow::Result<PathBuf> {
    let found = Command::new(aip).arg("nats-server").output().context("asking for nats-server")?;
    if !found.status.success() {
        bail!("{}", String::from_utf8_lossy(&found.stderr).trim());
    }
    Ok(PathBuf::from(String::from_utf8(found.stdout).context("the path of nats-server")?.trim()))
}

/// Copies a program, whole or not at all: other builds of images may be reading.
fn put(from: &Path, to: &Path) -> anyhow::Result<()> {
    let part = to.with_extension(format!("part-{}", std::process::id()));
    std::fs::copy(from, &part).with_context(|| format!("copying {}", from.display()))?;
    let program = std::fs::read(&part).context("reading the copy")?;
    if asks_for_loader(&program) {
        std::fs::remove_file(&part).context("removing the copy")?;
        bail!("{} is not static: it would not start in an image that holds nothing else", from.display());
    }
    std::fs::rename(&part, to).with_context(|| format!("writing {}", to.display()))
}

/// Whether a 64-bit little-endian ELF program names a loader (a program header of type `PT_INTERP`).
fn asks_for_loader(program: &[u8]) -> bool {
    const PT_INTERP: u64 = 3;
    let number = |at: usize, bytes: usize| -> Option<u64> {
        let field = program.get(at..at.checked_add(bytes)?)?;
        Some(field.iter().rev().fold(0, |number, &byte| (number << 8) | u64::from(byte)))
    };
    let headers = || {
        let (first, size, count) = (number(0x20, 8)?, number(0x36, 2)?, number(0x38, 2)?);
        Some((0..count).filter_map(move |index| usize::try_from(first.checked_add(size.checked_mul(index)?)?).ok()))
    };
    headers().is_some_and(|mut headers| headers.any(|header| number(header, 4) == Some(PT_INTERP)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_needs_a_loader_is_told_from_one_that_does_not() {
        let own = std::env::current_exe().and_then(std::fs::read).unwrap_or_default();
        assert_eq!(asks_for_loader(&own), !cfg!(target_feature = "crt-static"));
        assert!(!asks_for_loader(b"\x7fELF, cut off"));
    }
}
