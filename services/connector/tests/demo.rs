//! The hosted connectors against a real nats-server, with a test in the place of admission and scheduler.
#![expect(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

use std::{
    num::NonZeroU16,
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
    time::Duration,
};

use aip_bus::{
    Bus, BusError, Headers, Port,
    nats::NatsPort,
    subjects::{ConnectorName, Report, report_all, work},
    work::{Fence, Offer, OfferReply, Outcome, Register, Registered, ResultReport},
};
use aip_connector::Config;
use aip_schema::CapabilitySchema;
use aip_service::{Context, Cursors, Directory, Ops, Settings, Tasks};
use aip_testkit::{Nats, eventually};
use aip_types::{Principal, PrincipalId, PrincipalKind};
use bytes::Bytes;
use futures::StreamExt;
use serde_json::{Value, json};

const SOON: Duration = Duration::from_secs(20);

/// A test that says go to everything and remembers what it heard.
struct Fleet {
    port: Arc<NatsPort>,
    tasks: Tasks,
    said: Arc<Mutex<Vec<(Report, Value)>>>,
}

impl Fleet {
    /// `verdict`: what is answered to a result, given how many came before.
    async fn new(nats: &Nats, verdict: fn(usize, &ResultReport) -> &'static str) -> Self {
        let fleet = Self { port: Arc::new(nats.port().await), tasks: Tasks::default(), said: Arc::default() };
        for about in Report::ALL {
            let mut heard = fleet.port.subscribe(&report_all(about), None).await.unwrap();
            let (port, said) = (Arc::clone(&fleet.port), Arc::clone(&fleet.said));
            fleet.tasks.spawn(async move {
                while let Some(inbound) = heard.next().await {
                    let value: Value = serde_json::from_slice(&inbound.payload).unwrap();
                    let before = said.lock().unwrap().iter().filter(|(report, _)| *report == about).count();
                    said.lock().unwrap().push((about, value.clone()));
                    let answer = match about {
                        Report::Register => {
                            json!(Registered::Admitted { digest: "d".to_owned(), alive_every_ms: 200 })
                        }
                        Report::Alive => json!("kept"),
                        Report::Begin | Report::Chunk => json!("go"),
                        Report::Result => json!(verdict(before, &serde_json::from_value(value).unwrap())),
                        Report::Heartbeat => continue,
                    };
                    let answer = serde_json::to_vec(&answer).unwrap();
                    port.publish(&inbound.reply.unwrap(), None, Headers::new(), answer.into()).await.unwrap();
                }
            });
        }
        fleet
    }

    async fn offer(&self, connector: &str, offer: &Offer) -> OfferReply {
        let subject = work(&ConnectorName::new(connector).unwrap(), &offer.capability_id);
        let payload = Bytes::from(serde_json::to_vec(offer).unwrap());
        // Right after its start the server may not know the connector's subscription.
        loop {
            let within = Duration::from_secs(10);
            match self.port.request(&subject, Headers::new(), payload.clone(), within).await {
                Ok(answer) => return serde_json::from_slice(&answer.payload).unwrap(),
                Err(BusError::NoResponders) => tokio::task::yield_now().await,
                Err(fault) => panic!("{fault}"),
            }
        }
    }

    async fn read(&self, capability: &str, input: Value) -> Outcome {
        let offer = Offer { fence: None, input, ..offer(capability, "act_read", 0) };
        let OfferReply::Result { outcome, .. } = self.offer("demo", &offer).await else { panic!("no result") };
        outcome
    }

    fn said(&self, about: Report) -> Vec<Value> {
        let said = self.said.lock().unwrap();
        said.iter().filter(|(report, _)| *report == about).map(|(_, value)| value.clone()).collect()
    }

    async fn results(&self, count: usize) -> Vec<ResultReport> {
        eventually(SOON, || async { self.said(Report::Result).len() >= count }).await;
        self.said(Report::Result).into_iter().map(|value| serde_json::from_value(value).unwrap()).collect()
    }

    async fn registered(&self) -> Register {
        eventually(SOON, || async { !self.said(Report::Register).is_empty() }).await;
        serde_json::from_value(self.said(Report::Register)[0].clone()).unwrap()
    }
}

