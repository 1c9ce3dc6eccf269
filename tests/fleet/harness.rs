//! A fleet of separate processes: `aip keys`, a nats-server, `aip bootstrap`, and each service and connector on its own.

use std::{
    collections::BTreeMap,
    fs::{File, OpenOptions},
    path::{Path, PathBuf},
    process::Stdio,
    time::Duration,
};

use aip_service::{
    ConnectorSetting, Settings,
    nats_server::{self, Server},
};
use aip_testkit::{Scratch, eventually};
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::{
    caller::{Http, TenantUser},
    process::{Process, Recipe, command, free_port, tail, variable},
    trial,
};

/// For what a fleet does at its start, one step.
const START_WITHIN: Duration = Duration::from_secs(60);
/// What the test's own processes log.
const LOG: &str = "info";

/// What differs from the smallest fleet.
pub(crate) struct Plan {
    /// Admission processes, named `admission`, `admission-2`, …
    pub(crate) admissions: usize,
    /// Scheduler processes, named `scheduler`, `scheduler-2`, …
    pub(crate) schedulers: usize,
    /// Start the connector `rogue`.
    pub(crate) rogue: bool,
    /// Trial connector processes, named `trial`, `trial-2`, …: see [`trial`].
    pub(crate) trials: usize,
    /// A connector that gets an account and nothing else: the test plays it.
    pub(crate) guest: Option<&'static str>,
    /// What becomes of the generated `nats.conf`.
    pub(crate) nats_config: fn(String) -> String,
    /// Wants the machine for itself; others share it.
    pub(crate) alone: bool,
}

impl Default for Plan {
    fn default() -> Self {
        Self {
            admissions: 1,
            schedulers: 1,
            rogue: false,
            trials: 0,
            guest: None,
            nats_config: |text| text,
            alone: false,
        }
    }
}

/// A running fleet. All its processes die with it; its folder stays when the test fails, and the ends of its logs are printed.
pub(crate) struct Fleet {
    processes: Vec<Process>,
    nats: Server,
    variables: BTreeMap<String, String>,
    folder: Scratch,
    _turn: File,
}

impl Fleet {
    pub(crate) async fn start(plan: Plan) -> Self {
        let turn = take_turn(plan.alone).await;
        let folder = Scratch::new();
        let (nats_port, http_port) = (free_port(), free_port());
        let home = Home { dir: folder.path().join("fleet"), nats_url: format!("nats://127.0.0.1:{nats_port}") };
        std::fs::create_dir_all(folder.path().join("logs")).unwrap();
        home.make(&plan, nats_port, http_port).await;
        let binary = nats_server::find(variable("AIP_NATS_SERVER").as_deref().map(Path::new)).await.unwrap();
        let nats = Server::spawn(&binary, &home.dir.join("nats.conf"), &home.dir.join("nats")).await.unwrap();
        home.bootstrap().await;
        let mut fleet = Self { processes: Vec::new(), nats, variables: home.variables(), folder, _turn: turn };
        fleet.processes = home.processes(&plan, http_port, &fleet.folder.path().join("logs"));
        for process in &mut fleet.processes {
            process.spawn();
        }
        for process in &mut fleet.processes {
            process.ready().await;
        }
        for capability in plan.capabilities() {
            fleet.offers(capability).await;
        }
        fleet
    }

    /// The fleet's folder, as `aip keys --dir` made it.
    pub(crate) fn dir(&self) -> PathBuf {
        self.folder.path().join("fleet")
    }

    /// A variable of the fleet's `env` file, such as `AIP_TOKEN`.
    pub(crate) fn variable(&self, name: &str) -> &str {
        self.variables.get(name).unwrap_or_else(|| panic!("no {name} in the fleet's env"))
    }

    /// A stranger's HTTP client, without a token.
    pub(crate) fn stranger(&self) -> Http {
        Http::new(self.variable("AIP_URL"))
    }

