//! `aip bootstrap`: makes the streams, buckets and lanes that the services find at their start.

use std::{path::PathBuf, time::Duration};

use aip_bus::{
    accounts::ServiceUser,
    nats::{Connect, Seed},
    topology::Topology,
};
use anyhow::Context as _;

use crate::{failure::Failure, output::Output};

/// Creates all streams, buckets and lanes, or changes those that differ. May be repeated.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct BootstrapArgs {
    /// URL of the NATS server.
    #[arg(long, env = "AIP_NATS_URL", default_value = "nats://127.0.0.1:4222")]
    pub(crate) nats_url: String,
    /// File with the nkey seed of the user `bootstrap`.
    #[arg(long, env = "AIP_NKEY_FILE")]
    pub(crate) nkey_file: PathBuf,
    /// Copies of every stream: 1, or 3 in a cluster.
    #[arg(long, env = "AIP_REPLICAS", default_value = "1", value_parser = clap::value_parser!(u8).range(1..=5))]
    pub(crate) replicas: u8,
    /// Time to reach the server.
    #[arg(long, env = "AIP_NATS_CONNECT_TIMEOUT", default_value = "30s", value_parser = humantime::parse_duration)]
    pub(crate) nats_connect_timeout: Duration,
}

/// Runs the command.
pub(crate) async fn bootstrap(args: &BootstrapArgs, output: Output) -> Result<(), Failure> {
    let user = ServiceUser::Bootstrap;
    let mut connect = Connect::new(args.nats_url.clone(), user.as_str())
        .with_seed(Seed::File(args.nkey_file.clone()))
        .with_inbox_prefix(user.inbox_prefix());
    connect.within = args.nats_connect_timeout;
    let topology = Topology { replicas: args.replicas, ..Topology::default() };
    topology.bootstrap(&connect).await.context("making the streams")?;
    output.line(format!("{} streams and {} lanes are there", topology.streams().len(), topology.lanes().len()));
    Ok(())
}
