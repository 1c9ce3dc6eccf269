//! `aip nats-server`: where the server is that `aip up` runs.

use std::path::{Path, PathBuf};

use aip_service::nats_server::{self, NatsServerError};
use serde_json::json;

use crate::{failure::Failure, output::Output};

/// Finds a nats-server, fetching the pinned one once where there is none, and prints its path.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct NatsServerArgs {
    /// The only one to look at [default: the one on the PATH, else the pinned one].
    #[arg(long, env = "AIP_NATS_SERVER")]
    nats_server: Option<PathBuf>,
}

/// Runs the command.
pub(crate) async fn nats_server(args: &NatsServerArgs, output: Output) -> Result<(), Failure> {
    let path = absolute(find(args.nats_server.as_deref()).await?);
    let path = path.display().to_string();
    output.answer(&json!({ "path": path }), || vec![path.clone()]);
    Ok(())
}

/// A server that can be run.
pub(crate) async fn find(configured: Option<&Path>) -> Result<PathBuf, Failure> {
    nats_server::find(configured).await.map_err(|fault| match fault {
        NatsServerError::NotAServer(_) | NatsServerError::TooOld { .. } | NatsServerError::Missing { .. } => {
            Failure::settings(fault)
        }
        NatsServerError::NotStarted { .. } | NatsServerError::Io { .. } => Failure::Failed(fault.into()),
    })
}

/// A bare name is one of the search path.
fn absolute(path: PathBuf) -> PathBuf {
    if path.components().count() > 1 {
        return std::path::absolute(&path).unwrap_or(path);
    }
    #[expect(clippy::disallowed_methods, reason = "the search path is the system's and no setting of ours")]
    let search = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&search).map(|folder| folder.join(&path)).find(|file| file.is_file());
    found.unwrap_or(path)
}
