//! A real nats-server for one test.

use std::{path::PathBuf, time::Duration};

use aip_bus::{
    nats::{Connect, NatsPort},
    topology::Topology,
};
use aip_service::nats_server::{self, Server};

use crate::Scratch;

/// A nats-server with JetStream, on free ports, with a folder of its own. Killed when dropped.
#[derive(Debug)]
pub struct Nats {
    /// The process, to kill, pause and restart it.
    pub server: Server,
    folder: Scratch,
}

impl Nats {
    /// A plain server: one account, no credentials.
    ///
    /// # Panics
    /// It does not start.
    pub async fn start() -> Self {
        Self::with_config("").await
    }

    /// A server with more configuration: accounts, limits, TLS. Ports, monitor and the JetStream folder are given.
    ///
    /// # Panics
    /// It does not start.
    pub async fn with_config(more: &str) -> Self {
        let folder = Scratch::new();
        let store = folder.path().join("store");
        let config = format!(
            "listen: \"127.0.0.1:-1\"\nhttp: \"127.0.0.1:-1\"\nmax_payload: 2097152\njetstream {{ store_dir: {:?} }}\n{more}\n",
            store.display().to_string()
        );
        let config = folder.write("nats.conf", &config);
        let binary = binary().await;
        match Server::spawn(&binary, &config, folder.path()).await {
            Ok(server) => Self { server, folder },
            Err(fault) => panic!("no nats-server: {fault}"),
        }
    }

    /// Where clients connect.
    #[must_use]
    pub fn url(&self) -> &str {
        self.server.url()
    }

    /// The test's folder; it goes with the server.
    #[must_use]
    pub fn folder(&self) -> &Scratch {
        &self.folder
    }

    /// How to connect without credentials.
    #[must_use]
    pub fn connect(&self) -> Connect {
        Connect { within: Duration::from_secs(20), ..Connect::new(self.url(), "test") }
    }

    /// A connection of its own.
    ///
    /// # Panics
    /// The server does not admit it.
    pub async fn port(&self) -> NatsPort {
        match NatsPort::connect(self.connect()).await {
            Ok(port) => port,
            Err(fault) => panic!("no connection to {}: {fault}", self.url()),
        }
    }

    /// The same server once all streams, buckets and lanes of the fleet are there.
    ///
    /// # Panics
    /// The server refuses one.
    pub async fn bootstrapped(self) -> Self {
        if let Err(fault) = Topology::default().bootstrap(&self.connect()).await {
            panic!("the topology cannot be made: {fault}");
        }
        self
    }
}

async fn binary() -> PathBuf {
    #[expect(clippy::disallowed_methods, reason = "the caller of the finder reads it, here the test")]
    let configured = std::env::var_os("AIP_NATS_SERVER").map(PathBuf::from);
    match nats_server::find(configured.as_deref()).await {
        Ok(binary) => binary,
        Err(fault) => panic!("{fault}"),
    }
}
