//! `aip up`: a whole fleet on this machine. A nats-server and the connectors as children, all services in this process,
//! each with a connection and a user of its own.

mod connector;
mod guide;
mod proof;
mod server;
mod services;

use std::{
    fs,
    net::{Ipv4Addr, SocketAddr, TcpListener},
    path::PathBuf,
};

use aip_service::Settings;
use anyhow::{Context as _, anyhow};
use futures::future::{join_all, select_all};
use tokio::signal::unix::{Signal, SignalKind, signal};

use self::{connector::Connector, proof::Proof, server::NatsServer, services::Services};
use crate::{
    bootstrap::{BootstrapArgs, bootstrap},
    failure::Failure,
    home::Home,
    keys::{self, KeysArgs},
    output::Output,
};

/// Runs a whole fleet on this machine until SIGTERM or Ctrl-C.
///
/// It starts a nats-server, the services and the demo connector, makes keys for two demo tenants, runs one action to prove
/// itself and prints how to call it. A line `ready` says that everything serves. Data stays in the folder: a second `aip up`
/// goes on with it.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct UpArgs {
    /// Run one action, show it with its receipts, and end.
    #[arg(long)]
    check: bool,
    /// Folder of the fleet [default: .aip; with --check a temporary one].
    #[arg(long)]
    dir: Option<PathBuf>,
    /// Port of the HTTP edge on 127.0.0.1; 0 is a free one [default: 8080; with --check 0].
    #[arg(long)]
    port: Option<u16>,
    /// Port of the NATS server on 127.0.0.1; 0 is a free one [default: 4222; with --check 0].
    #[arg(long)]
    nats_port: Option<u16>,
    /// A nats-server of version 2.12 or newer [default: the one on the PATH, else it is fetched once].
    #[arg(long, env = "AIP_NATS_SERVER")]
    nats_server: Option<PathBuf>,
    /// Make the server write every message to disk before it answers.
    #[arg(long)]
    sync_always: bool,
    /// Add the connector `rogue`, which tests use to break rules.
    #[arg(long)]
    rogue: bool,
}

/// Runs the command.
pub(crate) async fn up(args: &UpArgs, log_arguments: &[String], output: Output) -> Result<(), Failure> {
    let mut stop = Stop::listen()?;
    let folder = Folder::of(args);
    let home = Home::open(&folder.path)?;
    let mut fleet = tokio::select! {
        fleet = Box::pin(Fleet::start(&home, args, log_arguments, output)) => fleet?,
        () = stop.asked() => return Err(interrupted()),
    };
    let ended = tokio::select! {
        ended = Box::pin(fleet.work(&home, args.check, output)) => ended,
        () = stop.asked() => Ok(()),
    };
    fleet.stop().await;
    ended
}

/// Says early and in plain words what a bind would say late.
fn must_be_free(address: SocketAddr, flag: &str) -> Result<(), Failure> {
    match TcpListener::bind(address) {
        Ok(_) => Ok(()),
        Err(fault) => {
            let text = format!("{address} cannot be used; choose another port with {flag}, or 0 for a free one");
            Err(Failure::Settings(anyhow!(fault).context(text)))
        }
    }
}

fn interrupted() -> Failure {
    anyhow!("stopped before everything served").into()
}

/// A running fleet.
struct Fleet {
    settings: Settings,
    server: NatsServer,
    services: Services,
    connectors: Vec<Connector>,
}

