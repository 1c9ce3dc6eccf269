//! Sends of many tasks in few system calls.
//!
//! The client writes as soon as it is woken, and a runtime wakes it right after each sender: under load every message is a
//! write of its own, a quarter of a scheduler's work. One task here lets all other tasks that can run go first and hands over
//! what they want to send in one go (`docs/performance.md`).

use futures::{FutureExt, StreamExt, future::BoxFuture, stream::FuturesUnordered};
use tokio::sync::{mpsc, oneshot};

use super::wire;
use crate::BusError;

/// Sends that wait for their turn; more wait outside.
const WAITING_MAX: usize = 4_096;

pub(super) type Sending = BoxFuture<'static, ()>;

/// The way out of a connection. Cheap to clone; the last clone ends its task.
#[derive(Clone, Debug)]
pub(super) enum Outgoing {
    /// Each send by itself, as the client comes.
    Alone,
    /// Sends of many tasks together.
    Together(mpsc::Sender<Sending>),
}

impl Outgoing {
    #[expect(
        clippy::disallowed_methods,
        reason = "it ends with its connection, which lies below the tasks of a service"
    )]
    pub(super) fn together() -> Self {
        let (sends, waiting) = mpsc::channel(WAITING_MAX);
        tokio::spawn(pump(waiting));
        Self::Together(sends)
    }

    /// Does a send, and what follows it, as one of many. Dropping the caller ends it.
    ///
    /// # Errors
    /// [`BusError::Unavailable`]: the runtime is ending.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        send: impl Future<Output = T> + Send + 'static,
    ) -> Result<T, BusError> {
        let Self::Together(sends) = self else { return Ok(send.await) };
        let (mut told, done) = oneshot::channel();
        let send = async move {
            tokio::select! {
                biased;
                sent = send => drop(told.send(sent)),
                () = told.closed() => {}
            }
        };
        sends.send(send.boxed()).await.map_err(|_| BusError::unavailable())?;
        done.await.map_err(wire::unavailable)
    }
}

async fn pump(mut waiting: mpsc::Receiver<Sending>) {
    let mut under_way = FuturesUnordered::new();
    loop {
        tokio::select! {
            biased;
            Some(()) = under_way.next(), if !under_way.is_empty() => {}
            first = waiting.recv() => {
                let Some(first) = first else { break };
                // Whoever can run has its turn before anything is written.
                tokio::task::yield_now().await;
                under_way.push(first);
                while let Ok(next) = waiting.try_recv() {
                    under_way.push(next);
                }
            }
        }
    }
    // What is under way still has those who wait for it.
    while under_way.next().await.is_some() {}
}

#[cfg(test)]
mod tests {
    use std::sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    };

    use super::*;

    #[tokio::test]
    async fn what_many_tasks_send_at_once_goes_out_in_one_turn() {
        let outgoing = Outgoing::together();
        // Sends begun in one turn of the pump: none of them has ended when the last one begins.
        let (open, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let sends = (0..20).map(|number| {
            let (outgoing, open, most) = (outgoing.clone(), Arc::clone(&open), Arc::clone(&most));
            async move {
                let send = async move {
                    most.fetch_max(open.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                    tokio::task::yield_now().await;
                    open.fetch_sub(1, Ordering::SeqCst);
                    number
                };
                outgoing.run(send).await.unwrap()
            }
        });
        assert_eq!(futures::future::join_all(sends).await, (0..20).collect::<Vec<_>>());
        assert_eq!(most.load(Ordering::SeqCst), 20);
    }

    #[tokio::test]
    async fn a_caller_that_goes_takes_its_send_along() {
        let outgoing = Outgoing::together();
        let (held, gone) = oneshot::channel::<()>();
        let never = async move {
            std::future::pending::<()>().await;
            drop(held);
        };
        assert!(outgoing.run(never).now_or_never().is_none());
        assert!(gone.await.is_err(), "the send was dropped");
    }
}
