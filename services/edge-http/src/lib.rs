//! The native HTTP binding (AIP 1.0 §20.1): routes, and queries translated to messages.
//!
//! It authenticates tokens, forwards what was posted byte for byte and decides nothing; the owner of the message type does
//! (`aip_bus::subjects::owner`). What other edges need as well stands in `aip-edge`. Start reading at [`serve`].

mod follow;
mod post;
mod query;
mod read;
mod schemas;

use std::net::SocketAddr;

use aip_edge::{Edge, Refusal, body, bounded, observed};
use aip_service::Context;
use aip_types::{ErrorCode, limits};
use anyhow::Context as _;
use axum::{
    Router,
    extract::Request,
    routing::{get, post},
};

/// What edge-http reads from outside, beside the bus.
#[derive(Clone, Debug, clap::Args)]
pub struct Config {
    /// Address of the HTTP binding. Port 0: any free one.
    #[arg(long = "http-listen", env = "AIP_HTTP_LISTEN", default_value = "127.0.0.1:8080")]
    pub listen: SocketAddr,
}

/// Serves until the context drains, and returns the bound address.
///
/// # Errors
/// The address cannot be bound.
pub async fn serve(ctx: Context, config: Config) -> anyhow::Result<SocketAddr> {
    let bound = aip_edge::serve(config.listen, router(&ctx), &ctx.tasks)
        .await
        .with_context(|| format!("binding {} for HTTP", config.listen))?;
    tracing::info!(http = %bound, "listening");
    Ok(bound)
}

fn router(ctx: &Context) -> Router {
    let native = Router::new()
        .route("/aip/v1/messages", post(post::message))
        .route("/aip/v1/actions", post(post::action))
        .route("/aip/v1/manifest", get(read::manifest))
        .route("/aip/v1/actions/{action_id}", get(read::status))
        .route("/aip/v1/actions/{action_id}/cancel", post(post::cancel))
        .route("/aip/v1/actions/{action_id}/result", get(read::result))
        .route("/aip/v1/actions/{action_id}/events", get(read::events))
        .route("/aip/v1/actions/{action_id}/chunks", get(read::chunks))
        .route("/aip/v1/receipts/{chain_id}", get(read::receipts))
        .route("/schemas/aip/", get(schemas::list))
        .route("/schemas/aip/{file}", get(schemas::file))
        .with_state(Edge::new(ctx));
    let all = bounded(native, limits::REQUESTS_IN_FLIGHT_MAX)
        .merge(ctx.ops.router())
        .method_not_allowed_fallback(|request| refuse(ErrorCode::HttpMethodNotAllowed, request))
        .fallback(|request| refuse(ErrorCode::HttpNotFound, request));
    observed(all)
}

async fn refuse(code: ErrorCode, request: Request) -> Refusal {
    let (parts, unwanted) = request.into_parts();
    body::discard(&parts.headers, unwanted).await;
    Refusal::from(code)
}
