//! Judges what comes in and creates records. Owns the idempotency, replay, registry and liveness buckets.
//!
//! It must never settle an action or talk to a handler: after its first entry a record belongs to the scheduler. Where is
//! an idempotency key reserved? In [`keyed`]. Start reading at [`serve`].

mod action;
mod cancel;
mod connectors;
mod keyed;
mod manifest;
mod room;
mod waiters;

use aip_bus::subjects::{KV_AIP_IDEMPOTENCY, KV_AIP_LIVENESS, KV_AIP_REGISTRY, KV_AIP_REPLAY, Owner};
use aip_service::{Answer, Context, receive::Request};
use aip_types::{ErrorCode, MessageBody, ProtocolError};

use crate::{action::Actions, connectors::Connectors};

/// What admission reads from outside, beside the bus. Nothing yet.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct Config {}

/// Serves until the context drains.
///
/// # Errors
/// The streams are not there, or the bus cannot be subscribed.
pub async fn serve(ctx: Context, _config: Config) -> anyhow::Result<()> {
    ctx.verify_topology(&[KV_AIP_IDEMPOTENCY, KV_AIP_REPLAY, KV_AIP_REGISTRY, KV_AIP_LIVENESS]).await?;
    let catalogue = ctx.catalogue().await?;
    let actions = Actions::start(&ctx, catalogue.clone()).await?;
    Connectors::start(&ctx, catalogue.clone()).await?;
    let on_request = move |request: Request| {
        let (actions, catalogue) = (actions.clone(), catalogue.clone());
        async move {
            #[expect(
                clippy::wildcard_enum_match_arm,
                reason = "what this owner answers is listed in `aip_bus::subjects::owner`; any other is refused"
            )]
            match &request.envelope.body {
                MessageBody::Action(action) => actions.on_action(&request, action).await,
                MessageBody::Cancel(cancel) => actions.on_cancel(&request, cancel).await,
                MessageBody::ManifestRequest(wanted) => {
                    Ok(Answer::from(manifest::manifest(&catalogue.now(), &request.caller, wanted)))
                }
                _ => Err(ProtocolError::from(ErrorCode::MessageUnsupported)),
            }
        }
    };
    ctx.answer_requests(Owner::Admission, on_request).await
}
