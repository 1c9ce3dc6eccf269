//! The matrix of the machine, printed for people and compared in CI: every phase against every trigger.

use alloc::{
    boxed::Box,
    collections::BTreeSet,
    string::{String, ToString},
    vec,
    vec::Vec,
};

use aip_types::{
    ActionId, ActionTransaction, CapabilityId, CompensationContract, CompensationMode, DryRunFidelity, ErrorCode,
    Millis, Principal, PrincipalId, PrincipalKind, ProtocolError, RetrySafety, TransactionId, TransactionMode,
};

use super::{
    Begun, Claim, Claiming, Committed, Contract, DryRun, Finding, First, Grant, Known, Opening, Phase, Planning,
    Resolution, Settled, TransactionRecord, Trigger, VerifiedFacts, Work, check, open,
};
use crate::{
    action,
    matrix::{Table, page},
};

const BEFORE: Millis = Millis(500);
const EXPIRY: Millis = Millis(1_000);

/// What one table is about.
struct Case {
    title: &'static str,
    safety: RetrySafety,
    first: First,
    /// The mode of the claiming action, and its id.
    mode: TransactionMode,
    by: &'static str,
}

/// Renders `docs/states/transaction.md`.
#[must_use]
pub fn matrix() -> String {
    let case = |title, safety, first, mode, by| Case { title, safety, first, mode, by };
    let (keyed, never) = (RetrySafety::SafeWithIdempotencyKey, RetrySafety::Unsafe);
    let plan = || First::Plan(Box::new(planning()));
    let (commit, compensate, execute) =
        (TransactionMode::Commit, TransactionMode::Compensate, TransactionMode::Execute);
    let cases = [
        case("Commit of a plan, `unsafe` (or `unknown`)", never, plan(), commit, "act_commit"),
        case("Commit of a plan, `safe_with_idempotency_key`, keyed", keyed, plan(), commit, "act_commit"),
        case("Compensation of that commit, `unsafe` (or `unknown`)", never, plan(), compensate, "act_undo"),
        case("Execution without a plan, `unsafe` (or `unknown`)", never, First::Execute, execute, "act_1"),
    ];
    let tables: Vec<_> = cases.into_iter().filter_map(table).chain(dry_run_table()).collect();
    let intro = "The claim has fence 5, a reconciliation has fence 7, no claim begins at or after 1,000. Where nothing is \
                 claimed, the highest fence so far is 3.\n`prepared_claimed` and `compensating_claimed` are `prepared` and \
                 `compensating` on the wire: somebody holds a claim, and nothing has begun.";
    let first = ["planned", "prepared", "dry_run_completed", "rollback_not_supported", "outcome_unknown"];
    page("The transaction machine", intro, &first, &tables)
}

fn table(case: Case) -> Option<Table<TransactionRecord>> {
    let rows = triggers(&case);
    let Case { title, safety, first, mode, by } = case;
    let work = check::work(mode)?;
    let record = open(opening(safety), first).ok()?.record;
    let claim = Claim { execution: record.facts.contract.execution, ..claim(work, by, 5) };
    let columns = phases(&record, &claim).into_iter().map(|phase| column(&record, phase)).collect();
    Some(Table { title, columns, rows })
}

fn dry_run_table() -> Option<Table<TransactionRecord>> {
    let record = open(opening(RetrySafety::Unsafe), First::DryRun(DryRunFidelity::FullSimulation)).ok()?.record;
    let phases = [Phase::Prepared { claim: None }, Phase::DryRunCompleted {}, Phase::RollbackNotSupported {}];
    let columns = phases.map(|phase| column(&record, phase)).into();
    Some(Table { title: "Dry run, and the declaration that there is no way back", columns, rows: dry_run_triggers() })
}

fn column(record: &TransactionRecord, phase: Phase) -> TransactionRecord {
    let mut record = record.clone();
    record.fence = match (&phase, phase.claim()) {
        (Phase::Reconciling { query, .. }, _) => query.fence,
        (_, Some(claim)) => claim.grant.fence,
        (_, None) => 3,
    };
    if phase == (Phase::Committed {}) || phase.claim().is_some_and(|claim| claim.work == Work::Compensation) {
        record.committed = Some(Committed { claim: claim(Work::Commit, "act_commit", 3), at: Millis(100) });
    }
    record.phase = phase;
    record
}

fn claim(work: Work, action_id: &str, fence: u64) -> Claim {
    Claim {
        work,
        grant: grant(action_id, fence),
        begun: Some(Begun { fence, at: Millis(100) }),
        execution: action::Contract { read_only: false, retry_safety: RetrySafety::Unsafe, supports_retry: false },
        keyed: true,
        begin_before: Some(EXPIRY),
        approval: None,
    }
}

