//! The wire of the HTTP edge, both sides of it: a plain HTTP client here, an owner on the canonical subject there.
#![expect(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, unreachable_pub, reason = "tests")]

mod answers;
mod client;
mod refusals;
mod schemas;

use std::{
    net::SocketAddr,
    sync::{Arc, Mutex},
};

use aip_bus::{Bus, Inbound};
use aip_edge_http::{Config, serve};
use aip_service::{Context, Correlation, Cursors, Directory, Ops, Settings, Tasks, answer};
use aip_testkit::Nats;
use aip_types::{MessageBody, MessageId, MessageType};
use client::{Answer, Client};
use futures::StreamExt;

/// The token of `service:billing`; its SHA-256 stands in the settings.
const TOKEN: (&str, &str) = ("authorization", "Bearer secret");
const AIP: (&str, &str) = ("content-type", "application/aip+json");

const SETTINGS: &str = r#"
    trust_domain = "example.org"
    service = "fleet"
    version = "v1"
    [[tenants]]
    id = "acme"
    [[principals]]
    id = "service:billing"
    kind = "service"
    tenant = "acme"
    token_sha256 = ["2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b"]
"#;

/// An edge over a server of its own.
struct Rig {
    nats: Nats,
    ctx: Context,
    address: SocketAddr,
}

impl Rig {
    async fn start() -> Self {
        let nats = Nats::start().await;
        let settings = Settings::parse(SETTINGS).unwrap();
        let ctx = Context {
            name: "edge-http",
            bus: Bus::new(Arc::new(nats.port().await)),
            front: Bus::new(Arc::new(nats.port().await)),
            peer: settings.peer().unwrap(),
            directory: Arc::new(Directory::new(&settings).unwrap()),
            tasks: Tasks::default(),
            cursors: Cursors::of(aip_bus::nats::Seed::None).await.unwrap(),
            ops: Ops::default(),
        };
        let address = serve(ctx.clone(), Config { listen: "127.0.0.1:0".parse().unwrap() }).await.unwrap();
        Self { nats, ctx, address }
    }

    /// An owner of a message type that gives one answer to everything, and keeps what it was asked.
    async fn owner(&self, message_type: MessageType, body: MessageBody) -> Owner {
        let bus = Bus::new(Arc::new(self.nats.port().await));
        let asked = Arc::new(Mutex::new(Vec::new()));
        let subject = self.ctx.peer.subject(message_type);
        let mut inbound = bus.port().subscribe(&subject, Some("owner")).await.unwrap();
        // A round trip on the same connection: the server has the subscription when it is back.
        drop(bus.port().request("nobody.there", Default::default(), Default::default(), WITHIN).await);
        let kept = Arc::clone(&asked);
        self.ctx.tasks.spawn_until_drain(async move {
            while let Some(message) = inbound.next().await {
                kept.lock().unwrap().push(message.clone());
                let correlation =
                    Correlation { message_id: Some(MessageId::new("msg_request")), ..Correlation::default() };
                answer(&bus, &message, &correlation, body.clone()).await.unwrap();
            }
        });
        Owner { asked }
    }

    async fn client(&self) -> Client {
        Client::connect(self.address).await
    }

    async fn get(&self, target: &str, headers: &[(&str, &str)]) -> Answer {
        self.client().await.send("GET", target, headers, b"").await
    }

    async fn post(&self, target: &str, headers: &[(&str, &str)], body: &str) -> Answer {
        self.client().await.send("POST", target, headers, body.as_bytes()).await
    }
}

const WITHIN: std::time::Duration = std::time::Duration::from_secs(10);

/// What an owner was asked.
struct Owner {
    asked: Arc<Mutex<Vec<Inbound>>>,
}

impl Owner {
    fn count(&self) -> usize {
        self.asked.lock().unwrap().len()
    }

    fn only(&self) -> Inbound {
        let asked = self.asked.lock().unwrap();
        assert_eq!(asked.len(), 1);
        asked[0].clone()
    }
}

/// An action's envelope as a person might write it: spaces, odd numbers, members in any order.
fn action(more: &str) -> String {
    format!(
        r#"{{ "message_type": "aip.core.v1.action", "aip_version": "1.0", "message_id": "msg_1", "correlation_id": "corr_1",
  "sent_at": "2026-01-01T00:00:00Z", "body": {{ "action": {{ "id": "act_1", "capability_id": "cap:demo:echo", "input": {{"n": 1.50e2}}{more} }} }} }}"#
    )
}
