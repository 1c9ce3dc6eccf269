//! A connector: its capabilities, its handlers, and the loop that takes offers.

use std::{
    collections::{BTreeMap, btree_map},
    num::NonZeroUsize,
    sync::Arc,
    time::Duration,
};

use aip_bus::{Bus, BusError, Inbound, Messages, subjects::ConnectorName, work::Control};
use aip_service::Tasks;
use aip_types::{Capability, CapabilityId, SideEffect};
use futures::StreamExt;
use tokio::sync::Semaphore;
use tokio_util::task::TaskTracker;

use crate::{
    attempts::Attempts,
    beats,
    run::Running,
    wire::{Presence, Wire},
    work::Handler,
};

/// Calls in work in one process unless told otherwise.
const IN_FLIGHT_DEFAULT: usize = 256;
/// How long a leaving process answers offers that are already on their way.
const LEAVE_GRACE: Duration = Duration::from_millis(300);

/// A capability and its implementation.
pub(crate) struct Implementation {
    pub(crate) handler: Arc<dyn Handler>,
    /// The contract declares nothing but reads.
    pub(crate) read_only: bool,
}

/// A set of capabilities with their handlers, served under one name.
pub struct Connector {
    name: ConnectorName,
    capabilities: Vec<Capability>,
    handlers: BTreeMap<CapabilityId, Implementation>,
    twice: Option<CapabilityId>,
    in_flight_max: usize,
}

/// Why a connector cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum ServeFault {
    /// Two handlers for one capability.
    #[error("the capability {0} has two handlers")]
    Twice(CapabilityId),
    /// No capability at all.
    #[error("the connector has no capability")]
    Empty,
    /// The subjects cannot be subscribed.
    #[error("the subjects cannot be subscribed")]
    Bus(#[from] BusError),
}

/// A connector at work. It ends with its tasks; dropping this ends nothing.
#[derive(Clone, Debug)]
pub struct Served {
    presence: Presence,
    wire: Wire,
}

impl Served {
    /// This process, as it names itself.
    #[must_use]
    pub fn instance(&self) -> &str {
        self.wire.instance()
    }

    /// Resolves with the digest of the admitted set when the capabilities are visible; `None` when the process drains first.
    pub async fn admitted(&self) -> Option<String> {
        self.presence.admitted().await
    }
}

impl Connector {
    /// A connector without capabilities.
    #[must_use]
    pub fn new(name: ConnectorName) -> Self {
        Self {
            name,
            capabilities: Vec::new(),
            handlers: BTreeMap::new(),
            twice: None,
            in_flight_max: IN_FLIGHT_DEFAULT,
        }
    }

    /// Adds a capability and what does its work.
    #[must_use]
    pub fn capability(mut self, capability: Capability, handler: impl Handler) -> Self {
        let read_only = capability.contract.as_ref().is_some_and(|contract| {
            !contract.side_effects.is_empty() && contract.side_effects.iter().all(|effect| *effect == SideEffect::Read)
        });
        match self.handlers.entry(capability.id.clone()) {
            btree_map::Entry::Vacant(free) => {
                free.insert(Implementation { handler: Arc::new(handler), read_only });
                self.capabilities.push(capability);
            }
            btree_map::Entry::Occupied(taken) => self.twice = Some(taken.key().clone()),
        }
        self
    }

    /// Bounds the calls in work in this process; further offers are answered `busy`. Default 256.
    #[must_use]
    pub fn in_flight_max(mut self, calls: NonZeroUsize) -> Self {
        self.in_flight_max = calls.get();
        self
    }

    /// Subscribes, registers and works until the tasks drain. Returns when offers can be taken; admission comes by itself.
    ///
    /// # Errors
    /// [`ServeFault`].
    pub async fn serve(self, bus: &Bus, tasks: &Tasks) -> Result<Served, ServeFault> {
        if let Some(id) = self.twice {
            return Err(ServeFault::Twice(id));
        }
        if self.capabilities.is_empty() {
            return Err(ServeFault::Empty);
        }
        let wire = Wire::new(bus.clone(), self.name);
        let controls = wire.controls().await?;
        let offers = wire.offers().await?;
        let running = Arc::new(Running {
            wire: wire.clone(),
            handlers: self.handlers,
            attempts: Arc::new(Attempts::default()),
            room: Arc::new(Semaphore::new(self.in_flight_max.min(Semaphore::MAX_PERMITS))),
            tasks: tasks.clone(),
            at_work: TaskTracker::new(),
        });
        spawn_until_idle(&running, beats::keep(wire.clone(), Arc::clone(&running.attempts)));
        spawn_until_idle(&running, control(controls, Arc::clone(&running.attempts)));
        tasks.spawn(take(offers, Arc::clone(&running)));
        let presence = Presence::keep(wire.clone(), self.capabilities, tasks);
        Ok(Served { presence, wire })
    }
}

impl std::fmt::Debug for Connector {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Connector")
            .field("name", &self.name)
            .field("capabilities", &self.handlers.keys())
            .finish_non_exhaustive()
    }
}

/// Runs something as long as calls may be in work: a draining process still renews what it finishes.
fn spawn_until_idle(running: &Arc<Running>, task: impl Future<Output = ()> + Send + 'static) {
    let (tasks, at_work) = (running.tasks.clone(), running.at_work.clone());
    running.tasks.spawn(async move {
        let idle = async {
            tasks.draining().await;
            at_work.wait().await;
        };
        tokio::select! {
            () = task => {}
            () = idle => {}
        }
    });
}

/// Takes offers until the process drains, then refuses those that are still on their way.
async fn take(mut offers: Messages<Inbound>, running: Arc<Running>) {
    let taking = async {
        while let Some(offer) = offers.next().await {
            running.take(offer).await;
        }
        tracing::error!(connector = %running.wire.connector(), "the subscription of offers ended");
    };
    let tasks = running.tasks.clone();
    tokio::select! {
        () = taking => {}
        () = tasks.draining() => {}
    }
    running.at_work.close();
    let refusing = async {
        while let Some(offer) = offers.next().await {
            running.refuse(&offer).await;
        }
    };
    if tokio::time::timeout(LEAVE_GRACE, refusing).await.is_err() {
        tracing::debug!(connector = %running.wire.connector(), "no more offers are taken");
    }
}

async fn control(mut controls: Messages<Inbound>, attempts: Arc<Attempts>) {
    while let Some(message) = controls.next().await {
        let token = message.subject.rsplit('.').next().unwrap_or_default();
        match serde_json::from_slice::<Control>(&message.payload) {
            Ok(Control { fence, reason }) => attempts.stop(token, fence, reason),
            Err(fault) => tracing::warn!(%fault, "an undecodable control message"),
        }
    }
}
