//! One nats-server process.

use std::{
    fs::{self, OpenOptions},
    path::{Path, PathBuf},
    process::{ExitStatus, Stdio},
    time::Duration,
};

use serde::Deserialize;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    process::{Child, Command},
    time::{sleep, timeout},
};

use super::NatsServerError;

const START_WITHIN: Duration = Duration::from_secs(20);
const STOP_WITHIN: Duration = Duration::from_secs(10);
const POLL: Duration = Duration::from_millis(10);
const LOG_TAIL_LINES: usize = 20;
const LOG_FILE: &str = "nats-server.log";

/// A running nats-server; killed when dropped.
#[derive(Debug)]
pub struct Server {
    binary: PathBuf,
    config: PathBuf,
    dir: PathBuf,
    child: Child,
    ports: Ports,
}

/// What the server writes into its ports file: `host:port` with a scheme.
#[derive(Clone, Debug, Default, Deserialize)]
struct Ports {
    #[serde(default)]
    nats: Vec<String>,
    #[serde(default)]
    monitoring: Vec<String>,
}

impl Server {
    /// Starts a server and waits until it serves JetStream. `dir` takes its log and its ports file; a port of -1 in the
    /// configuration is a free one.
    ///
    /// # Errors
    /// [`NatsServerError::NotStarted`] with the end of the log, [`NatsServerError::Io`].
    pub async fn spawn(binary: &Path, config: &Path, dir: &Path) -> Result<Self, NatsServerError> {
        fs::create_dir_all(dir).map_err(NatsServerError::io("making the server's folder"))?;
        let child = start(binary, config, dir, &Ports::default())?;
        let paths = (binary.to_owned(), config.to_owned(), dir.to_owned());
        let mut server = Self { binary: paths.0, config: paths.1, dir: paths.2, child, ports: Ports::default() };
        server.wait_ready().await?;
        Ok(server)
    }

    /// Where clients connect, such as `nats://127.0.0.1:4222`.
    #[must_use]
    pub fn url(&self) -> &str {
        self.ports.nats.first().map_or("", String::as_str)
    }

    /// Where the monitor answers, such as `http://127.0.0.1:8222`, if the configuration has one.
    #[must_use]
    pub fn monitor_url(&self) -> Option<&str> {
        self.ports.monitoring.first().map(String::as_str)
    }

    /// The process, while it runs.
    #[must_use]
    pub fn pid(&self) -> Option<u32> {
        self.child.id()
    }

    /// Its log.
    #[must_use]
    pub fn log_file(&self) -> PathBuf {
        self.dir.join(LOG_FILE)
    }

    /// Kills it without a chance to say anything.
    ///
    /// # Errors
    /// [`NatsServerError::Io`].
    pub async fn kill9(&mut self) -> Result<(), NatsServerError> {
        self.child.kill().await.map_err(NatsServerError::io("killing nats-server"))
    }

    /// Starts it again on the ports that it had, after stopping it if it still runs.
    ///
    /// # Errors
    /// As [`Server::spawn`].
    pub async fn restart(&mut self) -> Result<(), NatsServerError> {
        self.stop().await?;
        self.child = start(&self.binary, &self.config, &self.dir, &self.ports)?;
        self.wait_ready().await
    }

    /// Ends it in order, by force after ten seconds.
    ///
    /// # Errors
    /// [`NatsServerError::Io`].
    pub async fn stop(&mut self) -> Result<(), NatsServerError> {
        self.signal("-TERM").await?;
        match timeout(STOP_WITHIN, self.child.wait()).await {
            Ok(ended) => ended.map(drop).map_err(NatsServerError::io("waiting for nats-server")),
            Err(_) => self.kill9().await,
        }
    }

    /// Stops it in mid-air (SIGSTOP): connections stay, nobody answers.
    ///
    /// # Errors
    /// [`NatsServerError::Io`].
    pub async fn stop_signal(&self) -> Result<(), NatsServerError> {
        self.signal("-STOP").await
    }

    /// Lets it go on (SIGCONT).
    ///
    /// # Errors
    /// [`NatsServerError::Io`].
    pub async fn cont_signal(&self) -> Result<(), NatsServerError> {
        self.signal("-CONT").await
    }

    /// Makes it read its configuration again (SIGHUP).
    ///
    /// # Errors
    /// [`NatsServerError::Io`].
    pub async fn reload(&self) -> Result<(), NatsServerError> {
        self.signal("-HUP").await
    }

