//! Hosts connectors on the handler SDK: at present the demo connector, and on request the misbehaving `rogue` one.
//!
//! A connector is a process with an account of its own and no JetStream rights. It decides nothing about actions: what runs,
//! and what counts, the fleet decides (`design.md` §4). Start reading at [`serve`].

mod config;
mod contract;
mod demo;
mod notes;
mod rogue;

use anyhow::Context as _;

pub use config::Config;

/// Serves the configured connector until the process drains. The context's user must be the connector's own account.
///
/// # Errors
/// The name cannot be a connector's, or the subjects cannot be subscribed.
pub async fn serve(ctx: aip_service::Context, config: Config) -> anyhow::Result<()> {
    let name =
        aip_handler::ConnectorName::new(config.name()).with_context(|| format!("connector `{}`", config.name()))?;
    if config.rogue {
        return rogue::serve(name, &ctx).await.context("serving the rogue connector");
    }
    let connector = demo::connector(name, &config);
    let served = connector.serve(&ctx.bus, &ctx.tasks).await.context("serving the demo connector")?;
    tracing::info!(connector = config.name(), instance = served.instance(), "takes work");
    Ok(())
}
