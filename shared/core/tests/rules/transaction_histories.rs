//! Random histories of transactions: every kind, every trigger, legal or not, from processes that are stale, hostile or
//! have wrong clocks.

use std::collections::BTreeSet;

use aip_core::{
    action,
    transaction::{
        Claiming, Contract, DryRun, Finding, First, Grant, Known, Opening, Phase, Planning, Rejection, Resolution,
        Settled, Step, TransactionRecord, Trigger, VerifiedApproval, VerifiedFacts, open, open_unknown, step,
    },
};
use aip_types::{
    ActionId, ActionTransaction, ApprovalId, CapabilityId, CompensationContract, CompensationMode, CorrelationId,
    DryRunFidelity, ErrorCode, ExternalAccountRef, IdentityContext, Millis, Principal, PrincipalId, PrincipalKind,
    ProtocolError, ProviderOperationRef, RetrySafety, SideEffect, TransactionId, TransactionMode,
};
use proptest::{collection::vec, prelude::*, sample::select};
use serde_json::json;

use crate::fixtures::{self, caller};

pub(crate) const OPENED: Millis = Millis(1_000);
pub(crate) const EXPIRY: Millis = Millis(10_000);
pub(crate) const WINDOW_MS: u64 = 20_000;

/// What may differ between two transactions and bears on their life.
#[derive(Clone, Debug)]
pub(crate) struct Kind {
    pub(crate) first: Opens,
    pub(crate) read_only: bool,
    pub(crate) safety: RetrySafety,
    pub(crate) keyed: bool,
    pub(crate) compensation: CompensationMode,
    pub(crate) approval: bool,
    pub(crate) reconciles: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Opens {
    Plan,
    Execute,
    DryRun(DryRunFidelity),
    /// For an action without a transaction whose outcome became unknown.
    Unknown,
}

impl Kind {
    /// A plan of a mutation that may not be repeated, with a way back.
    pub(crate) const PLAN: Self = Self {
        first: Opens::Plan,
        read_only: false,
        safety: RetrySafety::Unsafe,
        keyed: true,
        compensation: CompensationMode::Supported,
        approval: false,
        reconciles: true,
    };
    /// The same, repeatable with its key.
    pub(crate) const SAFE: Self = Self { safety: RetrySafety::SafeWithIdempotencyKey, ..Self::PLAN };

    pub(crate) fn may_repeat(&self) -> bool {
        self.execution().may_repeat(self.keyed)
    }

    pub(crate) fn execution(&self) -> action::Contract {
        action::Contract { read_only: self.read_only, retry_safety: self.safety, supports_retry: false }
    }

    pub(crate) fn contract(&self) -> Contract {
        let mut compensation = CompensationContract::new(self.compensation, false);
        compensation.compensation_capability_id = Some(CapabilityId::new("cap:demo:undo"));
        compensation.compensation_window_ms = Some(WINDOW_MS);
        let mut supported_modes: BTreeSet<_> = TransactionMode::ALL.iter().copied().collect();
        if !self.reconciles {
            supported_modes.remove(&TransactionMode::Reconcile);
        }
        Contract {
            execution: self.execution(),
            supported_modes,
            requires_plan_before_commit: false,
            dry_run_fidelity: DryRunFidelity::FullSimulation,
            compensation,
        }
    }

    pub(crate) fn facts(&self) -> VerifiedFacts {
        let account = ExternalAccountRef { id: "acc_1".to_owned(), system: "bank".to_owned() };
        VerifiedFacts {
            tenant: "acme".to_owned(),
            principal: caller(),
            identity: Some(IdentityContext { external_account: Some(account), ..IdentityContext::default() }),
            capability_id: CapabilityId::new("cap:demo:x"),
            contract: self.contract(),
            input_hash: "input".to_owned(),
            policy_hash: Some("policy".to_owned()),
        }
    }

    pub(crate) fn opening(&self) -> Opening {
        Opening {
            id: TransactionId::new("txn_1"),
            action_id: ActionId::new("act_1"),
            facts: self.facts(),
            session_id: None,
            correlation_id: Some(CorrelationId::new("corr_1")),
            deadline: EXPIRY,
            at: OPENED,
        }
    }

