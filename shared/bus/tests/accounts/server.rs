//! A nats-server with generated accounts, and a client that shows what the server says to each line.

use std::{
    collections::BTreeMap,
    io::{BufRead, BufReader, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    time::Duration,
};

use aip_bus::{
    accounts::{
        Cluster, ConnectorAccount, Roster, ServerOptions, ServiceUser, SyncInterval, TenantAccount, UserKey,
        inbox_prefix, render,
    },
    nats::{Connect, NatsPort, Seed},
    subjects::{ConnectorName, Peer, Tenant},
};
use aip_testkit::{Nats, Scratch, eventually};
use base64::Engine;
use nkeys::KeyPair;

/// Everyone of the test's fleet, by name.
pub(crate) const TENANTS: [(&str, [&str; 2]); 2] = [("acme", ["alice", "aaron"]), ("globex", ["bob", "berta"])];
pub(crate) const CONNECTORS: [&str; 2] = ["demo", "ledger"];

pub(crate) struct Fleet {
    keys: BTreeMap<String, KeyPair>,
    servers: Vec<(Nats, Scratch)>,
}

pub(crate) fn peer() -> Peer {
    Peer::new("example.org", "aip", "1.0").unwrap()
}

pub(crate) fn tenant(name: &str) -> Tenant {
    Tenant::new(name).unwrap()
}

pub(crate) fn connector(name: &str) -> ConnectorName {
    ConnectorName::new(name).unwrap()
}

fn roster(keys: &mut BTreeMap<String, KeyPair>) -> Roster {
    let mut user = |name: &str| {
        let pair = KeyPair::new_user();
        let key = UserKey::new(&pair.public_key()).unwrap();
        keys.insert(name.to_owned(), pair);
        key
    };
    Roster {
        peer: peer(),
        services: ServiceUser::ALL.into_iter().map(|service| (service, user(service.as_str()))).collect(),
        tenants: TENANTS
            .into_iter()
            .map(|(name, users)| TenantAccount {
                tenant: tenant(name),
                users: users.into_iter().map(|name| (name.to_owned(), user(name))).collect(),
            })
            .collect(),
        connectors: CONNECTORS
            .into_iter()
            .map(|name| ConnectorAccount { name: connector(name), key: user(name) })
            .collect(),
        bench: Some(user("bench")),
        sys: user("operator"),
    }
}

impl Fleet {
    pub(crate) async fn start() -> Self {
        let mut keys = BTreeMap::new();
        let roster = roster(&mut keys);
        let servers = vec![server(&roster, |_| {}).await];
        Self { keys, servers }
    }

    pub(crate) async fn start_cluster() -> Self {
        let mut keys = BTreeMap::new();
        let roster = roster(&mut keys);
        let free = || TcpListener::bind("127.0.0.1:0").unwrap();
        let ports = [free(), free(), free()].map(|listener| listener.local_addr().unwrap());
        let routes: Vec<String> = ports.iter().map(ToString::to_string).collect();
        let node = |listen: SocketAddr| {
            let routes = routes.clone();
            server(&roster, move |options| {
                options.name = format!("aip-{}", listen.port());
                options.sync_interval = SyncInterval::Always;
                options.cluster = Some(Cluster { name: "aip".to_owned(), listen, routes });
            })
        };
        let servers = futures::future::join_all(ports.map(node)).await;
        Self { keys, servers }
    }

    fn address(&self) -> &str {
        self.servers[0].0.url().strip_prefix("nats://").unwrap()
    }

    pub(crate) fn key(&self, user: &str) -> String {
        self.keys[user].public_key()
    }

    /// A stock client.
    pub(crate) async fn client(&self, user: &str) -> async_nats::Client {
        let options = async_nats::ConnectOptions::with_nkey(self.keys[user].seed().unwrap());
        options.custom_inbox_prefix(prefix(user)).connect(self.address()).await.unwrap()
    }

    pub(crate) fn connect(&self, user: &str) -> Connect {
        let seed = Seed::Text(self.keys[user].seed().unwrap().into());
        Connect::new(self.servers[0].0.url(), user).with_seed(seed).with_inbox_prefix(prefix(user))
    }

    /// The fleet's own adapter.
    pub(crate) async fn port(&self, user: &str) -> NatsPort {
        NatsPort::connect(self.connect(user)).await.unwrap()
    }

    /// Whether a stranger is let in.
    pub(crate) async fn admits(&self, stranger: KeyPair) -> bool {
        async_nats::ConnectOptions::with_nkey(stranger.seed().unwrap()).connect(self.address()).await.is_ok()
    }

    pub(crate) async fn wait_for_log(&self, text: &str) {
        let log = self.servers[0].0.server.log_file();
        eventually(Duration::from_secs(10), || async { std::fs::read_to_string(&log).unwrap().contains(text) }).await;
    }
}

/// Its folder's name has what must be quoted.
async fn server(roster: &Roster, change: impl FnOnce(&mut ServerOptions)) -> (Nats, Scratch) {
    let (free, scratch) = (SocketAddr::from(([127, 0, 0, 1], 0)), Scratch::new());
    let mut options = ServerOptions::single(free, scratch.path().join("a \"store\" $x"));
    options.http = Some(free);
    change(&mut options);
    (Nats::with_config(&render(roster, &options)).await, scratch)
}

fn prefix(user: &str) -> String {
    let is_tenants = TENANTS.iter().any(|(_, users)| users.contains(&user));
    if is_tenants { "_INBOX".to_owned() } else { inbox_prefix(user) }
}

/// A connection in verbose mode: each line is answered by `+OK` or by the refusal.
pub(crate) struct Raw {
    reader: BufReader<TcpStream>,
    sid: u32,
}

impl Raw {
    pub(crate) fn connect(fleet: &Fleet, user: &str) -> Self {
        let mut raw = Self::open(fleet);
        let info = raw.line();
        let info: serde_json::Value = serde_json::from_str(info.strip_prefix("INFO ").unwrap()).unwrap();
        let pair = &fleet.keys[user];
        let signature = pair.sign(info["nonce"].as_str().unwrap().as_bytes()).unwrap();
        let signature = base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(signature);
        let connect = serde_json::json!({
            "verbose": true, "pedantic": false, "headers": true, "no_responders": true, "protocol": 1,
            "lang": "test", "version": "0", "nkey": pair.public_key(), "sig": signature,
        });
        assert_eq!(raw.say(&format!("CONNECT {connect}\r\n")), "+OK");
        raw
    }

    pub(crate) fn open(fleet: &Fleet) -> Self {
        let stream = TcpStream::connect(fleet.address()).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        Self { reader: BufReader::new(stream), sid: 0 }
    }

    pub(crate) fn line(&mut self) -> String {
        let mut line = String::new();
        self.reader.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }

    /// Says something and returns the answer to it.
    pub(crate) fn say(&mut self, text: &str) -> String {
        self.reader.get_mut().write_all(text.as_bytes()).unwrap();
        loop {
            let line = self.line();
            if line == "PING" {
                self.reader.get_mut().write_all(b"PONG\r\n").unwrap();
            } else if line.starts_with('+') || line.starts_with('-') || line.is_empty() {
                return line;
            }
        }
    }

    /// A refused publish is still followed by `+OK`, so a round trip tells the end of what the server says.
    pub(crate) fn may_publish(&mut self, subject: &str) -> bool {
        self.is_allowed(&format!("PUB {subject} 0\r\n\r\n"), "Permissions Violation for Publish")
    }

    pub(crate) fn may_subscribe(&mut self, subject: &str) -> bool {
        self.sid += 1;
        let sid = self.sid;
        let allowed = self.is_allowed(&format!("SUB {subject} {sid}\r\n"), "Permissions Violation for Subscription");
        self.is_allowed(&format!("UNSUB {sid}\r\n"), "");
        allowed
    }

    fn is_allowed(&mut self, text: &str, violation: &str) -> bool {
        self.reader.get_mut().write_all(text.as_bytes()).unwrap();
        self.reader.get_mut().write_all(b"PING\r\n").unwrap();
        let mut allowed = true;
        loop {
            let line = self.line();
            if line == "PING" {
                self.reader.get_mut().write_all(b"PONG\r\n").unwrap();
            } else if line == "PONG" {
                return allowed;
            } else if let Some(refusal) = line.strip_prefix("-ERR ") {
                assert!(refusal.contains(violation) && !violation.is_empty(), "{text:?} was answered {line:?}");
                allowed = false;
            } else {
                assert!(!line.is_empty(), "the server closed the connection after {text:?}");
            }
        }
    }
}
