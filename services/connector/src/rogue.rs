//! A connector that breaks its promises, each capability in a way of its own, so that tests see what the fleet does about it.
//!
//! It speaks the wire itself: the SDK would not let it. It beats no heart, so what it never answers loses its lease.

use std::time::Duration;

use aip_handler::{
    ConnectorName, Fence,
    wire::{Attempt, Begin, Decided, Message, Offer, OfferReply, Outcome, Presence, Report, ResultReport, Wire},
};
use aip_types::{Capability, IdempotencyRequirement, RetrySafety, SideEffect};
use futures::StreamExt;
use serde_json::{Value, json};

use crate::contract::{Terms, capability, object, string};

/// How long a report of it is repeated.
const REPORT_WITHIN: Duration = Duration::from_secs(30);

/// A promise to break.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Vice {
    /// Its output violates its own schema.
    InvalidOutput,
    /// It reports `{"answer": "first"}`, then `{"answer": "second"}`.
    Twice,
    /// It reports `{"answer": "stale"}` under an older fence, then `{"answer": "true"}` under its own.
    Stale,
    /// It begins and is never heard of again.
    Silent,
    /// Its process ends in the middle of the work.
    Die,
}

impl Vice {
    const ALL: [Self; 5] = [Self::InvalidOutput, Self::Twice, Self::Stale, Self::Silent, Self::Die];

    const fn id(self) -> &'static str {
        match self {
            Self::InvalidOutput => "cap:rogue:invalid-output",
            Self::Twice => "cap:rogue:twice",
            Self::Stale => "cap:rogue:stale",
            Self::Silent => "cap:rogue:silent",
            Self::Die => "cap:rogue:die",
        }
    }

    const fn description(self) -> &'static str {
        match self {
            Self::InvalidOutput => "Answers what its schema forbids.",
            Self::Twice => "Answers twice, differently.",
            Self::Stale => "Answers with an older fence first.",
            Self::Silent => "Begins and never answers.",
            Self::Die => "Begins and ends its process.",
        }
    }

    fn capability(self) -> Capability {
        capability(Terms {
            id: self.id(),
            name: self.id(),
            description: self.description(),
            input: object(json!({}), &[]),
            output: object(json!({ "answer": string(16) }), &["answer"]),
            effect: SideEffect::Write,
            requirement: IdempotencyRequirement::Optional,
            safety: RetrySafety::Unsafe,
            streams: false,
        })
    }

    async fn work(self, wire: &Wire, attempt: Attempt) {
        match self {
            Self::InvalidOutput => report(wire, &attempt, json!({ "answer": 42 })).await,
            Self::Twice => {
                report(wire, &attempt, json!({ "answer": "first" })).await;
                report(wire, &attempt, json!({ "answer": "second" })).await;
            }
            Self::Stale => {
                let older = Attempt { fence: Fence(attempt.fence.0.saturating_sub(1)), ..attempt.clone() };
                report(wire, &older, json!({ "answer": "stale" })).await;
                report(wire, &attempt, json!({ "answer": "true" })).await;
            }
            Self::Silent => {}
            Self::Die => std::process::exit(86),
        }
    }
}

/// Serves all vices under a name.
pub(crate) async fn serve(name: ConnectorName, ctx: &aip_service::Context) -> anyhow::Result<()> {
    tracing::warn!(connector = %name, "serves capabilities that misbehave on purpose");
    let wire = Wire::new(ctx.bus.clone(), name);
    let mut offers = wire.offers().await?;
    let presence = wire.clone();
    let tasks = ctx.tasks.clone();
    ctx.tasks.spawn_until_drain(async move {
        while let Some(message) = offers.next().await {
            let wire = wire.clone();
            tasks.spawn_until_drain(async move { take(&wire, &message).await });
        }
    });
    drop(Presence::keep(presence, Vice::ALL.map(Vice::capability).to_vec(), &ctx.tasks));
    Ok(())
}

async fn take(wire: &Wire, message: &Message) {
    let Ok(offer) = serde_json::from_slice::<Offer>(&message.payload) else { return };
    let vice = Vice::ALL.into_iter().find(|vice| vice.id() == offer.capability_id);
    let (Some(vice), Some(fence)) = (vice, offer.fence) else {
        return answer(wire, message, OfferReply::Unknown {}).await;
    };
    answer(wire, message, OfferReply::Accepted { instance: wire.instance().to_owned() }).await;
    let attempt = Attempt { tenant: offer.tenant, action: offer.action, fence, instance: wire.instance().to_owned() };
    let end = aip_service::since_start() + REPORT_WITHIN;
    if wire.decide(Report::Begin, &Begin { attempt: attempt.clone() }, end).await == Decided::Go {
        tracing::info!(?vice, action_id = attempt.action, "misbehaves");
        vice.work(wire, attempt).await;
    }
}

async fn answer(wire: &Wire, message: &Message, reply: OfferReply) {
    if let Err(fault) = wire.answer(message, &reply).await {
        tracing::warn!(%fault, "answering an offer");
    }
}

async fn report(wire: &Wire, attempt: &Attempt, output: Value) {
    let report = ResultReport { attempt: attempt.clone(), outcome: Outcome::Completed { output } };
    let decided = wire.decide(Report::Result, &report, aip_service::since_start() + REPORT_WITHIN).await;
    tracing::info!(action_id = attempt.action, fence = attempt.fence.0, ?decided, "reported");
}
