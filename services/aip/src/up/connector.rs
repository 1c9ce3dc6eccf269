//! A connector: a process of its own, as every connector is, started again when it dies.

use std::{path::PathBuf, process::Stdio, time::Duration};

use anyhow::{Context as _, anyhow};
use tokio::{
    process::{Child, ChildStdin, Command},
    time::{sleep, timeout},
};

use crate::{failure::Failure, home::Home};

/// The connector of every fleet.
pub(super) const DEMO: &str = "demo";
/// The one that tests use to break rules.
pub(super) const ROGUE: &str = "rogue";
const STOP_WITHIN: Duration = Duration::from_secs(5);
const PAUSE_MIN: Duration = Duration::from_millis(100);
const PAUSE_MAX: Duration = Duration::from_secs(5);
/// A process that lived this long was well: the next start is not held back.
const WELL: Duration = Duration::from_secs(10);

pub(super) struct Connector {
    name: &'static str,
    program: PathBuf,
    arguments: Vec<String>,
    child: Child,
    /// Held open: the child ends when it closes, as it does when this process dies. Waiting for the child would close it.
    input: Option<ChildStdin>,
}

impl Connector {
    pub(super) fn start(
        home: &Home,
        name: &'static str,
        nats_url: &str,
        log_arguments: &[String],
    ) -> Result<Self, Failure> {
        let program = std::env::current_exe().context("finding this program")?;
        let path = |path: PathBuf| path.display().to_string();
        let mut arguments = vec![
            "serve".to_owned(),
            "connector".to_owned(),
            "--with-parent".to_owned(),
            format!("--nats-url={nats_url}"),
            format!("--nkey-file={}", path(home.nkey(&format!("connector-{name}")))),
            format!("--config={}", path(home.config())),
            format!("--notes-file={}", path(home.dir().join("notes-{tenant}.txt"))),
            format!("--notes-unsafe-file={}", path(home.dir().join("notes-unsafe-{tenant}.txt"))),
        ];
        arguments.extend_from_slice(log_arguments);
        arguments.extend((name == ROGUE).then(|| "--rogue".to_owned()));
        let (child, input) = spawn(&program, &arguments)?;
        Ok(Self { name, program, arguments, child, input })
    }

    /// Starts it again whenever it ends. Returns when it cannot be started.
    pub(super) async fn keep(&mut self) -> anyhow::Error {
        let mut pause = PAUSE_MIN;
        loop {
            let from = aip_service::since_start();
            match self.child.wait().await {
                Ok(status) => {
                    tracing::warn!(connector = self.name, %status, "the connector ended and is started again")
                }
                Err(fault) => return anyhow!(fault).context("waiting for a connector"),
            }
            pause = if from.elapsed() >= WELL { PAUSE_MIN } else { pause };
            sleep(pause).await;
            pause = pause.saturating_mul(2).min(PAUSE_MAX);
            match spawn(&self.program, &self.arguments) {
                Ok((child, input)) => (self.child, self.input) = (child, input),
                Err(fault) => return fault,
            }
        }
    }

    /// Lets it finish what it does, for a while.
    pub(super) async fn stop(mut self) {
        if let Some(pid) = self.child.id() {
            drop(Command::new("kill").args(["-TERM", &pid.to_string()]).stderr(Stdio::null()).status().await);
        }
        if timeout(STOP_WITHIN, self.child.wait()).await.is_err()
            && let Err(fault) = self.child.kill().await
        {
            tracing::warn!(connector = self.name, %fault, "stopping the connector");
        }
    }
}

fn spawn(program: &PathBuf, arguments: &[String]) -> anyhow::Result<(Child, Option<ChildStdin>)> {
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::null()).kill_on_drop(true);
    let mut child = command.spawn().context("starting a connector")?;
    let input = child.stdin.take();
    Ok((child, input))
}
