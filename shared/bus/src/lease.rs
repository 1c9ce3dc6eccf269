//! Leases and fences (`design.md` §4.3): a key with an expiry in `AIP_LEASES`. The fence is the revision of its creation.

use std::time::Duration;

use aip_types::limits;
use serde::{Deserialize, Serialize};

use crate::{
    Append, Backoff, Bus, BusError, Expect, Sequence, Source, nonce,
    subjects::{KV_AIP_LEASES, RecordKey, lease},
    work::Fence,
};

const LEASE: Duration = Duration::from_millis(limits::LEASE_MS);
const TAKE_ATTEMPTS_MAX: usize = 3;

/// A lease as it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lease {
    /// Revision of its creation: larger than every earlier fence of the bucket.
    pub fence: Fence,
    /// Last revision: what a renewal expects.
    pub revision: Sequence,
    /// When it was written last, by the server's clock.
    pub at: aip_types::Millis,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Value {
    /// Random name of the taking; empty once it was given back.
    name: String,
    /// Absent in the value that created the key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    fence: Option<Fence>,
}

impl Bus {
    /// Takes the lease if nobody has it. Taking it proves that every earlier one is over. `None`: somebody holds it.
    ///
    /// # Errors
    /// [`BusError::Unavailable`].
    pub async fn take_lease(&self, key: &RecordKey) -> Result<Option<Fence>, BusError> {
        let mut expected = Sequence::NONE;
        // A key may go, or be given back, between a refusal and the look at it: only one that is held ends the tries at once.
        for _ in 0..TAKE_ATTEMPTS_MAX {
            let taken = self.take_over(key, expected).await?;
            if taken.is_some() {
                return Ok(taken);
            }
            expected = match self.read_lease(key).await? {
                Some((held, current)) if held.name.is_empty() => current.revision,
                Some(_) => return Ok(None),
                None => Sequence::NONE,
            };
        }
        Ok(None)
    }

    async fn take_over(&self, key: &RecordKey, expected: Sequence) -> Result<Option<Fence>, BusError> {
        let value = Value { name: nonce(), fence: None };
        let payload = serde_json::to_vec(&value).map_err(|fault| BusError::Undecodable(Box::new(fault)))?;
        let append = Append::new(lease(key), payload).expecting(Expect::LastOnSubject(expected)).expiring(LEASE);
        let mut backoff = Backoff::new(limits::SAVE_ATTEMPTS_MAX);
        let appended = loop {
            match self.port().append(append.clone()).await {
                // Another write is in flight, or so it seems: the same again tells (`design.md` §2).
                Err(BusError::Busy) if backoff.wait().await => {}
                appended => break appended,
            }
        };
        match appended {
            Ok(sequence) => Ok(Some(Fence(sequence.0))),
            Err(BusError::Conflict) => Ok(None),
            Err(fault @ (BusError::Busy | BusError::Unavailable(_))) => match self.read_lease(key).await? {
                Some((held, lease)) if held.name == value.name => Ok(Some(lease.fence)),
                Some(_) => Ok(None),
                None => Err(fault),
            },
            Err(fault @ (BusError::NoResponders | BusError::Refused { .. } | BusError::Undecodable(_))) => Err(fault),
        }
    }

    /// Gives a lease back under which nothing can run any more, so that the next attempt need not wait for its end.
    ///
    /// # Errors
    /// [`BusError::Unavailable`]: it ends by itself.
    pub async fn give_lease_back(&self, key: &RecordKey, fence: Fence) -> Result<(), BusError> {
        let value = Value { name: String::new(), fence: None };
        let payload = serde_json::to_vec(&value).map_err(|fault| BusError::Undecodable(Box::new(fault)))?;
        let expected = Expect::LastOnSubject(Sequence(fence.0));
        match self
            .port()
            .append(Append::new(lease(key), payload).expecting(expected).expiring(Duration::from_secs(1)))
            .await
        {
            Ok(_) | Err(BusError::Conflict) => Ok(()),
            Err(fault) => Err(fault),
        }
    }

    /// The lease as the leader has it.
    ///
    /// # Errors
    /// [`BusError::Unavailable`].
    pub async fn lease(&self, key: &RecordKey) -> Result<Option<Lease>, BusError> {
        Ok(self.read_lease(key).await?.filter(|(value, _)| !value.name.is_empty()).map(|(_, lease)| lease))
    }

    /// Gives the lease another full time, if it still carries this fence. `false`: it is lost.
    ///
    /// A key that is gone is not lost: only taking it proves a lease over, so whoever still works under it may write it anew
    /// with its old fence. That is how work outlives an outage of the server that is longer than a lease.
    ///
    /// # Errors
    /// [`BusError::Unavailable`].
    pub async fn renew_lease(&self, key: &RecordKey, fence: Fence) -> Result<bool, BusError> {
        let (name, revision) = match self.read_lease(key).await? {
            None => (nonce(), Sequence::NONE),
            Some((held, current)) if current.fence == fence && !held.name.is_empty() => (held.name, current.revision),
            Some(_) => return Ok(false),
        };
        let value = Value { name, fence: Some(fence) };
        let payload = serde_json::to_vec(&value).map_err(|fault| BusError::Undecodable(Box::new(fault)))?;
        let append = Append::new(lease(key), payload).expecting(Expect::LastOnSubject(revision)).expiring(LEASE);
        match self.port().append(append).await {
            Ok(_) => Ok(true),
            // Another renewal of the same lease won, or it ended: the next heartbeat tells.
            Err(BusError::Conflict) => Ok(self.lease(key).await?.is_some_and(|lease| lease.fence == fence)),
            Err(
                fault @ (BusError::Busy
                | BusError::NoResponders
                | BusError::Unavailable(_)
                | BusError::Refused { .. }
                | BusError::Undecodable(_)),
            ) => Err(fault),
        }
    }

    async fn read_lease(&self, key: &RecordKey) -> Result<Option<(Value, Lease)>, BusError> {
        let Some(stored) =
            self.port().last(KV_AIP_LEASES, &lease(key), Source::Leader).await?.filter(|stored| !stored.marker)
        else {
            return Ok(None);
        };
        let value: Value =
            serde_json::from_slice(&stored.payload).map_err(|fault| BusError::Undecodable(Box::new(fault)))?;
        let fence = value.fence.unwrap_or(Fence(stored.sequence.0));
        Ok(Some((value, Lease { fence, revision: stored.sequence, at: stored.at })))
    }
}