    /// The demo tenant's principal `demo-client` over HTTP.
    pub(crate) fn http(&self) -> Http {
        self.stranger().with_token(self.variable("AIP_TOKEN"))
    }

    /// A principal of the second tenant over HTTP.
    pub(crate) fn http_other(&self) -> Http {
        self.stranger().with_token(self.variable("AIP_TOKEN_OTHER"))
    }

    /// The demo tenant's principal `demo-client` over NATS.
    pub(crate) async fn nats_user(&self) -> TenantUser {
        self.user("AIP_NATS_CREDS").await
    }

    /// A principal of the second tenant over NATS.
    pub(crate) async fn nats_user_other(&self) -> TenantUser {
        self.user("AIP_NATS_CREDS_OTHER").await
    }

    /// A user over NATS, by the variable that names its seed.
    pub(crate) async fn user(&self, creds: &str) -> TenantUser {
        let seed = PathBuf::from(self.variable(creds));
        TenantUser::connect(self.variable("NATS_URL"), &seed, self.variable("AIP_NATS_SUBJECT")).await
    }

    /// The server, to kill, stop and restart it: same store, same ports.
    pub(crate) fn nats(&mut self) -> &mut Server {
        &mut self.nats
    }

    /// A process by its name: `admission`, `scheduler`, `edge-http`, `demo`, `rogue`, `trial`; replicas end with `-2`, ….
    pub(crate) fn process(&mut self, name: &str) -> &mut Process {
        let found = self.processes.iter_mut().find(|process| process.name() == name);
        found.unwrap_or_else(|| panic!("no process {name}"))
    }

    /// Starts one more process of the trial connector, named `trial-2`, ….
    pub(crate) async fn add_trial(&mut self) {
        let home = Home { dir: self.dir(), nats_url: self.variable("NATS_URL").to_owned() };
        let others = self.processes.iter().filter(|process| process.name().starts_with(trial::NAME)).count();
        let mut process = home.trial(format!("{}-{}", trial::NAME, others + 1), &self.folder.path().join("logs"));
        process.start().await;
        self.processes.push(process);
        let admitted = || async { self.processes.last().unwrap().logged().contains("admitted") };
        eventually(START_WITHIN, admitted).await;
    }

    /// Makes the server drop a process's connections, as it does with one that is silent for too long.
    pub(crate) async fn kick(&self, process: &str) {
        let page = self.monitor("/connz").await;
        let subject = format!("$SYS.REQ.SERVER.{}.KICK", page["server_id"].as_str().unwrap());
        let seed = std::fs::read_to_string(self.dir().join("keys").join("operator.nk")).unwrap();
        let operator = async_nats::ConnectOptions::with_nkey(seed.trim().to_owned());
        let operator = operator.connect(self.variable("NATS_URL")).await.unwrap();
        for cid in connections(&page, process) {
            operator.request(subject.clone(), json!({ "cid": cid }).to_string().into()).await.unwrap();
        }
        let gone = || async { connections(&self.monitor("/connz").await, process).is_empty() };
        eventually(START_WITHIN, gone).await;
    }

    /// All processes but the server.
    pub(crate) fn processes(&mut self) -> &mut [Process] {
        &mut self.processes
    }

    /// Whether the demo tenant sees a capability in the manifest.
    pub(crate) async fn shows(&self, capability: &str) -> bool {
        shows(&self.http(), capability).await
    }

    /// Waits until it does.
    pub(crate) async fn offers(&self, capability: &str) {
        eventually(START_WITHIN, || self.shows(capability)).await;
    }

    /// A page of the server's monitor.
    pub(crate) async fn monitor(&self, path: &str) -> Value {
        let url = self.nats.monitor_url().expect("the server has a monitor");
        let answer = Http::new(url).get(path).await.unwrap();
        serde_json::from_str(&answer.text).unwrap()
    }

