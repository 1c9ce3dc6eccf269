//! Connectors come and go: admitted as a whole with a living process, or not at all (AIP 1.0 §9.2).

use std::{sync::Arc, time::Duration};

use aip_bus::{
    Admitted, BusError, Headers, Inbound, Living,
    subjects::{ConnectorName, Report, parse_report, report_all},
    work::{Alive, Noted, Register, Registered},
};
use aip_schema::rules;
use aip_service::{Catalogue, Context};
use aip_types::{
    Capability, ErrorCode, Manifest, Principal, PrincipalId, PrincipalKind, ProfileId, ProtocolError, limits,
};
use anyhow::Context as _;
use futures::StreamExt;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use crate::action::unavailable;

/// How long an admitted connector may take to appear in our own catalogue.
const VISIBLE_WITHIN: Duration = Duration::from_secs(2);
/// Messages of one kind in work in this process.
const IN_WORK_MAX: usize = 256;

#[derive(Clone)]
pub(crate) struct Connectors {
    ctx: Context,
    catalogue: Catalogue,
}

impl Connectors {
    pub(crate) async fn start(ctx: &Context, catalogue: Catalogue) -> anyhow::Result<()> {
        let connectors = Self { ctx: ctx.clone(), catalogue };
        for report in [Report::Register, Report::Alive] {
            let subject = report_all(report);
            let mut inbound = ctx
                .front
                .port()
                .subscribe(&subject, Some(ctx.name))
                .await
                .with_context(|| format!("subscribing {subject}"))?;
            let (connectors, tasks) = (connectors.clone(), ctx.tasks.clone());
            let room = Arc::new(Semaphore::new(IN_WORK_MAX));
            ctx.tasks.spawn_until_drain(async move {
                while let Some(message) = inbound.next().await {
                    // Without room it gets no answer, and is said again.
                    let Ok(permit) = Arc::clone(&room).try_acquire_owned() else { continue };
                    let connectors = connectors.clone();
                    tasks.spawn(async move {
                        connectors.on_message(message).await;
                        drop(permit);
                    });
                }
            });
        }
        Ok(())
    }

    async fn on_message(&self, message: Inbound) {
        let done = match parse_report(&message.subject) {
            Some((connector, Report::Register)) => self.register(&message, connector).await,
            Some((connector, Report::Alive)) => {
                self.with(&message, |alive: Alive| self.on_alive(connector, alive)).await
            }
            Some((_, Report::Begin | Report::Chunk | Report::Result | Report::Heartbeat)) | None => Ok(()),
        };
        if let Err(fault) = done {
            tracing::warn!(%fault, subject = message.subject, "a connector's message was not answered");
        }
    }

    async fn with<M, A, F>(&self, message: &Inbound, on_message: impl FnOnce(M) -> F) -> Result<(), BusError>
    where
        M: DeserializeOwned,
        A: Serialize,
        F: Future<Output = Result<A, BusError>>,
    {
        let body = serde_json::from_slice(&message.payload).map_err(|fault| BusError::Undecodable(Box::new(fault)))?;
        self.send(message, &on_message(body).await?).await
    }

    async fn send(&self, message: &Inbound, answer: &impl Serialize) -> Result<(), BusError> {
        let payload = serde_json::to_vec(answer).map_err(|fault| BusError::Undecodable(Box::new(fault)))?;
        self.ctx.bus.reply(message, Headers::new(), payload.into()).await
    }

    /// A registration that cannot be read is rejected like any other: its author must hear of it.
    async fn register(&self, message: &Inbound, connector: ConnectorName) -> Result<(), BusError> {
        match serde_json::from_slice::<Register>(&message.payload) {
            Ok(_) => self.with(message, |register: Register| self.on_register(connector, register)).await,
            Err(fault) => {
                tracing::warn!(connector = connector.as_str(), %fault, "a registration cannot be read");
                let error = ProtocolError::from(ErrorCode::ManifestRejected);
                let findings = json!({"findings": [{"pointer": "", "rule": "register_message"}]});
                self.send(message, &Registered::Rejected { error: error.with_details(findings) }).await
            }
        }
    }

    async fn on_register(&self, connector: ConnectorName, register: Register) -> Result<Registered, BusError> {
        let Register { instance, capabilities } = register;
        if let Err(error) = self.check(&connector, &instance, &capabilities).await {
            tracing::warn!(connector = connector.as_str(), code = error.code, details = ?error.details, "a connector was rejected");
            return Ok(Registered::Rejected { error });
        }
        let digest = digest(&capabilities)?;
        let (held, revision) = self.ctx.bus.admitted(&connector).await?;
        if held.is_none_or(|held| held.digest != digest) {
            let admitted = Admitted { connector: connector.to_string(), digest: digest.clone(), capabilities };
            match self.ctx.bus.admit_connector(&connector, &admitted, revision).await {
                Ok(()) => {}
                Err(fault) => return Ok(Registered::Rejected { error: unavailable(fault) }),
            }
        }
        self.ctx
            .bus
            .keep_alive(
                &connector,
                &Living { connector: connector.to_string(), instance: instance.clone(), digest: digest.clone() },
            )
            .await?;
        let visible = self.catalogue.when(|snapshot| {
            snapshot.is_alive(connector.as_str(), &instance)
                && snapshot.admitted(connector.as_str()).is_some_and(|admitted| admitted.digest == digest)
        });
        if tokio::time::timeout(VISIBLE_WITHIN, visible).await.is_err() {
            return Ok(Registered::Rejected { error: unavailable(BusError::unavailable()) });
        }
        tracing::info!(connector = connector.as_str(), instance, "a connector was admitted");
        Ok(Registered::Admitted { digest, alive_every_ms: limits::ALIVE_EVERY_MS })
    }

