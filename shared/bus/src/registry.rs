//! Which connectors are admitted, and which of their processes live (AIP 1.0 §9.2).

use std::time::Duration;

use aip_types::{Capability, limits};
use bytes::Bytes;
use serde::{Deserialize, Serialize};

use crate::{
    Append, Bus, BusError, Expect, Messages, Sequence, Source, Watched,
    subjects::{ConnectorName, KV_AIP_LIVENESS, KV_AIP_REGISTRY, liveness, liveness_all, registry, registry_all},
};

/// What a connector was admitted with.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Admitted {
    /// Its name.
    pub connector: String,
    /// Digest over its capabilities.
    pub digest: String,
    /// Its capabilities.
    pub capabilities: Vec<Capability>,
}

/// What a living connector process says of itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Living {
    /// Its connector.
    pub connector: String,
    /// Its process.
    pub instance: String,
    /// Digest that it implements.
    pub digest: String,
}

impl Bus {
    /// What a connector is admitted with, and the revision to replace it.
    ///
    /// # Errors
    /// [`BusError::Unavailable`], [`BusError::Undecodable`].
    pub async fn admitted(&self, connector: &ConnectorName) -> Result<(Option<Admitted>, Sequence), BusError> {
        match self.port().last(KV_AIP_REGISTRY, &registry(connector), Source::Leader).await? {
            None => Ok((None, Sequence::NONE)),
            Some(stored) if stored.payload.is_empty() => Ok((None, stored.sequence)),
            Some(stored) => {
                let admitted =
                    serde_json::from_slice(&stored.payload).map_err(|fault| BusError::Undecodable(Box::new(fault)))?;
                Ok((Some(admitted), stored.sequence))
            }
        }
    }

    /// Replaces what a connector is admitted with.
    ///
    /// # Errors
    /// [`BusError::Conflict`], [`BusError::Unavailable`].
    pub async fn admit_connector(
        &self,
        connector: &ConnectorName,
        admitted: &Admitted,
        expected: Sequence,
    ) -> Result<(), BusError> {
        let payload = serde_json::to_vec(admitted).map_err(|fault| BusError::Undecodable(Box::new(fault)))?;
        let append = Append::new(registry(connector), payload).expecting(Expect::LastOnSubject(expected));
        self.port().append(append).await.map(|_| ())
    }

    /// Keeps a process alive for `limits::LIVENESS_TTL_MS`.
    ///
    /// # Errors
    /// [`BusError::Unavailable`].
    pub async fn keep_alive(&self, connector: &ConnectorName, living: &Living) -> Result<(), BusError> {
        let payload = serde_json::to_vec(living).map_err(|fault| BusError::Undecodable(Box::new(fault)))?;
        let ttl = Duration::from_millis(limits::LIVENESS_TTL_MS);
        self.port().append(Append::new(liveness(connector, &living.instance), payload).expiring(ttl)).await.map(|_| ())
    }

    /// Forgets a process that leaves.
    ///
    /// # Errors
    /// [`BusError::Unavailable`].
    pub async fn leave(&self, connector: &ConnectorName, instance: &str) -> Result<(), BusError> {
        let append = Append::new(liveness(connector, instance), Bytes::new()).expiring(Duration::from_secs(1));
        self.port().append(append).await.map(|_| ())
    }

    /// Follows the registry.
    ///
    /// # Errors
    /// [`BusError::Refused`].
    pub async fn watch_registry(&self) -> Result<Messages<Watched>, BusError> {
        self.port().watch(KV_AIP_REGISTRY, &registry_all()).await
    }

    /// Follows the living processes.
    ///
    /// # Errors
    /// [`BusError::Refused`].
    pub async fn watch_liveness(&self) -> Result<Messages<Watched>, BusError> {
        self.port().watch(KV_AIP_LIVENESS, &liveness_all()).await
    }
}
