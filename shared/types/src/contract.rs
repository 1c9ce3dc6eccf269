//! The contract of a capability: effects, idempotency, execution, data.
//!
//! Source: AIP 1.0 §9.4.
use serde::{Deserialize, Serialize};

use crate::ids::CapabilityId;
use crate::policy::ApprovalPolicy;
use crate::transaction::TransactionMode;
use crate::wire::wire_enum;

/// Capability contract.
///
/// Source: AIP 1.0 §9.4.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CapabilityContract {
    /// Not required by schema, see differences.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub side_effects: Vec<SideEffect>,
    /// Idempotency.
    pub idempotency: IdempotencyContract,
    /// Execution.
    pub execution: ExecutionContract,
    /// Data.
    pub data: DataContract,
    /// Credentials.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credentials: Option<CredentialPolicy>,
    /// Approval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval: Option<ApprovalPolicy>,
    /// Sla.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sla: Option<ServiceLevelContract>,
    /// Transaction.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transaction: Option<TransactionContract>,
    /// Compensation.
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
    /// Side effect.
    ///
    /// Source: AIP 1.0 §9.4.
    pub enum SideEffect {
        /// `read`.
        Read => "read",
        /// `write`.
        Write => "write",
        /// `delete`.
        Delete => "delete",
        /// `send_message`.
        SendMessage => "send_message",
        /// `financial`.
        Financial => "financial",
        /// `identity`.
        Identity => "identity",
        /// `medical`.
        Medical => "medical",
        /// `legal`.
        Legal => "legal",
        /// `external_network`.
        ExternalNetwork => "external_network",
        /// `code_execution`.
        CodeExecution => "code_execution",
    }
}

/// Idempotency contract.
///
/// Source: AIP 1.0 §9.4.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IdempotencyContract {
    /// Requirement.
    pub requirement: IdempotencyRequirement,
    /// Collision behavior.
    pub collision_behavior: IdempotencyCollisionBehavior,
    /// Key scope.
    pub key_scope: IdempotencyKeyScope,
    /// Ttl ms.
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
    /// Idempotency requirement.
    ///
    /// Source: AIP 1.0 §9.4.
    pub enum IdempotencyRequirement {
        /// `required`.
        Required => "required",
        /// `optional`.
        Optional => "optional",
        /// `unsupported`.
        Unsupported => "unsupported",
    }
}

wire_enum! {
    /// Idempotency collision behavior.
    ///
    /// Source: AIP 1.0 §9.4.
    pub enum IdempotencyCollisionBehavior {
        /// `return_original_result`.
        ReturnOriginalResult => "return_original_result",
        /// `reject_conflict`.
        RejectConflict => "reject_conflict",
        /// `revalidate_input_hash`.
        RevalidateInputHash => "revalidate_input_hash",
    }
}

wire_enum! {
    /// Idempotency key scope.
    ///
    /// Source: AIP 1.0 §9.4.
    pub enum IdempotencyKeyScope {
        /// `action`.
        Action => "action",
        /// `capability`.
        Capability => "capability",
        /// `principal`.
        Principal => "principal",
        /// `tenant`.
        Tenant => "tenant",
        /// `external_account`.
        ExternalAccount => "external_account",
    }
}

/// Execution contract.
///
/// Source: AIP 1.0 §9.4.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExecutionContract {
    /// Supports sync.
    pub supports_sync: bool,
    /// Supports async.
    pub supports_async: bool,
    /// Supports streaming.
    pub supports_streaming: bool,
    /// Supports cancel.
    pub supports_cancel: bool,
    /// Supports retry.
    pub supports_retry: bool,
    /// Expected completion.
    pub expected_completion: ExpectedCompletionMode,
    /// Retry safety.
    pub retry_safety: RetrySafety,
}

wire_enum! {
    /// Expected completion mode.
    ///
    /// Source: AIP 1.0 §9.4.
    pub enum ExpectedCompletionMode {
        /// `sync`.
        Sync => "sync",
        /// `async`.
        Async => "async",
        /// `streaming`.
        Streaming => "streaming",
        /// `any`.
        Any => "any",
    }
}

wire_enum! {
    /// Retry safety.
    ///
    /// Source: AIP 1.0 §9.4.
    pub enum RetrySafety {
        /// `safe`.
        Safe => "safe",
        /// `safe_with_idempotency_key`.
        SafeWithIdempotencyKey => "safe_with_idempotency_key",
        /// `unsafe`.
        Unsafe => "unsafe",
        /// `unknown`.
        Unknown => "unknown",
    }
}

