//! Opening a connection, and keeping count of what happens to it.

use std::{
    path::PathBuf,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use async_nats::{Client, ConnectOptions, Event};
use secrecy::{ExposeSecret, SecretString};
use tokio::{sync::watch, time::timeout};

use super::{BUS_TIMEOUT_MS, outgoing::Outgoing, wire};
use crate::BusError;

const PING_INTERVAL: Duration = Duration::from_secs(10);
const SOCKET_TIMEOUT: Duration = Duration::from_secs(5);
const RECONNECT_DELAY_MS_MAX: u64 = 250;
/// Messages that one subscription may hold before the client drops some and says so.
const SUBSCRIPTION_CAPACITY: usize = 16_384;

/// The private half of a user's nkey. Never printed.
#[derive(Clone, Debug, Default)]
pub enum Seed {
    /// The server admits without one.
    #[default]
    None,
    /// The seed itself.
    Text(SecretString),
    /// A file that holds the seed as its first line.
    File(PathBuf),
}

/// What a connection needs.
#[derive(Clone, Debug)]
pub struct Connect {
    /// One or more `nats://host:port` or `tls://host:port`, comma separated.
    pub url: String,
    /// Name shown by the server's monitor.
    pub name: String,
    /// Every answer of this process comes on a subject under it, so permissions can keep processes apart. No wildcards.
    pub inbox_prefix: String,
    /// Who connects.
    pub seed: Seed,
    /// Certificate authority of the servers, as a PEM file; the system's otherwise.
    pub ca_file: Option<PathBuf>,
    /// How long the first connection may take.
    pub within: Duration,
    /// How long a call waits for its answer.
    pub timeout: Duration,
    /// What many tasks send goes out together: fewer system calls under load.
    pub gathers: bool,
}

impl Connect {
    /// A connection without credentials.
    #[must_use]
    pub fn new(url: impl Into<String>, name: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            name: name.into(),
            inbox_prefix: "_INBOX".to_owned(),
            seed: Seed::None,
            ca_file: None,
            within: Duration::from_secs(10),
            timeout: Duration::from_millis(BUS_TIMEOUT_MS),
            gathers: true,
        }
    }

    /// The same with a seed.
    #[must_use]
    pub fn with_seed(mut self, seed: Seed) -> Self {
        self.seed = seed;
        self
    }

    /// The same with another inbox prefix.
    #[must_use]
    pub fn with_inbox_prefix(mut self, prefix: impl Into<String>) -> Self {
        self.inbox_prefix = prefix.into();
        self
    }

    pub(super) async fn open(self) -> Result<Link, BusError> {
        let (epoch, epochs) = watch::channel(0);
        let tally = Arc::new(Tally::default());
        let mut options = ConnectOptions::new()
            .name(&self.name)
            .custom_inbox_prefix(&self.inbox_prefix)
            .retry_on_initial_connect()
            .max_reconnects(None)
            .ping_interval(PING_INTERVAL)
            .connection_timeout(SOCKET_TIMEOUT)
            .request_timeout(Some(self.timeout))
            .subscription_capacity(SUBSCRIPTION_CAPACITY)
            .reconnect_delay_callback(reconnect_delay)
            .event_callback({
                let tally = Arc::clone(&tally);
                let name = self.name.clone();
                move |event| {
                    tally.note(&name, &event, &epoch);
                    async {}
                }
            });
        if let Some(seed) = self.seed.read().await? {
            options = options.nkey(seed.expose_secret().to_owned());
        }
        if let Some(file) = self.ca_file {
            options = options.add_root_certificates(file);
        }
        let servers: Vec<&str> = self.url.split(',').map(str::trim).collect();
        let client = options.connect(servers).await.map_err(wire::unavailable)?;
        let mut first = epochs.clone();
        let up = timeout(self.within, first.wait_for(|&epoch| epoch > 0)).await.map(|seen| seen.map(|_| ()));
        up.map_err(wire::unavailable)?.map_err(wire::unavailable)?;
        let outgoing = if self.gathers { Outgoing::together() } else { Outgoing::Alone };
        Ok(Link { client, outgoing, epochs, tally, within: self.timeout })
    }
}

