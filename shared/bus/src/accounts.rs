//! Users, accounts and what each may do (`design.md` §7), as a configuration of nats-server.
//!
//! One account per tenant and one per connector keep strangers apart; inside account `AIP` each service is a user that may
//! publish and subscribe what it needs and nothing else ([`permissions`]). Only public keys are known here.
//! `tests/accounts.rs` tries every right and its denials on a real server.

mod permissions;
mod render;
mod request_info;

use std::{collections::BTreeMap, fmt, net::SocketAddr, path::PathBuf, time::Duration};

use crate::subjects::{ConnectorName, Peer, Tenant};

pub use permissions::{Permissions, connector_permissions, service_permissions, tenant_permissions};
pub use render::{render, sample};
pub use request_info::{REQUEST_INFO, RequestInfo};

/// The account of the fleet's own services.
pub const FLEET_ACCOUNT: &str = "AIP";
/// The account of the server's operator.
pub const SYSTEM_ACCOUNT: &str = "SYS";
/// The account of `aip bench`, with streams of its own.
pub const BENCH_ACCOUNT: &str = "BENCH";
/// How long after a request its answer still passes between two accounts. An action may run longer: then its status is read.
///
/// nats-server forgets where an answer goes after its `response_threshold`, two minutes unless told otherwise, and a
/// connector's right to answer after `expires`, two minutes too; what comes later is lost without a word.
pub const ANSWER_WITHIN: Duration = Duration::from_secs(60 * 60);

/// A text that is no public nkey of a user.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the text is not the public key of a user")]
pub struct BadKey;

/// The public half of a user's nkey: `U` and base32.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UserKey(String);

impl UserKey {
    /// Checks the shape; the server checks the sum.
    ///
    /// # Errors
    /// [`BadKey`] when it is not `U[A-Z2-7]{55}`.
    pub fn new(raw: &str) -> Result<Self, BadKey> {
        let base32 = |b: u8| b.is_ascii_uppercase() || matches!(b, b'2'..=b'7');
        if raw.len() == 56 && raw.starts_with('U') && raw.bytes().all(base32) {
            Ok(Self(raw.to_owned()))
        } else {
            Err(BadKey)
        }
    }

    /// The key.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for UserKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A user inside account `AIP`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ServiceUser {
    /// Creates streams, buckets and lanes; publishes no message.
    Bootstrap,
    /// The service `admission`.
    Admission,
    /// The service `scheduler`.
    Scheduler,
    /// The service `edge-http`.
    EdgeHttp,
    /// Reads the state of streams and lanes and the account's counters, for `aip bench` and operators; no message.
    Observer,
}

impl ServiceUser {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Bootstrap, Self::Admission, Self::Scheduler, Self::EdgeHttp, Self::Observer];

    /// Its name.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Bootstrap => "bootstrap",
            Self::Admission => "admission",
            Self::Scheduler => "scheduler",
            Self::EdgeHttp => "edge-http",
            Self::Observer => "observer",
        }
    }

    /// The user of a name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|user| user.as_str() == name)
    }

    /// What its connections must use as inbox prefix, such as `_INBOX_admission`.
    #[must_use]
    pub fn inbox_prefix(self) -> String {
        inbox_prefix(self.as_str())
    }
}

/// What the connections of a service or connector must use as inbox prefix. A tenant's users use the clients' own `_INBOX`.
#[must_use]
pub fn inbox_prefix(user: &str) -> String {
    format!("_INBOX_{user}")
}

/// A tenant's account and its users.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TenantAccount {
    /// The tenant.
    pub tenant: Tenant,
    /// Its users. The name is for people; the key is what a request carries.
    pub users: Vec<(String, UserKey)>,
}

/// A connector's account, which has one user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConnectorAccount {
    /// The connector.
    pub name: ConnectorName,
    /// Its user.
    pub key: UserKey,
}

/// Everyone who may connect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Roster {
    /// The place that the fleet answers at.
    pub peer: Peer,
    /// Users of account `AIP`.
    pub services: BTreeMap<ServiceUser, UserKey>,
    /// One account each.
    pub tenants: Vec<TenantAccount>,
    /// One account each.
    pub connectors: Vec<ConnectorAccount>,
    /// The user of account `BENCH`; no such account without it.
    pub bench: Option<UserKey>,
    /// The operator's user.
    pub sys: UserKey,
}

/// Name of a tenant's account. `Nats-Request-Info` must carry it where the subject names the tenant (`design.md` §7).
#[must_use]
pub fn tenant_account(tenant: &Tenant) -> String {
    format!("TENANT_{tenant}")
}

/// Name of a connector's account.
#[must_use]
pub fn connector_account(connector: &ConnectorName) -> String {
    format!("CONNECTOR_{connector}")
}

/// How often the server's files reach the disk (`design.md` §9).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SyncInterval {
    /// After every write.
    Always,
    /// This often; the server's own default is two minutes.
    Every(Duration),
}

/// The servers that form a cluster with this one. Routes carry no credentials here: whoever reaches `listen` is believed, so
/// it belongs on loopback or a network of the servers alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cluster {
    /// Name of the cluster.
    pub name: String,
    /// Where this server waits for the others.
    pub listen: SocketAddr,
    /// `host:port` of every server's `listen`, this one's allowed.
    pub routes: Vec<String>,
}

/// All that is not about users.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerOptions {
    /// Name of the server, its own in a cluster.
    pub name: String,
    /// Where clients connect. Port 0 stands for a free one.
    pub listen: SocketAddr,
    /// Where the monitor answers; unprotected, so keep it inside. Port 0 stands for a free one.
    pub http: Option<SocketAddr>,
    /// Folder of the streams.
    pub store_dir: PathBuf,
    /// Bytes of the largest message; twice the largest envelope, so that one which is too large is ours to refuse.
    pub max_payload: usize,
    /// When writes reach the disk.
    pub sync_interval: SyncInterval,
    /// The others, if any.
    pub cluster: Option<Cluster>,
}

impl ServerOptions {
    /// Bytes of the largest message unless told otherwise: 2 MiB.
    pub const MAX_PAYLOAD: usize = 2 * 1_024 * 1_024;

    /// A single server with the defaults.
    #[must_use]
    pub fn single(listen: SocketAddr, store_dir: impl Into<PathBuf>) -> Self {
        Self {
            name: "aip".to_owned(),
            listen,
            http: None,
            store_dir: store_dir.into(),
            max_payload: Self::MAX_PAYLOAD,
            sync_interval: SyncInterval::Every(Duration::from_secs(120)),
            cluster: None,
        }
    }
}

const _: () = assert!(ServerOptions::MAX_PAYLOAD == 2 * aip_types::limits::ENVELOPE_BYTES_MAX);
