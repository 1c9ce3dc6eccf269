//! Why the transaction machine says no.

crate::rejection::rejections! {
    /// Why a trigger was refused. A refusal changes nothing, so it is safe to repeat.
    StaleFence => StaleFence, "stale_fence", "the claim was superseded";
    Repeated => StateRepeated, "repeated", "the same trigger has been applied already";
    Conflict => TransactionConflict, "conflict", "the id stands for other content";
    Terminal => StateTerminal, "terminal", "the record is terminal";
    NotAdmitted => StateNotAdmitted, "not_admitted", "the state does not admit this";
    NotDue => StateNotDue, "not_due", "the time has not come";
    TooLarge => TransactionTooLarge, "too_large", "the record would grow past its bound";
    Exhausted => TransactionExhausted, "exhausted", "the tries are used up";
    ModeUnsupported => TransactionModeUnsupported, "mode_unsupported", "the contract does not list the mode";
    FidelityExceeded => TransactionFidelityExceeded, "fidelity_exceeded", "the dry run claims more than its contract";
    PlanRequired => TransactionPlanRequired, "plan_required", "the contract requires a plan";
    PlanInvalid => TransactionPlanInvalid, "plan_invalid", "the plan would expire at once or live too long";
    Committed => TransactionCommitted, "committed", "the transaction is committed";
    OutcomeUnknown => TransactionOutcomeUnknown, "outcome_unknown", "an attempt may have had its effect";
    NotRepeatable => TransactionNotRepeatable, "not_repeatable", "the attempt began and may not be repeated";
    ClaimHeld => TransactionClaimHeld, "claim_held", "another claim is valid";
    NotStarted => TransactionNotStarted, "not_started", "the claim has not begun";
    CommitStarted => TransactionCommitStarted, "commit_started", "the attempt has begun: only its owner can tell";
    PlanMissing => TransactionPlanMissing, "plan_missing", "there is no plan";
    PlanExpired => TransactionPlanExpired, "plan_expired", "the plan has expired";
    DeadlinePassed => ActionExpired, "deadline_passed", "the deadline has passed: nothing new begins";
    CapabilityMismatch => TransactionCapabilityMismatch, "capability_mismatch", "the capability is not the planned one";
    InputMismatch => TransactionInputMismatch, "input_mismatch", "the input is not the planned one";
    PrincipalMismatch => TransactionPrincipalMismatch, "principal_mismatch", "the principal is not the planning one";
    TenantMismatch => TransactionTenantMismatch, "tenant_mismatch", "the tenant is not the planned one";
    AccountMismatch => TransactionAccountMismatch, "account_mismatch", "the account is not the planned one";
    PolicyChanged => TransactionPolicyChanged, "policy_changed", "the policy is not the planned one";
    ApprovalRequired => TransactionApprovalRequired, "approval_required", "an approval is required";
    ApprovalExpired => TransactionApprovalExpired, "approval_expired", "the approval has expired";
    ApprovalMismatch => TransactionApprovalMismatch, "approval_mismatch", "the approval is for something else";
    ContextMismatch => TransactionContextMismatch, "context_mismatch", "the transaction context does not match";
    NothingCommitted => TransactionNothingCommitted, "nothing_committed", "there is nothing to compensate";
    CompensationUnsupported => TransactionCompensationUnsupported, "compensation_unsupported", "nothing needs compensation";
    RollbackNotSupported => TransactionRollbackNotSupported, "rollback_not_supported", "there is no way back";
    WindowClosed => TransactionWindowClosed, "window_closed", "the compensation window has closed";
    CompensationMismatch => TransactionCompensationMismatch, "compensation_mismatch", "it does not fit what was committed";
    EvidenceMissing => TransactionEvidenceMissing, "evidence_missing", "the decision names no evidence";
}
