//! A server, schedulers that can be killed, and a connector in the test's hands.

use std::{sync::Arc, time::Duration};

use aip_bus::{
    Admitted, Bus, Draft, Headers, Inbound, Living, Loaded, Messages, Sequence, Source,
    subjects::{ConnectorName, LaneKind, Peer, RecordKey, Report, Tenant, lane, report, work_all},
    work::{Attempt, Begin, Fence, Heartbeats, Offer, OfferReply, Outcome, ResultReport, Verdict},
};
use aip_core::action::{ActionRecord, Admission, Contract, Grant, Held, IdempotencyKey, Phase, admit};
use aip_scheduler::{Config, serve};
use aip_service::{Context, Cursors, Directory, Ops, Settings, Tasks, now};
use aip_testkit::{Faulty, Nats, eventually};
use aip_types::{
    ActionId, ActionMode, Capability, CapabilityId, CapabilityKind, MessageId, Principal, PrincipalId, PrincipalKind,
    RetrySafety, limits,
};
use futures::StreamExt;
use serde::Serialize;
use serde_json::{Value, json};
use tokio::{runtime::Runtime, time::timeout};

/// Time for anything that should happen.
pub(crate) const SOON: Duration = Duration::from_secs(40);
/// Time in which something that must not happen would have happened.
pub(crate) const QUIET: Duration = Duration::from_millis(1_500);

pub(crate) const UNSAFE: Contract =
    Contract { read_only: false, retry_safety: RetrySafety::Unsafe, supports_retry: true };
pub(crate) const SAFE: Contract =
    Contract { read_only: false, retry_safety: RetrySafety::SafeWithIdempotencyKey, supports_retry: true };
pub(crate) const READ: Contract = Contract { read_only: true, retry_safety: RetrySafety::Safe, supports_retry: true };

const SETTINGS: &str = r#"
trust_domain = "td"
service = "svc"
version = "v1"
tenants = [{ id = "acme" }]
"#;

pub(crate) struct World {
    pub(crate) nats: Nats,
    pub(crate) bus: Bus,
    tasks: Tasks,
}

/// A scheduler process: its own runtime and its own connection.
pub(crate) struct Process {
    runtime: Option<Runtime>,
}

