//! A file of notes: one line `<key> <fence>` for each execution, so that a test can count them.
//!
//! With [`Keeps::Keys`] a key is appended once, whoever asks: checking and appending happen under a lock of the file, after the
//! tail that other processes wrote was read. Without it, each call appends.

use std::{
    collections::HashMap,
    fs::{File, OpenOptions},
    io::{self, Read, Seek, SeekFrom, Write},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use aip_handler::{Failure, Fence};
use tokio::sync::Mutex as AsyncMutex;

/// Keys that one file may hold: the bound of this process's memory.
const KEYS_MAX: usize = 1_000_000;
/// Tenants with a file of their own in this process.
const BOOKS_MAX: usize = 10_000;

/// Whether a file remembers its keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Keeps {
    /// A repeated key is answered with its first line.
    Keys,
    /// Every call is a line.
    Nothing,
}

/// The files of one capability: one, or one a tenant.
pub(crate) struct Notes {
    path: PathBuf,
    keeps: Keeps,
    books: Mutex<HashMap<PathBuf, Arc<AsyncMutex<Book>>>>,
}

/// Why no line was written, or perhaps was.
#[derive(Debug)]
enum Fault {
    /// The file is as it was.
    Unchanged(&'static str, Option<io::Error>),
    /// A part of the line may stand.
    Torn(io::Error),
}

impl Notes {
    /// `path`: `{tenant}` in it stands for the tenant.
    pub(crate) fn new(path: PathBuf, keeps: Keeps) -> Self {
        Self { path, keeps, books: Mutex::default() }
    }

    /// Appends a line, or finds the line of the key. Returns it without its end.
    pub(crate) async fn append(&self, tenant: &str, key: &str, fence: Fence) -> Result<String, Failure> {
        let mut book = self.book(tenant)?.lock_owned().await;
        let key = token(key);
        // It ends by itself when this future is dropped; the book stays locked until then.
        let written = tokio::task::spawn_blocking(move || book.append(&key, fence)).await;
        match written {
            Ok(Ok(line)) => Ok(line),
            Ok(Err(Fault::Unchanged(reason, fault))) => {
                tracing::warn!(?fault, reason, "a note was not written");
                Err(Failure::connector(reason))
            }
            Ok(Err(Fault::Torn(fault))) => {
                tracing::warn!(%fault, "a note was written in part");
                Err(Failure::connector("notes_torn").but_uncertain())
            }
            Err(fault) => {
                tracing::error!(%fault, "writing a note");
                Err(Failure::connector("notes_failed").but_uncertain())
            }
        }
    }

    fn book(&self, tenant: &str) -> Result<Arc<AsyncMutex<Book>>, Failure> {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
        if !tenant.bytes().all(plain) {
            return Err(Failure::connector("tenant_invalid"));
        }
        let path = match self.path.to_str() {
            Some(text) => PathBuf::from(text.replace("{tenant}", tenant)),
            None => self.path.clone(),
        };
        let mut books = self.books.lock().unwrap_or_else(PoisonError::into_inner);
        if books.len() >= BOOKS_MAX && !books.contains_key(&path) {
            return Err(Failure::connector("notes_full"));
        }
        let book = books.entry(path.clone()).or_insert_with(|| Arc::new(AsyncMutex::new(Book::new(path, self.keeps))));
        Ok(Arc::clone(book))
    }
}

/// A key as one word of printable ASCII: everything else, and `%`, is written `%XX`.
fn token(key: &str) -> String {
    let mut word = String::with_capacity(key.len());
    for byte in key.bytes() {
        if byte.is_ascii_graphic() && byte != b'%' {
            word.push(char::from(byte));
        } else {
            word.push_str(&format!("%{byte:02X}"));
        }
    }
    word
}

/// One file.
struct Book {
    path: PathBuf,
    keeps: Keeps,
    file: Option<File>,
    /// Bytes that `lines` is made of.
    read: u64,
    lines: HashMap<String, String>,
}

impl Book {
    fn new(path: PathBuf, keeps: Keeps) -> Self {
        Self { path, keeps, file: None, read: 0, lines: HashMap::new() }
    }

    fn append(&mut self, key: &str, fence: Fence) -> Result<String, Fault> {
        let mut file = match self.file.take() {
            Some(file) => file,
            None => open(&self.path).map_err(|fault| Fault::Unchanged("notes_unavailable", Some(fault)))?,
        };
        let line = format!("{key} {}", fence.0);
        let appended = match self.keeps {
            Keeps::Keys => self.append_once(&mut file, key, line),
            Keeps::Nothing => write(&mut file, &line).map(|()| line),
        };
        self.file = Some(file);
        appended
    }

    fn append_once(&mut self, file: &mut File, key: &str, line: String) -> Result<String, Fault> {
        let unchanged = |fault| Fault::Unchanged("notes_unavailable", Some(fault));
        file.lock().map_err(unchanged)?;
        let appended = self.catch_up(file).map_err(unchanged).and_then(|()| match self.lines.get(key) {
            Some(first) => Ok(first.clone()),
            None if self.lines.len() >= KEYS_MAX => Err(Fault::Unchanged("notes_full", None)),
            None => self.append_new(file, key, line),
        });
        // Closing the file unlocks it too.
        if let Err(fault) = file.unlock() {
            tracing::warn!(%fault, "unlocking the notes");
        }
        appended
    }

