//! One action that shows that the fleet works: over HTTP with its receipts, and one over NATS.

use std::time::Duration;

use aip_bus::{
    BusError, Headers, Port as _,
    nats::{Connect, NatsPort, Seed},
};
use aip_service::Settings;
use aip_types::{Action, ActionId, CapabilityId, MessageType};
use anyhow::{Context as _, anyhow};
use bytes::Bytes;
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::{
    client::{CALL_WITHIN, Fleet, action_request, body_of, fetch_chain, status_lines, verified},
    env_file,
    failure::Failure,
    home::Home,
};

/// A keyed mutation: it takes the whole way of `design.md` §5.
const MUTATION: &str = "cap:demo:note:append";
/// A plain read.
const READ: &str = "cap:demo:echo";
/// Time for the connector to register.
const ADMITTED_WITHIN: Duration = Duration::from_secs(30);
const POLL: Duration = Duration::from_millis(50);
const DEMO_CLIENT: &str = "demo-client";

/// What was asked and what came of it.
pub(super) struct Proof {
    document: Value,
}

impl Proof {
    /// Runs the actions as the demo client.
    pub(super) async fn obtain(home: &Home, settings: &Settings, url: &str, nats_url: &str) -> Result<Self, Failure> {
        let token = env_file::read(home)?.remove("AIP_TOKEN");
        let fleet = Fleet::new(url, token.as_deref())?;
        await_capability(&fleet, MUTATION).await?;
        let mut action = new_action(MUTATION, json!({ "text": "aip up proves itself" }));
        action.idempotency_key = Some(format!("up-{}", aip_bus::nonce()));
        let id = action.id.as_str().to_owned();
        let answered = fleet.post(&["aip", "v1", "actions"], &action_request(action)?, CALL_WITHIN).await?;
        let status = fleet.get(&["aip", "v1", "actions", &id], &[("include_result", "true")], CALL_WITHIN).await?;
        let chain = fetch_chain(&fleet, &id).await?;
        let over_nats = over_nats(home, settings, nats_url).await?;
        let member = |body: &Value, key: &str| body.get(key).cloned().unwrap_or_default();
        let document = json!({
            "action_result": member(&answered, "action_result"),
            "action_status": member(&status, "action_status"),
            "receipt_chain": member(&chain, "receipt_chain"),
            "over_nats": member(&over_nats, "action_result"),
        });
        Ok(Self { document })
    }

    /// Everything that came back.
    pub(super) fn document(&self) -> &Value {
        &self.document
    }

    fn part(&self, name: &str) -> &Value {
        self.document.get(name).unwrap_or(&Value::Null)
    }

    /// The same for people.
    pub(super) fn lines(&self) -> Vec<String> {
        let mut lines = vec![String::new(), "One governed action over HTTP:".to_owned()];
        lines.extend(status_lines(self.part("action_status")));
        let (receipts, fault) = verified(self.part("receipt_chain"));
        lines.extend(receipts);
        lines.push(match fault {
            None => "verified offline: every hash, every link and the root are right".to_owned(),
            Some(fault) => format!("NOT VERIFIED: {fault}"),
        });
        let read = self.part("over_nats");
        let text = |member: &str| read.get(member).and_then(Value::as_str).unwrap_or("-");
        lines.push(format!("and one over NATS: {}  {}", text("action_id"), text("status")));
        lines
    }

    /// Whether it proves anything.
    pub(super) fn verdict(&self) -> Result<(), Failure> {
        let is_completed =
            |part: &str, member: &str| self.part(part).get(member).and_then(Value::as_str) == Some("completed");
        let chain = self.part("receipt_chain");
        let receipts = chain.get("receipts").and_then(Value::as_array).map_or(0, Vec::len);
        if !is_completed("action_result", "status") || !is_completed("action_status", "state") {
            return Err(anyhow!("the demo action did not complete").into());
        }
        if receipts == 0 || verified(chain).1.is_some() {
            return Err(anyhow!("the receipts of the demo action do not verify").into());
        }
        if !is_completed("over_nats", "status") {
            return Err(anyhow!("the demo action over NATS did not complete").into());
        }
        Ok(())
    }
}

fn new_action(capability: &str, input: Value) -> Action {
    let id = ActionId::generate(aip_service::now(), aip_bus::random());
    Action::new(id, CapabilityId::new(capability), input)
}

/// Waits until the connector was admitted.
async fn await_capability(fleet: &Fleet, capability: &str) -> Result<(), Failure> {
    let admitted = async {
        loop {
            let body = fleet.get(&["aip", "v1", "manifest"], &[], CALL_WITHIN).await?;
            let all = body.pointer("/manifest/capabilities").and_then(Value::as_array);
            if all.into_iter().flatten().any(|one| one.get("id").and_then(Value::as_str) == Some(capability)) {
                return Ok(());
            }
            sleep(POLL).await;
        }
    };
    match tokio::time::timeout(ADMITTED_WITHIN, admitted).await {
        Ok(admitted) => admitted,
        Err(_) => Err(anyhow!("the demo connector was not admitted in time").into()),
    }
}

/// A plain read as the demo tenant's NATS user; the body that answers it.
async fn over_nats(home: &Home, settings: &Settings, nats_url: &str) -> Result<Value, Failure> {
    let connect = Connect::new(nats_url, "aip-up").with_seed(Seed::File(home.nkey(DEMO_CLIENT)));
    let port = NatsPort::connect(connect).await.context("connecting as the demo tenant's user")?;
    let subject = settings.peer().map_err(Failure::settings)?.subject(MessageType::Action);
    let envelope = action_request(new_action(READ, json!({ "text": "hello" })))?;
    let asked: Result<_, BusError> =
        port.request(&subject, Headers::new(), Bytes::from(envelope.to_string()), CALL_WITHIN).await;
    let answer = asked.with_context(|| format!("asking on {subject}"))?;
    body_of(&answer.payload)
}
