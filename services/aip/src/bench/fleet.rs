//! Actions through the edges, as any caller sends them.

use std::{sync::Arc, time::Duration};

use aip_bus::{Headers, Port as _, nats::NatsPort};
use aip_types::{Action, ActionId, CapabilityId};
use anyhow::{Context as _, anyhow};
use bytes::Bytes;
use serde_json::{Value, json};

use super::{names, target::Target};
use crate::{
    client::{Fleet, action_request},
    failure::Failure,
};

const WITHIN: Duration = Duration::from_secs(30);
/// Stands for an id in a template.
const HOLE: &str = "@@";
const COMPLETED: &[u8] = b"\"status\":\"completed\"";

/// What is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Kind {
    /// `cap:demo:echo`
    Read,
    /// `cap:demo:note:append` with a key.
    Mutation,
}

impl Kind {
    pub(super) const ALL: [Self; 2] = [Self::Read, Self::Mutation];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Read => "plain read",
            Self::Mutation => "keyed mutation",
        }
    }

    pub(super) const fn loop_name(self) -> &'static str {
        match self {
            Self::Read => "bare loop, read",
            Self::Mutation => "bare loop, mutation",
        }
    }

    pub(super) const fn capability(self) -> &'static str {
        match self {
            Self::Read => "cap:demo:echo",
            Self::Mutation => "cap:demo:note:append",
        }
    }

    /// The envelope of an action, with holes for its ids. `sent_at` is now.
    fn template(self) -> Result<String, Failure> {
        let text =
            "A note of about a hundred characters, as a caller of a small tool would send: who, what, when, where.";
        let id = ActionId::new(HOLE);
        let mut action = Action::new(id, CapabilityId::new(self.capability()), json!({ "text": text }));
        action.idempotency_key = (self == Self::Mutation).then(|| format!("bench-{HOLE}"));
        let mut envelope = action_request(action)?;
        if let Some(message_id) = envelope.get_mut("message_id") {
            *message_id = Value::from(format!("msg-{HOLE}"));
        }
        Ok(envelope.to_string())
    }
}

/// The envelopes of one row. They carry the time of their making, and a row is shorter than the replay window.
#[derive(Clone, Debug)]
struct Templates {
    read: Arc<str>,
    mutation: Arc<str>,
}

impl Templates {
    fn new() -> Result<Self, Failure> {
        Ok(Self { read: Kind::Read.template()?.into(), mutation: Kind::Mutation.template()?.into() })
    }

    fn fill(&self, kind: Kind, number: u64) -> String {
        let template = match kind {
            Kind::Read => &self.read,
            Kind::Mutation => &self.mutation,
        };
        template.replace(HOLE, &names::id(kind, number))
    }
}

/// Calls through a tenant's NATS user.
#[derive(Clone, Debug)]
pub(super) struct OverNats {
    port: Arc<NatsPort>,
    subject: Arc<str>,
    templates: Templates,
}

impl OverNats {
    pub(super) async fn open(target: &Target) -> Result<Self, Failure> {
        let port = Arc::new(target.as_caller().await?);
        Ok(Self { port, subject: target.subject.as_str().into(), templates: Templates::new()? })
    }

    /// The same for a new row.
    pub(super) fn anew(&self) -> Result<Self, Failure> {
        Ok(Self { templates: Templates::new()?, ..self.clone() })
    }

    pub(super) async fn call(&self, kind: Kind, number: u64) -> anyhow::Result<()> {
        let envelope = Bytes::from(self.templates.fill(kind, number));
        let answer = self.port.request(&self.subject, Headers::new(), envelope, WITHIN).await;
        let answer = answer.with_context(|| format!("asking on {}", self.subject))?;
        if answer.payload.windows(COMPLETED.len()).any(|part| part == COMPLETED) {
            return Ok(());
        }
        Err(anyhow!("the action did not complete: {}", String::from_utf8_lossy(&answer.payload)))
    }
}

/// Calls through the HTTP edge.
#[derive(Clone, Debug)]
pub(super) struct OverHttp {
    fleet: Fleet,
    templates: Templates,
}

impl OverHttp {
    pub(super) fn open(target: &Target) -> Result<Self, Failure> {
        Ok(Self { fleet: Fleet::new(&target.url, Some(&target.token))?, templates: Templates::new()? })
    }

    /// The same for a new row.
    pub(super) fn anew(&self) -> Result<Self, Failure> {
        Ok(Self { templates: Templates::new()?, ..self.clone() })
    }

    pub(super) async fn call(&self, kind: Kind, number: u64) -> anyhow::Result<()> {
        let envelope = self.templates.fill(kind, number);
        let answer = self.fleet.post_text(&["aip", "v1", "actions"], envelope, WITHIN).await;
        let answer = answer.map_err(|failure| anyhow!("calling over HTTP: {failure:?}"))?;
        if answer.body.windows(COMPLETED.len()).any(|part| part == COMPLETED) {
            return Ok(());
        }
        Err(anyhow!("the action did not complete: {}", String::from_utf8_lossy(&answer.body)))
    }
}
