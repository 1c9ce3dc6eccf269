//! What the service has verified about an action of a transaction. Frozen when the transaction opens, compared at each claim.

use alloc::{collections::BTreeSet, string::String};

use aip_types::{
    ActionId, ApprovalId, Capability, CapabilityId, CompensationContract, CompensationMode, DryRunFidelity,
    ExternalAccountRef, IdentityContext, Millis, Principal, PrincipalId, TransactionMode,
};
use serde::{Deserialize, Serialize};

use crate::action;

/// The parts of a capability's contract that rule a transaction.
///
/// Source: AIP 1.0 §9.4, §13.2, §13.7.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Contract {
    /// Whether it only reads, and what a repeat does.
    pub execution: action::Contract,
    /// Modes that it supports.
    pub supported_modes: BTreeSet<TransactionMode>,
    /// Whether it may have its effect without a plan.
    pub requires_plan_before_commit: bool,
    /// The strongest dry run that it offers.
    pub dry_run_fidelity: DryRunFidelity,
    /// How its effect can be compensated.
    pub compensation: CompensationContract,
}

impl Contract {
    /// Freezes a capability's contract; the conservative reading where it declares none (AIP 1.0 §9.4): no modes, no way
    /// back.
    #[must_use]
    pub fn of(capability: &Capability) -> Self {
        let contract = capability.contract.as_ref();
        let transaction = contract.and_then(|contract| contract.transaction.as_ref());
        let compensation = contract.and_then(|contract| contract.compensation.clone());
        Self {
            execution: action::Contract::of(capability),
            supported_modes: transaction.map(|it| it.supported_modes.iter().copied().collect()).unwrap_or_default(),
            requires_plan_before_commit: transaction.is_none_or(|it| it.requires_plan_before_commit),
            dry_run_fidelity: transaction.map_or(DryRunFidelity::SchemaOnly, |it| it.dry_run_fidelity),
            compensation: compensation
                .unwrap_or_else(|| CompensationContract::new(CompensationMode::RollbackNotSupported, true)),
        }
    }

    /// Whether the mode is supported.
    #[must_use]
    pub fn supports(&self, mode: TransactionMode) -> bool {
        self.supported_modes.contains(&mode)
    }
}

/// Whether a dry run of this fidelity calls the handler. The weaker ones are answered by the fleet alone, so that no
/// provider is ever reached (AIP 1.0 §13.2).
#[must_use]
pub const fn calls_handler(fidelity: DryRunFidelity) -> bool {
    match fidelity {
        DryRunFidelity::SchemaOnly | DryRunFidelity::PolicyAndSchema => false,
        DryRunFidelity::DownstreamValidation | DryRunFidelity::FullSimulation => true,
    }
}

/// Who does what, on whose account and under which policy: from the trusted context (AIP 1.0 §11.2), never from a payload.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VerifiedFacts {
    /// Tenant.
    pub tenant: String,
    /// The authenticated principal.
    pub principal: Principal,
    /// The trusted identity snapshot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identity: Option<IdentityContext>,
    /// The capability.
    pub capability_id: CapabilityId,
    /// Its contract, as admitted at present.
    pub contract: Contract,
    /// `aip_crypto::input_hash` of capability and input with no transaction: a plan and its commit differ in the latter.
    pub input_hash: String,
    /// Hash of the policy that was applied, where one was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy_hash: Option<String>,
}

impl VerifiedFacts {
    pub(super) fn account(&self) -> Option<&ExternalAccountRef> {
        self.identity.as_ref().and_then(|identity| identity.external_account.as_ref())
    }

    pub(super) fn subject(&self) -> Option<&PrincipalId> {
        let identity = self.identity.as_ref();
        identity.and_then(|identity| identity.acted_on_behalf_of.as_ref()).map(|subject| &subject.id)
    }

    /// The capability that compensates: the one that the contract names, else the same.
    pub(super) fn compensating_capability(&self) -> &CapabilityId {
        self.contract.compensation.compensation_capability_id.as_ref().unwrap_or(&self.capability_id)
    }
}

/// An approval that the service has checked against its stored record (AIP 1.0 §12.4).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VerifiedApproval {
    /// The approval.
    pub approval_id: ApprovalId,
    /// The action that it was granted for.
    pub action_id: ActionId,
    /// Hash of the governed input, in the form of [`VerifiedFacts::input_hash`].
    pub input_hash: String,
    /// Hash of the policy under which it was granted, in the form of [`VerifiedFacts::policy_hash`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy_hash: Option<String>,
    /// When it ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Millis>,
}