    pub(crate) fn planning(&self) -> Planning {
        Planning {
            plan_id: "plan_1".to_owned(),
            input_snapshot: Some(json!({"redacted": true})),
            predicted_side_effects: [SideEffect::Financial].into(),
            approval_required: self.approval,
            approval_policy: None,
            expires_at: EXPIRY,
            metadata: None,
        }
    }

    pub(crate) fn open(&self) -> Step {
        match self.first {
            Opens::Plan => open(self.opening(), First::Plan(Box::new(self.planning()))).unwrap(),
            Opens::Execute => open(self.opening(), First::Execute).unwrap(),
            Opens::DryRun(fidelity) => open(self.opening(), First::DryRun(fidelity)).unwrap(),
            Opens::Unknown => open_unknown(&unknown_action(self.keyed), self.facts(), Millis(1_200)).unwrap(),
        }
    }

    /// A claim that all facts speak for.
    pub(crate) fn claiming(&self, mode: TransactionMode, grant: Grant) -> Claiming {
        let mut facts = self.facts();
        if mode == TransactionMode::Compensate {
            facts.capability_id = CapabilityId::new("cap:demo:undo");
        }
        let approval = self.approval.then(|| VerifiedApproval {
            approval_id: ApprovalId::new("appr_1"),
            action_id: grant.action_id.clone(),
            input_hash: facts.input_hash.clone(),
            policy_hash: facts.policy_hash.clone(),
            expires_at: None,
        });
        Claiming {
            grant,
            over: true,
            transaction: ActionTransaction {
                mode,
                transaction_id: None,
                plan_id: (mode == TransactionMode::Commit).then(|| "plan_1".to_owned()),
                compensation_for: (mode == TransactionMode::Compensate).then(|| ActionId::new("act_commit")),
            },
            facts,
            approval,
            keyed: self.keyed,
        }
    }
}

/// An action whose worker, with fence 5, said that it does not know.
pub(crate) fn unknown_action(keyed: bool) -> action::ActionRecord {
    let kind = fixtures::Kind { keyed, ..fixtures::Kind::UNSAFE };
    let grant = action::Grant { fence: 5, instance: "one".to_owned() };
    let start = action::Trigger::Start { grant: grant.clone(), over: true, chunk_base: 0 };
    let running = action::step(&fixtures::record(kind), start, Millis(1_100)).unwrap().record;
    let settled = action::Settled::Failed { error: uncertain_error(), uncertain: true };
    let settle = action::Trigger::Settle { grant: Some(grant), settled, chunks_last: None };
    action::step(&running, settle, Millis(1_150)).unwrap().record
}

pub(crate) fn uncertain_error() -> ProtocolError {
    let operation = json!({"provider": "bank", "operation_id": "op_7"});
    let details = json!({"provider_operation": operation, "reconciliation_cursor": "c1"});
    ProtocolError::from(ErrorCode::ConnectorFailed).with_details(details)
}

pub(crate) fn grant(action_id: &str, fence: u64) -> Grant {
    Grant { action_id: ActionId::new(action_id), instance: "one".to_owned(), fence }
}

/// One trigger of a history, before it is known what it is relative to.
#[derive(Clone, Debug)]
pub(crate) struct Move {
    what: What,
    fence: Which,
    by: &'static str,
    at: At,
}

#[derive(Clone, Debug)]
enum What {
    /// What the phase waits for, so that lives get far; the number chooses the answer where one is asked for.
    Forward(u8),
    Plan,
    DryRunEnded(bool),
    Claim {
        mode: TransactionMode,
        over: bool,
        spoiled: Option<u8>,
    },
    Start,
    Settle(u8),
    LeaseOver,
    Reconcile {
        over: bool,
    },
    Found(u8),
    Escalate,
    Resolve {
        decision: u8,
        finding: u8,
    },
    Cancel,
    Due,
}

/// A fence relative to the highest or to the claim, so that long histories get somewhere, or any.
#[derive(Clone, Copy, Debug)]
enum Which {
    Held,
    Next,
    Any(u64),
}

#[derive(Clone, Copy, Debug)]
enum At {
    /// When the record waits for something: then.
    Due,
    Any(u64),
}

/// One trigger and what came of it.
pub(crate) struct Moved {
    pub(crate) before: TransactionRecord,
    pub(crate) trigger: Trigger,
    pub(crate) at: Millis,
    pub(crate) result: Result<Step, Rejection>,
}

impl Moved {
    /// The record after the trigger, where it was applied.
    pub(crate) fn after(&self) -> Option<&TransactionRecord> {
        self.result.as_ref().ok().map(|step| &step.record)
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
        std::iter::once(&self.first).chain(self.moves.iter().filter_map(|moved| moved.result.as_ref().ok()))
    }

