//! The contract of a capability: effects, idempotency, execution, data.
//!
//! Source: AIP 1.0 §9.4.

use serde::{Deserialize, Serialize};

use crate::ids::CapabilityId;
use crate::policy::ApprovalPolicy;
use crate::transaction::TransactionMode;
use crate::wire::wire_enum;

/// What a capability promises and demands.
///
/// Source: AIP 1.0 §9.4.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CapabilityContract {
    /// Its effects; at least one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub side_effects: Vec<SideEffect>,
    /// How it treats idempotency keys.
    pub idempotency: IdempotencyContract,
    /// How it runs.
    pub execution: ExecutionContract,
    /// How its data must be treated.
    pub data: DataContract,
    /// Which credentials it needs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credentials: Option<CredentialPolicy>,
    /// What an approval needs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval: Option<ApprovalPolicy>,
    /// Times that it aims at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sla: Option<ServiceLevelContract>,
    /// How it takes part in transactions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transaction: Option<TransactionContract>,
    /// How the effect can be undone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compensation: Option<CompensationContract>,
}

impl CapabilityContract {
    /// A value with its required members; the optional ones are absent.
    #[must_use]
    pub fn new(idempotency: IdempotencyContract, execution: ExecutionContract, data: DataContract) -> Self {
        Self {
            side_effects: Vec::new(),
            idempotency,
            execution,
            data,
            credentials: None,
            approval: None,
            sla: None,
            transaction: None,
            compensation: None,
        }
    }
}

wire_enum! {
    /// An effect that a capability may have.
    ///
    /// Source: AIP 1.0 §9.4.
    pub enum SideEffect {
        /// Reads.
        Read => "read",
        /// Changes data.
        Write => "write",
        /// Removes data.
        Delete => "delete",
        /// Sends a message to somebody.
        SendMessage => "send_message",
        /// Moves money.
        Financial => "financial",
        /// Changes identities or rights.
        Identity => "identity",
        /// Bears on health.
        Medical => "medical",
        /// Binds legally.
        Legal => "legal",
        /// Talks to other networks.
        ExternalNetwork => "external_network",
        /// Runs code.
        CodeExecution => "code_execution",
    }
}

/// How a capability treats idempotency keys.
///
/// Source: AIP 1.0 §9.5.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IdempotencyContract {
    /// Whether a key is needed.
    pub requirement: IdempotencyRequirement,
    /// What happens when a key comes again.
    pub collision_behavior: IdempotencyCollisionBehavior,
    /// Within what a key is unique.
    pub key_scope: IdempotencyKeyScope,
    /// Milliseconds that a key is remembered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttl_ms: Option<u64>,
}

impl IdempotencyContract {
    /// A value with its required members; the optional ones are absent.
    #[must_use]
    pub fn new(
        requirement: IdempotencyRequirement,
        collision_behavior: IdempotencyCollisionBehavior,
        key_scope: IdempotencyKeyScope,
    ) -> Self {
        Self { requirement, collision_behavior, key_scope, ttl_ms: None }
    }
}

wire_enum! {
    /// Whether a key is needed.
    ///
    /// Source: AIP 1.0 §9.5.
    pub enum IdempotencyRequirement {
        /// A key must be sent.
        Required => "required",
        /// A key may be sent.
        Optional => "optional",
        /// No key may be sent.
        Unsupported => "unsupported",
    }
}

wire_enum! {
    /// What happens when a key comes again.
    ///
    /// Source: AIP 1.0 §9.5.
    pub enum IdempotencyCollisionBehavior {
        /// The first result is given again.
        ReturnOriginalResult => "return_original_result",
        /// The repeat is refused.
        RejectConflict => "reject_conflict",
        /// The first result is given again if the input is the same; else the repeat is refused.
        RevalidateInputHash => "revalidate_input_hash",
    }
}

wire_enum! {
    /// Within what a key is unique.
    ///
    /// Source: AIP 1.0 §9.5.
    pub enum IdempotencyKeyScope {
        /// The action.
        Action => "action",
        /// The capability.
        Capability => "capability",
        /// The caller.
        Principal => "principal",
        /// The tenant.
        Tenant => "tenant",
        /// The account in the other system.
        ExternalAccount => "external_account",
    }
}

/// How a capability runs.
///
/// Source: AIP 1.0 §9.6.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExecutionContract {
    /// Whether the answer can be the result.
    pub supports_sync: bool,
    /// Whether it can be acknowledged and end later.
    pub supports_async: bool,
    /// Whether it can send chunks.
    pub supports_streaming: bool,
    /// Whether it honours a cancel.
    pub supports_cancel: bool,
    /// Whether it can be tried again.
    pub supports_retry: bool,
    /// How it usually completes.
    pub expected_completion: ExpectedCompletionMode,
    /// Whether an attempt may be repeated.
    pub retry_safety: RetrySafety,
}

wire_enum! {
    /// How a capability usually completes.
    ///
    /// Source: AIP 1.0 §9.6.
    pub enum ExpectedCompletionMode {
        /// With the answer.
        Sync => "sync",
        /// After the answer.
        Async => "async",
        /// Piece by piece.
        Streaming => "streaming",
        /// Any of these.
        Any => "any",
    }
}

wire_enum! {
    /// Whether an attempt may be repeated.
    ///
    /// Source: AIP 1.0 §9.6.
    pub enum RetrySafety {
        /// Always.
        Safe => "safe",
        /// With the same key.
        SafeWithIdempotencyKey => "safe_with_idempotency_key",
        /// Never.
        Unsafe => "unsafe",
        /// Nobody knows, so never.
        Unknown => "unknown",
    }
}

