//! Everything dies, again and again, while callers work (issue 2, done when 3): each action runs once all the same.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use futures::{StreamExt as _, stream};
use serde_json::{Value, json};
use tokio::{
    sync::Semaphore,
    task::JoinSet,
    time::{Instant, sleep, timeout},
};

use crate::{
    caller::{End, Http, PATIENCE, TenantUser, action, body_of, code_of, envelope},
    harness::{Fleet, Plan},
};

const ACTIONS: usize = 2_000;
const CALLERS: usize = 32;
const KILLS: usize = 60;
/// So few that there is work for some kills more: one that finds nothing in flight does not count.
const ACTIONS_PER_KILL: usize = ACTIONS / (KILLS + KILLS / 10);
/// A fleet that does not come to rest in this time has lost work. Also what an action may take.
const WITHIN: Duration = Duration::from_secs(480);

/// Between two tries of a caller.
const AGAIN: Duration = Duration::from_millis(50);
/// A fleet that stands again gets this long, or until half of the callers have nothing in flight.
const BREATH: Duration = Duration::from_millis(1_500);

const SAFE: &str = "cap:demo:note:append";
const UNSAFE: &str = "cap:demo:note:append-unsafe";

/// What dies, in turn.
#[derive(Clone, Copy)]
enum Victim {
    Process(&'static str),
    Nats,
}

const SERVICES: [Victim; 4] =
    [Victim::Process("edge-http"), Victim::Process("admission"), Victim::Process("scheduler"), Victim::Nats];
const ALL: [Victim; 5] = [SERVICES[0], SERVICES[1], SERVICES[2], SERVICES[3], Victim::Process("demo")];

/// One action, as its caller knows it.
#[derive(Clone)]
struct Job {
    action: Value,
    key: String,
    is_safe: bool,
}

impl Job {
    fn new(number: usize) -> Self {
        let is_safe = number.is_multiple_of(2);
        let key = format!("k{number:04}");
        let mut action = action(if is_safe { SAFE } else { UNSAFE }, Some(&key), json!({ "text": key }));
        if number.is_multiple_of(5) {
            action["mode"] = json!("async");
        }
        Self { action, key, is_safe }
    }

    fn id(&self) -> &str {
        self.action["id"].as_str().unwrap()
    }
}

/// A caller: most over HTTP, some over NATS; both ask again with the same id and key.
enum Caller {
    Http(Http),
    Nats(TenantUser),
}

impl Caller {
    async fn ask(&self, body: Value) -> Result<Value, String> {
        let message = envelope(body);
        match self {
            Self::Http(http) => {
                let path = "/aip/v1/messages";
                http.post(path, &message).await.map(|answer| answer.body()).map_err(|fault| fault.to_string())
            }
            Self::Nats(user) => match timeout(PATIENCE, user.ask(&message)).await {
                Ok(answer) => answer.map(|text| body_of(&text)).map_err(|fault| fault.to_string()),
                Err(fault) => Err(fault.to_string()),
            },
        }
    }

    /// Calls until there is an end. An action that was acknowledged must be there ever after.
    async fn run(&self, job: &Job) -> End {
        let mut acknowledged = false;
        loop {
            let body = if acknowledged {
                json!({ "action_status_request": { "action_id": job.id(), "include_result": true, "wait_ms": 1_000 } })
            } else {
                json!({ "action": job.action })
            };
            if let Ok(body) = self.ask(body).await {
                assert!(!(acknowledged && code_of(&body) == "aip.action.not_found"), "{} is lost", job.key);
                if let Some(end) = end_of(&body) {
                    return end;
                }
                acknowledged |= body.get("ack").is_some();
            }
            sleep(AGAIN).await;
        }
    }
}

fn end_of(body: &Value) -> Option<End> {
    let Some(status) = body.get("action_status") else { return End::of(body) };
    match status["queued_state"].as_str() {
        Some("outcome_unknown") => Some(End::Unknown),
        _ => status.get("result").filter(|result| !result.is_null()).cloned().map(End::Result),
    }
}

/// What the callers share.
struct Load {
    jobs: Vec<Job>,
    next: AtomicUsize,
    /// A permit for each action that may be called.
    gate: Semaphore,
    ends: Mutex<BTreeMap<usize, End>>,
    /// Milliseconds of the call that took longest.
    slowest: AtomicUsize,
}

impl Load {
    fn new() -> Arc<Self> {
        let jobs = (0..ACTIONS).map(Job::new).collect();
        Arc::new(Self {
            jobs,
            next: AtomicUsize::new(0),
            gate: Semaphore::new(0),
            ends: Mutex::default(),
            slowest: AtomicUsize::new(0),
        })
    }

