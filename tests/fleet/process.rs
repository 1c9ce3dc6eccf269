//! One process of a fleet: started, killed, stopped in mid-air and started again, with its output in a file.

use std::{
    collections::BTreeSet,
    fs::{File, OpenOptions},
    net::{Ipv4Addr, TcpListener},
    path::{Path, PathBuf},
    process::Stdio,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use aip_testkit::eventually;
use tokio::process::{Child, ChildStdin, Command};

use crate::caller::Http;

/// A debug build on a busy machine.
const READY_WITHIN: Duration = Duration::from_secs(30);
const STOP_WITHIN: Duration = Duration::from_secs(10);
const LOG_TAIL_LINES: usize = 40;

/// What to run, and under which name.
pub(crate) struct Recipe {
    /// Its name in this fleet.
    pub(crate) name: String,
    /// The program.
    pub(crate) program: PathBuf,
    /// Its arguments, without the address of its operations port.
    pub(crate) arguments: Vec<String>,
    /// Variables beside PATH and HOME; nothing else is inherited.
    pub(crate) variables: Vec<(String, String)>,
    /// Folder of its log.
    pub(crate) logs: PathBuf,
    /// Port of `/readyz`.
    pub(crate) ops: u16,
}

/// A process; killed when dropped.
pub(crate) struct Process {
    recipe: Recipe,
    child: Option<Child>,
    /// Held open: the process ends when it closes, as it does when the test dies.
    input: Option<ChildStdin>,
    ops: Http,
}

impl Process {
    pub(crate) fn new(recipe: Recipe) -> Self {
        let ops = Http::new(&format!("http://127.0.0.1:{}", recipe.ops));
        Self { recipe, child: None, input: None, ops }
    }

    pub(crate) fn name(&self) -> &str {
        &self.recipe.name
    }

    /// Starts it and waits until it serves.
    pub(crate) async fn start(&mut self) {
        self.spawn();
        self.ready().await;
    }

    /// Starts it; it may serve later.
    pub(crate) fn spawn(&mut self) {
        let Recipe { name, program, arguments, variables, .. } = &self.recipe;
        let log = self.log();
        let mut command = command(program);
        command.args(arguments).envs(variables.iter().map(|(name, value)| (name, value)));
        command.stdin(Stdio::piped()).stdout(log.try_clone().unwrap()).stderr(log).kill_on_drop(true);
        let mut child = command.spawn().unwrap_or_else(|fault| panic!("{name} cannot be started: {fault}"));
        self.input = child.stdin.take();
        self.child = Some(child);
    }

    /// Waits until it serves.
    pub(crate) async fn ready(&mut self) {
        let Self { recipe, child, ops, .. } = self;
        let child = child.as_mut().expect("it was started");
        eventually(READY_WITHIN, || {
            if let Some(status) = child.try_wait().unwrap() {
                panic!("{} ended with {status} before it served", recipe.name);
            }
            let asked = ops.get("/readyz");
            async move { asked.await.is_ok_and(|answer| answer.status == 200) }
        })
        .await;
    }

    /// Whether it has not ended by itself.
    pub(crate) fn is_running(&mut self) -> bool {
        self.child.as_mut().is_some_and(|child| matches!(child.try_wait(), Ok(None)))
    }

    /// `kill -9`, and the process is gone.
    pub(crate) async fn kill9(&mut self) {
        if let Some(mut child) = self.child.take() {
            if let Some(status) = child.try_wait().unwrap() {
                panic!("{} had ended by itself with {status}", self.recipe.name);
            }
            child.kill().await.unwrap();
        }
        self.input = None;
    }

    /// SIGSTOP: it holds what it has and says nothing. Returns when every thread has stopped: on a busy machine the one that takes
    /// the signal may be the last to run.
    pub(crate) async fn stop(&self) {
        self.signal("-STOP").await;
        let tasks = format!("/proc/{}/task", self.child.as_ref().and_then(Child::id).expect("it runs"));
        let stopped = || async {
            let mut threads = std::fs::read_dir(&tasks).expect("it runs").filter_map(Result::ok);
            threads.all(|thread| {
                let stat = std::fs::read_to_string(thread.path().join("stat")).unwrap_or_default();
                // The state follows the name, which stands in parentheses.
                stat.rsplit_once(") ").is_none_or(|(_, rest)| rest.starts_with('T'))
            })
        };
        eventually(STOP_WITHIN, stopped).await;
    }

    /// SIGCONT: it goes on as if nothing had happened.
    pub(crate) async fn resume(&self) {
        self.signal("-CONT").await;
    }

    async fn signal(&self, signal: &str) {
        let pid = self.child.as_ref().and_then(Child::id).expect("it runs");
        let sent = Command::new("kill").args([signal, &pid.to_string()]).status().await.unwrap();
        assert!(sent.success(), "{signal} {pid}");
    }

    /// One number of its `/metrics`, all label sets together; 0 where there is none.
    pub(crate) async fn metric(&self, name: &str) -> f64 {
        let text = self.ops.get("/metrics").await.map(|answer| answer.text).unwrap_or_default();
        let lines = text.lines().filter(|line| line.starts_with(name));
        lines.filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok()).sum()
    }

    /// Everything that it has logged so far.
    pub(crate) fn logged(&self) -> String {
        std::fs::read_to_string(self.log_file()).unwrap_or_default()
    }

    /// The end of its log, for a failed test.
    pub(crate) fn tail(&self) -> String {
        tail(&self.recipe.name, &self.logged())
    }

    fn log_file(&self) -> PathBuf {
        self.recipe.logs.join(format!("{}.log", self.recipe.name))
    }

    fn log(&self) -> File {
        OpenOptions::new().create(true).append(true).open(self.log_file()).unwrap()
    }
}

/// The end of a log under a name.
pub(crate) fn tail(name: &str, log: &str) -> String {
    let lines: Vec<&str> = log.lines().collect();
    let end = &lines[lines.len().saturating_sub(LOG_TAIL_LINES)..];
    format!("--- {name}, last of {} lines\n{}\n", lines.len(), end.join("\n"))
}

/// A program that inherits nothing but where to find others.
pub(crate) fn command(program: &Path) -> Command {
    let mut command = Command::new(program);
    command.env_clear();
    for name in ["PATH", "HOME"] {
        if let Some(value) = variable(name) {
            command.env(name, value);
        }
    }
    command
}

/// A variable of the test process.
#[expect(clippy::disallowed_methods, reason = "the test's own environment")]
pub(crate) fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// A port that nobody else gets: below the range of outgoing connections, so that it stays free while its process is down.
pub(crate) fn free_port() -> u16 {
    static GIVEN: Mutex<BTreeSet<u16>> = Mutex::new(BTreeSet::new());
    loop {
        let [low, high, ..] = aip_bus::random();
        let port = 20_000 + u16::from_le_bytes([low, high]) % 12_000;
        let is_free = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok();
        if is_free && GIVEN.lock().unwrap_or_else(PoisonError::into_inner).insert(port) {
            return port;
        }
    }
}
