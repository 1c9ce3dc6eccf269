//! A simulated bus that fails as it is told, and one action on it.

use std::sync::Arc;

use aip_bus::{
    Bus, Draft, Loaded, Sequence, Source,
    sim::Sim,
    subjects::{RecordKey, Tenant},
    topology::Topology,
};
use aip_core::action::{ActionRecord, Admission, Contract, Grant, Held, IdempotencyKey, Settled, Trigger, admit, step};
use aip_service::now;
use aip_testkit::Faulty;
use aip_types::{ActionId, ActionMode, CapabilityId, MessageId, Principal, PrincipalId, PrincipalKind, RetrySafety};
use serde_json::json;

pub(crate) struct World {
    pub(crate) bus: Bus,
    pub(crate) faulty: Faulty,
}

impl World {
    pub(crate) fn new() -> Self {
        let faulty = Faulty::new(Arc::new(Sim::new(&Topology::default())));
        Self { bus: Bus::new(Arc::new(faulty.clone())), faulty }
    }

    /// Stores the first entry of `act_1`.
    pub(crate) async fn queued(&self) -> Loaded<ActionRecord> {
        let at = now();
        let step = admit(Admission {
            id: ActionId::new("act_1"),
            tenant: "acme".to_owned(),
            capability_id: CapabilityId::new("cap:demo:x"),
            connector: "demo".to_owned(),
            contract: Contract {
                read_only: false,
                retry_safety: RetrySafety::SafeWithIdempotencyKey,
                supports_retry: true,
            },
            principal: Principal::new(PrincipalId::new("service:caller"), PrincipalKind::Service),
            method: "token".to_owned(),
            mode: ActionMode::Sync,
            request: MessageId::new("msg_1"),
            correlation_id: None,
            session_id: None,
            key: Some(IdempotencyKey { value: "k".to_owned(), hash: "h".to_owned() }),
            input: Held::Inline(json!({})),
            input_hash: "i".to_owned(),
            approval_id: None,
            at,
            deadline: at.plus(600_000),
        });
        let draft = Draft::of(step, "msg_1", Some("_INBOX.x".to_owned()));
        self.bus.save(&key(), draft, Sequence::NONE).await.unwrap()
    }

    /// Applies a trigger behind everybody's back.
    pub(crate) async fn apply(&self, over: &Loaded<ActionRecord>, trigger: Trigger) -> Loaded<ActionRecord> {
        let step = step(&over.entry.state, trigger, now()).unwrap();
        self.bus.save(&key(), Draft::of(step, "other", over.entry.notify.clone()), over.sequence).await.unwrap()
    }

    pub(crate) async fn entries(&self) -> usize {
        let last = self.bus.load::<ActionRecord>(&key(), Source::Leader).await.unwrap().unwrap();
        self.bus.history(last, 100).await.unwrap().len()
    }
}

pub(crate) fn key() -> RecordKey {
    RecordKey::action(Tenant::new("acme").unwrap(), "act_1")
}

pub(crate) fn start(fence: u64) -> Trigger {
    Trigger::Start { grant: grant(fence), over: true, chunk_base: 0 }
}

pub(crate) fn complete(fence: u64) -> Trigger {
    let settled = Settled::Completed { output: Held::Inline(json!(fence)) };
    Trigger::Settle { grant: Some(grant(fence)), settled, chunks_last: None }
}

fn grant(fence: u64) -> Grant {
    Grant { fence, instance: "one".to_owned() }
}
