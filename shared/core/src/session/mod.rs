//! The session machine (AIP 1.0 §10): what a handshake agrees, and how one state stands for all actions of a session.
//!
//! Start at [`negotiate`], then [`open`], then [`step`]. Why the state never goes back to `active`:
//! `docs/decisions/010-one-session-state.md`.

mod matrix;
mod negotiate;
mod record;
mod rejection;
mod state;
mod step;
mod token;
mod view;

pub use matrix::matrix;
pub use negotiate::{ApprovedRedirect, Boundary, Negotiated, Offer, Place, negotiate};
pub use record::{ActiveAction, Closing, Opening, SessionRecord, Stage, Terms};
pub use rejection::Rejection;
pub use state::{fold, follows};
pub use step::{Trigger, VerifiedRequester, open, step};
pub use token::{PresentedToken, TokenHash, token};
pub use view::view;

/// A step of a session.
pub type Step = crate::Step<SessionRecord>;
