//! Random histories: every kind of action, every trigger, legal or not, from clocks that disagree.

use aip_core::action::{ActionRecord, Grant, Held, Phase, Reconciled, Rejection, Settled, Step, Trigger, step};
use aip_types::{ActionMode, ApprovalId, CorrelationId, ErrorCode, Millis, ProtocolError, RetrySafety};
use proptest::{collection::vec, prelude::*, sample::select};
use serde_json::json;

use crate::fixtures::{Kind, caller, queued};
use crate::laws::{Which, which};

/// One trigger of a history, before it is known which fence is current.
#[derive(Clone, Debug)]
pub(crate) struct Move {
    what: What,
    fence: Which,
    instance: bool,
    pub(crate) at: Millis,
}

#[derive(Clone, Copy, Debug)]
enum What {
    Start { over: bool, chunk_base: u64 },
    Settle { granted: bool, how: How, chunks_last: Option<u64> },
    LeaseOver,
    DeadlineDue,
    Exhausted,
    Cancel,
    Approval { right: bool, granted: bool },
    Answer { right: bool, given: bool },
    Reconciled { done: bool, retry: bool },
}

#[derive(Clone, Copy, Debug)]
enum How {
    Completed,
    Failed { uncertain: bool, retryable: bool },
    Cancelled,
    Asked,
}

/// One trigger and what came of it.
pub(crate) struct Moved {
    pub(crate) before: ActionRecord,
    pub(crate) trigger: Trigger,
    pub(crate) at: Millis,
    pub(crate) result: Result<Step, Rejection>,
}

impl Moved {
    /// The step, where there was one.
    pub(crate) fn step(&self) -> Option<&Step> {
        self.result.as_ref().ok()
    }

    /// The grant that the trigger carries.
    pub(crate) fn grant(&self) -> Option<&Grant> {
        match &self.trigger {
            Trigger::Start { grant, .. } => Some(grant),
            Trigger::Settle { grant, .. } => grant.as_ref(),
            Trigger::LeaseOver { .. }
            | Trigger::DeadlineDue
            | Trigger::Exhausted
            | Trigger::Cancel { .. }
            | Trigger::Approved { .. }
            | Trigger::Unapproved { .. }
            | Trigger::Answered { .. }
            | Trigger::Unanswered { .. }
            | Trigger::Reconciled(_) => None,
        }
    }

    pub(crate) fn began(&self) -> bool {
        self.result.is_ok() && matches!(self.trigger, Trigger::Start { .. })
    }
}

/// A whole life: its first step, and every trigger after it.
pub(crate) struct Life {
    pub(crate) kind: Kind,
    pub(crate) first: Step,
    pub(crate) moves: Vec<Moved>,
}

impl Life {
    /// Every step that was taken, the first included.
    pub(crate) fn steps(&self) -> impl Iterator<Item = &Step> {
        std::iter::once(&self.first).chain(self.moves.iter().filter_map(Moved::step))
    }

    pub(crate) fn last(&self) -> &ActionRecord {
        &self.steps().last().unwrap_or(&self.first).record
    }
}

pub(crate) fn live(kind: Kind, moves: &[Move]) -> Life {
    let first = queued(kind);
    let mut record = first.record.clone();
    let moves = moves.iter().map(|one| {
        let trigger = trigger(one, &record);
        let before = record.clone();
        let result = step(&record, trigger.clone(), one.at);
        if let Ok(step) = &result {
            record = step.record.clone();
        }
        Moved { before, trigger, at: one.at, result }
    });
    Life { kind, moves: moves.collect(), first }
}

fn trigger(one: &Move, record: &ActionRecord) -> Trigger {
    let current = record.grant();
    let held = current.map_or(0, |grant| grant.fence);
    let fence = one.fence.of(held);
    let instance = match (one.fence, current, one.instance) {
        (Which::Current, Some(grant), true) => grant.instance.clone(),
        (_, _, true) => "one".to_owned(),
        (_, _, false) => "two".to_owned(),
    };
    let grant = Grant { fence, instance };
    match one.what {
        What::Start { over, chunk_base } => Trigger::Start { grant, over, chunk_base },
        What::Settle { granted, how, chunks_last } => {
            Trigger::Settle { grant: granted.then_some(grant), settled: settled(how, fence, record), chunks_last }
        }
        What::LeaseOver => Trigger::LeaseOver { fence },
        What::DeadlineDue => Trigger::DeadlineDue,
        What::Exhausted => Trigger::Exhausted,
        What::Cancel => Trigger::Cancel { by: caller(), reason: None },
        What::Approval { right, granted } => {
            let approval_id = ApprovalId::new(if right { "appr_1" } else { "appr_2" });
            if granted {
                Trigger::Approved { approval_id }
            } else {
                Trigger::Unapproved { approval_id, code: ErrorCode::ActionCancelled }
            }
        }
        What::Answer { right, given } => {
            let asked = if right { record.questions.len() } else { 99 };
            let correlation_id = CorrelationId::new(format!("corr_q{asked}"));
            if given {
                Trigger::Answered { correlation_id, answer: Held::Inline(json!("yes")) }
            } else {
                Trigger::Unanswered { correlation_id, code: ErrorCode::ActionCancelled }
            }
        }
        What::Reconciled { done: true, .. } => {
            Trigger::Reconciled(Reconciled::Done { output: Held::Inline(json!({"fence": fence})) })
        }
        What::Reconciled { retry, .. } => {
            Trigger::Reconciled(Reconciled::NotDone { error: ProtocolError::from(ErrorCode::ConnectorFailed), retry })
        }
    }
}