    async fn call(self: Arc<Self>, caller: Caller) {
        loop {
            self.gate.acquire().await.unwrap().forget();
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            let Some(job) = self.jobs.get(number) else { return };
            let begun = Instant::now();
            let end = timeout(WITHIN, caller.run(job)).await.unwrap_or_else(|_| panic!("{} has no end", job.key));
            self.slowest.fetch_max(usize::try_from(begun.elapsed().as_millis()).unwrap(), Ordering::Relaxed);
            self.ends.lock().unwrap().insert(number, end);
        }
    }

    fn ended(&self) -> usize {
        self.ends.lock().unwrap().len()
    }

    fn started(&self) -> usize {
        self.next.load(Ordering::Relaxed).min(ACTIONS)
    }

    fn in_flight(&self) -> usize {
        self.started() - self.ended()
    }
}

/// What the killing amounted to.
#[derive(Debug, Default)]
struct Toll {
    kills: usize,
    /// Kills while work was in flight.
    felt: usize,
    /// Work in flight at the kills of the connector.
    connector_exposed: usize,
}

async fn storm(fleet: &mut Fleet, load: &Arc<Load>, victims: &[Victim]) -> Toll {
    let mut seed = aip_testkit::seed();
    let mut callers = JoinSet::new();
    for number in 0..CALLERS {
        let caller = if number % 4 == 3 { Caller::Nats(fleet.nats_user().await) } else { Caller::Http(fleet.http()) };
        callers.spawn(Arc::clone(load).call(caller));
    }
    let begun = Instant::now();
    let mut toll = Toll::default();
    while toll.kills < KILLS || load.started() < ACTIONS {
        assert!(begun.elapsed() < WITHIN, "{} of {ACTIONS} started after {toll:?}", load.started());
        let victim = victims[toll.kills % victims.len()];
        load.gate.add_permits(ACTIONS_PER_KILL);
        // Somewhere in the work, and not long enough to finish it.
        sleep(Duration::from_millis(seed.below(120))).await;
        let in_flight = load.in_flight();
        toll.kills += 1;
        toll.felt += usize::from(in_flight > 0);
        let down = Duration::from_millis(seed.below(700));
        match victim {
            Victim::Nats => {
                fleet.nats().kill9().await.unwrap();
                sleep(down).await;
                fleet.nats().restart().await.unwrap();
            }
            Victim::Process(name) => {
                toll.connector_exposed += if name == "demo" { in_flight } else { 0 };
                fleet.process(name).kill9().await;
                sleep(down).await;
                fleet.process(name).start().await;
            }
        }
        for process in fleet.processes() {
            assert!(process.is_running(), "{} ended by itself", process.name());
        }
        while let Some(ended) = callers.try_join_next() {
            ended.unwrap(); // a caller's panic is the test's
        }
        let calm = async {
            while load.in_flight() > CALLERS / 2 {
                sleep(AGAIN).await;
            }
        };
        drop(timeout(BREATH, calm).await); // either will do
    }
    let rest = Instant::now();
    eprintln!("{} of {ACTIONS} have ended at the last kill, after {:?}", load.ended(), begun.elapsed());
    load.gate.add_permits(CALLERS);
    while let Some(ended) = callers.join_next().await {
        ended.unwrap();
    }
    let slowest = load.slowest.load(Ordering::Relaxed);
    eprintln!("{toll:?}; the rest took {:?}, the slowest call {slowest} ms", rest.elapsed());
    toll
}

/// How often each key stands in a file.
fn counted(notes: &[(String, u64)]) -> BTreeMap<&str, usize> {
    notes.iter().fold(BTreeMap::new(), |mut counts, (key, _)| {
        *counts.entry(key.as_str()).or_default() += 1;
        counts
    })
}

/// Every caller that got a result got its own, and it is what stands in the file; nothing else stands there.
fn check_results(fleet: &Fleet, load: &Load) {
    let (safe, not_safe) = (fleet.notes("notes-demo.txt"), fleet.notes("notes-unsafe-demo.txt"));
    let (safe_counts, unsafe_counts) = (counted(&safe), counted(&not_safe));
    let lines: BTreeSet<String> = safe.iter().chain(&not_safe).map(|(key, fence)| format!("{key} {fence}")).collect();
    let ends = load.ends.lock().unwrap();
    for (number, job) in load.jobs.iter().enumerate() {
        let count = if job.is_safe { &safe_counts } else { &unsafe_counts }.get(job.key.as_str()).copied();
        match &ends[&number] {
            End::Result(result) => {
                let result = End::Result(result.clone()).completed();
                assert_eq!(result["action_id"], job.id());
                assert_eq!(result["output"]["key"], job.key.as_str());
                let line = result["output"]["line"].as_str().unwrap();
                assert!(line.starts_with(&format!("{} ", job.key)) && lines.contains(line), "{line} of {}", job.key);
                assert_eq!(count, Some(1), "executions of {}", job.key);
            }
            End::Unknown => assert!(!job.is_safe && count.unwrap_or(0) <= 1, "{} ran {count:?} times", job.key),
            End::Refused(error) => panic!("{} was refused: {error}", job.key),
        }
    }
    assert_eq!(safe_counts.len(), load.jobs.iter().filter(|job| job.is_safe).count());
    assert!(unsafe_counts.keys().all(|key| load.jobs.iter().any(|job| !job.is_safe && job.key == *key)));
}

/// Every action is there as its caller was told, and its chain of receipts verifies.
async fn check_records(fleet: &Fleet, load: &Load) {
    let http = fleet.http().within(Duration::from_secs(30));
    let ends = load.ends.lock().unwrap().clone();
    let checks = load.jobs.iter().enumerate().map(|(number, job)| {
        let (http, end) = (http.clone(), ends[&number].clone());
        async move {
            let path = format!("/aip/v1/actions/{}?include_result=true", job.id());
            let status = http.get_surely(&path, WITHIN).await.body();
            let status = &status["action_status"];
            let chain = http.get_surely(&format!("/aip/v1/receipts/action:{}", job.id()), WITHIN).await.body();
            let chain = &chain["receipt_chain"];
            aip_crypto::verify_chain_value(chain)
                .unwrap_or_else(|fault| panic!("the receipts of {}: {fault}", job.key));
            let receipts = chain["receipts"].as_array().unwrap().len();
            match end {
                End::Result(result) => {
                    assert_eq!(status["state"], "completed", "{}", job.key);
                    assert_eq!(status["result"]["output"], result["output"], "{}", job.key);
                    assert_eq!(receipts, 5, "{}", job.key);
                }
                End::Unknown | End::Refused(_) => {
                    assert_eq!(status["queued_state"], "outcome_unknown", "{}", job.key);
                    assert_eq!(receipts, 3, "{}", job.key);
                }
            }
        }
    });
    stream::iter(checks).buffer_unordered(16).collect::<Vec<()>>().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_action_is_run_once_whatever_service_or_server_dies() {
    let mut fleet = Fleet::start(Plan { alone: true, ..Plan::default() }).await;
    let load = Load::new();

    let toll = storm(&mut fleet, &load, &SERVICES).await;

    assert!(toll.kills >= KILLS && toll.felt >= KILLS, "{toll:?}");
    let unknown = load.ends.lock().unwrap().values().filter(|end| **end == End::Unknown).count();
    assert_eq!(unknown, 0);
    check_results(&fleet, &load);
    check_records(&fleet, &load).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn only_unsafe_work_of_a_killed_connector_may_be_unknown_and_none_is_repeated() {
    let mut fleet = Fleet::start(Plan { alone: true, ..Plan::default() }).await;
    let load = Load::new();

    let toll = storm(&mut fleet, &load, &ALL).await;

    assert!(toll.kills >= KILLS && toll.felt >= KILLS, "{toll:?}");
    let unknown = load.ends.lock().unwrap().values().filter(|end| **end == End::Unknown).count();
    eprintln!("{unknown} unknown outcomes");
    assert!(unknown <= toll.connector_exposed, "{unknown} unknown after {toll:?}");
    check_results(&fleet, &load);
    check_records(&fleet, &load).await;
}
