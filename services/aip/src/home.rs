//! The folder of a fleet (`--dir`): what lies where in it. Everything in it is readable by its owner only.

use std::{
    fs::{self, DirBuilder, File, OpenOptions, TryLockError},
    io::{self, ErrorKind, Write as _},
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
};

use anyhow::{Context as _, anyhow};

use crate::failure::Failure;

/// A fleet's folder, held by this process until it is dropped.
#[derive(Debug)]
pub(crate) struct Home {
    dir: PathBuf,
    _lock: File,
}

impl Home {
    /// Makes the folder where it is missing and takes it for this process.
    ///
    /// # Errors
    /// Exit 64: it cannot be made, or another process has it.
    pub(crate) fn open(dir: &Path) -> Result<Self, Failure> {
        let at = || format!("the folder {}", dir.display());
        private_dir(dir).with_context(at).map_err(Failure::Settings)?;
        let dir = fs::canonicalize(dir).with_context(at).map_err(Failure::Settings)?;
        private_dir(&dir.join("keys")).with_context(at).map_err(Failure::Settings)?;
        let mut options = OpenOptions::new();
        let lock = options.create(true).truncate(false).write(true).mode(0o600).open(dir.join("lock"));
        let lock = lock.with_context(at).map_err(Failure::Settings)?;
        match lock.try_lock() {
            Ok(()) => Ok(Self { dir, _lock: lock }),
            Err(TryLockError::WouldBlock) => {
                Err(Failure::Settings(anyhow!("{} is in use by another `aip` process", dir.display())))
            }
            Err(TryLockError::Error(fault)) => Err(Failure::settings(anyhow!(fault).context(at()))),
        }
    }

    pub(crate) fn dir(&self) -> &Path {
        &self.dir
    }

    /// `aip.toml`: who is who. Made once, then the operator's.
    pub(crate) fn config(&self) -> PathBuf {
        self.dir.join("aip.toml")
    }

    /// `nats.conf`: made from `aip.toml` and the keys each time.
    pub(crate) fn nats_config(&self) -> PathBuf {
        self.dir.join("nats.conf")
    }

    /// Folder of the server: streams, log.
    pub(crate) fn nats_dir(&self) -> PathBuf {
        self.dir.join("nats")
    }

    /// Where `aip up` notes the process of its server.
    pub(crate) fn nats_pid(&self) -> PathBuf {
        self.dir.join("nats").join("pid")
    }

    /// `env`: how to call the fleet, tokens included.
    pub(crate) fn env(&self) -> PathBuf {
        self.dir.join("env")
    }

    /// `keys/<name>.nk`: the nkey seed of a NATS user.
    pub(crate) fn nkey(&self, name: &str) -> PathBuf {
        self.dir.join("keys").join(format!("{name}.nk"))
    }

    /// `keys/<name>.did`: the signing seed of a principal.
    pub(crate) fn signer(&self, name: &str) -> PathBuf {
        self.dir.join("keys").join(format!("{name}.did"))
    }
}

fn private_dir(dir: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(dir)
}

/// Writes a file of mode 0600: whole, or not at all.
pub(crate) fn write_private(path: &Path, text: &str) -> Result<(), Failure> {
    let part = path.with_extension(format!("part-{}", std::process::id()));
    let written = || {
        let mut file = OpenOptions::new().create(true).truncate(true).write(true).mode(0o600).open(&part)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::rename(&part, path)
    };
    written().with_context(|| format!("writing {}", path.display())).map_err(Failure::Settings)
}

/// The text of a file, `None` where there is none.
pub(crate) fn read(path: &Path) -> Result<Option<String>, Failure> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(fault) if fault.kind() == ErrorKind::NotFound => Ok(None),
        Err(fault) => Err(Failure::Settings(anyhow!(fault).context(format!("reading {}", path.display())))),
    }
}
