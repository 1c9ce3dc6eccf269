//! The fleet's side of the wire, played by a test.

use std::{
    future::Future,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use aip_bus::{
    Bus, BusError, Headers, Port,
    nats::NatsPort,
    subjects::{Report, control, report_all, work},
    work::{Control, Fence, Offer, OfferReply, Outcome, Registered, ResultReport, StopReason},
};
use aip_handler::{Connector, ConnectorName, Failure, Handler, Served, Work};
use aip_service::Tasks;
use aip_testkit::{Nats, eventually};
use aip_types::{
    Capability, CapabilityContract, CapabilityId, CapabilityKind, DataContract, DataSensitivity, ExecutionContract,
    ExpectedCompletionMode, IdempotencyCollisionBehavior, IdempotencyContract, IdempotencyKeyScope,
    IdempotencyRequirement, Millis, Principal, PrincipalId, PrincipalKind, RetrySafety, SideEffect,
};
use async_trait::async_trait;
use futures::{StreamExt, future::BoxFuture};
use serde_json::{Value, json};

pub(crate) const SOON: Duration = Duration::from_secs(20);
pub(crate) const WRITE: &str = "cap:test:write";
pub(crate) const READ: &str = "cap:test:read";

pub(crate) fn name() -> ConnectorName {
    ConnectorName::new("test").unwrap()
}

/// What the fleet answers: given how often the report came before, and the report. `None`: nothing.
type Script = Arc<dyn Fn(usize, &Value) -> Option<Value> + Send + Sync>;

pub(crate) struct Fleet {
    port: Arc<NatsPort>,
    tasks: Tasks,
    said: Arc<Mutex<Vec<(Report, Value)>>>,
}

impl Fleet {
    pub(crate) async fn new(nats: &Nats) -> Self {
        Self { port: Arc::new(nats.port().await), tasks: Tasks::default(), said: Arc::default() }
    }

    /// A fleet that admits, and says go to everything.
    pub(crate) async fn willing(nats: &Nats) -> Self {
        let fleet = Self::new(nats).await;
        fleet.admits().await;
        for about in [Report::Begin, Report::Chunk, Report::Result] {
            fleet.on(about, |_, _| Some(json!("go"))).await;
        }
        fleet.on(Report::Heartbeat, |_, _| None).await;
        fleet
    }

    pub(crate) async fn admits(&self) {
        self.on(Report::Register, |_, _| {
            Some(json!(Registered::Admitted { digest: "d".to_owned(), alive_every_ms: 100 }))
        })
        .await;
        self.on(Report::Alive, |_, _| Some(json!("kept"))).await;
    }

    /// Answers one kind of report from now on.
    pub(crate) async fn on(
        &self,
        about: Report,
        script: impl Fn(usize, &Value) -> Option<Value> + Send + Sync + 'static,
    ) {
        let script: Script = Arc::new(script);
        let mut heard = self.port.subscribe(&report_all(about), None).await.unwrap();
        let (port, said) = (Arc::clone(&self.port), Arc::clone(&self.said));
        self.tasks.spawn(async move {
            while let Some(inbound) = heard.next().await {
                let value: Value = serde_json::from_slice(&inbound.payload).unwrap();
                let before = {
                    let mut said = said.lock().unwrap();
                    said.push((about, value.clone()));
                    said.iter().filter(|(report, _)| *report == about).count() - 1
                };
                if let (Some(answer), Some(reply)) = (script(before, &value), inbound.reply) {
                    let answer = serde_json::to_vec(&answer).unwrap();
                    port.publish(&reply, None, Headers::new(), answer.into()).await.unwrap();
                }
            }
        });
    }

    pub(crate) async fn offer(&self, offer: &Offer) -> Result<OfferReply, BusError> {
        let subject = work(&name(), &offer.capability_id);
        let payload = serde_json::to_vec(offer).unwrap();
        let answer = self.port.request(&subject, Headers::new(), payload.into(), Duration::from_secs(10)).await?;
        Ok(serde_json::from_slice(&answer.payload).unwrap())
    }

    /// Offers, as soon as the connector is there, and asserts that it took it.
    pub(crate) async fn give(&self, offer: &Offer) {
        self.present().await;
        let reply = self.offer(offer).await.unwrap();
        assert!(matches!(reply, OfferReply::Accepted { .. }), "{reply:?}");
    }

    /// Waits until the server knows the connector's subscription.
    pub(crate) async fn present(&self) {
        let nothing = Offer { capability_id: "cap:test:nothing".to_owned(), ..offer("act_0", 0) };
        eventually(SOON, || async { self.offer(&nothing).await.is_ok() }).await;
    }

    pub(crate) async fn stop(&self, action: &str, fence: u64, reason: StopReason) {
        let control_message = serde_json::to_vec(&Control { fence: Fence(fence), reason }).unwrap();
        self.port.publish(&control(&name(), action), None, Headers::new(), control_message.into()).await.unwrap();
    }

    pub(crate) fn said(&self, about: Report) -> Vec<Value> {
        let said = self.said.lock().unwrap();
        said.iter().filter(|(report, _)| *report == about).map(|(_, value)| value.clone()).collect()
    }

    pub(crate) fn all_said(&self) -> Vec<Report> {
        self.said.lock().unwrap().iter().map(|(report, _)| *report).collect()
    }

    /// Waits until a report came this often.
    pub(crate) async fn heard(&self, about: Report, times: usize) {
        eventually(SOON, || async { self.said(about).len() >= times }).await;
    }

    /// The first result reported.
    pub(crate) async fn outcome(&self) -> Outcome {
        self.heard(Report::Result, 1).await;
        serde_json::from_value::<ResultReport>(self.said(Report::Result)[0].clone()).unwrap().outcome
    }
}

/// A connector under test, on a connection of its own.
pub(crate) struct Subject {
    pub(crate) tasks: Tasks,
    pub(crate) served: Served,
}

impl Subject {
    /// Serves one handler as [`WRITE`] and as [`READ`].
    pub(crate) async fn serve(nats: &Nats, handler: impl Handler + Clone) -> Self {
        Self::serve_bounded(nats, handler, 8).await
    }

    pub(crate) async fn serve_bounded(nats: &Nats, handler: impl Handler + Clone, in_flight_max: usize) -> Self {
        let tasks = Tasks::default();
        let bus = Bus::new(Arc::new(nats.port().await));
        let connector = Connector::new(name())
            .in_flight_max(in_flight_max.try_into().unwrap())
            .capability(capability(WRITE, SideEffect::Write), handler.clone())
            .capability(capability(READ, SideEffect::Read), handler);
        let served = connector.serve(&bus, &tasks).await.unwrap();
        Self { tasks, served }
    }
}

pub(crate) fn offer(action: &str, fence: u64) -> Offer {
    Offer {
        tenant: "acme".to_owned(),
        action: action.to_owned(),
        fence: Some(Fence(fence)),
        capability_id: WRITE.to_owned(),
        input: json!({}),
        idempotency_key: None,
        principal: Principal::new(PrincipalId::new("user:ann"), PrincipalKind::Human),
        deadline: in_ms(60_000),
        chunk_base: 0,
        streaming: false,
    }
}

pub(crate) fn read() -> Offer {
    Offer { fence: None, capability_id: READ.to_owned(), ..offer("act_read", 0) }
}

pub(crate) fn in_ms(ms: u64) -> Millis {
    aip_service::now().plus(ms)
}

/// Details' reason word of a failure, and whether it is uncertain.
pub(crate) fn reason(outcome: &Outcome) -> (String, bool) {
    match outcome {
        Outcome::Completed { .. } | Outcome::Cancelled {} => panic!("did not fail"),
        Outcome::Failed { error, uncertain } => {
            assert_eq!(error.code, "aip.connector.failed");
            (error.details.as_ref().unwrap()["reason"].as_str().unwrap().to_owned(), *uncertain)
        }
    }
}

/// A handler made of a function; it counts its calls.
#[derive(Clone)]
pub(crate) struct Call {
    calls: Arc<AtomicUsize>,
    run: Arc<Run>,
}

type Run = dyn for<'w> Fn(&'w Work) -> BoxFuture<'w, Result<Value, Failure>> + Send + Sync;

