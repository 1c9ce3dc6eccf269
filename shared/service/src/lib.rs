//! The process: settings, telemetry, health, drain, and the two orders that every owner follows (receiving a request,
//! driving a record).
//!
//! It owns how a service starts, what it believes about a caller ([`receive`]) and the order of a step ([`drive`]). It
//! decides nothing about actions and spells no subject. Start reading at [`Context`].

mod audit;
mod catalogue;
mod clock;
mod context;
mod cursors;
mod directory;
mod drive;
mod ops;
mod reply;
mod requests;
mod settings;
mod tasks;
mod telemetry;
mod wait;

pub mod nats_server;
pub mod receive;

pub use catalogue::{Catalogue, Offered, Snapshot};
pub use clock::{now, since_start};
pub use context::{BusArgs, Context, run};
pub use cursors::{CURSOR_TTL, Cursors};
pub use directory::{Directory, Known};
pub use drive::{Driven, drive};
pub use ops::Ops;
pub use reply::{Answer, Correlation, answer, envelope, refusal, transport};
pub use settings::{ConfigFaults, ConnectorSetting, PrincipalSetting, Settings, TenantSetting};
pub use tasks::Tasks;
pub use telemetry::init_telemetry;
pub use wait::wait_settled;

/// Scope of who may read what others of its tenant started.
pub const SCOPE_READ_ANY: &str = "action:read:any";
/// Scope that lets a caller stop actions of others in its tenant.
pub const SCOPE_WRITE_ANY: &str = "action:write:any";
