//! A closed loop: so many callers, each asking again once it was answered.

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use aip_service::{Tasks, since_start};
use anyhow::anyhow;
use tokio::time::Instant;

use crate::failure::Failure;

/// How a row is loaded.
#[derive(Clone, Copy, Debug)]
pub(super) struct Load {
    in_flight: u16,
    lasts: Duration,
}

/// What a row showed.
#[derive(Clone, Debug)]
pub(super) struct Measured {
    /// Answers a second.
    pub(super) rate: f64,
    pub(super) p50: Duration,
    pub(super) p99: Duration,
    pub(super) answers: usize,
    /// Calls in all, warm-up included.
    pub(super) calls: u64,
    /// Of each answer.
    took: Vec<Duration>,
    lasted: Duration,
}

impl Measured {
    /// Two slices of one row.
    pub(super) fn and(mut self, other: Self) -> anyhow::Result<Self> {
        self.took.extend(other.took);
        let calls = self.calls.saturating_add(other.calls);
        Ok(Self { calls, ..summary(self.took, self.lasted.saturating_add(other.lasted))? })
    }
}

/// Numbers are never used twice in a process: keys and ids are made of them.
static NEXT: AtomicU64 = AtomicU64::new(1);

/// A number that nobody had.
pub(super) fn fresh() -> u64 {
    NEXT.fetch_add(1, Ordering::Relaxed)
}

impl Load {
    pub(super) fn new(in_flight: u16, lasts: Duration) -> Self {
        Self { in_flight, lasts }
    }

    /// The same for a part of the time.
    pub(super) fn slice(self, parts: u32) -> Self {
        Self { lasts: self.lasts / parts, ..self }
    }

    pub(super) fn in_flight(self) -> u16 {
        self.in_flight
    }

    /// Calls with a fresh number each time. The first call that fails ends the row.
    pub(super) async fn run<C, F>(self, call: C) -> Result<Measured, Failure>
    where
        C: Fn(u64) -> F + Clone + Send + Sync + 'static,
        F: Future<Output = anyhow::Result<()>> + Send,
    {
        let begins = since_start() + self.lasts / 5;
        let ends = begins + self.lasts;
        let tasks = Tasks::default();
        let took = Arc::new(Mutex::new(Ok(Vec::new())));
        let first = NEXT.load(Ordering::Relaxed);
        for _ in 0..self.in_flight {
            let (call, took) = (call.clone(), Arc::clone(&took));
            tasks.spawn(async move {
                let mine = caller(call, begins, ends).await;
                let mut all = took.lock().unwrap_or_else(PoisonError::into_inner);
                match (&mut *all, mine) {
                    (Ok(all), Ok(mine)) => all.extend(mine),
                    (Ok(_), Err(fault)) => *all = Err(fault),
                    (Err(_), Ok(_) | Err(_)) => {}
                }
            });
        }
        tasks.drain(self.lasts * 2 + Duration::from_secs(60)).await;
        let all = std::mem::replace(&mut *took.lock().unwrap_or_else(PoisonError::into_inner), Ok(Vec::new()));
        let calls = NEXT.load(Ordering::Relaxed).saturating_sub(first);
        Ok(Measured { calls, ..summary(all?, self.lasts)? })
    }
}

async fn caller<F: Future<Output = anyhow::Result<()>>>(
    call: impl Fn(u64) -> F,
    begins: Instant,
    ends: Instant,
) -> anyhow::Result<Vec<Duration>> {
    let mut took = Vec::new();
    loop {
        let asked = since_start();
        if asked >= ends {
            return Ok(took);
        }
        call(fresh()).await?;
        let answered = since_start();
        if answered >= begins && answered < ends {
            took.push(answered.duration_since(asked));
        }
    }
}

fn summary(mut took: Vec<Duration>, lasts: Duration) -> anyhow::Result<Measured> {
    took.sort_unstable();
    let at = |per_cent: usize| took.get(took.len().saturating_mul(per_cent) / 100).copied();
    let (Some(p50), Some(p99)) = (at(50), at(99)) else { return Err(anyhow!("no call was answered in time")) };
    let answers = took.len();
    #[expect(clippy::cast_precision_loss, reason = "a rate for people")]
    let rate = answers as f64 / lasts.as_secs_f64();
    Ok(Measured { rate, p50, p99, answers, calls: 0, took, lasted: lasts })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_those_of_all_answers() {
        let took = (1..=100).rev().map(Duration::from_millis).collect();
        let measured = summary(took, Duration::from_secs(2)).unwrap();
        assert_eq!((measured.p50, measured.p99), (Duration::from_millis(51), Duration::from_millis(100)));
        assert!((measured.rate - 50.0).abs() < 1e-9);
        assert!(summary(Vec::new(), Duration::from_secs(1)).is_err());
    }

    #[tokio::test]
    async fn a_failed_call_ends_its_row() {
        let load = Load::new(4, Duration::from_millis(200));
        assert!(load.run(|_| async { Err(anyhow!("no")) }).await.is_err());
        let measured = load
            .run(|_| async {
                tokio::time::sleep(Duration::from_millis(5)).await;
                Ok(())
            })
            .await
            .unwrap();
        assert!(measured.answers > 0 && measured.p50 >= Duration::from_millis(5));
    }
}