    async fn on_alive(&self, connector: ConnectorName, alive: Alive) -> Result<Noted, BusError> {
        let Alive { instance, digest, leaving } = alive;
        if !is_instance(&instance) || digest.len() > limits::ID_BYTES_MAX {
            return Ok(Noted::Register);
        }
        if leaving {
            self.ctx.bus.leave(&connector, &instance).await?;
            return Ok(Noted::Kept);
        }
        let snapshot = self.catalogue.now();
        let admitted = snapshot.admitted(connector.as_str()).is_some_and(|admitted| admitted.digest == digest);
        // Another version is admitted and alive: this process may finish, it is not offered any more.
        if !admitted && !snapshot.is_live(connector.as_str()) {
            return Ok(Noted::Register);
        }
        self.ctx.bus.keep_alive(&connector, &Living { connector: connector.to_string(), instance, digest }).await?;
        Ok(Noted::Kept)
    }

    /// The whole manifest is valid, or nothing of it is admitted (AIP 1.0 §9.1).
    async fn check(
        &self,
        connector: &ConnectorName,
        instance: &str,
        capabilities: &[Capability],
    ) -> Result<(), ProtocolError> {
        let mut findings = Vec::new();
        if !is_instance(instance) {
            findings.push(json!({"pointer": "/instance", "rule": "instance"}));
        }
        let bytes = serde_json::to_vec(capabilities).map_or(usize::MAX, |text| text.len());
        if capabilities.len() > limits::CAPABILITIES_MAX || bytes > limits::MANIFEST_BYTES_MAX {
            findings.push(json!({"pointer": "/capabilities", "rule": "manifest_bytes_max"}));
            return Err(ProtocolError::from(ErrorCode::ManifestRejected).with_details(json!({"findings": findings})));
        }
        let snapshot = self.catalogue.now();
        for (index, capability) in capabilities.iter().enumerate() {
            let at = |tail: &str| format!("/capabilities/{index}{tail}");
            if !self.ctx.directory.may_register(connector, &capability.id) {
                findings.push(json!({"pointer": at("/id"), "rule": "may_register"}));
            }
            if snapshot.holder(&capability.id).is_some_and(|holder| holder != connector.as_str()) {
                return Err(ProtocolError::from(ErrorCode::CapabilityTaken).with_details(json!({"pointer": at("/id")})));
            }
        }
        if capabilities.is_empty() {
            findings.push(json!({"pointer": "/capabilities", "rule": "minItems"}));
        }
        findings.extend(broken_rules(connector, capabilities.to_vec()).await);
        if findings.is_empty() {
            Ok(())
        } else {
            Err(ProtocolError::from(ErrorCode::ManifestRejected).with_details(json!({"findings": findings})))
        }
    }
}

/// Everything that is wrong with the manifest. Compiles every schema, so it runs off the async threads (AIP 1.0 §22.8).
async fn broken_rules(connector: &ConnectorName, capabilities: Vec<Capability>) -> Vec<Value> {
    let manifest = Manifest {
        manifest_version: "aip-manifest/v1".to_owned(),
        agent: Principal::new(PrincipalId::new(connector.as_str()), PrincipalKind::Service),
        capabilities,
        profiles: vec![ProfileId::new("aip.native.nats.v1")],
        resources: Vec::new(),
        channels: Vec::new(),
        security: None,
        governance: None,
        limits: None,
        compatibility: None,
        extensions: None,
    };
    let findings = tokio::task::spawn_blocking(move || rules::manifest(&manifest));
    match findings.await {
        Ok(findings) => {
            findings.into_iter().map(|fault| json!({"pointer": fault.pointer, "rule": fault.rule})).collect()
        }
        Err(_) => vec![json!({"pointer": "/capabilities", "rule": "compiles"})],
    }
}

/// A process names itself in 1 to 64 of `[A-Za-z0-9_-]`.
fn is_instance(instance: &str) -> bool {
    (1..=64).contains(&instance.len())
        && instance.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-')
}

fn digest(capabilities: &[Capability]) -> Result<String, BusError> {
    let value = serde_json::to_value(capabilities).map_err(|fault| BusError::Undecodable(Box::new(fault)))?;
    Ok(aip_crypto::hash(&value))
}
