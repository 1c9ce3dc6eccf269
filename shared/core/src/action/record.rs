//! What an action's record holds. Stored in every journal entry, so its shape is a contract (`style.md` §2).

use aip_types::{
    ActionId, ActionMode, ApprovalId, Capability, CapabilityId, CorrelationId, MessageId, Millis, Principal,
    ProtocolError, RetrySafety, SessionId, SideEffect, limits,
};
use alloc::{
    string::{String, ToString as _},
    vec::Vec,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Rejection;
use super::phase::{Grant, Phase};
use crate::step::{About, Chain, Recorded, fleet};

/// A value in the record itself, or in the object store where it is larger than `limits::RECORD_INLINE_BYTES_MAX`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Held {
    /// The value.
    #[serde(deserialize_with = "aip_types::exact::value")]
    Inline(Value),
    /// Its address.
    Blob {
        /// SHA-256 of its canonical JSON, lower-case hex.
        sha256: String,
        /// Length of its JSON text in bytes.
        bytes: u64,
    },
}

/// The parts of the capability's contract that rule an action's life, frozen at admission.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Contract {
    /// All declared effects are reads.
    pub read_only: bool,
    /// What a repeat does (AIP 1.0 §9.6).
    pub retry_safety: RetrySafety,
    /// The provider wants a failed attempt repeated where its error says so (AIP 1.0 §19.2).
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub supports_retry: bool,
}

impl Contract {
    /// Freezes a capability's contract; the conservative reading where it declares none (AIP 1.0 §9.4).
    #[must_use]
    pub fn of(capability: &Capability) -> Self {
        capability.contract.as_ref().map_or(
            Self { read_only: false, retry_safety: RetrySafety::Unknown, supports_retry: false },
            |contract| Self {
                read_only: !contract.side_effects.is_empty()
                    && contract.side_effects.iter().all(|effect| *effect == SideEffect::Read),
                retry_safety: contract.execution.retry_safety,
                supports_retry: contract.execution.supports_retry,
            },
        )
    }

    /// Whether an attempt whose outcome is not known may be repeated (AIP 1.0 §13.6, §19.2).
    #[must_use]
    pub const fn may_repeat(self, keyed: bool) -> bool {
        match self.retry_safety {
            RetrySafety::Safe => true,
            RetrySafety::SafeWithIdempotencyKey => keyed,
            RetrySafety::Unsafe | RetrySafety::Unknown => false,
        }
    }
}

/// The caller's key, and the hash under which it is reserved.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IdempotencyKey {
    /// As the caller wrote it: the provider gets it.
    pub value: String,
    /// Name of the reservation (`crate::idempotency::reservation`).
    pub hash: String,
}

/// Somebody wants an action stopped.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stop {
    /// Who asked; the fleet itself where the deadline has passed.
    pub by: Principal,
    /// Why, as the asker says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The deadline has passed: it ends `expired`, not `cancelled`.
    pub deadline: bool,
}

impl Stop {
    pub(super) const fn asked(by: Principal, reason: Option<String>) -> Self {
        Self { by, reason, deadline: false }
    }

    pub(super) fn at_deadline() -> Self {
        Self { by: fleet(), reason: None, deadline: true }
    }
}

/// A question that the handler asked its caller, and its answer once there is one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Question {
    /// Its name.
    pub correlation_id: CorrelationId,
    /// What is asked: an `escalation` body with a JSON Schema.
    pub question: Held,
    /// The answer, valid against that schema.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<Held>,
}

/// The record of one action.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ActionRecord {
    /// Wire id.
    pub id: ActionId,
    /// Tenant, from the trusted context.
    pub tenant: String,
    /// What was called.
    pub capability_id: CapabilityId,
    /// The connector that serves it.
    pub connector: String,
    /// Frozen contract.
    pub contract: Contract,
    /// The authenticated caller (AIP 1.0 §11.2).
    pub principal: Principal,
    /// How it was authenticated.
    pub method: String,
    /// Mode asked for.
    pub mode: ActionMode,
    /// The request's message id.
    pub request: MessageId,
    /// Correlation of the request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub correlation_id: Option<CorrelationId>,
    /// Session of the request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<SessionId>,
    /// Idempotency key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<IdempotencyKey>,
    /// Input; gone when the record is terminal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<Held>,
    /// Input hash (`aip_crypto::input_hash`).
    pub input_hash: String,
    /// When it was admitted.
    pub accepted_at: Millis,
    /// When it must be over; never moved (AIP 1.0 §11.1).
    pub deadline: Millis,
    /// Time of the last step.
    pub updated_at: Millis,
    /// Time of the first `started`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at: Option<Millis>,
    /// Time of the terminal step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completed_at: Option<Millis>,
    /// Where it stands.
    pub phase: Phase,
    /// Attempts begun.
    pub attempts: u32,
    /// First chunk number of the current attempt.
    pub chunk_base: u64,
    /// Number of the last chunk, once terminal and where there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chunks_last: Option<u64>,
    /// Output, when completed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<Held>,
    /// Why it is not completed, when terminal otherwise; what an uncertain attempt said, while its outcome is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<ProtocolError>,
    /// Not before this time may the next attempt begin.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_at: Option<Millis>,
    /// The last attempt has said that it had no effect, so nothing needs to be found out about it.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub harmless: bool,
    /// Who wants it stopped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop: Option<Stop>,
    /// The approval under which it runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval_id: Option<ApprovalId>,
    /// Questions to the caller, oldest first; at most `limits::QUESTIONS_MAX`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub questions: Vec<Question>,
    /// Number of the last step, counted from 1.
    pub step: u32,
    /// Receipts so far.
    pub receipts: u32,
    /// The last receipt's id and hash.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_receipt: Option<aip_types::ReceiptRef>,
    /// The last causes (message ids of callers), newest last.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub causes: Vec<String>,
}

