//! A server, admissions over buses that fail as they are told, and everybody else in the test's hands.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use aip_admission::{Config, serve};
use aip_bus::{
    Admitted, Bus, Draft, Headers, Living, Loaded, Sequence, Source,
    subjects::{ConnectorName, Peer, RecordKey, Tenant},
};
use aip_core::action::{ActionRecord, Grant, Held, Settled, Trigger, step};
use aip_service::{Context, Cursors, Directory, Ops, Settings, Tasks, now};
use aip_testkit::{Faulty, Nats};
use aip_types::{
    Action, ActionId, Capability, CapabilityContract, CapabilityId, CapabilityKind, DataContract, DataSensitivity,
    Envelope, ExecutionContract, ExpectedCompletionMode, IdempotencyCollisionBehavior, IdempotencyContract,
    IdempotencyKeyScope, IdempotencyRequirement, MessageBody, MessageId, MessageType, RetrySafety, SideEffect,
    Timestamp, limits,
};
use serde_json::{Value, json};

/// Time for anything that should happen.
pub(crate) const SOON: Duration = Duration::from_secs(40);

pub(crate) const REVALIDATE: &str = "cap:demo:revalidate";
pub(crate) const ORIGINAL: &str = "cap:demo:original";
pub(crate) const REJECT: &str = "cap:demo:reject";
pub(crate) const OF_TENANT: &str = "cap:demo:of-tenant";

const SETTINGS: &str = r#"
trust_domain = "td"
service = "svc"
version = "v1"
tenants = [{ id = "acme" }, { id = "other" }]

[[principals]]
id = "service:caller"
kind = "service"
tenant = "acme"
capabilities = ["cap:demo:*"]

[[principals]]
id = "service:second"
kind = "service"
tenant = "acme"
capabilities = ["cap:demo:*"]

[[principals]]
id = "service:stranger"
kind = "service"
tenant = "other"
capabilities = ["cap:demo:*"]
"#;

pub(crate) struct World {
    nats: Nats,
    pub(crate) bus: Bus,
    tasks: Tasks,
    lives: Arc<AtomicBool>,
}

impl World {
    /// A server with the connector `demo` admitted and alive, and one admission.
    pub(crate) async fn start() -> Self {
        let world = Self::empty().await;
        world.admission().await;
        world
    }

    /// The same without an admission.
    pub(crate) async fn empty() -> Self {
        let nats = Nats::start().await.bootstrapped().await;
        let bus = Bus::new(Arc::new(nats.port().await));
        let world = Self { nats, bus, tasks: Tasks::default(), lives: Arc::new(AtomicBool::new(true)) };
        world.connector().await;
        world
    }

    /// One more admission; its bus fails as the result is told.
    pub(crate) async fn admission(&self) -> Faulty {
        let faulty = Faulty::new(Arc::new(self.nats.port().await));
        let context = Context {
            name: "admission",
            bus: Bus::new(Arc::new(faulty.clone())),
            front: Bus::new(Arc::new(faulty.clone())),
            peer: peer(),
            directory: Arc::new(Directory::new(&Settings::parse(SETTINGS).unwrap()).unwrap()),
            tasks: self.tasks.clone(),
            cursors: Cursors::of(aip_bus::nats::Seed::None).await.unwrap(),
            ops: Ops::default(),
        };
        serve(context, Config::default()).await.unwrap();
        // Subscribed is not yet known to the server: it is when anything is answered.
        let subject = peer().subject(MessageType::Action);
        aip_testkit::eventually(SOON, || async {
            self.bus.port().request(&subject, Headers::new(), "".into(), SOON).await.is_ok()
        })
        .await;
        faulty
    }

    async fn connector(&self) {
        use IdempotencyCollisionBehavior::{RejectConflict, ReturnOriginalResult, RevalidateInputHash};
        let name = ConnectorName::new("demo").unwrap();
        let capabilities = vec![
            capability(REVALIDATE, RevalidateInputHash, IdempotencyKeyScope::Principal),
            capability(ORIGINAL, ReturnOriginalResult, IdempotencyKeyScope::Principal),
            capability(REJECT, RejectConflict, IdempotencyKeyScope::Principal),
            capability(OF_TENANT, RevalidateInputHash, IdempotencyKeyScope::Tenant),
        ];
        let admitted = Admitted { connector: "demo".to_owned(), digest: "d".to_owned(), capabilities };
        self.bus.admit_connector(&name, &admitted, Sequence::NONE).await.unwrap();
        let living = Living { connector: "demo".to_owned(), instance: "one".to_owned(), digest: "d".to_owned() };
        self.bus.keep_alive(&name, &living).await.unwrap();
        let (bus, lives) = (self.bus.clone(), Arc::clone(&self.lives));
        self.tasks.spawn_until_drain(async move {
            loop {
                tokio::time::sleep(Duration::from_millis(limits::ALIVE_EVERY_MS)).await;
                if lives.load(Ordering::Relaxed) {
                    drop(bus.keep_alive(&name, &living).await);
                }
            }
        });
    }

    /// The connector says nothing any more.
    pub(crate) async fn connector_dies(&self) {
        self.lives.store(false, Ordering::Relaxed);
        self.bus.leave(&ConnectorName::new("demo").unwrap(), "one").await.unwrap();
    }

    /// Sends an action as an edge does and returns the answer's envelope.
    pub(crate) async fn send(&self, principal: &str, action: &Action) -> Envelope {
        let message_id = MessageId::generate(now(), aip_bus::random());
        self.send_as(principal, message_id, action).await
    }

