//! Actions, capabilities and admissions that tests start from.

use aip_core::action::{ActionRecord, Admission, Contract, Held, IdempotencyKey, Step, admit};
use aip_types::{
    Action, ActionId, ActionMode, ApprovalId, Capability, CapabilityContract, CapabilityId, CapabilityKind,
    CorrelationId, DataContract, DataSensitivity, ExecutionContract, ExpectedCompletionMode,
    IdempotencyCollisionBehavior, IdempotencyContract, IdempotencyKeyScope, IdempotencyRequirement, MessageId, Millis,
    Principal, PrincipalId, PrincipalKind, RetrySafety, SideEffect,
};
use serde_json::json;

pub(crate) const ACCEPTED: Millis = Millis(1_000);
pub(crate) const DEADLINE: Millis = Millis(3_000);

/// What may differ between two admitted actions and bears on their life.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Kind {
    pub(crate) read_only: bool,
    pub(crate) retry_safety: RetrySafety,
    pub(crate) keyed: bool,
    pub(crate) mode: ActionMode,
    pub(crate) supports_retry: bool,
    pub(crate) approval: bool,
}

impl Kind {
    pub(crate) const PLAIN_READ: Self = Self {
        read_only: true,
        retry_safety: RetrySafety::Safe,
        keyed: false,
        mode: ActionMode::Sync,
        supports_retry: true,
        approval: false,
    };
    pub(crate) const SAFE: Self = Self {
        read_only: false,
        retry_safety: RetrySafety::SafeWithIdempotencyKey,
        keyed: true,
        mode: ActionMode::Sync,
        supports_retry: true,
        approval: false,
    };
    pub(crate) const UNSAFE: Self = Self { retry_safety: RetrySafety::Unsafe, ..Self::SAFE };

    pub(crate) fn may_repeat(self) -> bool {
        match self.retry_safety {
            RetrySafety::Safe => true,
            RetrySafety::SafeWithIdempotencyKey => self.keyed,
            RetrySafety::Unsafe | RetrySafety::Unknown => false,
        }
    }
}

pub(crate) fn admission(kind: Kind) -> Admission {
    let Kind { read_only, retry_safety, keyed, mode, supports_retry, approval } = kind;
    Admission {
        id: ActionId::new("act_1"),
        tenant: "acme".to_owned(),
        capability_id: CapabilityId::new("cap:demo:x"),
        connector: "demo".to_owned(),
        contract: Contract { read_only, retry_safety, supports_retry },
        principal: caller(),
        method: "token".to_owned(),
        mode,
        request: MessageId::new("msg_1"),
        correlation_id: Some(CorrelationId::new("corr_1")),
        session_id: None,
        key: keyed.then(|| IdempotencyKey { value: "k".to_owned(), hash: "h".to_owned() }),
        input: Held::Inline(json!({"a": 1})),
        input_hash: "i".to_owned(),
        approval_id: approval.then(|| ApprovalId::new("appr_1")),
        at: ACCEPTED,
        deadline: DEADLINE,
    }
}

pub(crate) fn queued(kind: Kind) -> Step {
    admit(admission(kind))
}

pub(crate) fn record(kind: Kind) -> ActionRecord {
    queued(kind).record
}

pub(crate) fn caller() -> Principal {
    Principal::new(PrincipalId::new("service:caller"), PrincipalKind::Service)
}

pub(crate) fn action() -> Action {
    Action::new(ActionId::new("act_1"), CapabilityId::new("cap:demo:x"), json!({"a": 1}))
}

/// A mutation with a complete contract: key optional, all modes but streaming.
pub(crate) fn capability() -> Capability {
    let mut capability = Capability::new(
        CapabilityId::new("cap:demo:x"),
        "x".to_owned(),
        CapabilityKind::Tool,
        json!({"type": "object"}),
    );
    let idempotency = IdempotencyContract::new(
        IdempotencyRequirement::Optional,
        IdempotencyCollisionBehavior::RevalidateInputHash,
        IdempotencyKeyScope::Principal,
    );
    let execution = ExecutionContract {
        supports_sync: true,
        supports_async: true,
        supports_streaming: false,
        supports_cancel: false,
        supports_retry: true,
        expected_completion: ExpectedCompletionMode::Sync,
        retry_safety: RetrySafety::SafeWithIdempotencyKey,
    };
    let data = DataContract {
        sensitivity: DataSensitivity::Internal,
        contains_pii: false,
        redaction_required: false,
        residency: None,
        retention: None,
    };
    let mut contract = CapabilityContract::new(idempotency, execution, data);
    contract.side_effects = vec![SideEffect::Write];
    capability.contract = Some(contract);
    capability
}
