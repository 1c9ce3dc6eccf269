//! The SDK of connector authors: implement [`Handler`], put it into a [`Connector`], serve.
//!
//! It owns a connector's side of `design.md` §4: presence, offers, `begin`, heartbeats, chunks, results repeated until they
//! are stored. It never runs a mutation before the fleet said go, never runs one attempt twice in a process, and has no
//! JetStream rights: it speaks core NATS only. It knows nothing of records and states. Start reading at [`Connector::serve`];
//! [`wire`] is the layer below, for a connector that speaks the protocol itself.
//!
//! ```
//! use aip_handler::{Connector, ConnectorName, Failure, Handler, Work};
//! use serde_json::Value;
//!
//! struct Echo;
//!
//! #[async_trait::async_trait]
//! impl Handler for Echo {
//!     async fn call(&self, work: &Work) -> Result<Value, Failure> {
//!         Ok(work.input.clone())
//!     }
//! }
//!
//! async fn serve(
//!     echo: aip_types::Capability,
//!     ctx: aip_service::Context, // connected as the user of the connector's own account
//! ) -> Result<(), Box<dyn std::error::Error>> {
//!     let served = Connector::new(ConnectorName::new("echo")?).capability(echo, Echo).serve(&ctx.bus, &ctx.tasks).await?;
//!     served.admitted().await;
//!     Ok(())
//! }
//! ```

mod attempts;
mod beats;
mod chunks;
mod connector;
mod failure;
mod presence;
mod run;
mod stop;
mod work;

pub mod wire;

pub use aip_bus::{
    BusError,
    subjects::{BadToken, ConnectorName},
    work::{Fence, StopReason},
};
pub use connector::{Connector, ServeFault, Served};
pub use failure::{ChunkFault, Failure, OUTCOME_BYTES_MAX};
pub use work::{Handler, Work};
