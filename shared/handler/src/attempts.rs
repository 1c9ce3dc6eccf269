//! The attempts that this process works on, and those that it must never work on again.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use aip_bus::{
    subjects::id_token,
    work::{Attempt, Fence, StopReason},
};
use tokio::time::Instant;

use crate::stop::Stop;

/// Actions whose last fence is remembered after the attempt ended.
const REMEMBERED_MAX: usize = 8_192;

/// Tenant and action.
type Key = (String, String);

/// What became of an offer.
pub(crate) enum Entered {
    /// Its attempt is new here.
    New(Arc<Stop>),
    /// This process has it, or had it, or has a newer one.
    Known,
}

/// The map from actions to their newest attempt.
#[derive(Debug, Default)]
pub(crate) struct Attempts {
    held: Mutex<Held>,
}

#[derive(Debug, Default)]
struct Held {
    current: HashMap<Key, Current>,
    ended: HashMap<Key, Fence>,
    /// Order of ending, for forgetting. May name an action more than once; then the first mention is void.
    order: VecDeque<(Key, Fence)>,
}

#[derive(Debug)]
struct Current {
    attempt: Attempt,
    stop: Arc<Stop>,
    /// When the lease was last known to be renewed; `None` before `go`, when nothing renews it.
    renewed: Option<Instant>,
    offered: Instant,
}

impl Attempts {
    /// Whether the attempt, or a newer one of its action, is or was here.
    pub(crate) fn knows(&self, attempt: &Attempt) -> bool {
        let key = key(attempt);
        self.lock().newest(&key).is_some_and(|fence| fence >= attempt.fence)
    }

    /// Takes an attempt, once. An older attempt at the same action is told to stop.
    pub(crate) fn enter(&self, attempt: &Attempt, at: Instant) -> Entered {
        let key = key(attempt);
        let mut held = self.lock();
        if held.newest(&key).is_some_and(|fence| fence >= attempt.fence) {
            return Entered::Known;
        }
        let stop = Arc::new(Stop::new());
        let current = Current { attempt: attempt.clone(), stop: Arc::clone(&stop), renewed: None, offered: at };
        if let Some(older) = held.current.insert(key, current) {
            older.stop.signal(StopReason::LeaseLost);
        }
        Entered::New(stop)
    }

    /// The attempt runs from now on: its lease is to be renewed.
    pub(crate) fn begun(&self, attempt: &Attempt) {
        if let Some(current) = self.lock().current.get_mut(&key(attempt))
            && current.attempt.fence == attempt.fence
        {
            current.renewed = Some(current.offered);
        }
    }

    /// The attempt is over. Its fence stays known.
    pub(crate) fn leave(&self, attempt: &Attempt) {
        let key = key(attempt);
        let mut held = self.lock();
        if held.current.get(&key).is_some_and(|current| current.attempt.fence == attempt.fence) {
            held.current.remove(&key);
            held.ended.insert(key.clone(), attempt.fence);
            held.order.push_back((key, attempt.fence));
            held.forget();
        }
    }

    /// Attempts whose lease was renewed this long ago or longer; they count as renewed now.
    pub(crate) fn due(&self, age: Duration, now: Instant) -> Vec<Attempt> {
        let mut held = self.lock();
        let due = held.current.values_mut().filter_map(|current| {
            let renewed = current.renewed?;
            (now.duration_since(renewed) >= age).then(|| {
                current.renewed = Some(now);
                current.attempt.clone()
            })
        });
        due.collect()
    }

    /// Tells an attempt to stop. `token`: the action as a subject names it.
    pub(crate) fn stop(&self, token: &str, fence: Fence, reason: StopReason) {
        for current in self.lock().current.values() {
            if current.attempt.fence == fence && id_token(&current.attempt.action) == token {
                current.stop.signal(reason);
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Held {
    fn newest(&self, key: &Key) -> Option<Fence> {
        let current = self.current.get(key).map(|current| current.attempt.fence);
        current.max(self.ended.get(key).copied())
    }

    fn forget(&mut self) {
        while self.order.len() > REMEMBERED_MAX {
            let Some((key, fence)) = self.order.pop_front() else { return };
            if self.ended.get(&key) == Some(&fence) {
                self.ended.remove(&key);
            }
        }
    }
}

fn key(attempt: &Attempt) -> Key {
    (attempt.tenant.clone(), attempt.action.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attempt(action: &str, fence: u64) -> Attempt {
        Attempt { tenant: "acme".to_owned(), action: action.to_owned(), fence: Fence(fence), instance: "i".to_owned() }
    }

    fn enter(attempts: &Attempts, one: &Attempt) -> Option<Arc<Stop>> {
        match attempts.enter(one, aip_service::since_start()) {
            Entered::New(stop) => Some(stop),
            Entered::Known => None,
        }
    }

    #[test]
    fn an_attempt_enters_once_even_after_its_end() {
        let attempts = Attempts::default();
        assert!(enter(&attempts, &attempt("a", 3)).is_some());
        assert!(enter(&attempts, &attempt("a", 3)).is_none() && enter(&attempts, &attempt("a", 2)).is_none());
        attempts.leave(&attempt("a", 3));
        assert!(enter(&attempts, &attempt("a", 3)).is_none() && attempts.knows(&attempt("a", 3)));
        assert!(enter(&attempts, &attempt("a", 4)).is_some());
    }

    #[test]
    fn a_newer_attempt_stops_the_older_one_and_outlives_it() {
        let attempts = Attempts::default();
        let older = enter(&attempts, &attempt("a", 3)).unwrap();
        let newer = enter(&attempts, &attempt("a", 4)).unwrap();
        assert_eq!((older.reason(), newer.reason()), (Some(StopReason::LeaseLost), None));
        attempts.leave(&attempt("a", 3));
        attempts.stop("a", Fence(4), StopReason::DeadlinePassed);
        assert_eq!(newer.reason(), Some(StopReason::DeadlinePassed));
    }

    #[test]
    fn only_what_runs_is_renewed_and_each_when_it_is_due() {
        let attempts = Attempts::default();
        let at = aip_service::since_start();
        let third = Duration::from_secs(3);
        assert!(matches!(attempts.enter(&attempt("a", 1), at), Entered::New(_)));
        assert!(attempts.due(third, at + third).is_empty());
        attempts.begun(&attempt("a", 1));
        assert!(attempts.due(third, at + third / 2).is_empty());
        assert_eq!(attempts.due(third, at + third), [attempt("a", 1)]);
        assert!(attempts.due(third, at + third).is_empty());
        attempts.leave(&attempt("a", 1));
        assert!(attempts.due(third, at + third * 2).is_empty());
    }

    #[test]
    fn the_memory_of_ended_attempts_is_bounded() {
        let attempts = Attempts::default();
        for number in 0..=REMEMBERED_MAX {
            let one = attempt(&format!("a{number}"), 1);
            assert!(enter(&attempts, &one).is_some());
            attempts.leave(&one);
        }
        assert!(!attempts.knows(&attempt("a0", 1)) && attempts.knows(&attempt("a1", 1)));
        let held = attempts.lock();
        assert_eq!((held.ended.len(), held.order.len()), (REMEMBERED_MAX, REMEMBERED_MAX));
    }
}
