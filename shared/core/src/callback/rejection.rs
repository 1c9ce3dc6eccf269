//! Why the callback machine says no.

crate::rejection::rejections! {
    /// Why a trigger was refused. A refusal changes nothing, so it is safe to repeat.
    PolicyInvalid => CallbackPolicyInvalid, "policy_invalid", "the delivery policy is out of bounds";
    NotTerminal => CallbackPolicyInvalid, "not_terminal", "only the end is to be reported, and this is none";
    Repeated => StateRepeated, "repeated", "the same trigger has been applied already";
    Conflict => CallbackConflict, "conflict", "the delivery id stands for another payload";
    StaleFence => StaleFence, "stale_fence", "the attempt is not the current one";
    LeaseHeld => LeaseHeld, "lease_held", "the current attempt holds its lease";
    NotDue => CallbackNotDue, "not_due", "the time has not come";
    RetriesExhausted => CallbackRetriesExhausted, "retries_exhausted", "operators have retried it too often";
    NotAdmitted => StateNotAdmitted, "not_admitted", "the state does not admit this";
    Terminal => StateTerminal, "terminal", "the delivery has arrived or was dropped";
}
