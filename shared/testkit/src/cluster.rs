//! Three nats-servers that form a cluster on this machine.

use std::{net::TcpListener, time::Duration};

use aip_bus::{nats::Connect, topology::Topology};
use futures::future::join_all;
use tokio::time::timeout;

use crate::Nats;

const SIZE: usize = 3;
const FORMED_WITHIN: Duration = Duration::from_secs(40);

/// A cluster of three. Every stream of [`Cluster::bootstrapped`] has three copies.
#[derive(Debug)]
pub struct Cluster {
    /// The servers, to kill and restart them one by one.
    pub nodes: Vec<Nats>,
}

impl Cluster {
    /// Three servers with JetStream. They may still be electing when this returns.
    ///
    /// # Panics
    /// One does not start.
    pub async fn start() -> Self {
        let ports = free_ports();
        let routes: Vec<String> = ports.iter().map(|port| format!("\"nats://127.0.0.1:{port}\"")).collect();
        let routes = routes.join(", ");
        let configs = ports.iter().enumerate().map(|(at, port)| {
            format!(
                "server_name: n{at}\ncluster {{ name: test, listen: \"127.0.0.1:{port}\", routes: [{routes}], no_advertise: true }}"
            )
        });
        let configs: Vec<String> = configs.collect();
        Self { nodes: join_all(configs.iter().map(|config| Nats::with_config(config))).await }
    }

    /// How to connect to any of them.
    #[must_use]
    pub fn connect(&self) -> Connect {
        let urls: Vec<&str> = self.nodes.iter().map(Nats::url).collect();
        Connect { within: Duration::from_secs(20), ..Connect::new(urls.join(","), "test") }
    }

    /// The same cluster once all streams, buckets and lanes of the fleet are there, each three times.
    ///
    /// # Panics
    /// The cluster does not form, or refuses one.
    pub async fn bootstrapped(self) -> Self {
        let topology = Topology { replicas: 3, ..Topology::default() };
        let made = timeout(FORMED_WITHIN, async {
            loop {
                match topology.bootstrap(&self.connect()).await {
                    Err(fault) if fault.is_passing() => tokio::time::sleep(Duration::from_millis(100)).await,
                    made => return made,
                }
            }
        });
        match made.await {
            Ok(Ok(())) => self,
            Ok(Err(fault)) => panic!("the topology cannot be made: {fault}"),
            Err(_) => panic!("the cluster did not form within {FORMED_WITHIN:?}"),
        }
    }
}

/// Ports for the routes: they must be known to all before any of them starts.
fn free_ports() -> Vec<u16> {
    let listeners: Vec<TcpListener> = (0..SIZE).filter_map(|_| TcpListener::bind("127.0.0.1:0").ok()).collect();
    listeners.iter().filter_map(|listener| listener.local_addr().ok()).map(|address| address.port()).collect()
}
