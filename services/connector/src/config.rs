//! Everything that `connector` reads from outside.

use std::{num::NonZeroU16, path::PathBuf};

/// Settings of the hosted connector.
#[derive(Clone, Debug, clap::Args)]
pub struct Config {
    /// Name of the connector, which is also its account's: `[a-z0-9-]{1,48}`. Default `demo`, or `rogue` with `--rogue`.
    #[arg(long, env = "AIP_CONNECTOR_NAME")]
    pub connector_name: Option<String>,
    /// File that `cap:demo:note:append` appends to, a line `<key> <fence>` for each execution. `{tenant}` in it stands for the
    /// tenant; without it all tenants share one file and its keys.
    #[arg(long, env = "AIP_DEMO_NOTES", default_value = "notes-{tenant}.txt")]
    pub notes_file: PathBuf,
    /// The same for `cap:demo:note:append-unsafe`.
    #[arg(long, env = "AIP_DEMO_NOTES_UNSAFE", default_value = "notes-unsafe-{tenant}.txt")]
    pub notes_unsafe_file: PathBuf,
    /// Serve the misbehaving capabilities `cap:rogue:*` instead of the demo ones. For tests.
    #[arg(long, env = "AIP_CONNECTOR_ROGUE")]
    pub rogue: bool,
    /// Calls in work in this process: the bound of its memory.
    #[arg(long, env = "AIP_CONNECTOR_CONCURRENCY", default_value = "256")]
    pub concurrency: NonZeroU16,
}

impl Config {
    /// The connector's name, which names its user and its inbox prefix too.
    #[must_use]
    pub fn name(&self) -> &str {
        self.connector_name.as_deref().unwrap_or(if self.rogue { "rogue" } else { "demo" })
    }
}
