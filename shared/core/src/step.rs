//! What every machine shares: a step, the record that it makes, and the evidence that travels in the same append.

use aip_crypto::seal;
use aip_types::{
    ActionId, CorrelationId, ErrorCode, Event, EventId, EventKind, Millis, Principal, PrincipalId, PrincipalKind,
    Receipt, ReceiptId, ReceiptRef, ReceiptType, SessionId, Timestamp,
};
use alloc::{
    string::{String, ToString},
    vec::Vec,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::derive;

/// One applied transition: the record to store, and what the same append says about it.
#[must_use = "a step that is not saved did not happen"]
#[derive(Clone, Debug)]
pub struct Step<R> {
    /// The new record.
    pub record: R,
    /// Last token of the entry's subject: who has a lane on it acts next.
    pub event: &'static str,
    /// Events for readers (AIP 1.0 §16.1).
    pub events: Vec<Event>,
    /// Hash-linked receipts (AIP 1.0 §18.2).
    pub receipts: Vec<Receipt>,
}

/// A record kind: its triggers, and the total function that applies them.
pub trait Machine: Clone {
    /// What may happen to a record after its first entry.
    type Trigger: Clone;
    /// Why a trigger is refused.
    type Rejection: Refusal;

    /// Applies a trigger. Total: every phase answers every trigger.
    ///
    /// # Errors
    /// A rejection, which changes nothing.
    fn step(&self, trigger: Self::Trigger, at: Millis) -> Result<Step<Self>, Self::Rejection>;

    /// Nothing changes the record any more.
    fn is_terminal(&self) -> bool;

    /// The name of the phase, as in `docs/states/`.
    fn phase(&self) -> &'static str;
}

/// Why a machine says no.
pub trait Refusal: Copy + core::fmt::Debug + Eq {
    /// Its public row.
    fn code(self) -> ErrorCode;
    /// Its short name in the matrix of `docs/states/`.
    fn name(self) -> &'static str;
}

/// Where a record's evidence stands. Part of every stored record.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Chain {
    /// Number of the last step, counted from 1.
    pub step: u32,
    /// Receipts so far.
    pub receipts: u32,
    /// The last receipt's id and hash.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_receipt: Option<ReceiptRef>,
    /// Time of the last step.
    pub updated_at: Millis,
}

/// What a record's events and receipts are about.
#[derive(Clone, Debug)]
pub(crate) struct About {
    /// Tenant.
    pub(crate) tenant: String,
    /// Wire id of the record.
    pub(crate) id: String,
    /// Session.
    pub(crate) session_id: Option<SessionId>,
    /// Action.
    pub(crate) action_id: Option<ActionId>,
    /// Correlation.
    pub(crate) correlation_id: Option<CorrelationId>,
}

/// A record with evidence.
pub(crate) trait Recorded {
    /// What its evidence is about.
    fn about(&self) -> About;
    /// Where its evidence stands.
    fn chain(&self) -> Chain;
    /// Moves its evidence on.
    fn set_chain(&mut self, chain: Chain);
}

/// A step in the making: numbers it, links its receipts, derives its ids.
pub(crate) struct Draft<R> {
    record: R,
    about: About,
    chain: Chain,
    at: Millis,
    events: Vec<Event>,
    receipts: Vec<Receipt>,
}

impl<R: Recorded> Draft<R> {
    /// Starts from the record as it will be.
    pub(crate) fn new(record: R, at: Millis) -> Self {
        let about = record.about();
        let mut chain = record.chain();
        chain.step = chain.step.saturating_add(1);
        chain.updated_at = at.max(chain.updated_at);
        Self { record, about, chain, at, events: Vec::new(), receipts: Vec::new() }
    }

    /// Wire id of the record.
    pub(crate) fn id(&self) -> &str {
        &self.about.id
    }

    /// Adds a receipt, linked to the last one of the record.
    pub(crate) fn receipt(mut self, receipt_type: ReceiptType, actor: &Principal, data: Value) -> Self {
        self.chain.receipts = self.chain.receipts.saturating_add(1);
        let number = self.chain.receipts.to_string();
        let id = ReceiptId::new(derive::id("rcpt_", self.at, &[&self.about.tenant, &self.about.id, &number]));
        let previous = self.chain.last_receipt.as_ref().map(|last| last.hash.clone());
        let receipt = Receipt {
            id: id.clone(),
            receipt_type,
            actor: bare(actor),
            occurred_at: Timestamp::from_millis(self.at),
            correlation_id: self.about.correlation_id.clone(),
            data: Some(data),
            previous_hash: None,
            hash: None,
        };
        let sealed = seal(receipt, previous.as_deref());
        self.chain.last_receipt = Some(ReceiptRef { id, hash: sealed.hash.clone().unwrap_or_default() });
        self.receipts.push(sealed);
        self
    }

    /// Adds an event, with no other data than is registered for its kind (AIP 1.0 §25.2).
    pub(crate) fn event(mut self, kind: EventKind, data: Option<Value>) -> Self {
        debug_assert!(is_registered(kind, data.as_ref()), "{kind} is not registered with {data:?}");
        let (step, name) = (self.chain.step.to_string(), kind.as_str());
        let id = EventId::new(derive::id("evt_", self.at, &[&self.about.tenant, &self.about.id, &step, name]));
        self.events.push(Event {
            id,
            kind: name.to_string(),
            occurred_at: Timestamp::from_millis(self.at),
            session_id: self.about.session_id.clone(),
            action_id: self.about.action_id.clone(),
            correlation_id: self.about.correlation_id.clone(),
            actor: None,
            data,
        });
        self
    }

    /// The step; `event` names the lane that acts on it.
    pub(crate) fn done(mut self, event: &'static str) -> Step<R> {
        self.record.set_chain(self.chain);
        Step { record: self.record, event, events: self.events, receipts: self.receipts }
    }
}

/// Whether the registry has each member of the data.
fn is_registered(kind: EventKind, data: Option<&Value>) -> bool {
    let known = |name: &str| kind.row().data.iter().any(|member| member.name == name);
    data.is_none_or(|data| data.as_object().is_some_and(|members| members.keys().all(|name| known(name))))
}

/// The fleet as the actor of what it decides by itself.
pub(crate) fn fleet() -> Principal {
    Principal::new(PrincipalId::new("system:aip-fleet"), PrincipalKind::System)
}

/// Evidence names the actor and nothing more of it.
pub(crate) fn bare(actor: &Principal) -> Principal {
    Principal::new(actor.id.clone(), actor.kind)
}
