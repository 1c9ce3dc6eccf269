//! The transition function: every (phase, trigger) pair has its answer here, and nowhere else.

use aip_types::{
    EscalationDecision as Decision, EscalationKind, EscalationResolution, EscalationResolutionStatus as Status,
    EventKind, Millis, Principal, Timestamp, limits,
};
use alloc::boxed::Box;
use serde_json::json;

use super::Rejection;
use super::record::{EscalationRecord, Phase, Raised};
use crate::step::{Chain, Draft, Machine, Step, bare, fleet};

/// What happens to an escalation after its first entry.
#[derive(Clone, Debug)]
pub enum Trigger {
    /// Somebody answers.
    Resolve(Box<Resolve>),
    /// The time may be over. Only the fleet's own timer sends it.
    Due,
    /// Verified: what it was raised for has ended.
    ActionEnded,
}

/// An answer as it came in, and what the service has found out for itself.
#[derive(Clone, Debug)]
pub struct Resolve {
    /// The answer. All of it is claimed.
    pub claimed: EscalationResolution,
    /// The authenticated sender.
    pub resolver: Principal,
    /// The sender may read this escalation.
    pub visible: bool,
    /// Policy lets the sender answer it.
    pub may_resolve: bool,
    /// What the form says of the answer's result.
    pub answer: VerifiedAnswer,
}

/// Verified: the verdict of the escalation's form, a JSON Schema, on the answer's result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VerifiedAnswer {
    /// There is no form or no result.
    Unchecked,
    /// The result satisfies the form.
    Valid,
    /// It does not.
    Invalid,
}

/// The first step: a person is asked.
///
/// # Errors
/// [`Rejection::TooLarge`].
pub fn raise(raised: Raised) -> Result<Step<EscalationRecord>, Rejection> {
    let Raised { id, tenant, action_id, session_id, mut request, at, deadline } = raised;
    request.requested_by = bare(&request.requested_by);
    if serde_json::to_vec(&request).map_or(usize::MAX, |bytes| bytes.len()) > limits::ESCALATION_BYTES_MAX {
        return Err(Rejection::TooLarge);
    }
    let timeout_ms = request.timeout_ms.unwrap_or(limits::ESCALATION_TTL_MS_DEFAULT).min(limits::ESCALATION_TTL_MS_MAX);
    let expires_at = at.plus(timeout_ms).min(deadline.unwrap_or(Millis(u64::MAX)));
    let data = json!({"kind": request.kind.as_str()});
    let record = EscalationRecord {
        id,
        tenant,
        action_id,
        session_id,
        request,
        created_at: at,
        expires_at,
        answer: None,
        phase: Phase::Open {},
        chain: Chain::default(),
    };
    Ok(Draft::new(record, at).event(EventKind::EscalationRequested, Some(data)).done("requested"))
}

/// Applies a trigger. Total: every phase answers every trigger.
///
/// # Errors
/// A [`Rejection`], which changes nothing.
///
/// Source: AIP 1.0 §12.7.
pub fn step(record: &EscalationRecord, trigger: Trigger, at: Millis) -> Result<Step<EscalationRecord>, Rejection> {
    match &record.phase {
        Phase::Open {} => match trigger {
            Trigger::Resolve(resolve) => {
                check(record, &resolve, at)?;
                resolved(record, &resolve, at)
            }
            Trigger::Due if at < record.expires_at => Err(Rejection::NotDue),
            Trigger::Due => {
                let next = moved(record, Phase::Expired {});
                Ok(Draft::new(next, at).event(EventKind::EscalationExpired, None).done("expired"))
            }
            Trigger::ActionEnded => {
                let next = moved(record, Phase::Withdrawn {});
                Ok(Draft::new(next, at).event(EventKind::EscalationWithdrawn, None).done("withdrawn"))
            }
        },
        Phase::Resolved {} | Phase::Expired {} | Phase::Withdrawn {} => match trigger {
            Trigger::Resolve(resolve) => Err(check(record, &resolve, at).err().unwrap_or(Rejection::NotOpen)),
            Trigger::Due | Trigger::ActionEnded => Err(Rejection::Terminal),
        },
    }
}

impl Machine for EscalationRecord {
    type Trigger = Trigger;
    type Rejection = Rejection;

    fn step(&self, trigger: Trigger, at: Millis) -> Result<Step<Self>, Rejection> {
        step(self, trigger, at)
    }

    fn is_terminal(&self) -> bool {
        self.phase.is_terminal()
    }