fn offer(capability: &str, action: &str, fence: u64) -> Offer {
    Offer {
        tenant: "acme".to_owned(),
        action: action.to_owned(),
        fence: Some(Fence(fence)),
        capability_id: capability.to_owned(),
        input: json!({}),
        idempotency_key: None,
        principal: Principal::new(PrincipalId::new("user:ann"), PrincipalKind::Human),
        deadline: aip_service::now().plus(60_000),
        chunk_base: 0,
        streaming: false,
    }
}

async fn serve(nats: &Nats, config: Config) -> Tasks {
    let settings = "trust_domain = \"td\"\nservice = \"s\"\nversion = \"1\"\ntenants = []\n";
    let settings = Settings::parse(settings).unwrap();
    let context = Context {
        name: "demo",
        bus: Bus::new(Arc::new(nats.port().await)),
        front: Bus::new(Arc::new(nats.port().await)),
        peer: settings.peer().unwrap(),
        directory: Arc::new(Directory::new(&settings).unwrap()),
        tasks: Tasks::default(),
        cursors: Cursors::of(aip_bus::nats::Seed::None).await.unwrap(),
        ops: Ops::default(),
    };
    let tasks = context.tasks.clone();
    aip_connector::serve(context, config).await.unwrap();
    tasks
}

fn config(folder: &Path) -> Config {
    Config {
        connector_name: None,
        notes_file: folder.join("notes.txt"),
        notes_unsafe_file: folder.join("unsafe.txt"),
        rogue: false,
        concurrency: NonZeroU16::new(256).unwrap(),
    }
}

fn lines(file: PathBuf) -> Vec<String> {
    std::fs::read_to_string(file).unwrap().lines().map(str::to_owned).collect()
}

#[tokio::test]
async fn every_declared_schema_compiles_and_is_closed() {
    let nats = Nats::start().await;
    let fleet = Fleet::new(&nats, |_, _| "go").await;
    let folder = nats.folder().path();
    let _demo = serve(&nats, config(folder)).await;
    let demo = fleet.registered().await;
    let other = Fleet::new(&nats, |_, _| "go").await;
    let _rogue = serve(&nats, Config { rogue: true, ..config(folder) }).await;
    let rogue = other.registered().await;
    let capabilities: Vec<_> = demo.capabilities.iter().chain(&rogue.capabilities).collect();
    assert_eq!(capabilities.len(), 11);
    for capability in capabilities {
        for schema in std::iter::once(&capability.input_schema).chain(&capability.output_schema) {
            assert!(CapabilitySchema::compile(schema).is_ok(), "{}", capability.id);
            assert_eq!(schema["additionalProperties"], json!(false), "{}", capability.id);
        }
        let contract = capability.contract.as_ref().unwrap();
        assert!(!contract.side_effects.is_empty() && contract.execution.supports_sync);
        assert!(capability.risk.is_some() && capability.stability.is_some() && capability.description.is_some());
    }
}

#[tokio::test]
async fn reads_are_answered_at_once() {
    let nats = Nats::start().await;
    let fleet = Fleet::new(&nats, |_, _| "go").await;
    let _demo = serve(&nats, config(nats.folder().path())).await;
    let text = json!({ "text": "héllo" });
    assert_eq!(fleet.read("cap:demo:echo", text.clone()).await, Outcome::Completed { output: text });
    let sum = fleet.read("cap:demo:sum", json!({ "numbers": [1, 2, 39] })).await;
    assert_eq!(sum, Outcome::Completed { output: json!({ "sum": 42 }) });
    let slow = fleet.read("cap:demo:slow", json!({ "seconds": 0.1 })).await;
    assert_eq!(slow, Outcome::Completed { output: serde_json::from_str("{\"seconds\":0.1}").unwrap() });
}