    fn append_new(&mut self, file: &mut File, key: &str, line: String) -> Result<String, Fault> {
        if let Err(fault) = write(file, &line) {
            // Nobody else writes under the lock: what stands behind the known end is ours.
            return match (fault, file.set_len(self.read)) {
                (Fault::Torn(fault), Ok(())) => Err(Fault::Unchanged("notes_unavailable", Some(fault))),
                (fault, _) => Err(fault),
            };
        }
        self.read = self.read.saturating_add(length(&line)).saturating_add(1);
        self.lines.insert(key.to_owned(), line.clone());
        Ok(line)
    }

    /// Reads what other processes appended. A last line without its end was torn by a crash: its writer reported nothing, so it
    /// goes.
    fn catch_up(&mut self, file: &mut File) -> io::Result<()> {
        let size = file.metadata()?.len();
        if size < self.read {
            self.lines.clear();
            self.read = 0;
        }
        if size == self.read {
            return Ok(());
        }
        file.seek(SeekFrom::Start(self.read))?;
        let mut tail = String::new();
        file.read_to_string(&mut tail)?;
        let whole = tail.rfind('\n').map_or("", |end| tail.get(..end).unwrap_or_default());
        for line in whole.lines() {
            if let Some((key, _)) = line.split_once(' ') {
                self.lines.entry(key.to_owned()).or_insert_with(|| line.to_owned());
            }
        }
        let ended = if whole.is_empty() { 0 } else { length(whole).saturating_add(1) };
        self.read = self.read.saturating_add(ended);
        if self.read < size {
            tracing::warn!(bytes = size.saturating_sub(self.read), "a torn line of the notes is removed");
            file.set_len(self.read)?;
        }
        Ok(())
    }
}

fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).append(true).create(true).mode(0o600).open(path)
}

/// Appends a line with one system call, which no other writer can come into.
fn write(file: &mut File, line: &str) -> Result<(), Fault> {
    let text = format!("{line}\n");
    match file.write(text.as_bytes()) {
        Ok(written) if written == text.len() => Ok(()),
        Ok(_) => Err(Fault::Torn(io::ErrorKind::WriteZero.into())),
        Err(fault) => Err(Fault::Unchanged("notes_unavailable", Some(fault))),
    }
}

fn length(text: &str) -> u64 {
    u64::try_from(text.len()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn notes(name: &str, keeps: Keeps) -> (aip_testkit::Scratch, Notes) {
        let folder = aip_testkit::Scratch::new();
        let path = folder.path().join(name);
        (folder, Notes::new(path, keeps))
    }

    #[tokio::test]
    async fn a_safe_key_is_appended_once_under_concurrent_repeats_and_after_a_restart() {
        let (folder, notes) = notes("notes.txt", Keeps::Keys);
        let again = Notes::new(folder.path().join("notes.txt"), Keeps::Keys);
        let repeats = (0..50).map(|fence| {
            let notes = if fence % 2 == 0 { &notes } else { &again };
            notes.append("acme", "k", Fence(fence))
        });
        let lines: Vec<String> = futures::future::try_join_all(repeats).await.unwrap();
        let stored = std::fs::read_to_string(folder.path().join("notes.txt")).unwrap();
        assert_eq!(stored.lines().count(), 1);
        assert!(lines.iter().all(|line| format!("{line}\n") == stored), "{lines:?}");
        let restarted = Notes::new(folder.path().join("notes.txt"), Keeps::Keys);
        assert_eq!(restarted.append("acme", "k", Fence(99)).await.unwrap(), lines[0]);
        assert_eq!(restarted.append("acme", "other", Fence(100)).await.unwrap(), "other 100");
    }

    #[tokio::test]
    async fn an_unsafe_key_is_appended_at_every_call() {
        let (folder, notes) = notes("notes.txt", Keeps::Nothing);
        for fence in [1, 2] {
            notes.append("acme", "k", Fence(fence)).await.unwrap();
        }
        assert_eq!(std::fs::read_to_string(folder.path().join("notes.txt")).unwrap(), "k 1\nk 2\n");
    }

    #[tokio::test]
    async fn a_torn_line_is_removed_and_its_key_is_free() {
        let (folder, notes) = notes("notes.txt", Keeps::Keys);
        std::fs::write(folder.path().join("notes.txt"), "a 1\nb").unwrap();
        assert_eq!(notes.append("acme", "b", Fence(2)).await.unwrap(), "b 2");
        assert_eq!(notes.append("acme", "a", Fence(3)).await.unwrap(), "a 1");
        assert_eq!(std::fs::read_to_string(folder.path().join("notes.txt")).unwrap(), "a 1\nb 2\n");
    }

    #[tokio::test]
    async fn tenants_keep_their_keys_apart_in_files_of_their_own() {
        let (folder, notes) = notes("notes-{tenant}.txt", Keeps::Keys);
        assert_eq!(notes.append("acme", "k", Fence(1)).await.unwrap(), "k 1");
        assert_eq!(notes.append("umbra", "k", Fence(2)).await.unwrap(), "k 2");
        assert_eq!(std::fs::read_to_string(folder.path().join("notes-umbra.txt")).unwrap(), "k 2\n");
        assert!(notes.append("../x", "k", Fence(3)).await.is_err());
    }

    #[tokio::test]
    async fn a_key_is_one_word_of_its_line() {
        let (_folder, notes) = notes("notes.txt", Keeps::Keys);
        assert_eq!(notes.append("acme", "a b\n100%", Fence(1)).await.unwrap(), "a%20b%0A100%25 1");
    }

    #[tokio::test]
    async fn a_file_that_cannot_be_opened_is_a_certain_failure() {
        let (_folder, notes) = notes("missing/notes.txt", Keeps::Nothing);
        assert!(!notes.append("acme", "k", Fence(1)).await.unwrap_err().uncertain);
    }
}
