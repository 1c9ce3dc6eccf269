//! Answering requests: each in a task of its own, received in the fixed order, answered or refused with a typed error.

use std::{future::Future, sync::Arc};

use aip_bus::{
    BusError, Inbound,
    subjects::{Owner, is_foreign, owner_subjects},
};
use aip_schema::Schemas;
use aip_types::{ErrorCategory, ErrorCode, ProtocolError, limits};
use anyhow::Context as _;
use futures::StreamExt;
use tokio::sync::Semaphore;

use crate::{
    audit::Audit,
    context::Context,
    receive::{Receiver, Refused, Request},
    reply::{Answer, Correlation, answer, refusal},
};

impl Context {
    /// Answers the request types of an owner, for ever. What cannot be served at once is refused, not queued in memory.
    ///
    /// # Errors
    /// The subjects cannot be subscribed.
    pub async fn answer_requests<F, A>(&self, owner: Owner, on_request: F) -> anyhow::Result<()>
    where
        F: Fn(Request) -> A + Clone + Send + Sync + 'static,
        A: Future<Output = Result<Answer, ProtocolError>> + Send + 'static,
    {
        let kinds = owner.messages();
        // No message waits for the compiler, and no async thread runs it (AIP 1.0 §22.8).
        let compiled = tokio::task::spawn_blocking(move || Schemas::embedded()?.prepare(kinds));
        compiled.await?.context("compiling the schemas of the wire")?;
        let desk = Desk {
            receiver: Receiver::new(self.bus.clone(), Arc::clone(&self.directory)),
            audit: Audit::new(self.bus.clone(), self.name),
            context: self.clone(),
        };
        let room = Arc::new(Semaphore::new(limits::REQUESTS_IN_FLIGHT_MAX));
        for subject in owner_subjects(&self.peer, &owner.messages()) {
            let bus = if is_foreign(&subject) { &self.front } else { &self.bus };
            let subscribed = bus.port().subscribe(&subject, Some(owner.as_str())).await;
            let mut inbound = subscribed.with_context(|| format!("subscribing {subject}"))?;
            let (desk, room, on_request) = (desk.clone(), Arc::clone(&room), on_request.clone());
            self.tasks.spawn_until_drain(async move {
                while let Some(message) = inbound.next().await {
                    let permit = Arc::clone(&room).try_acquire_owned();
                    let (serving, on_request) = (desk.clone(), on_request.clone());
                    desk.context.tasks.spawn(async move {
                        match permit {
                            Ok(permit) => {
                                serving.serve(&message, on_request).await;
                                drop(permit);
                            }
                            Err(_) => serving.reply(&message, &Correlation::default(), refusal(busy())).await,
                        }
                    });
                }
            });
        }
        Ok(())
    }
}

/// Where requests are taken and answered.
#[derive(Clone, Debug)]
struct Desk {
    receiver: Receiver,
    audit: Audit,
    context: Context,
}

impl Desk {
    async fn serve<F, A>(&self, inbound: &Inbound, on_request: F)
    where
        F: Fn(Request) -> A,
        A: Future<Output = Result<Answer, ProtocolError>>,
    {
        let refused = match self.receiver.receive(inbound).await {
            Ok(request) => {
                let message_type = request.envelope.message_type;
                metrics::counter!("aip_requests_total", "message_type" => message_type.as_str()).increment(1);
                let (correlation, caller) = (request.correlation.clone(), request.caller.shared());
                match on_request(request).await {
                    Ok(done) => return self.reply(inbound, &correlation, done).await,
                    Err(error) => Refused { error, correlation, caller: Some(caller) },
                }
            }
            Err(refused) => refused,
        };
        metrics::counter!("aip_refusals_total", "code" => refused.error.code.clone()).increment(1);
        self.reply(inbound, &refused.correlation, refusal(refused.error.clone())).await;
        if !matches!(refused.error.category, ErrorCategory::Temporary | ErrorCategory::Transport) {
            self.audit.refused(&refused).await;
        }
    }

    async fn reply(&self, inbound: &Inbound, correlation: &Correlation, done: impl Into<Answer>) {
        let mut sent = answer(&self.context.bus, inbound, correlation, done).await;
        if matches!(sent, Err(BusError::Refused { .. })) {
            // It is larger than a message may be: the caller hears of it and does not wait in vain.
            let instead = refusal(ErrorCode::TooLarge.into());
            sent = answer(&self.context.bus, inbound, correlation, instead).await;
        }
        if let Err(fault) = sent {
            tracing::warn!(%fault, "answering");
        }
    }
}

fn busy() -> ProtocolError {
    ProtocolError::from(ErrorCode::RateLimited).with_retry_after_ms(limits::RETRY_AFTER_MS)
}