fn phases(record: &TransactionRecord, begun: &Claim) -> Vec<Phase> {
    let waits = || Claim { begun: None, ..begun.clone() };
    let (mut phases, last) = match begun.work {
        Work::Commit => {
            let opened = if record.plan.is_some() {
                vec![Phase::Planned {}, Phase::Reconciled {}]
            } else {
                vec![Phase::Prepared { claim: None }]
            };
            let claimed = [Phase::Prepared { claim: Some(waits()) }, Phase::Committing(begun.clone())];
            let last = vec![Phase::Committed {}, Phase::Failed {}, Phase::Cancelled {}];
            (opened.into_iter().chain(claimed).collect::<Vec<_>>(), last)
        }
        Work::Compensation => {
            let claimed = [Phase::Compensating(waits()), Phase::Compensating(begun.clone())];
            (core::iter::once(Phase::Committed {}).chain(claimed).collect(), vec![Phase::Compensated {}])
        }
    };
    phases.extend([
        Phase::OutcomeUnknown(begun.clone()),
        Phase::Reconciling { claim: begun.clone(), query: grant("act_ask", 7) },
        Phase::RequiresHuman { claim: begun.clone(), partial: false },
    ]);
    phases.extend(last);
    phases
}

fn triggers(case: &Case) -> Vec<(&'static str, Trigger, Millis)> {
    let mut rows = claim_triggers(case);
    let settle = |fence, settled| Trigger::Settle { grant: grant(case.by, fence), settled };
    let error = || ProtocolError::from(ErrorCode::ConnectorFailed);
    let start = || Trigger::Start { grant: grant(case.by, 5) };
    let done = || Settled::Committed { result_hash: None };
    rows.extend([
        ("start, fence 5", start(), BEFORE),
        ("start, fence 5, after the expiry", start(), EXPIRY),
        ("committed, fence 3", settle(3, done()), BEFORE),
        ("committed, fence 5", settle(5, done()), BEFORE),
        ("failed, fence 5", settle(5, Settled::Failed { error: error() }), BEFORE),
        ("failed and will be tried again, fence 5", settle(5, Settled::Again), BEFORE),
        ("failed in part, fence 5", settle(5, Settled::Partial { error: error() }), BEFORE),
        ("uncertain, fence 5", settle(5, Settled::Uncertain { error: error(), known: Known::default() }), BEFORE),
        ("stopped, says its owner, fence 5", settle(5, Settled::Cancelled), BEFORE),
        ("lease over, fence 5", Trigger::LeaseOver { fence: 5 }, BEFORE),
        ("lease over, fence 7", Trigger::LeaseOver { fence: 7 }, BEFORE),
        ("cancelled", Trigger::Cancel, BEFORE),
        ("due, too early", Trigger::Due, BEFORE),
        ("due", Trigger::Due, EXPIRY),
    ]);
    rows.extend(reconciliation_triggers());
    rows
}

fn claim_triggers(case: &Case) -> Vec<(&'static str, Trigger, Millis)> {
    let claim = |by, fence, over| Claiming { over, ..claiming(case.mode, case.safety, grant(by, fence)) };
    let of = |claiming| Trigger::Claim(Box::new(claiming));
    let other_mode = if case.mode == TransactionMode::Compensate {
        ("commit claimed, fence 8, lease over", TransactionMode::Commit)
    } else {
        ("compensation claimed, fence 8, lease over", TransactionMode::Compensate)
    };
    let mut other_input = claim(case.by, 8, true);
    other_input.facts.input_hash = "other".to_string();
    vec![
        ("claimed, fence 3", of(claim(case.by, 3, true)), BEFORE),
        ("claimed, fence 5 (the same)", of(claim(case.by, 5, true)), BEFORE),
        ("claimed, fence 8, lease not proved over", of(claim(case.by, 8, false)), BEFORE),
        ("claimed, fence 8, lease over", of(claim(case.by, 8, true)), BEFORE),
        ("claimed by another action, fence 8, lease over", of(claim("act_other", 8, true)), BEFORE),
        ("claimed with another input, fence 8, lease over", of(other_input), BEFORE),
        ("claimed, fence 8, lease over, after the expiry", of(claim(case.by, 8, true)), EXPIRY),
        (other_mode.0, of(claiming(other_mode.1, case.safety, grant("act_x", 8))), BEFORE),
    ]
}

