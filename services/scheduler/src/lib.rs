//! Moves actions after their first entry: leases, offers, begins, chunks, settlements, and the reads of what it owns.
//!
//! A lane message stays unacknowledged while its action is at work: it is the watchdog (`design.md` §4). This service must
//! never create an action, and never let a handler run before its `started` is stored. Start reading at [`hold`].

mod attempt;
mod hold;
mod holdings;
mod lanes;
mod reads;
mod reports;
mod settle;

use aip_bus::{
    Bus,
    subjects::{AIP_CHUNKS, AIP_JOURNAL, AIP_TRIGGERS, KV_AIP_LEASES, Owner},
};
use aip_service::{Catalogue, Context, Cursors, Tasks, receive::Request};
use aip_types::{ErrorCode, MessageBody, ProtocolError};

use crate::holdings::Holdings;

/// What the scheduler reads from outside, beside the bus.
#[derive(Clone, Debug, clap::Args)]
pub struct Config {
    /// Actions at work in this process: the bound of its memory.
    #[arg(long, env = "AIP_SCHEDULER_IN_FLIGHT_MAX", default_value_t = aip_types::limits::IN_FLIGHT_MAX)]
    pub in_flight_max: usize,
}

/// What every part of the service needs.
#[derive(Clone)]
pub(crate) struct Scheduler {
    pub(crate) bus: Bus,
    /// Where connectors are spoken to.
    pub(crate) front: Bus,
    pub(crate) catalogue: Catalogue,
    pub(crate) holdings: Holdings,
    pub(crate) cursors: Cursors,
    pub(crate) tasks: Tasks,
}

/// Serves until the context drains.
///
/// # Errors
/// The streams are not there, or the bus cannot be subscribed.
pub async fn serve(ctx: Context, config: Config) -> anyhow::Result<()> {
    ctx.verify_topology(&[AIP_JOURNAL, AIP_CHUNKS, AIP_TRIGGERS, KV_AIP_LEASES]).await?;
    let catalogue = ctx.catalogue().await?;
    let holdings = Holdings::default();
    let scheduler = Scheduler {
        bus: ctx.bus.clone(),
        front: ctx.front.clone(),
        catalogue,
        holdings,
        cursors: ctx.cursors.clone(),
        tasks: ctx.tasks.clone(),
    };
    scheduler.follow_settlements().await?;
    scheduler.answer_reports(&ctx).await?;
    let reader = scheduler.clone();
    ctx.answer_requests(Owner::Scheduler, move |request: Request| {
        let reader = reader.clone();
        async move {
            #[expect(
                clippy::wildcard_enum_match_arm,
                reason = "what this owner answers is listed in `aip_bus::subjects::owner`; any other is refused"
            )]
            let body = match &request.envelope.body {
                MessageBody::ActionStatusRequest(wanted) => reader.on_status(&request.caller, wanted).await,
                MessageBody::ActionResultRequest(wanted) => reader.on_result(&request.caller, wanted).await,
                MessageBody::ActionEventsRequest(wanted) => reader.on_events(&request.caller, wanted).await,
                MessageBody::ReceiptQueryRequest(wanted) => reader.on_receipts(&request.caller, wanted).await,
                _ => Err(ProtocolError::from(ErrorCode::MessageUnsupported)),
            };
            body.map(aip_service::Answer::from)
        }
    })
    .await?;
    scheduler.pull_lanes(config.in_flight_max).await
}
