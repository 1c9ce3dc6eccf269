//! A nats-server with generated accounts, and a client that shows what the server says to each line.

use std::{
    collections::BTreeMap,
    io::{BufRead, BufReader, Write},
    net::{SocketAddr, TcpStream},
    path::PathBuf,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use aip_bus::{
    accounts::{
        Cluster, ConnectorAccount, Roster, ServerOptions, ServiceUser, SyncInterval, TenantAccount, UserKey, inbox_prefix, render,
    },
    nats::{Connect, NatsPort, Seed},
    subjects::{ConnectorName, Peer, Tenant},
};
use base64::Engine;
use nkeys::KeyPair;

/// Everyone of the test's fleet, by name.
pub(crate) const TENANTS: [(&str, [&str; 2]); 2] = [("acme", ["alice", "aaron"]), ("globex", ["bob", "berta"])];
pub(crate) const CONNECTORS: [&str; 2] = ["demo", "ledger"];

pub(crate) struct Fleet {
    pub(crate) url: String,
    keys: BTreeMap<String, KeyPair>,
    child: Child,
    folder: PathBuf,
}

impl Drop for Fleet {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
        drop(std::fs::remove_dir_all(&self.folder));
    }
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
        let folder = folder(&keys);
        let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let mut options = ServerOptions::single(SocketAddr::from(([127, 0, 0, 1], port)), folder.join("store"));
        options.http = Some(SocketAddr::from(([127, 0, 0, 1], 0)));
        let config = folder.join("nats.conf");
        std::fs::write(&config, render(&roster, &options)).unwrap();
        let log = std::fs::File::create(folder.join("log")).unwrap();
        let child = Command::new("/tmp/natsbin/nats-server").arg("-c").arg(&config).stdout(Stdio::null()).stderr(log).spawn().unwrap();
        let until = Instant::now() + Duration::from_secs(10);
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(Instant::now() < until, "{}", std::fs::read_to_string(folder.join("log")).unwrap());
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        Self { keys, url: format!("127.0.0.1:{port}"), child, folder }
    }

    pub(crate) async fn check_cluster_configuration() {
        let mut keys = BTreeMap::new();
        let roster = roster(&mut keys);
        let folder = folder(&keys);
        let local = |port| SocketAddr::from(([127, 0, 0, 1], port));
        let mut options = ServerOptions::single(local(0), folder.join("store"));
        options.sync_interval = SyncInterval::Always;
        let routes = vec!["127.0.0.1:6222".to_owned(), "127.0.0.1:6223".to_owned()];
        options.cluster = Some(Cluster { name: "aip".to_owned(), listen: local(6222), routes });
        let config = folder.join("nats.conf");
        std::fs::write(&config, render(&roster, &options)).unwrap();
        let checked = Command::new("/tmp/natsbin/nats-server").arg("-t").arg("-c").arg(&config).output().unwrap();
        assert!(checked.status.success(), "{}", String::from_utf8_lossy(&checked.stderr));
        std::fs::remove_dir_all(folder).unwrap();
    }

    pub(crate) fn key(&self, user: &str) -> String {
        self.keys[user].public_key()
    }

    /// A stock client.
    pub(crate) async fn client(&self, user: &str) -> async_nats::Client {
        let options = async_nats::ConnectOptions::with_nkey(self.keys[user].seed().unwrap());
        options.custom_inbox_prefix(prefix(user)).connect(&self.url).await.unwrap()
    }

    pub(crate) fn connect(&self, user: &str) -> Connect {
        let seed = Seed::Text(self.keys[user].seed().unwrap().into());
        Connect::new(format!("nats://{}", self.url), user).with_seed(seed).with_inbox_prefix(prefix(user))
    }

    /// The fleet's own adapter.
    pub(crate) async fn port(&self, user: &str) -> NatsPort {
        NatsPort::connect(self.connect(user)).await.unwrap()
    }

    pub(crate) async fn wait_for_log(&self, text: &str) {
        let until = Instant::now() + Duration::from_secs(10);
        while !std::fs::read_to_string(self.folder.join("log")).unwrap().contains(text) {
            assert!(Instant::now() < until, "the server's log never said {text:?}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

fn prefix(user: &str) -> String {
    let is_tenants = TENANTS.iter().any(|(_, users)| users.contains(&user));
    if is_tenants { "_INBOX".to_owned() } else { inbox_prefix(user) }
}

/// Its name has what must be quoted.
fn folder(keys: &BTreeMap<String, KeyPair>) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("aip \"accounts\" $x {}", keys["alice"].public_key()));
    std::fs::create_dir_all(&folder).unwrap();
    folder
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
        let stream = TcpStream::connect(&fleet.url).unwrap();
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