fn reconciliation_triggers() -> Vec<(&'static str, Trigger, Millis)> {
    let found = |fence, finding| Trigger::Found { grant: grant("act_ask", fence), finding };
    let ask = |fence, over| Trigger::Reconcile { grant: grant("act_ask", fence), over };
    let decided = |finding| Trigger::Resolve(Box::new(resolution(finding)));
    let committed = || Finding::Committed { result_hash: None };
    let nothing = || Finding::Indefinite(Known::default());
    vec![
        ("reconcile, fence 3", ask(3, true), BEFORE),
        ("reconcile, fence 9, lease not proved over", ask(9, false), BEFORE),
        ("reconcile, fence 9, lease over", ask(9, true), BEFORE),
        ("found committed, fence 3", found(3, committed()), BEFORE),
        ("found committed, fence 7", found(7, committed()), BEFORE),
        ("found not committed, fence 7", found(7, Finding::NotCommitted), BEFORE),
        ("found nothing definite, fence 7", found(7, nothing()), BEFORE),
        ("escalated", Trigger::Escalate, BEFORE),
        ("a person decides: committed", decided(committed()), BEFORE),
        ("a person decides: not committed", decided(Finding::NotCommitted), BEFORE),
        ("a person decides: ask once more", decided(nothing()), BEFORE),
    ]
}

fn dry_run_triggers() -> Vec<(&'static str, Trigger, Millis)> {
    let ended = |ended| Trigger::DryRunEnded { action_id: ActionId::new("act_1"), ended };
    let completed = |fidelity| ended(DryRun::Completed { fidelity, result_hash: None });
    let plan = Trigger::Plan {
        action_id: ActionId::new("act_plan"),
        facts: Box::new(facts(RetrySafety::Unsafe)),
        planning: Box::new(planning()),
    };
    let claim = claiming(TransactionMode::Execute, RetrySafety::Unsafe, grant("act_1", 8));
    let execute = Trigger::Claim(Box::new(claim));
    let failed = ended(DryRun::Failed { error: ErrorCode::ConnectorFailed.into() });
    vec![
        ("dry run completed", completed(DryRunFidelity::FullSimulation), BEFORE),
        ("dry run failed", failed, BEFORE),
        ("plan", plan, BEFORE),
        ("execution claimed, fence 8", execute, BEFORE),
        ("starts, fence 5", Trigger::Start { grant: grant("act_1", 5) }, BEFORE),
        ("cancelled", Trigger::Cancel, BEFORE),
        ("due, too early", Trigger::Due, BEFORE),
        ("due", Trigger::Due, EXPIRY),
    ]
}

fn grant(action_id: &str, fence: u64) -> Grant {
    Grant { action_id: ActionId::new(action_id), instance: "instance".to_string(), fence }
}

fn claiming(mode: TransactionMode, safety: RetrySafety, grant: Grant) -> Claiming {
    let plan_id = (mode == TransactionMode::Commit).then(|| "plan_1".to_string());
    let compensation_for = (mode == TransactionMode::Compensate).then(|| ActionId::new("act_commit"));
    Claiming {
        grant,
        over: true,
        transaction: ActionTransaction { mode, transaction_id: None, plan_id, compensation_for },
        facts: facts(safety),
        approval: None,
        keyed: true,
    }
}

fn resolution(finding: Finding) -> Resolution {
    Resolution {
        decision_id: "decision_1".to_string(),
        operator: Principal::new(PrincipalId::new("human:operator"), PrincipalKind::Human),
        finding,
        evidence_hash: "hash".to_string(),
    }
}

fn facts(retry_safety: RetrySafety) -> VerifiedFacts {
    let compensation = CompensationContract::new(CompensationMode::BestEffort, false);
    VerifiedFacts {
        tenant: "acme".to_string(),
        principal: Principal::new(PrincipalId::new("service:caller"), PrincipalKind::Service),
        identity: None,
        capability_id: CapabilityId::new("cap:x"),
        contract: Contract {
            execution: action::Contract { read_only: false, retry_safety, supports_retry: false },
            supported_modes: TransactionMode::ALL.iter().copied().collect::<BTreeSet<_>>(),
            requires_plan_before_commit: false,
            dry_run_fidelity: DryRunFidelity::FullSimulation,
            compensation,
        },
        input_hash: "hash".to_string(),
        policy_hash: None,
    }
}

fn opening(retry_safety: RetrySafety) -> Opening {
    Opening {
        id: TransactionId::new("txn_1"),
        action_id: ActionId::new("act_1"),
        facts: facts(retry_safety),
        session_id: None,
        correlation_id: None,
        deadline: EXPIRY,
        at: Millis(0),
    }
}

fn planning() -> Planning {
    Planning {
        plan_id: "plan_1".to_string(),
        input_snapshot: None,
        predicted_side_effects: BTreeSet::new(),
        approval_required: false,
        approval_policy: None,
        expires_at: EXPIRY,
        metadata: None,
    }
}
