//! `aip`: the one binary of the fleet. It runs the services and calls them, and holds no semantics of its own.
//!
//! Exit codes: 0 done, 1 refused or failed, 2 the command line is wrong, 64 the configuration is wrong. Start reading at
//! [`cli::Command`]; `up` shows how a whole fleet is put together.

mod bench;
mod bootstrap;
mod cli;
mod client;
mod env_file;
mod failure;
mod home;
mod keys;
mod nats_server;
mod output;
mod serve;
mod up;
mod validate;
mod version;

use std::process::ExitCode;

use anyhow::Context as _;
use clap::Parser as _;

use crate::{
    cli::{Cli, Command},
    failure::Failure,
    output::Output,
};

/// Half of an action's work is small allocations; this one does them in a third of the time (`docs/performance.md`).
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let cli = Cli::parse();
    let output = Output::new(cli.json);
    match start(cli, output) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            output.failure(&failure);
            failure.exit_code()
        }
    }
}

fn start(cli: Cli, output: Output) -> Result<(), Failure> {
    let log_filter = cli.command.log_filter();
    aip_service::init_telemetry(cli.log.is_json(), cli.log.filter(log_filter));
    let log_arguments = cli.log.arguments(log_filter);
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(workers(&cli.command)).enable_all().build();
    runtime.context("starting the runtime")?.block_on(Box::pin(run(cli.command, &log_arguments, output)))
}

/// A service waits for the bus most of the time, and several share a machine: half of its cores, so that fewer threads wake
/// each other (`docs/performance.md`).
fn workers(command: &Command) -> usize {
    let cores = std::thread::available_parallelism().map_or(2, std::num::NonZero::get);
    if matches!(command, Command::Serve(_)) { (cores / 2).max(1) } else { cores.max(2) }
}

async fn run(command: Command, log_arguments: &[String], output: Output) -> Result<(), Failure> {
    match command {
        Command::Up(args) => up::up(&args, log_arguments, output).await,
        Command::Serve(service) => serve::serve(service).await,
        Command::Bootstrap(args) => bootstrap::bootstrap(&args, output).await,
        Command::Keys(args) => keys::keys(&args, output),
        Command::NatsServer(args) => nats_server::nats_server(&args, output).await,
        Command::Call(args) => client::call(&args, output).await,
        Command::Actions(command) => client::actions(&command, output).await,
        Command::Receipts(command) => client::receipts(&command, output).await,
        Command::Manifest(args) => client::manifest(&args, output).await,
        Command::Healthcheck(args) => client::health(&args, output).await,
        Command::Bench(args) => Box::pin(bench::bench(&args, output)).await,
        Command::Validate(args) => validate::validate(&args, output),
        Command::Version(args) => {
            version::version(&args, output);
            Ok(())
        }
    }
}