fn settled(how: How, fence: u64, record: &ActionRecord) -> Settled {
    match how {
        How::Completed => Settled::Completed { output: Held::Inline(json!({"fence": fence})) },
        How::Failed { uncertain, retryable } => {
            let mut error = ProtocolError::from(ErrorCode::ConnectorFailed);
            error.retryable = Some(retryable);
            Settled::Failed { error, uncertain }
        }
        How::Cancelled => Settled::Cancelled {},
        How::Asked => {
            // A repeated report names the same question.
            let asked = match record.phase {
                Phase::InputRequired { .. } => record.questions.len(),
                _ => record.questions.len() + 1,
            };
            Settled::Asked {
                correlation_id: CorrelationId::new(format!("corr_q{asked}")),
                question: Held::Inline(json!({"kind": "input"})),
            }
        }
    }
}

pub(crate) fn kind() -> impl Strategy<Value = Kind> {
    let approval = prop::bool::weighted(0.2);
    (any::<bool>(), select(RetrySafety::ALL), any::<bool>(), select(ActionMode::ALL), any::<bool>(), approval).prop_map(
        |(read_only, retry_safety, keyed, mode, supports_retry, approval)| Kind {
            read_only,
            retry_safety,
            keyed,
            mode,
            supports_retry,
            approval,
        },
    )
}

fn one_move() -> impl Strategy<Value = Move> {
    let start = (prop::bool::weighted(0.8), 0..50_u64).prop_map(|(over, chunk_base)| What::Start { over, chunk_base });
    let how = prop_oneof![
        2 => Just(How::Completed),
        4 => (prop::bool::weighted(0.6), any::<bool>())
            .prop_map(|(uncertain, retryable)| How::Failed { uncertain, retryable }),
        1 => Just(How::Cancelled),
        2 => Just(How::Asked),
    ];
    let settle = (prop::bool::weighted(0.8), how, prop::option::of(0..50_u64))
        .prop_map(|(granted, how, chunks_last)| What::Settle { granted, how, chunks_last });
    let likely = || prop::bool::weighted(0.8);
    let what = prop_oneof![
        8 => start,
        2 => settle,
        4 => Just(What::LeaseOver),
        1 => Just(What::DeadlineDue),
        1 => Just(What::Exhausted),
        1 => Just(What::Cancel),
        2 => (likely(), likely()).prop_map(|(right, granted)| What::Approval { right, granted }),
        2 => (likely(), likely()).prop_map(|(right, given)| What::Answer { right, given }),
        1 => (any::<bool>(), likely()).prop_map(|(done, retry)| What::Reconciled { done, retry }),
    ];
    let fence = which();
    // Mostly before the deadline; clocks of different processes disagree, also about the order.
    let at = prop_oneof![6 => 900..3_000_u64, 1 => 3_000..4_000_u64];
    (what, fence, prop::bool::weighted(0.9), at).prop_map(|(what, fence, instance, at)| Move {
        what,
        fence,
        instance,
        at: Millis(at),
    })
}

/// A life of any kind of action.
pub(crate) fn life() -> impl Strategy<Value = Life> {
    (kind(), vec(one_move(), 0..96)).prop_map(|(kind, moves): (Kind, Vec<Move>)| live(kind, &moves))
}

impl std::fmt::Debug for Life {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        writeln!(f, "{:?}", self.kind)?;
        self.moves.iter().try_for_each(|moved| {
            let came = match &moved.result {
                Ok(step) => format!("{:?} ({})", step.record.phase, step.event),
                Err(rejection) => rejection.name().to_owned(),
            };
            writeln!(f, "  {:?} at {}: {came}", moved.trigger, moved.at.0)
        })
    }
}