    /// The lines of a notes file: key and fence of each execution, in order.
    pub(crate) fn notes(&self, file: &str) -> Vec<(String, u64)> {
        let text = std::fs::read_to_string(self.dir().join(file)).unwrap_or_default();
        let line = |line: &str| {
            let (key, fence) = line.split_once(' ').unwrap_or_else(|| panic!("a torn line: {line:?}"));
            (key.to_owned(), fence.parse().unwrap_or_else(|_| panic!("a torn line: {line:?}")))
        };
        text.lines().map(line).collect()
    }
}

/// The connections of a process, as the monitor numbers them: each name begins with the process's.
fn connections(page: &Value, process: &str) -> Vec<u64> {
    let all = page["connections"].as_array().unwrap().iter();
    let of = all.filter(|one| one["name"].as_str().is_some_and(|name| name.starts_with(process)));
    of.map(|one| one["cid"].as_u64().unwrap()).collect()
}

/// Whether a caller sees a capability in the manifest.
pub(crate) async fn shows(caller: &Http, capability: &str) -> bool {
    let Ok(answer) = caller.get("/aip/v1/manifest").await else { return false };
    let body = answer.body();
    let all = body.pointer("/manifest/capabilities").and_then(Value::as_array);
    all.into_iter().flatten().any(|one| one["id"] == capability)
}

impl Drop for Fleet {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("the fleet stays in {}", self.folder.path().display());
            self.processes.iter().for_each(|process| eprintln!("{}", process.tail()));
            let log = std::fs::read_to_string(self.nats.log_file()).unwrap_or_default();
            eprintln!("{}", tail("nats-server", &log));
        }
    }
}

impl Plan {
    fn capabilities(&self) -> Vec<&'static str> {
        let mut capabilities = vec!["cap:demo:note:append"];
        capabilities.extend(self.rogue.then_some("cap:rogue:twice"));
        capabilities.extend((self.trials > 0).then_some(trial::SLOW));
        capabilities
    }
}

/// Fleets take turns, across test binaries too: those that measure nothing share the machine.
async fn take_turn(alone: bool) -> File {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("fleet.lock");
    let file = OpenOptions::new().create(true).truncate(false).write(true).open(path).unwrap();
    let locking = tokio::task::spawn_blocking(move || {
        if alone { file.lock() } else { file.lock_shared() }.unwrap();
        file
    });
    locking.await.unwrap()
}

/// A fleet's folder while it is made.
struct Home {
    dir: PathBuf,
    nats_url: String,
}