impl Process {
    /// Ends it at once, as SIGKILL does.
    pub(crate) fn kill(mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

impl World {
    /// A server with the connector `demo`, admitted and alive.
    pub(crate) async fn start() -> Self {
        let nats = Nats::start().await.bootstrapped().await;
        let bus = Bus::new(Arc::new(nats.port().await));
        Self { nats, bus, tasks: Tasks::default() }
    }

    pub(crate) async fn scheduler(&self) -> Process {
        self.scheduler_over(|_| {}).await
    }

    /// A scheduler whose bus fails as it is told.
    pub(crate) async fn scheduler_over(&self, fail: impl FnOnce(&Faulty)) -> Process {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let connect = self.nats.connect();
        let (sender, faulty) = tokio::sync::oneshot::channel();
        let (go, gone) = tokio::sync::oneshot::channel::<()>();
        let served = runtime.spawn(async move {
            let faulty = Faulty::new(Arc::new(aip_bus::nats::NatsPort::connect(connect).await.unwrap()));
            drop(sender.send(faulty.clone()));
            gone.await.unwrap();
            let bus = Bus::new(Arc::new(faulty));
            let context = Context {
                name: "scheduler",
                bus: bus.clone(),
                front: bus,
                peer: Peer::new("td", "svc", "v1").unwrap(),
                directory: Arc::new(Directory::new(&Settings::parse(SETTINGS).unwrap()).unwrap()),
                tasks: Tasks::default(),
                cursors: Cursors::of(aip_bus::nats::Seed::None).await.unwrap(),
                ops: Ops::default(),
            };
            serve(context, Config { in_flight_max: limits::IN_FLIGHT_MAX }).await.unwrap();
        });
        fail(&faulty.await.unwrap());
        go.send(()).unwrap();
        served.await.unwrap();
        Process { runtime: Some(runtime) }
    }

    /// The connector `demo`, admitted and alive as long as the world.
    pub(crate) async fn connector(&self) -> Connector {
        let name = ConnectorName::new("demo").unwrap();
        let mut capability = Capability::new(
            CapabilityId::new("cap:demo:x"),
            "x".to_owned(),
            CapabilityKind::Tool,
            json!({"type": "object"}),
        );
        capability.output_schema = Some(json!({"type": "object", "properties": {"n": {"type": "integer"}}}));
        let admitted =
            Admitted { connector: "demo".to_owned(), digest: "d".to_owned(), capabilities: vec![capability] };
        self.bus.admit_connector(&name, &admitted, Sequence::NONE).await.unwrap();
        let living = Living { connector: "demo".to_owned(), instance: "one".to_owned(), digest: "d".to_owned() };
        self.bus.keep_alive(&name, &living).await.unwrap();
        let (bus, connector) = (self.bus.clone(), name.clone());
        self.tasks.spawn_until_drain(async move {
            loop {
                tokio::time::sleep(Duration::from_millis(limits::ALIVE_EVERY_MS)).await;
                // The server may be gone for a while: the next one tells.
                drop(bus.keep_alive(&connector, &living).await);
            }
        });
        let offers = self.bus.port().subscribe(&work_all(&name), Some("demo")).await.unwrap();
        Connector { bus: self.bus.clone(), name, offers }
    }

    /// Stores a queued action, as admission does.
    pub(crate) async fn queue(&self, id: &str, contract: Contract, timeout_ms: u64) -> RecordKey {
        let at = now();
        let step = admit(Admission {
            id: ActionId::new(id),
            tenant: "acme".to_owned(),
            capability_id: CapabilityId::new("cap:demo:x"),
            connector: "demo".to_owned(),
            contract,
            principal: Principal::new(PrincipalId::new("service:caller"), PrincipalKind::Service),
            method: "token".to_owned(),
            mode: ActionMode::Sync,
            request: MessageId::new("msg_1"),
            correlation_id: None,
            session_id: None,
            key: (!contract.read_only).then(|| IdempotencyKey { value: "k".to_owned(), hash: "h".to_owned() }),
            input: Held::Inline(json!({"a": 1})),
            input_hash: "i".to_owned(),
            approval_id: None,
            at,
            deadline: at.plus(timeout_ms),
        });
        let key = RecordKey::action(Tenant::new("acme").unwrap(), id);
        self.bus.save(&key, Draft::of(step, "msg_1", None), Sequence::NONE).await.unwrap();
        key
    }

    pub(crate) async fn record(&self, key: &RecordKey) -> Loaded<ActionRecord> {
        self.bus.load(key, Source::Leader).await.unwrap().unwrap()
    }

    /// Last tokens of the subjects of its entries.
    pub(crate) async fn steps(&self, key: &RecordKey) -> Vec<String> {
        let last = self.record(key).await;
        let history = self.bus.history(last, 100).await.unwrap();
        let mut events = Vec::new();
        for loaded in history {
            let stored = self.bus.port().get("AIP_JOURNAL", loaded.sequence, Source::Leader).await.unwrap().unwrap();
            events.push(stored.subject.rsplit('.').next().unwrap().to_owned());
        }
        events
    }

    pub(crate) async fn reaches(&self, key: &RecordKey, wanted: impl Fn(&Phase) -> bool) {
        eventually(SOON, || async { wanted(&self.record(key).await.entry.state.phase) }).await;
    }

    /// Messages of the queued lane that are delivered or waiting, and not acknowledged.
    pub(crate) async fn unacknowledged(&self) -> u64 {
        let lane = lane(LaneKind::Queued);
        let subject = format!("$JS.API.CONSUMER.INFO.{}.{}", lane.stream, lane.consumer);
        let info = self.bus.port().request(&subject, Headers::new(), "".into(), SOON).await.unwrap();
        let info: Value = serde_json::from_slice(&info.payload).unwrap();
        info["num_ack_pending"].as_u64().unwrap() + info["num_pending"].as_u64().unwrap()
    }

    pub(crate) async fn lane_is_empty(&self, within: Duration) {
        eventually(within, || async { self.unacknowledged().await == 0 }).await;
    }
}

/// One connector process, played by the test.
pub(crate) struct Connector {
    bus: Bus,
    name: ConnectorName,
    offers: Messages<Inbound>,
}

impl Connector {
    /// The next offer, unanswered.
    pub(crate) async fn offered(&mut self) -> (Inbound, Offer) {
        let inbound = timeout(SOON, self.offers.next()).await.expect("an offer comes").unwrap();
        let offer = serde_json::from_slice(&inbound.payload).unwrap();
        (inbound, offer)
    }

    /// The attempt of the next offer, which is accepted.
    pub(crate) async fn accepted(&mut self) -> Attempt {
        let (inbound, offer) = self.offered().await;
        self.answer(&inbound, &OfferReply::Accepted { instance: "one".to_owned() }).await;
        attempt(&offer)
    }

    /// The attempt of the next offer, begun.
    pub(crate) async fn begun(&mut self) -> Attempt {
        let attempt = self.accepted().await;
        assert_eq!(self.begin(&attempt).await, Verdict::Go);
        attempt
    }

    pub(crate) async fn nothing_is_offered(&mut self) {
        self.nothing_is_offered_within(QUIET).await;
    }

    pub(crate) async fn nothing_is_offered_within(&mut self, time: Duration) {
        assert!(timeout(time, self.offers.next()).await.is_err(), "something was offered");
    }

    pub(crate) async fn answer(&self, inbound: &Inbound, reply: &OfferReply) {
        let payload = serde_json::to_vec(reply).unwrap();
        let inbox = inbound.reply.as_deref().unwrap();
        self.bus.port().publish(inbox, None, Headers::new(), payload.into()).await.unwrap();
    }

    pub(crate) async fn begin(&self, attempt: &Attempt) -> Verdict {
        self.report(Report::Begin, &Begin { attempt: attempt.clone() }).await
    }

    pub(crate) async fn complete(&self, attempt: &Attempt, output: Value) -> Verdict {
        self.end(attempt, Outcome::Completed { output }).await
    }

    pub(crate) async fn end(&self, attempt: &Attempt, outcome: Outcome) -> Verdict {
        self.report(Report::Result, &ResultReport { attempt: attempt.clone(), outcome }).await
    }

    /// Renews the lease of an attempt. One that is not sent is repeated by the next.
    pub(crate) async fn beat(&self, attempt: &Attempt) {
        let beats = serde_json::to_vec(&Heartbeats { attempts: vec![attempt.clone()] }).unwrap();
        let subject = report(&self.name, Report::Heartbeat);
        drop(self.bus.port().publish(&subject, None, Headers::new(), beats.into()).await);
    }

    /// Asks once; the answer may take as long as a stopped scheduler.
    pub(crate) async fn report(&self, about: Report, question: &impl Serialize) -> Verdict {
        ask(&self.bus, &self.name, about, question).await
    }

    /// The same as somebody else.
    pub(crate) async fn report_as(&self, name: &str, about: Report, question: &impl Serialize) -> Verdict {
        ask(&self.bus, &ConnectorName::new(name).unwrap(), about, question).await
    }
}

async fn ask(bus: &Bus, name: &ConnectorName, about: Report, question: &impl Serialize) -> Verdict {
    let payload = serde_json::to_vec(question).unwrap();
    let answer = bus.port().request(&report(name, about), Headers::new(), payload.into(), SOON).await.unwrap();
    serde_json::from_slice(&answer.payload).unwrap()
}

pub(crate) fn attempt(offer: &Offer) -> Attempt {
    Attempt {
        tenant: offer.tenant.clone(),
        action: offer.action.clone(),
        fence: offer.fence.unwrap_or(Fence(0)),
        instance: "one".to_owned(),
    }
}

pub(crate) fn grant(attempt: &Attempt) -> Grant {
    Grant { fence: attempt.fence.0, instance: attempt.instance.clone() }
}

pub(crate) fn is_running(phase: &Phase) -> bool {
    matches!(phase, Phase::Running(_))
}

pub(crate) fn is_unknown(phase: &Phase) -> bool {
    matches!(phase, Phase::OutcomeUnknown(_))
}