    fn phase(&self) -> &'static str {
        self.phase.name()
    }
}

/// Checks an answer, in a fixed order: one wrong answer has one refusal.
fn check(record: &EscalationRecord, resolve: &Resolve, at: Millis) -> Result<(), Rejection> {
    let Resolve { claimed, resolver, visible, may_resolve, answer } = resolve;
    if !visible {
        return Err(Rejection::NotFound);
    }
    if claimed.resolved_by.id != resolver.id || claimed.resolved_by.kind != resolver.kind {
        return Err(Rejection::ResolverMismatch);
    }
    if record.answer.as_ref().is_some_and(|given| same(given, claimed)) {
        return Err(Rejection::Repeated);
    }
    if record.phase.is_terminal() {
        return Err(Rejection::NotOpen);
    }
    if at >= record.expires_at {
        return Err(Rejection::Expired);
    }
    let own = record.request.requested_by.id == resolver.id;
    if !may_resolve || (own && claimed.status != Status::Cancelled) {
        return Err(Rejection::NotAuthorised);
    }
    let decision = decision(claimed.status).ok_or(Rejection::DecisionRefused)?;
    let allowed = &record.request.allowed_decisions;
    if !allowed.is_empty() && !allowed.contains(&decision) {
        return Err(Rejection::DecisionRefused);
    }
    result(record, claimed, *answer)
}

/// The sender's repeat may carry another time.
fn same(given: &EscalationResolution, claimed: &EscalationResolution) -> bool {
    given.status == claimed.status && given.resolved_by.id == claimed.resolved_by.id && given.result == claimed.result
}

/// The decision that a status stands for; none for the one that only the clock takes.
const fn decision(status: Status) -> Option<Decision> {
    match status {
        Status::Approved => Some(Decision::Approve),
        Status::Rejected => Some(Decision::Reject),
        Status::Modified => Some(Decision::Modify),
        Status::HandoffCompleted => Some(Decision::Handoff),
        Status::Cancelled => Some(Decision::Cancel),
        Status::Expired => None,
    }
}

/// What lets work go on needs the result that was asked for; and no result contradicts its form.
fn result(record: &EscalationRecord, claimed: &EscalationResolution, answer: VerifiedAnswer) -> Result<(), Rejection> {
    let goes_on = match claimed.status {
        Status::Approved | Status::Modified | Status::HandoffCompleted => true,
        Status::Rejected | Status::Cancelled | Status::Expired => false,
    };
    let form = record.request.form.is_some();
    let asked = form || (record.request.kind == EscalationKind::Input && claimed.status != Status::HandoffCompleted);
    let valid = match &claimed.result {
        None => !(goes_on && asked),
        Some(_) => !form || answer == VerifiedAnswer::Valid,
    };
    if !valid {
        return Err(Rejection::AnswerInvalid);
    }
    if serde_json::to_vec(claimed).map_or(usize::MAX, |bytes| bytes.len()) > limits::ESCALATION_ANSWER_BYTES_MAX {
        return Err(Rejection::TooLarge);
    }
    Ok(())
}

fn resolved(record: &EscalationRecord, resolve: &Resolve, at: Millis) -> Result<Step<EscalationRecord>, Rejection> {
    let resolver = bare(&resolve.resolver);
    let data = json!({"status": resolve.claimed.status.as_str(), "resolved_by": resolver.id.as_str()});
    let mut next = moved(record, Phase::Resolved {});
    next.answer = Some(EscalationResolution {
        status: resolve.claimed.status,
        resolved_by: resolver,
        resolved_at: Timestamp::from_millis(at),
        result: resolve.claimed.result.clone(),
    });
    Ok(Draft::new(next, at).event(EventKind::EscalationResolved, Some(data)).done("resolved"))
}

fn moved(record: &EscalationRecord, phase: Phase) -> EscalationRecord {
    let mut next = record.clone();
    next.phase = phase;
    next
}

/// How it ended, as the one who raised it is told; none while it is open.
#[must_use]
pub fn resolution(record: &EscalationRecord) -> Option<EscalationResolution> {
    let by_us =
        |status| Some(EscalationResolution::new(status, fleet(), Timestamp::from_millis(record.chain.updated_at)));
    match record.phase {
        Phase::Open {} => None,
        Phase::Resolved {} => record.answer.clone(),
        Phase::Expired {} => by_us(Status::Expired),
        Phase::Withdrawn {} => by_us(Status::Cancelled),
    }
}
