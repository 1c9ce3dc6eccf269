//! The fleet that is measured: where it is, and the keys to it.

use std::path::{Path, PathBuf};

use aip_bus::{
    accounts::ServiceUser,
    nats::{Connect, NatsPort, Seed},
};
use aip_types::MessageType;
use anyhow::{Context as _, anyhow};

use super::BenchArgs;
use crate::{
    env_file::{self, Variables},
    failure::Failure,
};

/// A running fleet.
#[derive(Clone, Debug)]
pub(super) struct Target {
    pub(super) url: String,
    pub(super) token: String,
    pub(super) nats_url: String,
    /// Seed of the caller's NATS user.
    pub(super) caller: PathBuf,
    /// Subject of an action.
    pub(super) subject: String,
    keys: PathBuf,
}

impl Target {
    pub(super) fn read(args: &BenchArgs) -> Result<Self, Failure> {
        let path = args.dir.join("env");
        let variables = env_file::read_at(&path)?;
        let at = |name: &str| variable(&variables, name, &path);
        Ok(Self {
            url: args.url.clone().map_or_else(|| at("AIP_URL"), Ok)?,
            token: at("AIP_TOKEN")?,
            nats_url: args.nats_url.clone().map_or_else(|| at("NATS_URL"), Ok)?,
            caller: at("AIP_NATS_CREDS")?.into(),
            subject: format!("{}.{}", at("AIP_NATS_SUBJECT")?, MessageType::Action.subject_token()),
            keys: args.dir.join("keys"),
        })
    }

    pub(super) fn bench_seed(&self) -> PathBuf {
        self.keys.join("bench.nk")
    }

    /// A connection as the caller.
    pub(super) async fn as_caller(&self) -> anyhow::Result<NatsPort> {
        connect(&self.nats_url, &self.caller, None).await
    }

    /// A connection as the user that may look at streams.
    pub(super) async fn as_observer(&self) -> anyhow::Result<NatsPort> {
        let observer = ServiceUser::Observer;
        let seed = self.keys.join(format!("{}.nk", observer.as_str()));
        connect(&self.nats_url, &seed, Some(observer.inbox_prefix())).await
    }

    /// A connection in the account `BENCH`.
    pub(super) async fn as_bench(&self) -> anyhow::Result<NatsPort> {
        connect(&self.nats_url, &self.bench_seed(), None).await
    }
}

/// A connection as the user of a seed: the client as it comes, which is what a ceiling is about.
pub(super) async fn connect(url: &str, seed: &Path, inbox_prefix: Option<String>) -> anyhow::Result<NatsPort> {
    let mut connect = Connect::new(url, "aip-bench").with_seed(Seed::File(seed.to_owned()));
    connect.gathers = false;
    if let Some(prefix) = inbox_prefix {
        connect = connect.with_inbox_prefix(prefix);
    }
    NatsPort::connect(connect).await.with_context(|| format!("connecting to {url} with {}", seed.display()))
}

fn variable(variables: &Variables, name: &str, path: &Path) -> Result<String, Failure> {
    let missing =
        || Failure::Settings(anyhow!("{} has no {name}; is this the folder of a running fleet?", path.display()));
    variables.get(name).cloned().ok_or_else(missing)
}
