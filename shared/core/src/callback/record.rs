//! What a callback delivery's record holds. Stored in every journal entry, so its shape is a contract (`style.md` §2).

use aip_crypto::sha256_hex;
use aip_types::{ActionId, Callback, CallbackDeliveryPolicy, CorrelationId, MessageId, Millis, SessionId, limits};
use alloc::{format, string::String, vec::Vec};
use serde::{Deserialize, Serialize};

use crate::action::Held;
use crate::causes::Causes;
use crate::outbox::Lease;
use crate::step::{About, Chain, Recorded};

/// A target that deployment policy has admitted (AIP 1.0 §17.1, §17.4). Only the service that asked policy makes one.
#[derive(Clone, Debug, PartialEq)]
pub struct VerifiedTarget(pub Callback);

/// The id of the delivery of a message to a target: the same whenever and by whom it is made, another for every tenant.
#[must_use]
pub fn delivery_id(tenant: &str, message: &MessageId, target: &Callback) -> String {
    let parts = [tenant, message.as_str(), target.profile.as_str(), &target.target];
    let text = parts.iter().fold(String::new(), |text, part| format!("{text}{}:{part}|", part.len()));
    format!("cb_{}", sha256_hex(text.as_bytes()))
}

/// Where a delivery stands (AIP 1.0 §17.3).
///
/// `failed` and `dead_lettered` are both ends that an operator may retry, and differ in what they say about the target.
/// **Failed**: it answered, and refused these very bytes for good; another attempt cannot help before something is
/// repaired. **Dead-lettered**: nobody can say what it would answer; the attempts are used up, or an operator dropped
/// the delivery, which is final.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Phase {
    /// Waits for its next attempt.
    Pending {
        /// When that may begin.
        due: Millis,
    },
    /// An attempt may be under way.
    Running(Lease),
    /// The target acknowledged it.
    Delivered {},
    /// The target refused it for good.
    Failed {},
    /// Given up.
    DeadLettered {
        /// By an operator, for good.
        dropped: bool,
    },
}

impl Phase {
    /// Its name in `docs/states/`, and its event token.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Pending { .. } => "pending",
            Self::Running(_) => "running",
            Self::Delivered {} => "delivered",
            Self::Failed {} => "failed",
            Self::DeadLettered { .. } => "dead_lettered",
        }
    }
}

/// One attempt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Attempt {
    /// Its number, from one.
    pub number: u32,
    /// Its fence.
    pub fence: u64,
    /// When it began.
    pub started_at: Millis,
    /// When it ended, or was found lost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finished_at: Option<Millis>,
    /// Why it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// The record of one delivery.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CallbackRecord {
    /// Tenant, from the trusted context.
    pub tenant: String,
    /// Frozen policy, with the delivery id.
    pub policy: CallbackDeliveryPolicy,
    /// The message to deliver.
    pub message_id: MessageId,
    /// Its type.
    pub message_type: String,
    /// The message; gone when the delivery is terminal. Every attempt sends these very bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payload: Option<Held>,
    /// Hash of the message.
    pub payload_hash: String,
    /// The action that it reports.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action_id: Option<ActionId>,
    /// The session of the action.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<SessionId>,
    /// Correlation of the action.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub correlation_id: Option<CorrelationId>,
    /// When it was made.
    pub created_at: Millis,
    /// Where it stands.
    pub phase: Phase,
    /// The highest fence so far.
    pub fence: u64,
    /// Attempts begun.
    pub attempts: u32,
    /// Attempts begun before the present round. An operator's retry begins a round of `policy.max_attempts`.
    pub attempts_before: u32,
    /// Retries by operators.
    pub retries: u32,
    /// The last attempts, newest last; at most `limits::CALLBACK_ATTEMPTS_LEN_MAX`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attempts_last: Vec<Attempt>,
    /// Why it was given up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dead_letter_reason: Option<String>,
    /// When it came to its present end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completed_at: Option<Millis>,
    /// The messages of operators.
    pub causes: Causes,
    /// Where its evidence stands.
    pub chain: Chain,
}

impl CallbackRecord {
    /// When the next attempt may begin, or the present one counts as lost.
    #[must_use]
    pub const fn due(&self) -> Option<Millis> {
        match &self.phase {
            Phase::Pending { due } => Some(*due),
            Phase::Running(lease) => Some(lease.expires_at),
            Phase::Delivered {} | Phase::Failed {} | Phase::DeadLettered { .. } => None,
        }
    }

    /// Name of its receipt chain.
    #[must_use]
    pub fn chain_id(&self) -> String {
        format!("callback:{}", self.policy.delivery_id)
    }

    /// Attempts of the present round.
    pub(crate) const fn made(&self) -> u32 {
        self.attempts.saturating_sub(self.attempts_before)
    }
}

/// One message for one target, as the service resolved it.
#[derive(Clone, Debug)]
pub struct Delivery {
    /// Tenant, from the trusted context.
    pub tenant: String,
    /// Where to deliver.
    pub target: VerifiedTarget,
    /// The message to deliver.
    pub message_id: MessageId,
    /// Its type.
    pub message_type: String,
    /// The message.
    pub payload: Held,
    /// Its hash.
    pub payload_hash: String,
    /// It reports an end.
    pub terminal: bool,
    /// Only an end shall be reported.
    pub terminal_only: bool,
    /// Attempts of one round, 1 to `limits::CALLBACK_ATTEMPTS_MAX`.
    pub max_attempts: u32,
    /// Milliseconds of one attempt, 1 to `limits::CALLBACK_TIMEOUT_MS_MAX`.
    pub timeout_ms: u64,
    /// Milliseconds before each retry, in order, the last one for all that follow; each at most `limits::BACKOFF_MS_MAX`.
    pub retry_backoff_ms: Vec<u64>,
    /// The payload is signed.
    pub sign_payload: bool,
    /// The action that it reports.
    pub action_id: Option<ActionId>,
    /// The session of the action.
    pub session_id: Option<SessionId>,
    /// Correlation of the action.
    pub correlation_id: Option<CorrelationId>,
    /// Now.
    pub at: Millis,
}

impl Delivery {
    pub(crate) fn is_bounded(&self) -> bool {
        let target = serde_json::to_string(&self.target.0);
        (1..=limits::CALLBACK_ATTEMPTS_MAX).contains(&self.max_attempts)
            && (1..=limits::CALLBACK_TIMEOUT_MS_MAX).contains(&self.timeout_ms)
            && self.retry_backoff_ms.len() <= limits::CALLBACK_BACKOFF_LEN_MAX
            && self.retry_backoff_ms.iter().all(|wait| *wait <= limits::BACKOFF_MS_MAX)
            && target.is_ok_and(|text| text.len() <= limits::CALLBACK_TARGET_BYTES_MAX)
    }
}

impl Recorded for CallbackRecord {
    fn about(&self) -> About {
        About {
            tenant: self.tenant.clone(),
            id: self.policy.delivery_id.clone(),
            session_id: self.session_id.clone(),
            action_id: self.action_id.clone(),
            correlation_id: self.correlation_id.clone(),
        }
    }

    fn chain(&self) -> Chain {
        self.chain.clone()
    }

    fn set_chain(&mut self, chain: Chain) {
        self.chain = chain;
    }
}
