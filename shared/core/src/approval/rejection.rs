//! Why the approval machine says no.

crate::rejection::rejections! {
    /// Why a trigger was refused. A refusal changes nothing, so it is safe to repeat.
    NotFound => ApprovalNotFound, "not_found", "there is no such approval for this reader";
    ApproverMismatch => ApprovalApproverMismatch, "approver_mismatch", "the claimed approver is not the authenticated principal";
    DecisionIdRequired => ApprovalDecisionIdRequired, "decision_id_required", "a decision needs an id";
    Repeated => StateRepeated, "repeated", "the same decision or trigger has been applied already";
    Conflict => ApprovalConflict, "conflict", "the decision id stands for another decision";
    NotOpen => ApprovalNotOpen, "not_open", "the approval does not admit this decision any more";
    ExpiredByCaller => ApprovalExpiredByCaller, "expired_by_caller", "only the fleet's clock lets an approval expire";
    ActionOver => ApprovalActionOver, "action_over", "the action has ended";
    ActionDispatched => ApprovalActionDispatched, "action_dispatched", "the action has been dispatched";
    AlreadyDecided => ApprovalAlreadyDecided, "already_decided", "the principal has a vote already";
    TargetUnknown => ApprovalTargetUnknown, "target_unknown", "no decision that counts has the target id";
    Expired => ApprovalExpired, "expired", "the approval's time is over";
    GrantExpired => ApprovalGrantExpired, "grant_expired", "the authority has expired or was revoked";
    PolicyChanged => ApprovalPolicyChanged, "policy_changed", "the policy hash is not the one of the request";
    InputChanged => ApprovalInputChanged, "input_changed", "the input hash is not the one of the request";
    SelfApproval => ApprovalSelfApproval, "self_approval", "nobody approves for themselves";
    RequesterMustDiffer => ApprovalSelfApproval, "requester_must_differ", "the requester may not approve";
    OperatorMustDiffer => ApprovalSelfApproval, "operator_must_differ", "the operator may not approve";
    NotAuthorised => ApprovalNotAuthorised, "not_authorised", "no leaf of the rule is satisfied by the verified authority";
    ConstraintInvalid => ApprovalConstraintInvalid, "constraint_invalid", "a constraint cannot be enforced";
    ConstraintFailed => ApprovalConstraintFailed, "constraint_failed", "the governed input does not meet a constraint";
    EvidenceMissing => ApprovalEvidenceMissing, "evidence_missing", "the policy asks for evidence that is not there";
    EvidenceInvalid => ApprovalEvidenceInvalid, "evidence_invalid", "a piece of evidence is not acceptable";
    TooLarge => ApprovalTooLarge, "too_large", "the record has no room for this";
    RuleInvalid => ApprovalRuleInvalid, "rule_invalid", "the rule can never be satisfied or is too large";
    NotGranted => ApprovalNotGranted, "not_granted", "there is no grant that stands";
    Revoked => ApprovalRevoked, "revoked", "the grant was revoked";
    IdentityChanged => ApprovalIdentityChanged, "identity_changed", "an identity that the grant rests on is not valid any more";
    TransactionChanged => ApprovalTransactionChanged, "transaction_changed", "the transaction is owned by somebody else";
    NotDue => StateNotDue, "not_due", "the time has not come";
    NotAdmitted => StateNotAdmitted, "not_admitted", "the state does not admit this";
    Terminal => StateTerminal, "terminal", "the record is terminal";
}
