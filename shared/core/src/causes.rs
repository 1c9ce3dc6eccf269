//! The last messages that moved a record. A caller's message that is among them has been applied already.

use aip_types::{MessageId, limits};
use alloc::vec::Vec;
use serde::{Deserialize, Serialize};

/// Message ids of callers, newest last; at most `limits::CAUSES_LEN_MAX`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Causes(Vec<MessageId>);

impl Causes {
    /// Begins with the message that made the record.
    pub(crate) fn of(first: MessageId) -> Self {
        Self(alloc::vec![first])
    }

    /// Whether this message has been applied.
    #[must_use]
    pub fn has(&self, message: &MessageId) -> bool {
        self.0.contains(message)
    }

    /// Adds a message; the oldest is forgotten where there is no room.
    pub(crate) fn push(&mut self, message: MessageId) {
        push_bounded(&mut self.0, message, limits::CAUSES_LEN_MAX);
    }
}

/// Adds to a list that keeps its last `len_max` entries.
pub(crate) fn push_bounded<T>(list: &mut Vec<T>, entry: T, len_max: usize) {
    list.push(entry);
    let over = list.len().saturating_sub(len_max);
    list.drain(..over);
}