    /// Every trigger that was applied, with the record before and after it.
    pub(crate) fn applied(&self) -> impl Iterator<Item = (&Moved, &TransactionRecord)> {
        self.moves.iter().filter_map(|moved| moved.after().map(|after| (moved, after)))
    }

    pub(crate) fn last(&self) -> &TransactionRecord {
        &self.steps().last().unwrap_or(&self.first).record
    }
}

fn live(kind: Kind, moves: &[Move]) -> Life {
    let first = kind.open();
    let mut record = first.record.clone();
    let moves = moves.iter().map(|one| {
        let trigger = trigger(&kind, one, &record);
        let forward = matches!(one.what, What::Forward(_));
        let asks = matches!(record.phase, Phase::OutcomeUnknown(_));
        let at = match one.at {
            At::Due if forward && !asks => Millis(2_000),
            At::Any(at) if !(forward && asks) => Millis(at),
            At::Due | At::Any(_) => record.due().unwrap_or(Millis(2_000)),
        };
        let before = record.clone();
        let result = step(&record, trigger.clone(), at);
        if let Ok(step) = &result {
            record = step.record.clone();
        }
        Moved { before, trigger, at, result }
    });
    Life { moves: moves.collect(), kind, first }
}

/// The natural next trigger, as a move.
fn forward(one: &Move, how: u8, record: &TransactionRecord) -> Move {
    let claim = |mode| What::Claim { mode, over: true, spoiled: None };
    let (what, fence, by) = match &record.phase {
        Phase::DryRunCompleted {} => (What::Plan, Which::Next, one.by),
        Phase::Planned {} | Phase::Reconciled {} => (claim(TransactionMode::Commit), Which::Next, "act_commit"),
        Phase::Prepared { claim: None } if record.part.mode == TransactionMode::DryRun => {
            (What::DryRunEnded(how > 0), Which::Next, one.by)
        }
        Phase::Prepared { claim: None } => (claim(TransactionMode::Execute), Which::Next, "act_1"),
        Phase::Prepared { claim: Some(_) } => (What::Start, Which::Held, one.by),
        Phase::Committing(claim) | Phase::Compensating(claim) if !claim.has_started() => {
            (What::Start, Which::Held, one.by)
        }
        Phase::Committing(_) | Phase::Compensating(_) => (What::Settle(how), Which::Held, one.by),
        Phase::Committed {} => (claim(TransactionMode::Compensate), Which::Next, "act_undo"),
        Phase::OutcomeUnknown(_) => (What::Reconcile { over: true }, Which::Next, one.by),
        Phase::Reconciling { .. } => (What::Found(how), Which::Held, one.by),
        Phase::RequiresHuman { .. } => (What::Resolve { decision: how, finding: how % 4 }, Which::Held, one.by),
        Phase::Compensated {} | Phase::Cancelled {} | Phase::RollbackNotSupported {} | Phase::Failed {} => {
            (What::Due, Which::Held, one.by)
        }
    };
    Move { what, fence, by, at: one.at }
}

fn trigger(kind: &Kind, one: &Move, record: &TransactionRecord) -> Trigger {
    if let What::Forward(how) = one.what {
        return trigger(kind, &forward(one, how, record), record);
    }
    let held = record.phase.claim().map(|claim| claim.grant.clone());
    let asked = if let Phase::Reconciling { query, .. } = &record.phase { Some(query.clone()) } else { None };
    let held = if matches!(one.what, What::Settle(_)) { held } else { asked.or(held) };
    let own = match one.fence {
        Which::Held => held.unwrap_or_else(|| grant(one.by, record.fence)),
        Which::Next => grant(one.by, record.fence + 1),
        Which::Any(fence) => grant(one.by, fence),
    };
    match &one.what {
        What::Forward(_) => Trigger::Due,
        What::Plan => Trigger::Plan {
            action_id: ActionId::new("act_plan"),
            facts: Box::new(kind.facts()),
            planning: Box::new(kind.planning()),
        },
        What::DryRunEnded(true) => Trigger::DryRunEnded {
            action_id: ActionId::new("act_1"),
            ended: DryRun::Completed { fidelity: DryRunFidelity::DownstreamValidation, result_hash: None },
        },
        What::DryRunEnded(false) => Trigger::DryRunEnded {
            action_id: ActionId::new("act_1"),
            ended: DryRun::Failed { error: ErrorCode::ConnectorFailed.into() },
        },
        What::Claim { mode, over, spoiled } => {
            let mut claiming = Claiming { over: *over, ..kind.claiming(*mode, own) };
            if let Some(committed) = record.committed.as_ref().filter(|_| *mode == TransactionMode::Compensate) {
                claiming.transaction.compensation_for = Some(committed.claim.grant.action_id.clone());
            }
            if let Some(how) = spoiled {
                spoil(&mut claiming, *how);
            }
            Trigger::Claim(Box::new(claiming))
        }
        What::Start => Trigger::Start { grant: own },
        What::Settle(how) => Trigger::Settle { grant: own, settled: settled(*how) },
        What::LeaseOver => Trigger::LeaseOver { fence: own.fence },
        What::Reconcile { over } => Trigger::Reconcile { grant: own, over: *over },
        What::Found(how) => Trigger::Found { grant: own, finding: finding(*how) },
        What::Escalate => Trigger::Escalate,
        What::Resolve { decision, finding: how } => Trigger::Resolve(Box::new(Resolution {
            decision_id: format!("decision_{decision}"),
            operator: Principal::new(PrincipalId::new("human:operator"), PrincipalKind::Human),
            finding: finding(*how),
            evidence_hash: "evidence".to_owned(),
        })),
        What::Cancel => Trigger::Cancel,
        What::Due => Trigger::Due,
    }
}

/// How many ways there are to spoil a claim.
pub(crate) const SPOILS: u8 = 9;

/// Makes one thing of a claim on a commit not match.
pub(crate) fn spoil(claiming: &mut Claiming, how: u8) {
    let facts = &mut claiming.facts;
    match how {
        0 => facts.capability_id = CapabilityId::new("cap:demo:other"),
        1 => facts.contract.execution.retry_safety = RetrySafety::Safe,
        2 => facts.input_hash = "other".to_owned(),
        3 => facts.principal = Principal::new(PrincipalId::new("service:other"), PrincipalKind::Service),
        4 => facts.tenant = "other".to_owned(),
        5 => facts.identity = None,
        6 => facts.policy_hash = None,
        7 => claiming.transaction.transaction_id = Some(TransactionId::new("txn_other")),
        _ => claiming.transaction.plan_id = Some("plan_other".to_owned()),
    }
}

fn settled(how: u8) -> Settled {
    match how {
        0 | 5 => Settled::Committed { result_hash: Some("result".to_owned()) },
        1 => Settled::Failed { error: ErrorCode::ConnectorFailed.into() },
        2 => Settled::Partial { error: ErrorCode::ConnectorFailed.into() },
        3 => Settled::Cancelled,
        6 => Settled::Again,
        _ => Settled::Uncertain { error: uncertain_error(), known: Known::of(&uncertain_error()) },
    }
}

fn finding(how: u8) -> Finding {
    match how {
        0 | 7 => Finding::Committed { result_hash: None },
        1 | 8 => Finding::NotCommitted,
        _ => Finding::Indefinite(Known {
            operation: Some(ProviderOperationRef {
                provider: "bank".to_owned(),
                operation_id: "op_8".to_owned(),
                request_id: None,
            }),
            cursor: Some("c2".to_owned()),
            retry_after_ms: None,
        }),
    }
}

pub(crate) fn kind() -> impl Strategy<Value = Kind> {
    let first = prop_oneof![
        6 => Just(Opens::Plan),
        2 => Just(Opens::Execute),
        2 => select(DryRunFidelity::ALL).prop_map(Opens::DryRun),
        1 => Just(Opens::Unknown),
    ];
    let safety = select(RetrySafety::ALL);
    let compensation = prop_oneof![3 => Just(CompensationMode::Supported), 1 => select(CompensationMode::ALL)];
    let rarely = || prop::bool::weighted(0.15);
    (first, rarely(), safety, prop::bool::weighted(0.7), compensation, rarely(), rarely()).prop_map(
        |(first, read_only, safety, keyed, compensation, approval, never)| Kind {
            first,
            read_only: read_only && first != Opens::Unknown,
            safety,
            keyed,
            compensation,
            approval,
            reconciles: !never,
        },
    )
}

fn one_move() -> impl Strategy<Value = Move> {
    let mode = prop_oneof![
        4 => Just(TransactionMode::Commit),
        2 => Just(TransactionMode::Execute),
        3 => Just(TransactionMode::Compensate),
        1 => select(TransactionMode::ALL),
    ];
    let claim = (mode, prop::bool::weighted(0.8), prop::option::weighted(0.1, 0..SPOILS))
        .prop_map(|(mode, over, spoiled)| What::Claim { mode, over, spoiled });
    let what = prop_oneof![
        18 => any::<u8>().prop_map(|how| What::Forward(how % 9)),
        1 => Just(What::Plan),
        1 => any::<bool>().prop_map(What::DryRunEnded),
        12 => claim,
        6 => Just(What::Start),
        5 => (0..8_u8).prop_map(What::Settle),
        3 => Just(What::LeaseOver),
        6 => prop::bool::weighted(0.8).prop_map(|over| What::Reconcile { over }),
        4 => (0..6_u8).prop_map(What::Found),
        1 => Just(What::Escalate),
        3 => (any::<u8>(), 0..4_u8).prop_map(|(decision, finding)| What::Resolve { decision: decision % 40, finding }),
        1 => prop::bool::weighted(0.3).prop_map(|cancel| if cancel { What::Cancel } else { What::Due }),
    ];
    let fence = prop_oneof![5 => Just(Which::Held), 5 => Just(Which::Next), 1 => (0..60_u64).prop_map(Which::Any)];
    let by = prop_oneof![6 => Just("act_commit"), 2 => Just("act_1"), 2 => Just("act_undo"), 1 => Just("act_other")];
    let at = prop_oneof![4 => Just(At::Due), 8 => (900..9_000_u64).prop_map(At::Any), 1 => (9_000..60_000_u64).prop_map(At::Any)];
    (what, fence, by, at).prop_map(|(what, fence, by, at)| Move { what, fence, by, at })
}

/// A life of any kind of transaction.
pub(crate) fn life() -> impl Strategy<Value = Life> {
    life_of(kind())
}

/// A life that opens with a dry run.
pub(crate) fn dry_life() -> impl Strategy<Value = Life> {
    let kinds = (kind(), select(DryRunFidelity::ALL));
    life_of(kinds.prop_map(|(kind, fidelity)| Kind { first: Opens::DryRun(fidelity), read_only: false, ..kind }))
}

fn life_of(kinds: impl Strategy<Value = Kind>) -> impl Strategy<Value = Life> {
    (kinds, vec(one_move(), 0..72)).prop_map(|(kind, moves): (Kind, Vec<Move>)| live(kind, &moves))
}

impl std::fmt::Debug for Life {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        writeln!(f, "{:?}", self.kind)?;
        self.moves.iter().filter(|moved| moved.result.is_ok()).try_for_each(|moved| {
            let after = moved.after().map(|record| record.phase.clone());
            writeln!(f, "  {:?} at {}: {after:?}", moved.trigger, moved.at.0)
        })
    }
}