impl ActionRecord {
    /// A plain read: one offer, one answer, no lease (`design.md` §4.5).
    #[must_use]
    pub fn is_plain_read(&self) -> bool {
        self.contract.read_only && self.contract.retry_safety == RetrySafety::Safe && self.mode == ActionMode::Sync
    }

    /// The current attempt's right, where there is or was one that matters.
    #[must_use]
    pub const fn grant(&self) -> Option<&Grant> {
        self.phase.grant()
    }

    /// Name of its receipt chain.
    #[must_use]
    pub fn chain_id(&self) -> String {
        alloc::format!("action:{}", self.id)
    }

    /// The record before its first step.
    pub(super) fn of(admission: Admission) -> Self {
        let phase = admission
            .approval_id
            .clone()
            .map_or(Phase::Queued {}, |approval_id| Phase::PendingApproval { approval_id });
        let causes = alloc::vec![admission.request.to_string()];
        Self {
            id: admission.id,
            tenant: admission.tenant,
            capability_id: admission.capability_id,
            connector: admission.connector,
            contract: admission.contract,
            principal: admission.principal,
            method: admission.method,
            mode: admission.mode,
            request: admission.request,
            correlation_id: admission.correlation_id,
            session_id: admission.session_id,
            key: admission.key,
            input: Some(admission.input),
            input_hash: admission.input_hash,
            accepted_at: admission.at,
            deadline: admission.deadline,
            updated_at: admission.at,
            started_at: None,
            completed_at: None,
            phase,
            attempts: 0,
            chunk_base: 0,
            chunks_last: None,
            output: None,
            error: None,
            retry_at: None,
            harmless: false,
            stop: None,
            approval_id: admission.approval_id,
            questions: Vec::new(),
            step: 0,
            receipts: 0,
            last_receipt: None,
            causes,
        }
    }

    /// Another attempt may begin. One that ended with a question is not counted.
    #[must_use]
    pub fn attempts_left(&self) -> bool {
        let asked = u32::try_from(self.questions.len()).unwrap_or(u32::MAX);
        self.attempts.saturating_sub(asked) < limits::ATTEMPTS_MAX
    }

    /// Refuses what a record cannot hold; a larger value is passed by its address ([`Held::Blob`]).
    pub(super) fn fit_questions(&self) -> Result<(), Rejection> {
        let bytes = serde_json::to_vec(&self.questions).map_or(usize::MAX, |text| text.len());
        if bytes > limits::QUESTIONS_BYTES_MAX { Err(Rejection::TooLarge) } else { Ok(()) }
    }

    pub(super) fn has_answered(&self, question: &CorrelationId) -> bool {
        self.questions.iter().any(|asked| asked.correlation_id == *question && asked.answer.is_some())
    }

    pub(super) fn may_repeat(&self) -> bool {
        self.contract.may_repeat(self.key.is_some())
    }
}

/// Everything that admission has verified about one new action.
#[derive(Clone, Debug)]
pub struct Admission {
    /// Id of the record: the caller's, or the reserved one on adoption.
    pub id: ActionId,
    /// Tenant, from the trusted context.
    pub tenant: String,
    /// What is called.
    pub capability_id: CapabilityId,
    /// Who serves it.
    pub connector: String,
    /// Frozen contract.
    pub contract: Contract,
    /// The authenticated caller.
    pub principal: Principal,
    /// How it was authenticated.
    pub method: String,
    /// Mode.
    pub mode: ActionMode,
    /// The request's message id.
    pub request: MessageId,
    /// Correlation.
    pub correlation_id: Option<CorrelationId>,
    /// Session.
    pub session_id: Option<SessionId>,
    /// Key and its reservation.
    pub key: Option<IdempotencyKey>,
    /// Input.
    pub input: Held,
    /// Input hash.
    pub input_hash: String,
    /// The approval that it needs first.
    pub approval_id: Option<ApprovalId>,
    /// Now.
    pub at: Millis,
    /// Immutable deadline.
    pub deadline: Millis,
}

impl Recorded for ActionRecord {
    fn about(&self) -> About {
        About {
            tenant: self.tenant.clone(),
            id: self.id.to_string(),
            session_id: self.session_id.clone(),
            action_id: Some(self.id.clone()),
            correlation_id: self.correlation_id.clone(),
        }
    }

    fn chain(&self) -> Chain {
        Chain {
            step: self.step,
            receipts: self.receipts,
            last_receipt: self.last_receipt.clone(),
            updated_at: self.updated_at,
        }
    }

    fn set_chain(&mut self, chain: Chain) {
        let Chain { step, receipts, last_receipt, updated_at } = chain;
        (self.step, self.receipts, self.last_receipt, self.updated_at) = (step, receipts, last_receipt, updated_at);
    }
}
