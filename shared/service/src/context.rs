//! How a service starts, runs and ends.

use std::{future::Future, net::SocketAddr, path::PathBuf, sync::Arc, time::Duration};

use aip_bus::{
    Bus,
    nats::{Connect, NatsPort, Seed},
    subjects::Peer,
    topology,
};
use anyhow::Context as _;

use crate::{catalogue::Catalogue, cursors::Cursors, directory::Directory, ops::Ops, settings::Settings, tasks::Tasks};

/// How long a service may take to end.
const DRAIN: Duration = Duration::from_secs(10);

/// Where the bus is and who we are on it.
#[derive(Clone, Debug, clap::Args)]
pub struct BusArgs {
    /// URL of the NATS server.
    #[arg(long, env = "AIP_NATS_URL", default_value = "nats://127.0.0.1:4222")]
    pub nats_url: String,
    /// File with the nkey seed of this service's user. The path may be logged, the content never.
    #[arg(long, env = "AIP_NKEY_FILE")]
    pub nkey_file: PathBuf,
    /// The fleet's `aip.toml`.
    #[arg(long, env = "AIP_CONFIG", default_value = "aip.toml")]
    pub config: PathBuf,
    /// Address of `/healthz`, `/readyz` and `/metrics`.
    #[arg(long, env = "AIP_OPS_LISTEN", default_value = "127.0.0.1:0")]
    pub ops_listen: SocketAddr,
    /// Time to reach the server at start.
    #[arg(long, env = "AIP_NATS_CONNECT_TIMEOUT", default_value = "30s", value_parser = humantime::parse_duration)]
    pub nats_connect_timeout: Duration,
}

/// What a running service has.
#[derive(Clone, Debug)]
pub struct Context {
    /// Its name: its user, its queue group.
    pub name: &'static str,
    /// The stores.
    pub bus: Bus,
    /// The connection on which messages from other accounts come: what they send can break it, and nothing else with it
    /// (`docs/decisions/007-front-connection.md`).
    pub front: Bus,
    /// Place of the canonical subjects.
    pub peer: Peer,
    /// Who is known.
    pub directory: Arc<Directory>,
    /// Seals the places of its readers.
    pub cursors: Cursors,
    /// Its tasks.
    pub tasks: Tasks,
    /// Its operations port.
    pub ops: Ops,
}

impl Context {
    /// Connects, as the user of this name.
    ///
    /// # Errors
    /// The server cannot be reached, or refuses the user.
    pub async fn connect(name: &'static str, settings: &Settings, args: &BusArgs) -> anyhow::Result<Self> {
        let mut connect = Connect::new(args.nats_url.clone(), name)
            .with_seed(Seed::File(args.nkey_file.clone()))
            .with_inbox_prefix(aip_bus::accounts::inbox_prefix(name));
        connect.within = args.nats_connect_timeout;
        let mut front = connect.clone();
        front.name = format!("{name}-front");
        let connected = async { tokio::try_join!(NatsPort::connect(connect), NatsPort::connect(front)) };
        let (port, front) = connected.await.with_context(|| format!("connecting {name} to the bus"))?;
        let context = Self {
            name,
            bus: Bus::new(Arc::new(port)),
            front: Bus::new(Arc::new(front)),
            peer: settings.peer()?,
            directory: Arc::new(Directory::new(settings)?),
            cursors: Cursors::of(Seed::File(args.nkey_file.clone())).await.context("deriving the key of cursors")?,
            tasks: Tasks::default(),
            ops: Ops::default(),
        };
        crate::ops::recorder();
        let bound = context.ops.listen(args.ops_listen, &context.tasks).await?;
        tracing::info!(service = name, ops = %bound, "connected");
        Ok(context)
    }

    /// Refuses to start over streams that are not as this version wants them.
    ///
    /// # Errors
    /// A stream or lane is missing or different.
    pub async fn verify_topology(&self, streams: &[&str]) -> anyhow::Result<()> {
        topology::verify(self.bus.port(), streams)
            .await
            .context("the streams are not as this version wants them; run `aip bootstrap`")
    }

    /// Follows what may be called.
    ///
    /// # Errors
    /// The buckets do not exist.
    pub async fn catalogue(&self) -> anyhow::Result<Catalogue> {
        Catalogue::follow(&self.bus, &self.tasks).await.context("following the registry")
    }
}

/// Runs one service until SIGTERM or SIGINT, then drains it.
///
/// # Errors
/// It could not start.
pub async fn run<F, S>(context: Context, serve: F) -> anyhow::Result<()>
where
    F: FnOnce(Context) -> S,
    S: Future<Output = anyhow::Result<()>>,
{
    serve(context.clone()).await?;
    context.ops.set_ready(true);
    tracing::info!(service = context.name, "ready");
    terminated().await?;
    context.ops.set_ready(false);
    context.tasks.drain(DRAIN).await;
    Ok(())
}

async fn terminated() -> anyhow::Result<()> {
    use tokio::signal::unix::{SignalKind, signal};
    let (mut term, mut int) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    tokio::select! {
        _ = term.recv() => {}
        _ = int.recv() => {}
    }
    Ok(())
}
