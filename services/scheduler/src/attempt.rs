//! Offering work: a plain read is one offer and one answer; anything else is a lease, an offer, and a wait for `begin`.

use std::time::Duration;

use aip_bus::{
    BusError, Headers, Loaded,
    subjects::{ConnectorName, RecordKey, work},
    work::{Fence, Offer, OfferReply},
};
use aip_core::action::{ActionRecord, Held, Trigger};
use aip_service::{Driven, drive, now, since_start};
use aip_types::{ActionMode, exact, limits};
use serde_json::Value;

use crate::{Scheduler, hold::Next, holdings::Holding};

/// The next try when nobody could take the work.
const NOBODY: Duration = Duration::from_millis(250);

impl Scheduler {
    /// A plain read: its answer is its result, and only the terminal append is written (`design.md` §4.5).
    pub(crate) async fn read(
        &self,
        key: &RecordKey,
        holding: &Holding,
        current: &Loaded<ActionRecord>,
    ) -> Result<Next, BusError> {
        let record = &current.entry.state;
        let left = Duration::from_millis(record.deadline.0.saturating_sub(now().0));
        let snapshot = self.catalogue.now();
        if !snapshot.is_live(&record.connector) {
            return Ok(Next::Later(NOBODY));
        }
        let offer = self.offer(record, None, 0).await?;
        let asked = self.send(record, &offer, left);
        // A process that dies takes its offers along: then the read is offered anew.
        let connector = record.connector.clone();
        let gone = self.catalogue.when(move |later| snapshot.lost_any(later, &connector));
        let reply = tokio::select! {
            reply = asked => reply,
            lost = gone => { lost?; return Ok(Next::Later(NOBODY)); }
            // A read has no effect: who is not waited for need not be heard.
            () = holding.unwanted() => return Ok(Next::Again),
        };
        match reply {
            Ok(OfferReply::Result { outcome, .. }) => {
                let settled = self.settled(record, outcome).await?;
                let trigger = Trigger::Settle { grant: None, settled, chunks_last: None };
                match drive(&self.bus, key, "answer", &trigger, Some(current.clone())).await? {
                    Driven::Saved(saved) => {
                        holding.learn(&saved);
                        self.announce(key, &saved).await?;
                    }
                    Driven::Refused(_, loaded) => holding.learn(&loaded),
                    Driven::Absent => return Err(BusError::unavailable()),
                }
                Ok(Next::Again)
            }
            Ok(OfferReply::Busy { retry_after_ms }) => Ok(Next::Later(Duration::from_millis(retry_after_ms))),
            Ok(OfferReply::Accepted { .. } | OfferReply::Unknown {}) => Ok(Next::Later(NOBODY)),
            Err(fault) if fault.is_passing() => Ok(Next::Later(NOBODY)),
            Err(fault) => Err(fault),
        }
    }

    /// One attempt at anything else. `leased`: a lease that is ours already.
    pub(crate) async fn attempt(
        &self,
        key: &RecordKey,
        holding: &Holding,
        current: &Loaded<ActionRecord>,
        leased: Option<Fence>,
    ) -> Result<Next, BusError> {
        let record = &current.entry.state;
        let live = self.catalogue.now().is_live(&record.connector);
        let fence = match leased {
            Some(fence) => Some(fence),
            None if !live => return Ok(Next::Later(NOBODY)),
            None => {
                let asked = since_start();
                let taken = self.bus.take_lease(key).await?;
                if let Some(fence) = taken {
                    holding.leased(fence, asked);
                }
                taken
            }
        };
        // Somebody else has offered it: whatever they began is watched, and theirs to end.
        let Some(fence) = fence else { return self.watch(key, holding, current).await };
        let chunk_base = if record.attempts == 0 { 0 } else { self.bus.next_chunk(key).await? };
        let offer = self.offer(record, Some(fence), chunk_base).await?;
        let reply = if live {
            self.send(record, &offer, Duration::from_millis(limits::OFFER_TIMEOUT_MS)).await
        } else {
            Err(BusError::NoResponders)
        };
        match reply {
            Ok(OfferReply::Accepted { .. }) | Err(BusError::Unavailable(_)) => self.watch(key, holding, current).await,
            Ok(OfferReply::Busy { retry_after_ms }) => {
                self.give_back(key, fence, Duration::from_millis(retry_after_ms)).await
            }
            Ok(OfferReply::Unknown {} | OfferReply::Result { .. }) | Err(BusError::NoResponders) => {
                self.give_back(key, fence, NOBODY).await
            }
            Err(fault) => Err(fault),
        }
    }

    /// Nobody took the offer, so nothing can begin under it.
    async fn give_back(&self, key: &RecordKey, fence: Fence, delay: Duration) -> Result<Next, BusError> {
        self.bus.give_lease_back(key, fence).await?;
        Ok(Next::Later(delay))
    }

    async fn offer(&self, record: &ActionRecord, fence: Option<Fence>, chunk_base: u64) -> Result<Offer, BusError> {
        let input = match &record.input {
            Some(Held::Inline(value)) => value.clone(),
            Some(held) => self.bus.held(&tenant(record)?, held).await?,
            None => Value::Null,
        };
        Ok(Offer {
            tenant: record.tenant.clone(),
            action: record.id.to_string(),
            fence,
            capability_id: record.capability_id.to_string(),
            input,
            idempotency_key: record.key.as_ref().map(|key| key.value.clone()),
            principal: record.principal.clone(),
            deadline: record.deadline,
            chunk_base,
            streaming: record.mode == ActionMode::Streaming,
        })
    }

    async fn send(&self, record: &ActionRecord, offer: &Offer, within: Duration) -> Result<OfferReply, BusError> {
        let connector =
            ConnectorName::new(&record.connector).map_err(|fault| BusError::Undecodable(Box::new(fault)))?;
        let payload = serde_json::to_vec(offer).map_err(|fault| BusError::Undecodable(Box::new(fault)))?;
        let subject = work(&connector, record.capability_id.as_str());
        let reply = self.front.port().request(&subject, Headers::new(), payload.into(), within).await?;
        exact::read(&reply.payload).map_err(|fault| BusError::Undecodable(Box::new(fault)))
    }
}

/// The record's tenant, as a subject token.
pub(crate) fn tenant(record: &ActionRecord) -> Result<aip_bus::subjects::Tenant, BusError> {
    aip_bus::subjects::Tenant::new(&record.tenant).map_err(|fault| BusError::Undecodable(Box::new(fault)))
}