/// How the data of a capability must be treated.
///
/// Source: AIP 1.0 §9.6.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DataContract {
    /// How sensitive the data is.
    pub sensitivity: DataSensitivity,
    /// Whether it holds personal data.
    pub contains_pii: bool,
    /// Whether it must be redacted before it is shown.
    pub redaction_required: bool,
    /// Where it may lie.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub residency: Option<DataResidency>,
    /// How long it is kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retention: Option<RetentionPolicy>,
}

wire_enum! {
    /// How sensitive data is. `unknown` is treated as the strictest.
    ///
    /// Source: AIP 1.0 §9.6.
    pub enum DataSensitivity {
        /// For all.
        Public => "public",
        /// For the organisation.
        Internal => "internal",
        /// For some.
        Confidential => "confidential",
        /// For few.
        Restricted => "restricted",
        /// Under a law of its own.
        Regulated => "regulated",
        /// Nobody knows.
        Unknown => "unknown",
    }
}

/// Where data may lie.
///
/// Source: AIP 1.0 §9.6.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DataResidency {
    /// Regions that are allowed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub allowed_regions: Vec<String>,
    /// Regions that are prohibited.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub prohibited_regions: Vec<String>,
}

/// How long data is kept.
///
/// Source: AIP 1.0 §9.6.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RetentionPolicy {
    /// Milliseconds that it must be kept at least.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retain_for_ms: Option<u64>,
    /// Milliseconds after which it must be gone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delete_after_ms: Option<u64>,
    /// Whether a legal hold may delay its deletion.
    pub legal_hold_allowed: bool,
}

impl RetentionPolicy {
    /// A value with its required members; the optional ones are absent.
    #[must_use]
    pub fn new(legal_hold_allowed: bool) -> Self {
        Self { retain_for_ms: None, delete_after_ms: None, legal_hold_allowed }
    }
}

/// Which credentials a capability needs.
///
/// Source: AIP 1.0 §9.4.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CredentialPolicy {
    /// Whether a credential is needed.
    pub required: bool,
    /// Issuers that are accepted; empty means any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub accepted_issuers: Vec<String>,
    /// Scopes that are needed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub required_scopes: Vec<String>,
    /// Whether an OAuth credential may be refreshed.
    pub allow_oauth_refresh: bool,
}

/// Times that a capability aims at.
///
/// Source: AIP 1.0 §9.4.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ServiceLevelContract {
    /// Milliseconds that it usually takes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected_latency_ms: Option<u64>,
    /// Milliseconds after which it is given up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// Whether it usually ends later than its answer.
    pub async_expected: bool,
    /// Milliseconds that it may wait in a queue.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_queue_delay_ms: Option<u64>,
    /// A free text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub availability_target: Option<String>,
}

impl ServiceLevelContract {
    /// A value with its required members; the optional ones are absent.
    #[must_use]
    pub fn new(async_expected: bool) -> Self {
        Self {
            expected_latency_ms: None,
            timeout_ms: None,
            async_expected,
            max_queue_delay_ms: None,
            availability_target: None,
        }
    }
}

/// How a capability takes part in transactions.
///
/// Source: AIP 1.0 §9.4.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TransactionContract {
    /// Modes that it supports; at least one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub supported_modes: Vec<TransactionMode>,
    /// Whether a commit needs a plan.
    pub requires_plan_before_commit: bool,
    /// How close a dry run comes to the real thing.
    pub dry_run_fidelity: DryRunFidelity,
}

impl TransactionContract {
    /// A value with its required members; the optional ones are absent.
    #[must_use]
    pub fn new(requires_plan_before_commit: bool, dry_run_fidelity: DryRunFidelity) -> Self {
        Self { supported_modes: Vec::new(), requires_plan_before_commit, dry_run_fidelity }
    }
}

/// How the effect of a capability can be undone.
///
/// Source: AIP 1.0 §13.7.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CompensationContract {
    /// Whether the effect can be undone.
    pub mode: CompensationMode,
    /// The capability that undoes the effect.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compensation_capability_id: Option<CapabilityId>,
    /// Milliseconds within which it can be undone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compensation_window_ms: Option<u64>,
    /// Whether undoing needs an approval.
    pub requires_approval: bool,
}

impl CompensationContract {
    /// A value with its required members; the optional ones are absent.
    #[must_use]
    pub fn new(mode: CompensationMode, requires_approval: bool) -> Self {
        Self { mode, compensation_capability_id: None, compensation_window_ms: None, requires_approval }
    }
}

wire_enum! {
    /// Whether an effect can be undone.
    ///
    /// Source: AIP 1.0 §13.7.
    pub enum CompensationMode {
        /// There is nothing to undo.
        NotRequired => "not_required",
        /// A capability undoes it.
        Supported => "supported",
        /// It may be possible.
        BestEffort => "best_effort",
        /// There is no way back.
        RollbackNotSupported => "rollback_not_supported",
    }
}

wire_enum! {
    /// How close a dry run comes to the real thing.
    ///
    /// Source: AIP 1.0 §13.2.
    pub enum DryRunFidelity {
        /// Checks the schema.
        SchemaOnly => "schema_only",
        /// Checks schema and policy.
        PolicyAndSchema => "policy_and_schema",
        /// The provider checks it too.
        DownstreamValidation => "downstream_validation",
        /// Everything but the effect.
        FullSimulation => "full_simulation",
    }
}
