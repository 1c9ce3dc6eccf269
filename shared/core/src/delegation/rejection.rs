//! Why a chain or the delegation machine says no.

crate::rejection::rejections! {
    /// Why a chain or a trigger was refused. A refusal changes nothing, so it is safe to repeat.
    ChainTooLong => DelegationChainTooLong, "chain_too_long", "the chain has more hops than are allowed";
    ChainBroken => DelegationBrokenChain, "chain_broken", "a hop does not begin where the one before ended";
    Loop => DelegationLoop, "loop", "a principal stands in the chain twice";
    ScopeInvalid => DelegationScopeInvalid, "scope_invalid", "the scope is no set of tokens, or out of bounds";
    ScopeWidened => DelegationScopeWidened, "scope_widened", "the scope is wider than what was received";
    TimeInvalid => DelegationBrokenChain, "time_invalid", "a hop lies in the future or before the hop that it follows";
    GrantExpired => DelegationGrantExpired, "grant_expired", "a grant has expired or was revoked";
    DomainForbidden => DelegationTrustDomainForbidden, "domain_forbidden", "a trust domain of the chain is forbidden";
    TenantForbidden => DelegationTenantMismatch, "tenant_forbidden", "tenant policy forbids a hop";
    ResidencyForbidden => DelegationResidencyForbidden, "residency_forbidden", "data residency policy forbids a hop";
    SameAction => DelegationLoop, "same_action", "parent and child are one action";
    Repeated => StateRepeated, "repeated", "the same trigger has been applied already";
    Conflict => DelegationConflict, "conflict", "what stands under this id is something else";
    PeerMismatch => DelegationPeerMismatch, "peer_mismatch", "the sender is not the bound peer";
    ResultMismatch => DelegationResultMismatch, "result_mismatch", "the result is about something else";
    ResultInvalid => DelegationResultInvalid, "result_invalid", "the result breaks a rule or a bound";
    StaleFence => StaleFence, "stale_fence", "the dispatch is not the current one";
    LeaseHeld => LeaseHeld, "lease_held", "the current dispatch holds its lease";
    NotDue => StateNotDue, "not_due", "the time has not come";
    DeadlinePassed => ActionExpired, "deadline_passed", "the deadline has passed: nothing new begins";
    NotAdmitted => StateNotAdmitted, "not_admitted", "the state does not admit this";
    Terminal => StateTerminal, "terminal", "the delegation has ended";
}
