//! The nats-server of a local fleet: started over what an earlier run left, and started again when it is sick.

use std::{fs, io, net::SocketAddr, path::Path, time::Duration};

use aip_service::nats_server::Server;
use anyhow::{Context as _, anyhow};
use tokio::{process::Command, time::sleep};

use crate::{
    failure::Failure,
    home::{self, Home},
    nats_server::find,
    up::must_be_free,
};

/// Time between two looks at its health.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// Bad looks in a row before it is started again. It is busy, not sick, while it recovers its streams.
const SICK_LOOKS_MAX: u32 = 15;
/// Starts that may fail in a row.
const STARTS_MAX: u32 = 10;
/// Time for the server of an earlier run to end.
const ORPHAN_ENDS_WITHIN: Duration = Duration::from_secs(10);
const POLL: Duration = Duration::from_millis(50);

pub(super) struct NatsServer {
    server: Server,
    pid_file: std::path::PathBuf,
}

impl NatsServer {
    pub(super) async fn start(home: &Home, configured: Option<&Path>, listen: SocketAddr) -> Result<Self, Failure> {
        let binary = find(configured).await?;
        let pid_file = home.nats_pid();
        end_orphan(&pid_file, &home.nats_config()).await?;
        must_be_free(listen, "--nats-port")?;
        remove_ports_files(&home.nats_dir()).context("tidying the server's folder").map_err(Failure::Settings)?;
        let server =
            Server::spawn(&binary, &home.nats_config(), &home.nats_dir()).await.context("starting nats-server")?;
        let started = Self { server, pid_file };
        started.note()?;
        Ok(started)
    }

    pub(super) fn url(&self) -> &str {
        self.server.url()
    }

    /// Starts it again whenever it ends or is sick for long. Returns when it cannot be started any more.
    pub(super) async fn keep(&mut self) -> anyhow::Error {
        let mut sick_looks = 0_u32;
        loop {
            let ended = tokio::select! {
                _ = self.server.wait() => true,
                () = sleep(LOOK_EVERY) => false,
            };
            if !ended && self.server.is_healthy().await {
                sick_looks = 0;
                continue;
            }
            sick_looks = sick_looks.saturating_add(1);
            if ended || sick_looks >= SICK_LOOKS_MAX {
                tracing::warn!(ended, sick_looks, "nats-server is started again");
                if let Err(fault) = self.restart().await {
                    return fault;
                }
                sick_looks = 0;
            }
        }
    }

    async fn restart(&mut self) -> anyhow::Result<()> {
        let mut last = anyhow!("nats-server cannot be started again");
        for _ in 0..STARTS_MAX {
            match self.server.restart().await {
                Ok(()) => return self.note().map_err(|_| anyhow!("{} cannot be written", self.pid_file.display())),
                Err(fault) => {
                    tracing::error!(%fault, "nats-server does not start");
                    last = anyhow!(fault).context("starting nats-server again");
                    sleep(LOOK_EVERY).await;
                }
            }
        }
        Err(last)
    }

    /// Ends it in order; its data is on disk then.
    pub(super) async fn stop(mut self) {
        if let Err(fault) = self.server.stop().await {
            tracing::warn!(%fault, "stopping nats-server");
        }
        drop(fs::remove_file(&self.pid_file));
    }

    fn note(&self) -> Result<(), Failure> {
        let pid = self.server.pid().map(|pid| pid.to_string()).unwrap_or_default();
        home::write_private(&self.pid_file, &pid)
    }
}

/// Ends the server of a run that was killed: two servers must never write one store.
async fn end_orphan(pid_file: &Path, config: &Path) -> Result<(), Failure> {
    let Some(pid) = home::read(pid_file)?.map(|pid| pid.trim().to_owned()).filter(|pid| !pid.is_empty()) else {
        return Ok(());
    };
    let is_ours = || {
        let arguments = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let config = config.as_os_str().as_encoded_bytes();
        arguments.split(|&byte| byte == 0).any(|argument| argument == config)
    };
    for signal in ["-TERM", "-KILL"] {
        if !is_ours() {
            return Ok(());
        }
        tracing::warn!(pid, signal, "ending the nats-server of an earlier run");
        Command::new("kill").args([signal, &pid]).status().await.context("ending the nats-server of an earlier run")?;
        let gone = async {
            while is_ours() {
                sleep(POLL).await;
            }
        };
        drop(tokio::time::timeout(ORPHAN_ENDS_WITHIN, gone).await);
    }
    if is_ours() {
        Err(Failure::Settings(anyhow!("the nats-server of an earlier run ({pid}) does not end")))
    } else {
        Ok(())
    }
}

/// A server that was killed leaves its ports file, and a later one may get its process number.
fn remove_ports_files(dir: &Path) -> io::Result<()> {
    let entries = match fs::read_dir(dir) {
        Ok(entries) => entries,
        Err(fault) if fault.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(fault) => return Err(fault),
    };
    for entry in entries {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "ports") {
            fs::remove_file(path)?;
        }
    }
    Ok(())
}
