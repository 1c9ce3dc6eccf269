//! The transition function: every (phase, trigger) pair has its answer here, and nowhere else. What a trigger does:
//! `effect.rs`.

use aip_types::{
    ActionId, ActionResultStatus, DelegationId, DelegationStatus, ErrorCode, MessageId, Millis, ProtocolError,
};
use alloc::{boxed::Box, string::String};

use super::effect;
use super::record::{Acceptance, DelegationRecord, Phase, VerifiedPeer};
use super::{HopPolicy, Rejection};
use crate::action::Held;
use crate::step::{Machine, Step};

/// What happens to a delegation after its first entry.
#[derive(Clone, Debug)]
pub enum Trigger {
    /// A worker asks to dispatch it. Nothing is sent before this is stored.
    Lease {
        /// Its fence, higher than all before.
        fence: u64,
        /// The worker.
        worker: String,
    },
    /// A dispatch had no answer of the peer.
    Unanswered {
        /// Its fence.
        fence: u64,
        /// Whether the peer may have it all the same.
        reach: Reach,
    },
    /// The lease of a dispatch may be over without a word.
    LeaseOver {
        /// Its fence.
        fence: u64,
    },
    /// A peer says something about a child: as the answer to a dispatch, or later.
    Report {
        /// The message that says it.
        message: MessageId,
        /// Who says it, as authenticated.
        from: VerifiedPeer,
        /// What it says.
        report: Box<Report>,
    },
    /// The parent is cancelled (AIP 1.0 §14.5).
    Cancel {
        /// The request.
        message: MessageId,
    },
    /// It may be time to ask the peer again to cancel.
    CancelDue,
    /// The deadline may have come.
    DeadlineDue,
}

/// How far a dispatch came that had no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// The peer certainly has nothing of it: there was no connection.
    None,
    /// The peer may have it.
    Unclear,
}

/// A `DelegationResult`, its action result put where it can be kept.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// The delegation.
    pub delegation_id: DelegationId,
    /// The action that delegates.
    pub parent_action_id: ActionId,
    /// The delegated action.
    pub child_action_id: ActionId,
    /// Where it stands.
    pub status: DelegationStatus,
    /// The action result.
    pub result: Option<ReportedResult>,
    /// The failure, of the report or of the action result in it.
    pub error: Option<ProtocolError>,
}

/// An `ActionResult` in a report.
#[derive(Clone, Debug, PartialEq)]
pub struct ReportedResult {
    /// The action that it is of.
    pub action_id: ActionId,
    /// How it ended.
    pub status: ActionResultStatus,
    /// All of it.
    pub value: Held,
}

/// The first step: the authority is passed on and the child waits for its first dispatch.
///
/// # Errors
/// [`Rejection::SameAction`], [`Rejection::DeadlinePassed`], and what [`super::Authority::extend`] refuses.
pub fn accept(acceptance: Acceptance, policy: &HopPolicy) -> Result<Step<DelegationRecord>, Rejection> {
    if acceptance.parent_action_id == acceptance.child_action_id {
        return Err(Rejection::SameAction);
    }
    let authority = acceptance.authority.extend(acceptance.hop.clone(), policy)?;
    let deadline = authority.expires_at().map_or(acceptance.deadline, |end| end.min(acceptance.deadline));
    if policy.at >= deadline {
        return Err(Rejection::DeadlinePassed);
    }
    Ok(effect::accept(acceptance, &authority, deadline, policy.at))
}

/// What a request that comes again means for the delegation that stands under its id.
#[must_use]
pub fn again(record: &DelegationRecord, acceptance: &Acceptance) -> Rejection {
    let same = record.parent_action_id == acceptance.parent_action_id
        && record.child_action_id == acceptance.child_action_id
        && record.child_hash == acceptance.child_hash
        && record.requester.id == acceptance.authority.holder().id
        && record.delegate.id == acceptance.hop.entry.to.id
        && super::Scope::read(&acceptance.hop.entry.scope).is_ok_and(|scope| scope.text() == record.scope);
    if same { Rejection::Repeated } else { Rejection::Conflict }
}

