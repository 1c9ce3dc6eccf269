//! Being there: register until admitted, say so as long as the process lives, say goodbye.

use std::time::Duration;

use aip_bus::{
    Backoff,
    subjects::Report,
    work::{Alive, Noted, Register, Registered},
};
use aip_service::Tasks;
use aip_types::{Capability, limits};
use tokio::sync::watch;

use crate::wire::Wire;

const REGISTER_WITHIN: Duration = Duration::from_secs(5);
/// A refused manifest changes with a new version of the connector or of the fleet's settings: no hurry.
const REJECTED_WAIT: Duration = Duration::from_secs(10);
const ALIVE_WITHIN: Duration = Duration::from_millis(limits::ALIVE_EVERY_MS);
const ALIVE_AGAIN: Duration = Duration::from_millis(limits::ALIVE_EVERY_MS / 5);
const LEAVE_WITHIN: Duration = Duration::from_millis(500);
const LEAVE_TRIES: usize = 3;

/// The presence of one connector process, kept by a task until the process drains.
#[derive(Clone, Debug)]
pub struct Presence {
    admitted: watch::Receiver<Option<String>>,
}

impl Presence {
    /// Registers, keeps the process alive, registers anew when asked, and leaves on drain.
    #[must_use]
    pub fn keep(wire: Wire, capabilities: Vec<Capability>, tasks: &Tasks) -> Self {
        let (digest, admitted) = watch::channel(None);
        let register = Register { instance: wire.instance().to_owned(), capabilities };
        let draining = tasks.clone();
        tasks.spawn(async move {
            let living = live(&wire, &register, &digest);
            tokio::select! {
                () = living => {}
                () = draining.draining() => {}
            }
            let known = digest.borrow().clone();
            if let Some(digest) = known {
                leave(&wire, digest).await;
            }
        });
        Self { admitted }
    }

    /// Resolves with the digest of the admitted set when the connector is visible.
    pub async fn admitted(&self) -> Option<String> {
        let mut admitted = self.admitted.clone();
        admitted.wait_for(Option::is_some).await.ok().and_then(|digest| digest.clone())
    }
}

async fn live(wire: &Wire, register: &Register, digest: &watch::Sender<Option<String>>) {
    loop {
        let (admitted, every) = admit(wire, register).await;
        tracing::info!(connector = %wire.connector(), instance = wire.instance(), digest = admitted, "admitted");
        digest.send_replace(Some(admitted.clone()));
        beat_until_forgotten(wire, admitted, every).await;
        tracing::info!(connector = %wire.connector(), instance = wire.instance(), "asked to register anew");
        digest.send_replace(None);
    }
}

async fn admit(wire: &Wire, register: &Register) -> (String, Duration) {
    let mut backoff = Backoff::new(u32::MAX);
    loop {
        match wire.ask(Report::Register, register, REGISTER_WITHIN).await {
            Ok(Registered::Admitted { digest, alive_every_ms }) => {
                // Never a tight loop, and never so slow that the own word expires.
                let every = alive_every_ms.clamp(50, limits::LIVENESS_TTL_MS / 2);
                return (digest, Duration::from_millis(every));
            }
            Ok(Registered::Rejected { error }) => {
                let details = error.details.map(|details| details.to_string());
                tracing::error!(connector = %wire.connector(), code = error.code, details, "the manifest is refused");
                tokio::time::sleep(REJECTED_WAIT).await;
            }
            Err(fault) => {
                tracing::debug!(connector = %wire.connector(), %fault, "registering");
                backoff.wait().await;
            }
        }
    }
}

async fn beat_until_forgotten(wire: &Wire, digest: String, every: Duration) {
    let alive = Alive { instance: wire.instance().to_owned(), digest, leaving: false };
    let mut wait = every;
    loop {
        tokio::time::sleep(wait).await;
        wait = match wire.ask(Report::Alive, &alive, ALIVE_WITHIN).await {
            Ok(Noted::Kept) => every,
            Ok(Noted::Register) => return,
            Err(fault) => {
                tracing::debug!(connector = %wire.connector(), %fault, "alive");
                every.min(ALIVE_AGAIN)
            }
        };
    }
}

async fn leave(wire: &Wire, digest: String) {
    let goodbye = Alive { instance: wire.instance().to_owned(), digest, leaving: true };
    for _ in 0..LEAVE_TRIES {
        match wire.ask::<Noted>(Report::Alive, &goodbye, LEAVE_WITHIN).await {
            Ok(Noted::Kept | Noted::Register) => return,
            Err(fault) => tracing::debug!(connector = %wire.connector(), %fault, "leaving"),
        }
        tokio::time::sleep(ALIVE_AGAIN / 2).await;
    }
}