impl Home {
    /// Keys, settings and the server's configuration; added connectors get their accounts like any other.
    async fn make(&self, plan: &Plan, nats_port: u16, http_port: u16) {
        self.keys(plan, nats_port, http_port).await;
        let added: Vec<&str> = (plan.trials > 0).then_some(trial::NAME).into_iter().chain(plan.guest).collect();
        if !added.is_empty() {
            let path = self.dir.join("aip.toml");
            let mut settings = Settings::read(&path).unwrap();
            for name in added {
                let capabilities = vec![format!("cap:{name}:*")];
                for principal in &mut settings.principals {
                    principal.capabilities.extend(capabilities.clone());
                }
                settings.connectors.push(ConnectorSetting { name: name.to_owned(), capabilities });
            }
            std::fs::write(&path, toml::to_string(&settings).unwrap()).unwrap();
            self.keys(plan, nats_port, http_port).await;
        }
        let path = self.dir.join("nats.conf");
        let config = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, (plan.nats_config)(config)).unwrap();
    }

    async fn keys(&self, plan: &Plan, nats_port: u16, http_port: u16) {
        let mut arguments = vec![
            "keys".to_owned(),
            format!("--dir={}", self.dir.display()),
            format!("--listen=127.0.0.1:{nats_port}"),
            format!("--monitor=127.0.0.1:{}", free_port()),
            format!("--url=http://127.0.0.1:{http_port}"),
            format!("--nats-url={}", self.nats_url),
        ];
        arguments.extend(plan.rogue.then(|| "--rogue".to_owned()));
        aip(&arguments).await;
    }

    async fn bootstrap(&self) {
        let key = self.key("bootstrap");
        aip(&["bootstrap".to_owned(), format!("--nats-url={}", self.nats_url), format!("--nkey-file={key}")]).await;
    }

    fn key(&self, user: &str) -> String {
        self.dir.join("keys").join(format!("{user}.nk")).display().to_string()
    }

    /// The lines `export NAME='value'` of `env`.
    fn variables(&self) -> BTreeMap<String, String> {
        let text = std::fs::read_to_string(self.dir.join("env")).unwrap();
        let variable = |line: &str| {
            let (name, value) = line.strip_prefix("export ")?.split_once('=')?;
            Some((name.to_owned(), value.trim_matches('\'').to_owned()))
        };
        text.lines().filter_map(variable).collect()
    }

    fn processes(&self, plan: &Plan, http_port: u16, logs: &Path) -> Vec<Process> {
        let replicas = |name: &'static str, count: usize| {
            (1..=count).map(move |n| if n == 1 { name.to_owned() } else { format!("{name}-{n}") })
        };
        let mut all = Vec::new();
        all.extend(replicas("admission", plan.admissions).map(|name| (name, "admission", "admission", Vec::new())));
        all.extend(replicas("scheduler", plan.schedulers).map(|name| (name, "scheduler", "scheduler", Vec::new())));
        let listen = vec![format!("--http-listen=127.0.0.1:{http_port}")];
        all.push(("edge-http".to_owned(), "edge-http", "edge-http", listen));
        let file = |name: &str| self.dir.join(name).display().to_string();
        let notes = vec![
            format!("--notes-file={}", file("notes-{tenant}.txt")),
            format!("--notes-unsafe-file={}", file("notes-unsafe-{tenant}.txt")),
        ];
        all.push(("demo".to_owned(), "connector", "connector-demo", notes));
        if plan.rogue {
            all.push(("rogue".to_owned(), "connector", "connector-rogue", vec!["--rogue".to_owned()]));
        }
        let services = all.into_iter().map(|(name, service, user, more)| {
            let ops = free_port();
            let mut arguments = vec!["serve".to_owned(), service.to_owned(), "--with-parent".to_owned()];
            arguments.push(format!("--log-filter={LOG}"));
            arguments.push(format!("--nats-url={}", self.nats_url));
            arguments.push(format!("--nkey-file={}", self.key(user)));
            arguments.push(format!("--config={}", file("aip.toml")));
            arguments.push(format!("--ops-listen=127.0.0.1:{ops}"));
            arguments.extend(more);
            let program = PathBuf::from(env!("CARGO_BIN_EXE_aip"));
            Process::new(Recipe { name, program, arguments, variables: Vec::new(), logs: logs.to_owned(), ops })
        });
        services.chain(replicas(trial::NAME, plan.trials).map(|name| self.trial(name, logs))).collect()
    }

    fn trial(&self, name: String, logs: &Path) -> Process {
        let ops = free_port();
        let variables = vec![
            (trial::DIR.to_owned(), self.dir.display().to_string()),
            (trial::NATS_URL.to_owned(), self.nats_url.clone()),
            (trial::OPS.to_owned(), format!("127.0.0.1:{ops}")),
        ];
        let arguments = [trial::TEST, "--exact", "--nocapture"].map(str::to_owned).into();
        let program = std::env::current_exe().unwrap();
        Process::new(Recipe { name, program, arguments, variables, logs: logs.to_owned(), ops })
    }
}

/// Runs a command of the program, which must succeed.
async fn aip(arguments: &[String]) {
    let mut command = command(Path::new(env!("CARGO_BIN_EXE_aip")));
    let output = timeout(START_WITHIN, command.args(arguments).stdin(Stdio::null()).output()).await.unwrap().unwrap();
    assert!(output.status.success(), "aip {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
}