impl Call {
    pub(crate) fn new<R>(run: R) -> Self
    where
        R: for<'w> Fn(&'w Work) -> BoxFuture<'w, Result<Value, Failure>> + Send + Sync + 'static,
    {
        Self { calls: Arc::default(), run: Arc::new(run) }
    }

    /// Answers at once.
    pub(crate) fn answering(output: Value) -> Self {
        Self::new(move |_| {
            let output = output.clone();
            Box::pin(async move { Ok(output) })
        })
    }

    /// Waits for a future first.
    pub(crate) fn after<F: Future<Output = ()> + Send + 'static>(wait: impl Fn() -> F + Send + Sync + 'static) -> Self {
        Self::new(move |_| {
            let wait = wait();
            Box::pin(async move {
                wait.await;
                Ok(json!({ "done": true }))
            })
        })
    }

    pub(crate) fn count(&self) -> usize {
        self.calls.load(Ordering::SeqCst)
    }

    pub(crate) async fn called(&self, times: usize) {
        eventually(SOON, || async { self.count() >= times }).await;
    }
}

#[async_trait]
impl Handler for Call {
    async fn call(&self, work: &Work) -> Result<Value, Failure> {
        self.calls.fetch_add(1, Ordering::SeqCst);
        (self.run)(work).await
    }
}

fn capability(id: &str, effect: SideEffect) -> Capability {
    let mut contract = CapabilityContract::new(
        IdempotencyContract::new(
            IdempotencyRequirement::Optional,
            IdempotencyCollisionBehavior::RevalidateInputHash,
            IdempotencyKeyScope::Tenant,
        ),
        ExecutionContract {
            supports_sync: true,
            supports_async: true,
            supports_streaming: true,
            supports_cancel: true,
            supports_retry: false,
            expected_completion: ExpectedCompletionMode::Any,
            retry_safety: RetrySafety::Unsafe,
        },
        DataContract {
            sensitivity: DataSensitivity::Public,
            contains_pii: false,
            redaction_required: false,
            residency: None,
            retention: None,
        },
    );
    contract.side_effects = vec![effect];
    let schema = json!({ "type": "object" });
    let mut capability = Capability::new(CapabilityId::new(id), id.to_owned(), CapabilityKind::Tool, schema);
    capability.contract = Some(contract);
    capability
}
