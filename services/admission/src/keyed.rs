//! Idempotency keys: reserved before anything else is written (AIP 1.0 §9.5), adopted when their holder died.

use std::time::Duration;

use aip_bus::{Bus, Loaded, Reserved, Sequence, Source, subjects::RecordKey};
use aip_core::{
    action::ActionRecord,
    idempotency::{self, Hit, Reservation},
};
use aip_types::{ActionId, ErrorCode, ProtocolError, limits};

use crate::action::{Judged, unavailable};

/// What a key says about a request.
pub(crate) enum Keyed {
    /// Write the first entry under this id.
    Write(ActionId),
    /// The key names this record.
    Replay(Box<Loaded<ActionRecord>>),
}

/// The reservations.
#[derive(Clone)]
pub(crate) struct Keys {
    bus: Bus,
}

impl Keys {
    pub(crate) const fn new(bus: Bus) -> Self {
        Self { bus }
    }

    /// Reserves the key for the action. Where it is taken, the record decides; where there is no record, its holder died (or
    /// is slow), and whoever appends first under the reserved id has made the action.
    pub(crate) async fn reserve(&self, judged: &Judged<'_>, hash: &str) -> Result<Keyed, ProtocolError> {
        let wanted =
            Reservation { action_id: judged.action.id.clone(), input_hash: judged.input_hash.clone(), at: judged.at };
        let ttl_ms = judged.offered.capability.contract.as_ref().and_then(|contract| contract.idempotency.ttl_ms);
        let ttl =
            Duration::from_millis(ttl_ms.unwrap_or(limits::KEY_TTL_MS_DEFAULT).clamp(1_000, limits::KEY_TTL_MS_MAX));
        match self.bus.reserve(&judged.tenant, hash, &wanted, ttl).await.map_err(unavailable)? {
            Reserved::New => Ok(Keyed::Write(wanted.action_id)),
            Reserved::Taken { reservation, revision } => self.taken(judged, hash, reservation, revision).await,
        }
    }

    /// The record that a key names already, if there is one. Reserves nothing.
    pub(crate) async fn known(
        &self,
        judged: &Judged<'_>,
        hash: &str,
    ) -> Result<Option<Box<Loaded<ActionRecord>>>, ProtocolError> {
        let found = self.bus.reservation(&judged.tenant, hash).await.map_err(unavailable)?;
        let Some((reservation, revision)) = found else { return Ok(None) };
        match self.taken(judged, hash, reservation, revision).await? {
            Keyed::Replay(record) => Ok(Some(record)),
            Keyed::Write(_) => Ok(None),
        }
    }

    async fn taken(
        &self,
        judged: &Judged<'_>,
        hash: &str,
        reservation: Reservation,
        revision: Sequence,
    ) -> Result<Keyed, ProtocolError> {
        let key = RecordKey::action(judged.tenant.clone(), reservation.action_id.as_str());
        let record = self.bus.load::<ActionRecord>(&key, Source::Leader).await.map_err(unavailable)?;
        let collision = idempotency::collision(&judged.offered.capability);
        let state = record.as_ref().map(|record| &record.entry.state);
        match (idempotency::decide(&reservation, state, hash, &judged.input_hash, collision), record) {
            (Hit::Adopt, _) => Ok(Keyed::Write(reservation.action_id)),
            (Hit::Replay, Some(record)) => Ok(Keyed::Replay(Box::new(record))),
            (Hit::Refuse(code), _) => Err(code.into()),
            (Hit::Foreign | Hit::Replay, _) => {
                self.release(judged, hash, revision).await;
                Err(ErrorCode::ActionIdConflict.into())
            }
        }
    }

    /// A writer under the same key was faster: the same decision as for a taken key, on what it wrote.
    pub(crate) async fn collide(
        &self,
        judged: &Judged<'_>,
        hash: &str,
        record: Box<Loaded<ActionRecord>>,
    ) -> Result<Keyed, ProtocolError> {
        let state = &record.entry.state;
        let reservation =
            Reservation { action_id: state.id.clone(), input_hash: state.input_hash.clone(), at: state.accepted_at };
        match idempotency::decide(
            &reservation,
            Some(state),
            hash,
            &judged.input_hash,
            idempotency::collision(&judged.offered.capability),
        ) {
            Hit::Replay => Ok(Keyed::Replay(record)),
            Hit::Refuse(code) => Err(code.into()),
            Hit::Adopt | Hit::Foreign => Err(ErrorCode::ActionIdConflict.into()),
        }
    }

    /// The id turned out to be somebody else's: the key must not point to it.
    pub(crate) async fn give_up(&self, judged: &Judged<'_>, hash: &str) {
        let wanted =
            Reservation { action_id: judged.action.id.clone(), input_hash: judged.input_hash.clone(), at: judged.at };
        let found = self.bus.reserve(&judged.tenant, hash, &wanted, Duration::from_secs(1)).await;
        if let Ok(Reserved::Taken { reservation, revision }) = found
            && reservation.action_id == judged.action.id
        {
            self.release(judged, hash, revision).await;
        }
    }

    async fn release(&self, judged: &Judged<'_>, hash: &str, revision: Sequence) {
        if let Err(fault) = self.bus.release_reservation(&judged.tenant, hash, revision).await {
            tracing::warn!(%fault, "giving a reservation up");
        }
    }
}