impl Seed {
    /// The seed itself; `None` without one.
    ///
    /// # Errors
    /// [`BusError::Unavailable`]: the file cannot be read.
    pub async fn read(self) -> Result<Option<SecretString>, BusError> {
        match self {
            Self::None => Ok(None),
            Self::Text(seed) => Ok(Some(seed)),
            Self::File(path) => {
                let text = tokio::fs::read_to_string(&path).await.map_err(wire::unavailable)?;
                let seed = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
                Ok(Some(SecretString::from(seed)))
            }
        }
    }
}

/// Grows to a quarter of a second; each process waits a time of its own.
fn reconnect_delay(attempts: usize) -> Duration {
    if attempts <= 1 {
        return Duration::ZERO;
    }
    let bound = u64::try_from(attempts).unwrap_or(u64::MAX).saturating_mul(50).min(RECONNECT_DELAY_MS_MAX);
    jittered(Duration::from_millis(bound))
}

/// Between half of a time and the whole.
pub(super) fn jittered(whole: Duration) -> Duration {
    let mut noise = [0; 2];
    let share = getrandom::fill(&mut noise).map_or(u32::from(u16::MAX), |()| u32::from(u16::from_le_bytes(noise)));
    let half = whole / 2;
    half.saturating_add(half.saturating_mul(share) / u32::from(u16::MAX))
}

/// An open connection and what is known about it.
#[derive(Clone, Debug)]
pub(super) struct Link {
    pub(super) client: Client,
    pub(super) outgoing: Outgoing,
    /// Counts the connections made: a change tells that everything asked on the old one is lost.
    pub(super) epochs: watch::Receiver<u64>,
    pub(super) within: Duration,
    tally: Arc<Tally>,
}

impl Link {
    /// How long the connection has stood; zero without one.
    pub(super) fn connected_for(&self) -> Duration {
        let since = *self.tally.connected_at.lock().unwrap_or_else(PoisonError::into_inner);
        since.map_or(Duration::ZERO, |since| monotonic().duration_since(since))
    }

    pub(super) fn counters(&self) -> Counters {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Counters {
            connects: read(&self.tally.connects),
            disconnects: read(&self.tally.disconnects),
            slow_consumers: read(&self.tally.slow_consumers),
            server_errors: read(&self.tally.server_errors),
        }
    }
}

/// What has happened to a connection since it was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Times connected, the first included.
    pub connects: u64,
    /// Times lost.
    pub disconnects: u64,
    /// Times that a subscription was full and messages were dropped.
    pub slow_consumers: u64,
    /// Complaints of the server, permission violations among them.
    pub server_errors: u64,
}

#[derive(Debug, Default)]
struct Tally {
    connects: AtomicU64,
    disconnects: AtomicU64,
    slow_consumers: AtomicU64,
    server_errors: AtomicU64,
    connected_at: Mutex<Option<Instant>>,
}

impl Tally {
    fn stands_since(&self, since: Option<Instant>) {
        *self.connected_at.lock().unwrap_or_else(PoisonError::into_inner) = since;
    }

    fn note(&self, name: &str, event: &Event, epoch: &watch::Sender<u64>) {
        // Counted outside of the log's fields, which are not evaluated when nobody reads the log.
        let add = |counter: &AtomicU64| counter.fetch_add(1, Ordering::Relaxed);
        match event {
            Event::Connected => {
                let earlier = add(&self.connects);
                tracing::info!(connection = name, earlier, "connected");
                self.stands_since(Some(monotonic()));
                epoch.send_modify(|epoch| *epoch = epoch.saturating_add(1));
            }
            Event::Disconnected => {
                let earlier = add(&self.disconnects);
                tracing::warn!(connection = name, earlier, "disconnected");
                self.stands_since(None);
            }
            Event::SlowConsumer(subscription) => {
                let earlier = add(&self.slow_consumers);
                tracing::error!(connection = name, subscription, earlier, "slow consumer");
            }
            Event::ServerError(fault) => {
                let earlier = add(&self.server_errors);
                tracing::error!(connection = name, earlier, %fault, "server error");
            }
            Event::ClientError(fault) => tracing::warn!(connection = name, %fault, "client error"),
            Event::LameDuckMode | Event::Draining | Event::Closed => {
                tracing::info!(connection = name, %event, "closing")
            }
        }
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "measures how long a connection stands; nothing is decided by the wall clock"
)]
fn monotonic() -> Instant {
    Instant::now()
}
