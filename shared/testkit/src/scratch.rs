//! A folder for one test.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

static MADE: AtomicU64 = AtomicU64::new(0);

/// A new folder; removed when dropped, kept when the test panics.
#[derive(Debug)]
pub struct Scratch {
    path: PathBuf,
}

impl Scratch {
    /// A new folder.
    ///
    /// # Panics
    /// The folder cannot be made.
    #[must_use]
    pub fn new() -> Self {
        let count = MADE.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("aip-test-{}-{count}", std::process::id()));
        if let Err(fault) = fs::create_dir_all(&path) {
            panic!("no folder at {}: {fault}", path.display());
        }
        Self { path }
    }

    /// Its path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes a file into it and returns its path.
    ///
    /// # Panics
    /// The file cannot be written.
    pub fn write(&self, name: &str, text: &str) -> PathBuf {
        let file = self.path.join(name);
        if let Err(fault) = fs::write(&file, text) {
            panic!("{} cannot be written: {fault}", file.display());
        }
        file
    }
}

impl Default for Scratch {
    fn default() -> Self {
        Self::new()
    }
}

/// A killed server may still be writing its last file while the folder goes: then once more.
const REMOVALS: u32 = 100;
const REMOVAL_PAUSE: Duration = Duration::from_millis(10);

impl Drop for Scratch {
    fn drop(&mut self) {
        if std::thread::panicking() {
            return;
        }
        for _ in 0..REMOVALS {
            if fs::remove_dir_all(&self.path).is_ok() || !self.path.exists() {
                return;
            }
            std::thread::sleep(REMOVAL_PAUSE);
        }
    }
}
