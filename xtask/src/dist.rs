//! `cargo xtask dist`: what the Dockerfile copies: a static binary, the pinned nats-server, and the folders of the volumes.

use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, bail};

/// The target is named so that build scripts are not built with the flag.
const TARGET: &str = if cfg!(target_arch = "aarch64") { "aarch64-unknown-linux-gnu" } else { "x86_64-unknown-linux-gnu" };

pub(crate) fn dist(root: &Path) -> anyhow::Result<()> {
    let dist = root.join("dist");
    for folder in ["fleet", "notes", "data"] {
        std::fs::create_dir_all(dist.join(folder)).context("making dist/")?;
    }
    let built = Command::new(env!("CARGO"))
        .args(["build", "--release", "--locked", "--package", "aip", "--target", TARGET])
        .env("RUSTFLAGS", "-C target-feature=+crt-static")
        .current_dir(root)
        .status()
        .context("starting cargo")?;
    if !built.success() {
        bail!("the static build failed");
    }
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), Into::into);
    let binary = target.join(TARGET).join("release/aip");
    std::fs::copy(&binary, dist.join("aip")).with_context(|| format!("copying {}", binary.display()))?;
    let found = Command::new(&binary).arg("nats-server").output().context("asking for nats-server")?;
    if !found.status.success() {
        bail!("{}", String::from_utf8_lossy(&found.stderr).trim());
    }
    let server = String::from_utf8(found.stdout).context("the path of nats-server")?;
    std::fs::copy(server.trim(), dist.join("nats-server")).with_context(|| format!("copying {}", server.trim()))?;
    Ok(())
}
