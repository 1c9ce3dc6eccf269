//! What may be called now: the admitted connectors, joined with the living ones (AIP 1.0 §9.2).

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use aip_bus::{
    Admitted, Bus, BusError, Living, Stored, Watched,
    subjects::{parse_liveness, parse_registry},
};
use aip_schema::CapabilitySchema;
use aip_types::{Capability, CapabilityId};
use futures::StreamExt;
use tokio::sync::watch;

use crate::tasks::Tasks;

/// A capability as it is offered.
#[derive(Clone, Debug)]
pub struct Offered {
    /// Who serves it.
    pub connector: String,
    /// Its contract.
    pub capability: Capability,
    /// Its input schema, compiled.
    pub input: Arc<CapabilitySchema>,
    /// Its output schema, compiled.
    pub output: Option<Arc<CapabilitySchema>>,
}

/// Everything known at one time.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    offered: BTreeMap<CapabilityId, Arc<Offered>>,
    admitted: HashMap<String, Arc<Admitted>>,
    living: BTreeMap<(String, String), Living>,
    caught: (bool, bool),
}

impl Snapshot {
    /// A capability that is admitted, and whether a handler of it lives.
    #[must_use]
    pub fn find(&self, capability: &CapabilityId) -> Option<(&Arc<Offered>, bool)> {
        let offered = self.offered.get(capability)?;
        Some((offered, self.is_live(&offered.connector)))
    }

    /// Whether any process of the connector lives with the admitted digest.
    #[must_use]
    pub fn is_live(&self, connector: &str) -> bool {
        let Some(admitted) = self.admitted.get(connector) else { return false };
        let first = (connector.to_owned(), String::new());
        self.living
            .range(first..)
            .take_while(|((name, _), _)| name == connector)
            .any(|(_, living)| living.digest == admitted.digest)
    }

    /// Whether this very process lives.
    #[must_use]
    pub fn is_alive(&self, connector: &str, instance: &str) -> bool {
        self.living.contains_key(&(connector.to_owned(), instance.to_owned()))
    }

    /// Whether a process of the connector that lived here is gone in a later snapshot.
    #[must_use]
    pub fn lost_any(&self, later: &Self, connector: &str) -> bool {
        let first = (connector.to_owned(), String::new());
        self.living
            .range(first..)
            .take_while(|((name, _), _)| name == connector)
            .any(|(place, _)| !later.living.contains_key(place))
    }

    /// What a connector is admitted with.
    #[must_use]
    pub fn admitted(&self, connector: &str) -> Option<&Arc<Admitted>> {
        self.admitted.get(connector)
    }

    /// All that can be called now, by capability id.
    pub fn callable(&self) -> impl Iterator<Item = &Arc<Offered>> {
        self.offered.values().filter(|offered| self.is_live(&offered.connector))
    }

    /// Which connector has a capability, alive or not.
    #[must_use]
    pub fn holder(&self, capability: &CapabilityId) -> Option<&str> {
        self.offered.get(capability).map(|offered| offered.connector.as_str())
    }
}

/// Follows registry and liveness for the life of a process.
#[derive(Clone, Debug)]
pub struct Catalogue {
    current: watch::Receiver<Arc<Snapshot>>,
}

impl Catalogue {
    /// Starts to follow. Resolves when everything stored is known.
    ///
    /// # Errors
    /// [`BusError::Refused`] when the buckets do not exist.
    pub async fn follow(bus: &Bus, tasks: &Tasks) -> Result<Self, BusError> {
        let (sender, current) = watch::channel(Arc::new(Snapshot::default()));
        let mut changes = futures::stream::select(
            bus.watch_registry().await?.map(|watched| (Side::Registry, watched)),
            bus.watch_liveness().await?.map(|watched| (Side::Liveness, watched)),
        );
        tasks.spawn_until_drain(async move {
            let mut fresh = Fresh::default();
            while let Some((side, watched)) = changes.next().await {
                let current = Snapshot::clone(&sender.borrow());
                let next = apply(current, side, watched, &mut fresh).await;
                sender.send_replace(Arc::new(next));
            }
            tracing::error!("the catalogue's watch ended");
        });
        let mut ready = current.clone();
        ready.wait_for(|snapshot| snapshot.caught == (true, true)).await.map_err(|_| BusError::unavailable())?;
        Ok(Self { current })
    }