    /// Waits until it ends by itself.
    ///
    /// # Errors
    /// [`NatsServerError::Io`].
    pub async fn wait(&mut self) -> Result<ExitStatus, NatsServerError> {
        self.child.wait().await.map_err(NatsServerError::io("waiting for nats-server"))
    }

    /// Whether it serves JetStream now, all streams and consumers included.
    pub async fn is_healthy(&self) -> bool {
        match self.monitor_url() {
            Some(url) => answers_ok(url, "/healthz").await,
            None => accepts(self.url()).await,
        }
    }

    async fn signal(&self, signal: &str) -> Result<(), NatsServerError> {
        let Some(pid) = self.child.id() else { return Ok(()) };
        let sent = Command::new("kill")
            .args([signal, &pid.to_string()])
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .await;
        sent.map(drop).map_err(NatsServerError::io("signalling nats-server"))
    }

    async fn wait_ready(&mut self) -> Result<(), NatsServerError> {
        match timeout(START_WITHIN, self.ready()).await {
            Ok(true) => Ok(()),
            Ok(false) | Err(_) => Err(NatsServerError::NotStarted { log: tail(&self.log_file()) }),
        }
    }

    /// False once the process has ended.
    async fn ready(&mut self) -> bool {
        loop {
            if !matches!(self.child.try_wait(), Ok(None)) {
                return false;
            }
            if self.ports.nats.is_empty() {
                self.ports = self.child.id().and_then(|pid| ports_file(&self.dir, pid)).unwrap_or_default();
            }
            let is_up = match self.monitor_url() {
                Some(url) => answers_ok(url, "/healthz?js-enabled-only=true").await && accepts(self.url()).await,
                None => accepts(self.url()).await,
            };
            if is_up {
                return true;
            }
            sleep(POLL).await;
        }
    }
}

fn start(binary: &Path, config: &Path, dir: &Path, ports: &Ports) -> Result<Child, NatsServerError> {
    let log = OpenOptions::new()
        .create(true)
        .append(true)
        .open(dir.join(LOG_FILE))
        .map_err(NatsServerError::io("opening the log"))?;
    let log_too = log.try_clone().map_err(NatsServerError::io("opening the log"))?;
    let mut command = Command::new(binary);
    command.arg("--config").arg(config).arg("--ports_file_dir").arg(dir);
    if let Some(port) = ports.nats.first().and_then(|url| port_of(url)) {
        command.args(["--port", port]);
    }
    if let Some(port) = ports.monitoring.first().and_then(|url| port_of(url)) {
        command.args(["--http_port", port]);
    }
    command.stdin(Stdio::null()).stdout(log).stderr(log_too).kill_on_drop(true);
    command.spawn().map_err(NatsServerError::io("starting nats-server"))
}

fn port_of(url: &str) -> Option<&str> {
    url.rsplit_once(':').map(|(_, port)| port)
}

/// The file is named after the binary and the process.
fn ports_file(dir: &Path, pid: u32) -> Option<Ports> {
    let ending = format!("_{pid}.ports");
    let mut entries = fs::read_dir(dir).ok()?.flatten();
    let file = entries.find(|entry| entry.file_name().to_string_lossy().ends_with(&ending))?;
    serde_json::from_slice(&fs::read(file.path()).ok()?).ok()
}

fn address(url: &str) -> Option<&str> {
    url.split_once("://").map(|(_, address)| address)
}

async fn accepts(url: &str) -> bool {
    match address(url) {
        Some(address) => TcpStream::connect(address).await.is_ok(),
        None => false,
    }
}

/// One HTTP request by hand: the monitor needs no client library.
async fn answers_ok(url: &str, path: &str) -> bool {
    let Some(address) = address(url) else { return false };
    let asked = async {
        let mut stream = TcpStream::connect(address).await?;
        stream.write_all(format!("GET {path} HTTP/1.0\r\nHost: {address}\r\n\r\n").as_bytes()).await?;
        let mut head = [0; 12]; // "HTTP/1.0 200"
        stream.read_exact(&mut head).await.map(|_| head)
    };
    matches!(timeout(Duration::from_secs(1), asked).await, Ok(Ok(head)) if head.ends_with(b"200"))
}

fn tail(log: &Path) -> String {
    let text = fs::read_to_string(log).unwrap_or_default();
    let lines: Vec<&str> = text.lines().collect();
    lines.get(lines.len().saturating_sub(LOG_TAIL_LINES)..).unwrap_or_default().join("\n")
}