/// Applies a trigger. Total: every phase answers every trigger.
///
/// # Errors
/// A [`Rejection`], which changes nothing.
///
/// Source: AIP 1.0 §14.2, §14.4, §14.5.
pub fn step(record: &DelegationRecord, trigger: Trigger, at: Millis) -> Result<Step<DelegationRecord>, Rejection> {
    belongs(record, &trigger)?;
    match &record.phase {
        Phase::Accepted { due } => match trigger {
            Trigger::Lease { fence, .. } if fence <= record.fence => Err(Rejection::StaleFence),
            Trigger::Lease { .. } if at >= record.deadline => Err(Rejection::DeadlinePassed),
            Trigger::Lease { .. } if at < *due => Err(Rejection::NotDue),
            Trigger::Lease { fence, worker } => Ok(effect::dispatch(record, fence, worker, at)),
            Trigger::Unanswered { .. } | Trigger::LeaseOver { .. } => Err(Rejection::StaleFence),
            Trigger::Report { .. } if record.dispatches == 0 => Err(Rejection::NotAdmitted),
            Trigger::Report { message, report, .. } => effect::report(record, message, *report, at),
            Trigger::Cancel { message } => Ok(effect::cancel(record, message, at)),
            Trigger::CancelDue => Err(Rejection::NotAdmitted),
            Trigger::DeadlineDue => effect::expire(record, at),
        },
        Phase::Dispatching(current) => match trigger {
            Trigger::Lease { fence, worker } if fence == current.fence && worker == current.worker => {
                Err(Rejection::Repeated)
            }
            Trigger::Lease { fence, .. } if fence <= current.fence => Err(Rejection::StaleFence),
            Trigger::Lease { .. } => Err(Rejection::LeaseHeld),
            Trigger::Unanswered { fence, .. } | Trigger::LeaseOver { fence } if fence != current.fence => {
                Err(Rejection::StaleFence)
            }
            Trigger::Unanswered { reach, .. } => Ok(effect::unanswered(record, reach, at)),
            Trigger::LeaseOver { .. } if at < current.expires_at => Err(Rejection::NotDue),
            Trigger::LeaseOver { .. } => Ok(effect::unanswered(record, Reach::Unclear, at)),
            Trigger::Report { message, report, .. } => effect::report(record, message, *report, at),
            Trigger::Cancel { .. } if record.cancelling.is_some() => Err(Rejection::Repeated),
            Trigger::Cancel { message } => Ok(effect::cancel(record, message, at)),
            Trigger::CancelDue => Err(Rejection::NotAdmitted),
            Trigger::DeadlineDue => Err(Rejection::LeaseHeld),
        },
        Phase::Running {} | Phase::RequiresHuman {} => match trigger {
            Trigger::Lease { .. } => Err(Rejection::NotAdmitted),
            Trigger::Unanswered { .. } | Trigger::LeaseOver { .. } => Err(Rejection::StaleFence),
            Trigger::Report { message, report, .. } => effect::report(record, message, *report, at),
            Trigger::Cancel { .. } if record.cancelling.is_some() => Err(Rejection::Repeated),
            Trigger::Cancel { message } => Ok(effect::cancel(record, message, at)),
            Trigger::CancelDue => effect::ask(record, at),
            Trigger::DeadlineDue => effect::expire(record, at),
        },
        Phase::OutcomeUnknown {} => match trigger {
            Trigger::Lease { .. } => Err(Rejection::NotAdmitted),
            Trigger::Unanswered { .. } | Trigger::LeaseOver { .. } => Err(Rejection::StaleFence),
            // After the deadline only a definite answer ends it; before, the peer may say that it is at work.
            Trigger::Report { report, .. } if at >= record.deadline && !effect::is_definite(&report) => {
                Err(Rejection::DeadlinePassed)
            }
            Trigger::Report { message, report, .. } => effect::report(record, message, *report, at),
            Trigger::Cancel { .. } if record.cancelling.is_some() => Err(Rejection::Repeated),
            Trigger::Cancel { message } => Ok(effect::cancel(record, message, at)),
            Trigger::CancelDue => effect::ask(record, at),
            Trigger::DeadlineDue => Err(Rejection::NotAdmitted),
        },
        Phase::Completed {} | Phase::Failed {} | Phase::Cancelled {} => match trigger {
            Trigger::Report { report, .. } => {
                let same = record.report_hash.as_ref() == Some(&effect::report_hash(&report));
                Err(if same { Rejection::Repeated } else { Rejection::Conflict })
            }
            Trigger::Lease { .. }
            | Trigger::Unanswered { .. }
            | Trigger::LeaseOver { .. }
            | Trigger::Cancel { .. }
            | Trigger::CancelDue
            | Trigger::DeadlineDue => Err(Rejection::Terminal),
        },
    }
}

/// Whatever the phase, only the bound peer's word about this very child is a report.
fn belongs(record: &DelegationRecord, trigger: &Trigger) -> Result<(), Rejection> {
    if let Trigger::Report { from, report, .. } = trigger { effect::belongs(record, from, report) } else { Ok(()) }
}

impl Machine for DelegationRecord {
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

/// The code with which the peer says that it does not know the child's outcome (AIP 1.0 §14.5).
pub(crate) fn is_uncertain(report: &Report) -> bool {
    let unknown = ErrorCode::OutcomeUnknown.as_str();
    report.status != DelegationStatus::Completed && report.error.as_ref().is_some_and(|error| error.code == unknown)
}