#[tokio::test]
async fn a_safe_key_is_appended_once_under_fifty_concurrent_attempts_and_after_a_restart() {
    let nats = Nats::start().await;
    let fleet = Fleet::new(&nats, |_, _| "go").await;
    let folder = nats.folder().path();
    // Two processes serve one file.
    let (first, second) = (serve(&nats, config(folder)).await, serve(&nats, config(folder)).await);
    let append = |action: String, fence| Offer {
        idempotency_key: Some("k1".to_owned()),
        ..offer("cap:demo:note:append", &action, fence)
    };
    let offers: Vec<Offer> = (1..=50).map(|fence| append(format!("act_{fence}"), fence)).collect();
    futures::future::join_all(offers.iter().map(|offer| fleet.offer("demo", offer))).await;
    let results = fleet.results(50).await;
    let stored = lines(folder.join("notes.txt"));
    assert_eq!(stored.len(), 1);
    let once = Outcome::Completed { output: json!({ "line": stored[0], "key": "k1" }) };
    assert!(results.iter().all(|result| result.outcome == once));
    first.drain(SOON).await;
    second.drain(SOON).await;
    let _restarted = serve(&nats, config(folder)).await;
    fleet.offer("demo", &append("act_51".to_owned(), 51)).await;
    assert_eq!(fleet.results(51).await[50].outcome, once);
    assert_eq!(lines(folder.join("notes.txt")), stored);
}

#[tokio::test]
async fn an_unsafe_append_is_a_line_for_each_attempt() {
    let nats = Nats::start().await;
    let fleet = Fleet::new(&nats, |_, _| "go").await;
    let folder = nats.folder().path();
    let _demo = serve(&nats, config(folder)).await;
    for fence in [1, 2] {
        let key = Some("k1".to_owned());
        let offer = Offer { idempotency_key: key, ..offer("cap:demo:note:append-unsafe", "act_1", fence) };
        fleet.offer("demo", &offer).await;
        fleet.results(usize::try_from(fence).unwrap()).await;
    }
    assert_eq!(lines(folder.join("unsafe.txt")), ["k1 1", "k1 2"]);
}

#[tokio::test]
async fn slow_work_tells_how_far_it_is() {
    let nats = Nats::start().await;
    let fleet = Fleet::new(&nats, |_, _| "go").await;
    let _demo = serve(&nats, config(nats.folder().path())).await;
    let streaming = Offer { streaming: true, input: json!({ "seconds": 0.2 }), ..offer("cap:demo:slow", "act_1", 1) };
    fleet.offer("demo", &streaming).await;
    fleet.results(1).await;
    let told: Vec<Value> = fleet.said(Report::Chunk).iter().map(|chunk| chunk["data"]["done"].clone()).collect();
    assert_eq!(json!(told), json!([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]));
}

#[tokio::test]
async fn a_failure_is_as_it_was_asked_for() {
    let nats = Nats::start().await;
    let fleet = Fleet::new(&nats, |_, _| "go").await;
    let _demo = serve(&nats, config(nats.folder().path())).await;
    let input = json!({ "code": "paper.jam", "retryable": true, "uncertain": true });
    fleet.offer("demo", &Offer { input, ..offer("cap:demo:fail", "act_1", 1) }).await;
    let Outcome::Failed { error, uncertain } = fleet.results(1).await.remove(0).outcome else { panic!("completed") };
    assert_eq!((error.code.as_str(), error.retryable, uncertain), ("paper.jam", Some(true), true));
}

#[tokio::test]
async fn the_rogue_connector_breaks_its_promises() {
    let nats = Nats::start().await;
    let fleet =
        Fleet::new(&nats, |_, report| if report.attempt.fence.0.is_multiple_of(10) { "go" } else { "stale" }).await;
    let _rogue = serve(&nats, Config { rogue: true, ..config(nats.folder().path()) }).await;
    let mut count = 0;
    let mut answers = Vec::new();
    for (vice, fence, reports) in [("invalid-output", 10, 1), ("twice", 20, 2), ("stale", 30, 2)] {
        fleet.offer("rogue", &offer(&format!("cap:rogue:{vice}"), &format!("act_{fence}"), fence)).await;
        count += reports;
        let results = fleet.results(count).await;
        answers.extend(results.into_iter().skip(count - reports).map(|result| {
            let Outcome::Completed { output } = result.outcome else { panic!("failed") };
            (result.attempt.fence.0, output["answer"].clone())
        }));
    }
    let expected =
        [(10, json!(42)), (20, json!("first")), (20, json!("second")), (29, json!("stale")), (30, json!("true"))];
    assert_eq!(answers, expected);
    fleet.offer("rogue", &offer("cap:rogue:silent", "act_40", 40)).await;
    eventually(SOON, || async { fleet.said(Report::Begin).len() == 4 }).await;
    assert!(fleet.said(Report::Heartbeat).is_empty());
}