/// Data contract.
///
/// Source: AIP 1.0 §9.4.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DataContract {
    /// Sensitivity.
    pub sensitivity: DataSensitivity,
    /// Contains pii.
    pub contains_pii: bool,
    /// Redaction required.
    pub redaction_required: bool,
    /// Residency.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub residency: Option<DataResidency>,
    /// Retention.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retention: Option<RetentionPolicy>,
}

wire_enum! {
    /// Data sensitivity.
    ///
    /// Source: AIP 1.0 §9.4.
    pub enum DataSensitivity {
        /// `public`.
        Public => "public",
        /// `internal`.
        Internal => "internal",
        /// `confidential`.
        Confidential => "confidential",
        /// `restricted`.
        Restricted => "restricted",
        /// `regulated`.
        Regulated => "regulated",
        /// `unknown`.
        Unknown => "unknown",
    }
}

/// Data residency.
///
/// Source: AIP 1.0 §9.4.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DataResidency {
    /// Allowed regions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub allowed_regions: Vec<String>,
    /// Prohibited regions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub prohibited_regions: Vec<String>,
}

/// Retention policy.
///
/// Source: AIP 1.0 §9.4.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RetentionPolicy {
    /// Minimum keep time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retain_for_ms: Option<u64>,
    /// Maximum keep time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delete_after_ms: Option<u64>,
    /// Legal hold allowed.
    pub legal_hold_allowed: bool,
}

impl RetentionPolicy {
    /// A value with its required members; the optional ones are absent.
    #[must_use]
    pub fn new(legal_hold_allowed: bool) -> Self {
        Self { retain_for_ms: None, delete_after_ms: None, legal_hold_allowed }
    }
}

/// Credential policy.
///
/// Source: AIP 1.0 §9.4.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CredentialPolicy {
    /// Required.
    pub required: bool,
    /// Empty list = any issuer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub accepted_issuers: Vec<String>,
    /// Required scopes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub required_scopes: Vec<String>,
    /// Allow oauth refresh.
    pub allow_oauth_refresh: bool,
}

/// Service level contract.
///
/// Source: AIP 1.0 §9.4.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ServiceLevelContract {
    /// Expected latency ms.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected_latency_ms: Option<u64>,
    /// Timeout ms.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// Async expected.
    pub async_expected: bool,
    /// Max queue delay ms.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_queue_delay_ms: Option<u64>,
    /// Free text.
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

/// Transaction contract.
///
/// Source: AIP 1.0 §9.4.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TransactionContract {
    /// Not required by schema, see differences.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub supported_modes: Vec<TransactionMode>,
    /// Requires plan before commit.
    pub requires_plan_before_commit: bool,
    /// Dry run fidelity.
    pub dry_run_fidelity: DryRunFidelity,
}

impl TransactionContract {
    /// A value with its required members; the optional ones are absent.
    #[must_use]
    pub fn new(requires_plan_before_commit: bool, dry_run_fidelity: DryRunFidelity) -> Self {
        Self { supported_modes: Vec::new(), requires_plan_before_commit, dry_run_fidelity }
    }
}

/// Compensation contract.
///
/// Source: AIP 1.0 §9.4.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CompensationContract {
    /// Mode.
    pub mode: CompensationMode,
    /// Compensation capability id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compensation_capability_id: Option<CapabilityId>,
    /// Compensation window ms.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compensation_window_ms: Option<u64>,
    /// Requires approval.
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
    /// Compensation mode.
    ///
    /// Source: AIP 1.0 §9.4.
    pub enum CompensationMode {
        /// `not_required`.
        NotRequired => "not_required",
        /// `supported`.
        Supported => "supported",
        /// `best_effort`.
        BestEffort => "best_effort",
        /// `rollback_not_supported`.
        RollbackNotSupported => "rollback_not_supported",
    }
}

wire_enum! {
    /// Dry run fidelity.
    ///
    /// Source: AIP 1.0 §9.4.
    pub enum DryRunFidelity {
        /// `schema_only`.
        SchemaOnly => "schema_only",
        /// `policy_and_schema`.
        PolicyAndSchema => "policy_and_schema",
        /// `downstream_validation`.
        DownstreamValidation => "downstream_validation",
        /// `full_simulation`.
        FullSimulation => "full_simulation",
    }
}