impl Fleet {
    async fn start(home: &Home, args: &UpArgs, log_arguments: &[String], output: Output) -> Result<Self, Failure> {
        let keys = args.keys();
        let settings = keys::ensure(home, &keys)?;
        must_be_free(args.http(), "--port")?;
        let listen = UpArgs::local(args.nats_port, args.check, 4222);
        let server = NatsServer::start(home, args.nats_server.as_deref(), listen).await?;
        output.line(format!("nats-server  {}", server.url()));
        let bootstrapping = BootstrapArgs {
            nats_url: server.url().to_owned(),
            nkey_file: home.nkey("bootstrap"),
            replicas: 1,
            nats_connect_timeout: std::time::Duration::from_secs(20),
        };
        bootstrap(&bootstrapping, output).await?;
        let services = Box::pin(Services::start(home, &settings, server.url(), args.http())).await?;
        output.line(format!("http         {}", services.url()));
        let names = [Some(connector::DEMO), args.rogue.then_some(connector::ROGUE)].into_iter().flatten();
        let connectors =
            names.map(|name| Connector::start(home, name, server.url(), log_arguments)).collect::<Result<_, _>>()?;
        keys::write_env(home, &settings, services.url(), server.url())?;
        Ok(Self { settings, server, services, connectors })
    }

    /// Proves that the fleet works, says so, and keeps its children alive. Returns after a check, or when one cannot be kept.
    async fn work(&mut self, home: &Home, check: bool, output: Output) -> Result<(), Failure> {
        let Self { settings, server, services, connectors } = self;
        let nats_url = server.url().to_owned();
        let serving = async {
            let proof = Proof::obtain(home, settings, services.url(), &nats_url).await?;
            output.answer(proof.document(), || proof.lines());
            if check {
                return proof.verdict();
            }
            services.set_ready();
            guide::lines(home).iter().for_each(|line| output.line(line));
            output.line("ready");
            std::future::pending().await
        };
        tokio::select! {
            ended = serving => ended,
            lost = server.keep() => Err(lost.into()),
            (lost, ..) = select_all(connectors.iter_mut().map(|connector| Box::pin(connector.keep()))) => Err(lost.into()),
        }
    }

    /// Ends everything: callers first, the server last.
    async fn stop(self) {
        let Self { server, services, connectors, settings: _ } = self;
        services.drain_edge().await;
        join_all(connectors.into_iter().map(Connector::stop)).await;
        services.drain().await;
        server.stop().await;
    }
}

impl UpArgs {
    fn local(port: Option<u16>, check: bool, otherwise: u16) -> SocketAddr {
        let port = port.unwrap_or(if check { 0 } else { otherwise });
        SocketAddr::from((Ipv4Addr::LOCALHOST, port))
    }

    fn http(&self) -> SocketAddr {
        Self::local(self.port, self.check, 8080)
    }

    fn keys(&self) -> KeysArgs {
        KeysArgs {
            dir: PathBuf::new(), // the folder is open already
            listen: Some(Self::local(self.nats_port, self.check, 4222)),
            monitor: Some(SocketAddr::from((Ipv4Addr::LOCALHOST, 0))),
            store_dir: None,
            sync_always: self.sync_always,
            trust_domain: "local".to_owned(),
            rogue: self.rogue,
            url: None, // known once the edge is bound
            nats_url: None,
        }
    }
}

/// The fleet's folder; a temporary one goes when this is dropped.
struct Folder {
    path: PathBuf,
    is_temporary: bool,
}

impl Folder {
    fn of(args: &UpArgs) -> Self {
        match &args.dir {
            Some(path) => Self { path: path.clone(), is_temporary: false },
            None if args.check => {
                let name = format!("aip-check-{}-{}", std::process::id(), aip_bus::nonce());
                Self { path: std::env::temp_dir().join(name), is_temporary: true }
            }
            None => Self { path: PathBuf::from(".aip"), is_temporary: false },
        }
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if self.is_temporary
            && let Err(fault) = fs::remove_dir_all(&self.path)
        {
            tracing::warn!(%fault, folder = %self.path.display(), "the temporary folder stays");
        }
    }
}

/// SIGTERM and SIGINT.
struct Stop {
    term: Signal,
    int: Signal,
}

impl Stop {
    fn listen() -> Result<Self, Failure> {
        let term = signal(SignalKind::terminate()).context("listening for SIGTERM")?;
        let int = signal(SignalKind::interrupt()).context("listening for SIGINT")?;
        Ok(Self { term, int })
    }

    async fn asked(&mut self) {
        tokio::select! {
            _ = self.term.recv() => {}
            _ = self.int.recv() => {}
        }
    }
}
