//! Why the escalation machine says no.

crate::rejection::rejections! {
    /// Why a trigger was refused. A refusal changes nothing, so it is safe to repeat.
    NotFound => EscalationNotFound, "not_found", "there is no such escalation for this reader";
    ResolverMismatch => EscalationResolverMismatch, "resolver_mismatch", "the claimed resolver is not the authenticated principal";
    Repeated => StateRepeated, "repeated", "the same answer has been given already";
    NotOpen => EscalationNotOpen, "not_open", "the escalation has ended otherwise";
    Expired => EscalationExpired, "expired", "the escalation's time is over";
    NotAuthorised => EscalationNotAuthorised, "not_authorised", "the principal may not answer this";
    DecisionRefused => EscalationDecisionRefused, "decision_refused", "the escalation does not allow this decision";
    AnswerInvalid => EscalationAnswerInvalid, "answer_invalid", "the answer does not match its form";
    TooLarge => EscalationTooLarge, "too_large", "the record has no room for this";
    NotDue => StateNotDue, "not_due", "the time has not come";
    Terminal => StateTerminal, "terminal", "the record is terminal";
}
