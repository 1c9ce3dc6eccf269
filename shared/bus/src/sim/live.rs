//! Core messages: subjects, subscriptions, queue groups.

use std::collections::{BTreeMap, VecDeque};

use crate::port::Inbound;

/// Messages that one subscription may hold; the rest is dropped, as a client does.
const CAPACITY: usize = 16_384;

/// Who listens to what.
#[derive(Default)]
pub(super) struct Live {
    listeners: BTreeMap<u64, Listener>,
    made: u64,
    turn: usize,
}

struct Listener {
    filter: String,
    queue: Option<String>,
    waiting: VecDeque<Inbound>,
}

impl Listener {
    fn hand(&mut self, message: &Inbound) {
        if self.waiting.len() < CAPACITY {
            self.waiting.push_back(message.clone());
        } else {
            tracing::error!(filter = %self.filter, "slow consumer");
        }
    }
}

impl Live {
    pub(super) fn subscribe(&mut self, filter: &str, queue: Option<&str>) -> u64 {
        self.made = self.made.saturating_add(1);
        let listener =
            Listener { filter: filter.to_owned(), queue: queue.map(str::to_owned), waiting: VecDeque::new() };
        self.listeners.insert(self.made, listener);
        self.made
    }

    pub(super) fn unsubscribe(&mut self, id: u64) {
        self.listeners.remove(&id);
    }

    pub(super) fn take(&mut self, id: u64) -> Option<Inbound> {
        self.listeners.get_mut(&id)?.waiting.pop_front()
    }

    /// Hands a message to every plain listener and to one of each queue group; the count of those told.
    pub(super) fn deliver(&mut self, message: &Inbound) -> usize {
        let mut groups: BTreeMap<String, Vec<u64>> = BTreeMap::new();
        let mut told = 0_usize;
        for (id, listener) in &mut self.listeners {
            if !matches_subject(&listener.filter, &message.subject) {
                continue;
            }
            match &listener.queue {
                Some(queue) => groups.entry(queue.clone()).or_default().push(*id),
                None => {
                    listener.hand(message);
                    told = told.saturating_add(1);
                }
            }
        }
        for members in groups.values() {
            self.turn = self.turn.wrapping_add(1);
            let chosen = self.turn.checked_rem(members.len()).and_then(|at| members.get(at));
            if let Some(listener) = chosen.and_then(|id| self.listeners.get_mut(id)) {
                listener.hand(message);
                told = told.saturating_add(1);
            }
        }
        told
    }
}

/// Whether a subject lies under a filter: `*` stands for one token, `>` for one or more at the end.
pub(super) fn matches_subject(filter: &str, subject: &str) -> bool {
    let mut tokens = subject.split('.');
    for wanted in filter.split('.') {
        match (wanted, tokens.next()) {
            (_, None) => return false,
            (">", Some(_)) => return true,
            ("*", Some(_)) => {}
            (wanted, Some(token)) if wanted == token => {}
            (_, Some(_)) => return false,
        }
    }
    tokens.next().is_none()
}

#[cfg(test)]
mod tests {
    use super::matches_subject;

    #[test]
    fn wildcards_stand_for_tokens() {
        for (filter, subject, expected) in [
            ("a.b", "a.b", true),
            ("a.b", "a.b.c", false),
            ("a.b.c", "a.b", false),
            ("a.*", "a.b", true),
            ("a.*", "a", false),
            ("a.>", "a", false),
            ("a.>", "a.b.c", true),
            (">", "a", true),
            ("*.*.c", "a.b.c", true),
        ] {
            assert_eq!(matches_subject(filter, subject), expected, "{filter} {subject}");
        }
    }
}
