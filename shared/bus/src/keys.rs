//! Idempotency keys, replay claims and values of the object store: write-once facts by compare-and-set.

use std::time::Duration;

use aip_core::{action::Held, idempotency::Reservation};
use aip_types::{
    document::{self, Bounds},
    limits,
};
use bytes::Bytes;
use serde_json::Value;

use crate::{
    Append, Bus, BusError, Expect, Sequence, Source, nonce,
    subjects::{AIP_BLOBS, KV_AIP_IDEMPOTENCY, KV_AIP_REPLAY, Tenant, blob, idempotency, replay},
};

/// How a reservation went.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reserved {
    /// The key was free and is ours.
    New,
    /// It names an action already.
    Taken {
        /// What it names.
        reservation: Reservation,
        /// Its revision.
        revision: Sequence,
    },
}

impl Bus {
    /// Reserves a key for an action, or tells whose it is. One write.
    ///
    /// # Errors
    /// [`BusError::Unavailable`].
    pub async fn reserve(
        &self,
        tenant: &Tenant,
        hash: &str,
        wanted: &Reservation,
        ttl: Duration,
    ) -> Result<Reserved, BusError> {
        let subject = idempotency(tenant, hash);
        let payload = Bytes::from(serde_json::to_vec(wanted).map_err(|fault| BusError::Undecodable(Box::new(fault)))?);
        let mut expected = Sequence::NONE;
        loop {
            let append =
                Append::new(subject.clone(), payload.clone()).expecting(Expect::LastOnSubject(expected)).expiring(ttl);
            let fault = match self.port().append(append).await {
                Ok(_) => return Ok(Reserved::New),
                Err(fault @ (BusError::Conflict | BusError::Busy | BusError::Unavailable(_))) => fault,
                Err(fault @ (BusError::NoResponders | BusError::Refused { .. } | BusError::Undecodable(_))) => {
                    return Err(fault);
                }
            };
            match self.port().last(KV_AIP_IDEMPOTENCY, &subject, Source::Leader).await? {
                // Given up by its last holder: take it over from there.
                Some(stored) if stored.payload.is_empty() && stored.sequence != expected => expected = stored.sequence,
                Some(stored) if !stored.payload.is_empty() => {
                    let reservation = serde_json::from_slice(&stored.payload)
                        .map_err(|fault| BusError::Undecodable(Box::new(fault)))?;
                    return Ok(Reserved::Taken { reservation, revision: stored.sequence });
                }
                None if expected != Sequence::NONE => expected = Sequence::NONE,
                Some(_) | None => return Err(fault),
            }
        }
    }

    /// Who has a key, as the leader knows it. Reserves nothing.
    ///
    /// # Errors
    /// [`BusError::Unavailable`], [`BusError::Undecodable`].
    pub async fn reservation(&self, tenant: &Tenant, hash: &str) -> Result<Option<(Reservation, Sequence)>, BusError> {
        let stored = self.port().last(KV_AIP_IDEMPOTENCY, &idempotency(tenant, hash), Source::Leader).await?;
        match stored {
            Some(stored) if !stored.payload.is_empty() => serde_json::from_slice(&stored.payload)
                .map(|reservation| Some((reservation, stored.sequence)))
                .map_err(|fault| BusError::Undecodable(Box::new(fault))),
            Some(_) | None => Ok(None),
        }
    }

    /// Gives a reservation up, if it is still the one that was read.
    ///
    /// # Errors
    /// [`BusError::Conflict`] when it changed, [`BusError::Unavailable`].
    pub async fn release_reservation(&self, tenant: &Tenant, hash: &str, revision: Sequence) -> Result<(), BusError> {
        let append = Append::new(idempotency(tenant, hash), Bytes::new())
            .expecting(Expect::LastOnSubject(revision))
            .expiring(Duration::from_secs(1));
        self.port().append(append).await.map(|_| ())
    }

    /// Claims a signed message id for the replay window (AIP 1.0 §22.3). `false`: it was claimed before.
    ///
    /// # Errors
    /// [`BusError::Unavailable`].
    pub async fn claim_message(&self, signer: &str, message_id: &str) -> Result<bool, BusError> {
        let subject = replay(signer, message_id);
        let claim = nonce();
        let ttl = Duration::from_millis(limits::REPLAY_CLAIM_MS);
        let append =
            Append::new(subject.clone(), claim.clone()).expecting(Expect::LastOnSubject(Sequence::NONE)).expiring(ttl);
        match self.port().append(append).await {
            Ok(_) => Ok(true),
            Err(BusError::Conflict) => Ok(false),
            // `Busy` can be a false alarm (`design.md` §2): only what is stored tells.
            Err(fault @ (BusError::Busy | BusError::Unavailable(_))) => {
                match self.port().last(KV_AIP_REPLAY, &subject, Source::Leader).await? {
                    Some(stored) => Ok(stored.payload == claim),
                    None => Err(fault),
                }
            }
            Err(fault @ (BusError::NoResponders | BusError::Refused { .. } | BusError::Undecodable(_))) => Err(fault),
        }
    }

    /// Keeps a value: small ones as they are, larger ones in the object store under their hash.
    ///
    /// # Errors
    /// [`BusError::Unavailable`].
    pub async fn hold(&self, tenant: &Tenant, value: Value) -> Result<Held, BusError> {
        let text = serde_json::to_vec(&value).map_err(|fault| BusError::Undecodable(Box::new(fault)))?;
        if text.len() <= limits::RECORD_INLINE_BYTES_MAX {
            return Ok(Held::Inline(value));
        }
        let sha256 = crate::sha256_hex(&text);
        let bytes = u64::try_from(text.len()).unwrap_or(u64::MAX);
        let append = Append::new(blob(tenant, &sha256), text).expecting(Expect::LastOnSubject(Sequence::NONE));
        match self.port().append(append).await {
            Ok(_) | Err(BusError::Conflict) => Ok(Held::Blob { sha256, bytes }),
            Err(fault) => Err(fault),
        }
    }

    /// The value, from where it is kept.
    ///
    /// # Errors
    /// [`BusError::Unavailable`]; [`BusError::Undecodable`] when what lies there is not what was kept.
    pub async fn held(&self, tenant: &Tenant, held: &Held) -> Result<Value, BusError> {
        let Held::Blob { sha256, .. } = held else {
            let Held::Inline(value) = held else { return Ok(Value::Null) };
            return Ok(value.clone());
        };
        let subject = blob(tenant, sha256);
        let nearest = self.port().last(AIP_BLOBS, &subject, Source::Nearest).await?;
        let stored = match nearest {
            Some(stored) => stored,
            None => self.port().last(AIP_BLOBS, &subject, Source::Leader).await?.ok_or_else(BusError::unavailable)?,
        };
        if crate::sha256_hex(&stored.payload) != *sha256 {
            return Err(BusError::Undecodable("the stored value has another hash".into()));
        }
        document::parse(&stored.payload, Bounds::STORED).map_err(|fault| BusError::Undecodable(Box::new(fault)))
    }
}
