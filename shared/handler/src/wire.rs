//! The layer below [`Connector`](crate::Connector): typed messages between one connector process and the fleet.
//!
//! For a connector that speaks the protocol of `design.md` §4 itself, and for the SDK. Everything that a process says is bound
//! to its connector's name by the account that it is connected with.

use std::{sync::Arc, time::Duration};

use aip_bus::{
    Backoff, Bus, BusError, Headers, Inbound, Messages,
    subjects::{ConnectorName, control_all, report, work_all},
};
use aip_types::limits;
use bytes::Bytes;
use serde::{Serialize, de::DeserializeOwned};
use tokio::time::{Instant, timeout_at};

pub use crate::presence::Presence;
pub use aip_bus::{
    Inbound as Message,
    subjects::Report,
    work::{
        Attempt, Begin, ChunkReport, Control, Heartbeats, Offer, OfferReply, Outcome, Register, Registered,
        ResultReport, Verdict,
    },
};

/// What came of a report that was repeated until it was decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "a stale attempt must stop"]
pub enum Decided {
    /// `begin`: run. Others: stored.
    Go,
    /// The attempt is overtaken: nothing of it counts.
    Stale,
    /// Nobody decided in time, or nobody understood it.
    Undecided,
}

/// One connector process on the wire. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Wire {
    bus: Bus,
    connector: ConnectorName,
    instance: Arc<str>,
}

impl Wire {
    /// A process with a new random instance id.
    #[must_use]
    pub fn new(bus: Bus, connector: ConnectorName) -> Self {
        Self { bus, connector, instance: aip_bus::nonce().into() }
    }

    /// The connector.
    #[must_use]
    pub fn connector(&self) -> &ConnectorName {
        &self.connector
    }

    /// This process.
    #[must_use]
    pub fn instance(&self) -> &str {
        &self.instance
    }

    /// Offers of work, shared with the other processes of the connector.
    ///
    /// # Errors
    /// [`BusError::Unavailable`].
    pub async fn offers(&self) -> Result<Messages<Inbound>, BusError> {
        self.bus.port().subscribe(&work_all(&self.connector), Some(self.connector.as_str())).await
    }

    /// Control messages; every process of the connector gets all of them.
    ///
    /// # Errors
    /// [`BusError::Unavailable`].
    pub async fn controls(&self) -> Result<Messages<Inbound>, BusError> {
        self.bus.port().subscribe(&control_all(&self.connector), None).await
    }

    /// Answers an offer.
    ///
    /// # Errors
    /// [`BusError::Unavailable`].
    pub async fn answer(&self, offer: &Inbound, reply: &OfferReply) -> Result<(), BusError> {
        let Some(inbox) = &offer.reply else { return Ok(()) };
        self.bus.port().publish(inbox, None, Headers::new(), text(reply)?).await
    }

    /// One request, one answer.
    ///
    /// # Errors
    /// [`BusError::NoResponders`], [`BusError::Unavailable`], [`BusError::Undecodable`].
    pub async fn ask<A: DeserializeOwned>(
        &self,
        about: Report,
        question: &impl Serialize,
        within: Duration,
    ) -> Result<A, BusError> {
        self.ask_text(about, text(question)?, within).await
    }

    /// Repeats a report with backoff until it is decided, at most until `end`. Outages of the server are waited out.
    pub async fn decide(&self, about: Report, question: &impl Serialize, end: Instant) -> Decided {
        let Ok(question) = text(question) else { return Decided::Undecided };
        let asking = async {
            let mut backoff = Backoff::new(u32::MAX);
            loop {
                let asked = aip_service::since_start();
                let within = Duration::from_millis(limits::BUS_TIMEOUT_MS);
                match self.ask_text::<Verdict>(about, question.clone(), within).await {
                    // A process that was stopped finds an old answer first: it is as good as none.
                    Ok(Verdict::Go) if asked.elapsed() > within => {}
                    Ok(Verdict::Go) => return Decided::Go,
                    Ok(Verdict::Stale) => return Decided::Stale,
                    Ok(Verdict::Invalid) => return Decided::Undecided,
                    Ok(Verdict::Later) | Err(_) => {}
                }
                if !backoff.wait().await {
                    return Decided::Undecided;
                }
            }
        };
        timeout_at(end, asking).await.unwrap_or(Decided::Undecided)
    }

    /// Says which attempts are being worked on, in pages. Nobody answers.
    ///
    /// # Errors
    /// [`BusError::Unavailable`].
    pub async fn beat(&self, attempts: &[Attempt]) -> Result<(), BusError> {
        for page in attempts.chunks(HEARTBEAT_PAGE) {
            let subject = report(&self.connector, Report::Heartbeat);
            let beats = text(&Heartbeats { attempts: page.to_vec() })?;
            self.bus.port().publish(&subject, None, Headers::new(), beats).await?;
        }
        Ok(())
    }

    async fn ask_text<A: DeserializeOwned>(
        &self,
        about: Report,
        question: Bytes,
        within: Duration,
    ) -> Result<A, BusError> {
        let subject = report(&self.connector, about);
        let answer = self.bus.port().request(&subject, Headers::new(), question, within).await?;
        serde_json::from_slice(&answer.payload).map_err(|fault| BusError::Undecodable(Box::new(fault)))
    }
}

const HEARTBEAT_PAGE: usize = 1_000;
const _: () = assert!(HEARTBEAT_PAGE as u64 == limits::LIST_PAGE_MAX as u64);

fn text(message: &impl Serialize) -> Result<Bytes, BusError> {
    serde_json::to_vec(message).map(Bytes::from).map_err(|fault| BusError::Undecodable(Box::new(fault)))
}
