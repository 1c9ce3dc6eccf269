//! Why the session machine says no.

crate::rejection::rejections! {
    /// Why a trigger was refused. A refusal changes nothing, so it is safe to repeat.
    TermsInvalid => SessionTermsInvalid, "terms_invalid", "its terms or times are out of bounds";
    Repeated => StateRepeated, "repeated", "the same trigger, or a later one, has been applied already";
    NotOwner => SessionNotFound, "not_owner", "who asks has no right to this session";
    TokenInvalid => SessionTokenInvalid, "token_invalid", "the resume token is not the one of this session";
    TokenUsed => SessionTokenUsed, "token_used", "the resume token was used or replaced before";
    ActionUnknown => StateNotAdmitted, "action_unknown", "the action is not one of this session";
    ActionsFull => SessionActionsFull, "actions_full", "too many actions have not ended";
    Closing => SessionClosing, "closing", "the session is closing: nothing new begins";
    Expired => SessionEnded, "expired", "its time is over: nothing new begins";
    Ended => SessionEnded, "ended", "the session has ended and waits to be settled";
    NotDue => StateNotDue, "not_due", "the time has not come";
    NotAdmitted => StateNotAdmitted, "not_admitted", "the state does not admit this";
    Terminal => SessionSettled, "terminal", "the session is settled";
}
