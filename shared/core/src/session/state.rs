//! The states of AIP 1.0 §10.3 and how many actions fold into one of them.

use aip_types::SessionState;

use super::record::Stage;

/// Whether AIP 1.0 §10.3 has an edge `from` → `to`. Any transition that it does not show is invalid.
#[must_use]
pub const fn follows(from: SessionState, to: SessionState) -> bool {
    use SessionState::{
        Active, Cancelled, Completed, Failed, New, Processing, Queued, Settled, Streaming, WaitingForHuman,
    };
    match from {
        New => matches!(to, Active),
        Active => matches!(to, Queued | Processing | Cancelled),
        Queued => matches!(to, Processing | Cancelled | Failed),
        Processing => matches!(to, Streaming | WaitingForHuman | Completed | Failed | Cancelled),
        Streaming => matches!(to, WaitingForHuman | Completed | Failed | Cancelled),
        WaitingForHuman => matches!(to, Processing | Completed | Failed | Cancelled),
        Completed | Failed | Cancelled => matches!(to, Settled),
        Settled => false,
    }
}

/// The state of a session whose actions are at these stages: the liveliest of them, where one edge leads there, else the
/// state that it has. So it stays as it is between two actions, and while there is no edge to what they are.
#[must_use]
pub fn fold(from: SessionState, stages: impl IntoIterator<Item = Stage>) -> SessionState {
    let together = match stages.into_iter().max() {
        None => from,
        Some(Stage::WaitingForHuman) => SessionState::WaitingForHuman,
        Some(Stage::Queued) => SessionState::Queued,
        Some(Stage::Processing) => SessionState::Processing,
        Some(Stage::Streaming) => SessionState::Streaming,
    };
    if follows(from, together) { together } else { from }
}