    pub(crate) async fn send_as(&self, principal: &str, message_id: MessageId, action: &Action) -> Envelope {
        let body = MessageBody::from(action.clone());
        let envelope = Envelope::new(message_id, Timestamp::from_millis(now()), body);
        let context = json!({"principal": principal, "method": "token"}).to_string();
        let headers = Headers::from([("AIP-Context".to_owned(), context)]);
        let payload = serde_json::to_vec(&json!({ "envelope": envelope })).unwrap();
        let subject = peer().subject(MessageType::Action);
        let answer = self.bus.port().request(&subject, headers, payload.into(), SOON).await.unwrap();
        let mut answer: Value = serde_json::from_slice(&answer.payload).unwrap();
        serde_json::from_value(answer["envelope"].take()).unwrap()
    }

    /// The same from the usual caller.
    pub(crate) async fn call(&self, action: &Action) -> Envelope {
        self.send("service:caller", action).await
    }

    pub(crate) async fn record(&self, id: &str) -> Option<Loaded<ActionRecord>> {
        self.bus.load(&key(id), Source::Leader).await.unwrap()
    }

    /// Waits until the record exists.
    pub(crate) async fn queued(&self, id: &str) -> Loaded<ActionRecord> {
        aip_testkit::eventually(SOON, || async { self.record(id).await.is_some() }).await;
        self.record(id).await.unwrap()
    }

    /// Begins and completes an action, as a scheduler does; `told`: whoever waits hears of it.
    pub(crate) async fn complete(&self, id: &str, told: bool) {
        let grant = Grant { fence: 5, instance: "one".to_owned() };
        let start = Trigger::Start { grant: grant.clone(), over: true, chunk_base: 0 };
        let queued = self.queued(id).await;
        let running = self.apply(id, &queued, start).await;
        let settled = Settled::Completed { output: Held::Inline(json!({"by": id})) };
        let done = self.apply(id, &running, Trigger::Settle { grant: Some(grant), settled, chunks_last: None }).await;
        if told {
            let inbox = done.entry.notify.clone().unwrap();
            self.bus.port().publish(&inbox, None, Headers::new(), done.text.clone()).await.unwrap();
        }
    }

    pub(crate) async fn apply(&self, id: &str, over: &Loaded<ActionRecord>, trigger: Trigger) -> Loaded<ActionRecord> {
        let step = step(&over.entry.state, trigger, now()).unwrap();
        self.bus.save(&key(id), Draft::of(step, "test", over.entry.notify.clone()), over.sequence).await.unwrap()
    }

    /// Messages in a stream.
    pub(crate) async fn stored(&self, stream: &str) -> u64 {
        let subject = format!("$JS.API.STREAM.INFO.{stream}");
        let info = self.bus.port().request(&subject, Headers::new(), "".into(), SOON).await.unwrap();
        let info: Value = serde_json::from_slice(&info.payload).unwrap();
        info["state"]["messages"].as_u64().unwrap()
    }
}

fn peer() -> Peer {
    Peer::new("td", "svc", "v1").unwrap()
}

pub(crate) fn acme() -> Tenant {
    Tenant::new("acme").unwrap()
}

pub(crate) fn key(id: &str) -> RecordKey {
    RecordKey::action(acme(), id)
}

/// A keyed action.
pub(crate) fn keyed(id: &str, capability: &str, key: &str, input: Value) -> Action {
    let mut action = unkeyed(id, capability, input);
    action.idempotency_key = Some(key.to_owned());
    action
}

pub(crate) fn unkeyed(id: &str, capability: &str, input: Value) -> Action {
    Action::new(ActionId::new(id), CapabilityId::new(capability), input)
}

/// What an answer says: the id and output of a result, the id and status of an acknowledgement, or a code.
pub(crate) fn said(envelope: &Envelope) -> (String, Value) {
    let body = serde_json::to_value(&envelope.body).unwrap();
    if let Some(result) = body.get("action_result") {
        return (result["action_id"].as_str().unwrap().to_owned(), result["output"].clone());
    }
    if let Some(ack) = body.get("ack") {
        return (ack["action_id"].as_str().unwrap().to_owned(), ack["status"].clone());
    }
    (body["error"]["error"]["code"].as_str().unwrap_or_else(|| panic!("{body}")).to_owned(), Value::Null)
}

pub(crate) fn refused(code: aip_types::ErrorCode) -> (String, Value) {
    (code.row().code.to_owned(), Value::Null)
}

/// The result of an action that [`World::complete`] ended.
pub(crate) fn completed(id: &str) -> (String, Value) {
    (id.to_owned(), json!({"by": id}))
}

fn capability(id: &str, collision: IdempotencyCollisionBehavior, scope: IdempotencyKeyScope) -> Capability {
    let mut capability =
        Capability::new(CapabilityId::new(id), id.to_owned(), CapabilityKind::Tool, json!({"type": "object"}));
    let execution = ExecutionContract {
        supports_sync: true,
        supports_async: true,
        supports_streaming: false,
        supports_cancel: false,
        supports_retry: true,
        expected_completion: ExpectedCompletionMode::Sync,
        retry_safety: RetrySafety::SafeWithIdempotencyKey,
    };
    let data = DataContract {
        sensitivity: DataSensitivity::Public,
        contains_pii: false,
        redaction_required: false,
        residency: None,
        retention: None,
    };
    let idempotency = IdempotencyContract::new(IdempotencyRequirement::Optional, collision, scope);
    let mut contract = CapabilityContract::new(idempotency, execution, data);
    contract.side_effects = vec![SideEffect::Write];
    capability.contract = Some(contract);
    capability
}