    /// What is known now.
    #[must_use]
    pub fn now(&self) -> Arc<Snapshot> {
        Arc::clone(&self.current.borrow())
    }

    /// Resolves when a condition holds.
    ///
    /// # Errors
    /// [`BusError::Unavailable`] when the process drains.
    pub async fn when(&self, condition: impl Fn(&Snapshot) -> bool) -> Result<(), BusError> {
        let mut current = self.current.clone();
        current.wait_for(|snapshot| condition(snapshot)).await.map(|_| ()).map_err(|_| BusError::unavailable())
    }
}

#[derive(Clone, Copy)]
enum Side {
    Registry,
    Liveness,
}

/// What was seen since a watch (re)started: when it has caught up, anything else is gone.
#[derive(Default)]
struct Fresh {
    connectors: Vec<String>,
    living: Vec<(String, String)>,
}

async fn apply(mut snapshot: Snapshot, side: Side, watched: Watched, fresh: &mut Fresh) -> Snapshot {
    match (side, watched) {
        (Side::Registry, Watched::Change(stored)) => {
            let Some(name) = parse_registry(&stored.subject) else { return snapshot };
            fresh.connectors.push(name.as_str().to_owned());
            admit(&mut snapshot, name.as_str(), &stored).await;
        }
        (Side::Liveness, Watched::Change(stored)) => {
            let Some((name, instance)) = parse_liveness(&stored.subject) else { return snapshot };
            let place = (name.as_str().to_owned(), instance);
            fresh.living.push(place.clone());
            match serde_json::from_slice::<Living>(&stored.payload) {
                Ok(living) if !stored.marker => drop(snapshot.living.insert(place, living)),
                Ok(_) | Err(_) => drop(snapshot.living.remove(&place)),
            }
        }
        (Side::Registry, Watched::Caught) => {
            let seen = std::mem::take(&mut fresh.connectors);
            snapshot.admitted.retain(|name, _| seen.contains(name));
            snapshot.offered.retain(|_, offered| seen.contains(&offered.connector));
            snapshot.caught.0 = true;
        }
        (Side::Liveness, Watched::Caught) => {
            let seen = std::mem::take(&mut fresh.living);
            snapshot.living.retain(|place, _| seen.contains(place));
            snapshot.caught.1 = true;
        }
    }
    snapshot
}

/// Compiles a connector's schemas off the async threads (AIP 1.0 §22.8) and offers all of its capabilities, or none.
async fn admit(snapshot: &mut Snapshot, name: &str, stored: &Stored) {
    let admitted = match serde_json::from_slice::<Admitted>(&stored.payload) {
        Ok(admitted) if !stored.marker => admitted,
        Ok(_) | Err(_) => {
            snapshot.admitted.remove(name);
            snapshot.offered.retain(|_, offered| offered.connector != name);
            return;
        }
    };
    let compiled = tokio::task::spawn_blocking({
        let admitted = admitted.clone();
        move || {
            admitted
                .capabilities
                .iter()
                .map(|capability| offer(&admitted.connector, capability))
                .collect::<Result<Vec<_>, _>>()
        }
    });
    match compiled.await {
        Ok(Ok(offered)) => {
            snapshot.offered.retain(|_, old| old.connector != name);
            snapshot
                .offered
                .extend(offered.into_iter().map(|offered| (offered.capability.id.clone(), Arc::new(offered))));
            snapshot.admitted.insert(name.to_owned(), Arc::new(admitted));
        }
        Ok(Err(fault)) => tracing::error!(connector = name, %fault, "an admitted schema does not compile"),
        Err(fault) => tracing::error!(connector = name, %fault, "compiling schemas"),
    }
}

fn offer(connector: &str, capability: &Capability) -> Result<Offered, aip_schema::SchemaFault> {
    let input = Arc::new(CapabilitySchema::compile(&capability.input_schema)?);
    let output = capability.output_schema.as_ref().map(CapabilitySchema::compile).transpose()?.map(Arc::new);
    Ok(Offered { connector: connector.to_owned(), capability: capability.clone(), input, output })
}
