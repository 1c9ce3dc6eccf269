//! What the edges share: who asks, how much is read, which owner is asked, and how its answer looks over HTTP.
//!
//! An edge translates and authenticates and decides nothing: what it forwards is what it received, byte for byte, with
//! its word about the sender beside it. It must never hold state of an action. Start reading at [`Edge::forward`].

mod forward;
mod live;
mod media;
mod message;
mod observe;
mod respond;
mod server;

pub mod bearer;
pub mod body;

pub use forward::{Answer, Edge};
pub use live::News;
pub use media::MediaType;
pub use message::Message;
pub use observe::{bounded, observed};
pub use respond::{Refusal, status};
pub use server::serve;
