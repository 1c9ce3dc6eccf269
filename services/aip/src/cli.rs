//! The command line.

use crate::{
    bench::BenchArgs,
    bootstrap::BootstrapArgs,
    client::{ActionsCommand, CallArgs, HealthArgs, ManifestArgs, ReceiptsCommand},
    keys::KeysArgs,
    nats_server::NatsServerArgs,
    serve::Service,
    up::UpArgs,
    validate::ValidateArgs,
    version::VersionArgs,
};

/// A fleet of services that runs governed actions durably, and the commands to call it.
///
/// Start with `aip up`. Exit codes: 0 done, 1 refused or failed, 2 wrong command line, 64 wrong configuration.
#[derive(Debug, clap::Parser)]
#[command(name = "aip", version, propagate_version = true)]
pub(crate) struct Cli {
    /// Print documents as JSON and nothing else on standard output.
    #[arg(long, global = true)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) log: LogArgs,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What is logged, and how. Logs go to standard error.
#[derive(Debug, clap::Args)]
pub(crate) struct LogArgs {
    /// Form of the logs.
    #[arg(long, global = true, env = "AIP_LOG_FORMAT", value_parser = ["text", "json"], default_value = "text")]
    log: String,
    /// What is logged, such as `info` or `warn,aip_scheduler=debug`.
    #[arg(long = "log-filter", global = true, env = "AIP_LOG")]
    filter: Option<String>,
}

impl LogArgs {
    pub(crate) fn is_json(&self) -> bool {
        self.log == "json"
    }

    pub(crate) fn filter<'a>(&'a self, otherwise: &'a str) -> &'a str {
        self.filter.as_deref().unwrap_or(otherwise)
    }

    /// The same for a process that this one starts.
    pub(crate) fn arguments(&self, otherwise: &str) -> Vec<String> {
        vec![format!("--log={}", self.log), format!("--log-filter={}", self.filter(otherwise))]
    }
}

/// What to do.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    Up(UpArgs),
    /// Runs one service until SIGTERM, then drains it.
    #[command(subcommand)]
    Serve(Service),
    Bootstrap(BootstrapArgs),
    Keys(KeysArgs),
    NatsServer(NatsServerArgs),
    Call(CallArgs),
    #[command(subcommand)]
    Actions(ActionsCommand),
    #[command(subcommand)]
    Receipts(ReceiptsCommand),
    Manifest(ManifestArgs),
    Healthcheck(HealthArgs),
    Bench(BenchArgs),
    Validate(ValidateArgs),
    Version(VersionArgs),
}

impl Command {
    /// What is logged unless told otherwise: services say what they do, commands only what is wrong.
    pub(crate) fn log_filter(&self) -> &'static str {
        match self {
            Self::Serve(_) => "info",
            Self::Up(_)
            | Self::Bootstrap(_)
            | Self::Keys(_)
            | Self::NatsServer(_)
            | Self::Call(_)
            | Self::Actions(_)
            | Self::Receipts(_)
            | Self::Manifest(_)
            | Self::Healthcheck(_)
            | Self::Bench(_)
            | Self::Validate(_)
            | Self::Version(_) => "warn",
        }
    }
}
