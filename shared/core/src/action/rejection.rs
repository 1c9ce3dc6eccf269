//! Why the action machine says no.

crate::rejection::rejections! {
    /// Why a trigger was refused. A refusal changes nothing, so it is safe to repeat.
    StaleFence => StaleFence, "stale_fence", "the attempt was superseded";
    Repeated => StateRepeated, "repeated", "the same trigger has been applied already";
    LeaseHeld => LeaseHeld, "lease_held", "the current attempt holds its lease";
    NotDue => StateNotDue, "not_due", "the time has not come";
    DeadlinePassed => ActionExpired, "deadline_passed", "the deadline has passed: nothing new begins";
    Exhausted => ActionDeadLettered, "exhausted", "the attempts are used up";
    Mismatch => StateMismatch, "mismatch", "it names another approval or question than the awaited one";
    TooLarge => TooLarge, "too_large", "the questions or answers are larger than the record holds";
    TooManyQuestions => QuestionsExhausted, "too_many_questions", "the action has asked its caller too often";
    OutcomeUnknown => OutcomeUnknown, "outcome_unknown", "only a reconciliation can say what became of it";
    NotAdmitted => StateNotAdmitted, "not_admitted", "the state does not admit this";
    Terminal => StateTerminal, "terminal", "the record is terminal";
}
