//! What holds of every life of a delegation (AIP 1.0 §14.2, §14.4, §14.5). Its chain: `delegation_chain.rs`.

use std::collections::BTreeSet;

use aip_core::{
    action::{Held, IdempotencyKey},
    delegation::{
        self, Acceptance, Authority, DelegationRecord, HopPolicy, Phase, Reach, Rejection, Report, ReportedResult,
        Scope, Step, Trigger, VerifiedHop, VerifiedOrigin, VerifiedPeer, accept, again, status, step, view,
    },
};
use aip_types::{
    ActionId, ActionResultStatus, DelegationEntry, DelegationId, DelegationStatus, ErrorCode, MessageId, Millis,
    Principal, PrincipalId, PrincipalKind, ProtocolError, Timestamp, limits,
};
use proptest::{collection::vec, prelude::*, sample::select};
use serde_json::json;

use crate::laws::{Which, which};

const AT: Millis = Millis(1_000);
const DEADLINE: Millis = Millis(200_000);

fn agent(id: &str) -> Principal {
    Principal::new(PrincipalId::new(id), PrincipalKind::Agent)
}

fn policy() -> HopPolicy {
    HopPolicy { hops_max: limits::DELEGATION_CHAIN_MAX, forbidden_domains: BTreeSet::new(), at: AT }
}

fn peer(method: &str) -> VerifiedPeer {
    VerifiedPeer {
        principal: PrincipalId::new("service:peer"),
        kind: PrincipalKind::Service,
        trust_domain: "peer.example".to_owned(),
        method: method.to_owned(),
    }
}

fn acceptance() -> Acceptance {
    let origin = VerifiedOrigin {
        principal: agent("agent:requester"),
        trust_domain: "acme.example".to_owned(),
        scope: Scope::read("orders:* mail").unwrap(),
    };
    Acceptance {
        id: DelegationId::new("dlg_1"),
        tenant: "acme".to_owned(),
        parent_action_id: ActionId::new("act_parent"),
        child_action_id: ActionId::new("act_child"),
        child: Held::Inline(json!({"governed": "input"})),
        child_hash: "c".to_owned(),
        key: Some(IdempotencyKey { value: "k".to_owned(), hash: "h".to_owned() }),
        authority: Authority::of(origin, &policy()).unwrap(),
        hop: VerifiedHop {
            entry: DelegationEntry {
                from: agent("agent:requester"),
                to: agent("agent:delegate"),
                scope: "orders:read".to_owned(),
                delegated_at: Timestamp::from_millis(AT),
            },
            trust_domain: "peer.example".to_owned(),
            expires_at: None,
            revoked: false,
            tenant_allowed: true,
            residency_allowed: true,
        },
        peer: peer("did:key:a"),
        request: MessageId::new("msg_0"),
        correlation_id: None,
        deadline: DEADLINE,
    }
}

fn first() -> Step {
    accept(acceptance(), &policy()).unwrap()
}

fn accepted() -> DelegationRecord {
    first().record
}

fn lease(fence: u64) -> Trigger {
    Trigger::Lease { fence, worker: "one".to_owned() }
}

fn unanswered(fence: u64, reach: Reach) -> Trigger {
    Trigger::Unanswered { fence, reach }
}

fn cancel(message: &str) -> Trigger {
    Trigger::Cancel { message: MessageId::new(message) }
}

fn report(status: DelegationStatus) -> Report {
    let (result, error) = match status {
        DelegationStatus::Accepted | DelegationStatus::Running | DelegationStatus::RequiresHuman => (None, None),
        DelegationStatus::Completed => (Some(ActionResultStatus::Completed), None),
        DelegationStatus::Failed => (None, Some(ErrorCode::ConnectorFailed)),
        DelegationStatus::Cancelled => (Some(ActionResultStatus::Cancelled), None),
    };
    Report {
        delegation_id: DelegationId::new("dlg_1"),
        parent_action_id: ActionId::new("act_parent"),
        child_action_id: ActionId::new("act_child"),
        status,
        result: result.map(|status| ReportedResult {
            action_id: ActionId::new("act_child"),
            status,
            value: Held::Inline(json!({"governed": "output"})),
        }),
        error: error.map(ProtocolError::from),
    }
}

fn unknown() -> Report {
    Report { error: Some(ErrorCode::OutcomeUnknown.into()), ..report(DelegationStatus::Failed) }
}

fn says(message: &str, report: Report) -> Trigger {
    Trigger::Report { message: MessageId::new(message), from: peer("did:key:a"), report: Box::new(report) }
}

fn after(record: &DelegationRecord, triggers: impl IntoIterator<Item = (Trigger, u64)>) -> DelegationRecord {
    triggers
        .into_iter()
        .fold(record.clone(), |record, (trigger, at)| step(&record, trigger, Millis(at)).unwrap().record)
}

fn refused(record: &DelegationRecord, trigger: Trigger, at: u64) -> Rejection {
    step(record, trigger, Millis(at)).unwrap_err()
}

#[derive(Clone, Copy, Debug)]
enum What {
    Lease,
    Unanswered(bool),
    LeaseOver,
    Report { status: DelegationStatus, message: u8, unknown: bool, bound: bool, ours: bool },
    Cancel(u8),
    CancelDue,
    DeadlineDue,
}

fn moves() -> impl Strategy<Value = Vec<(What, Which, u64)>> {
    let status = prop_oneof![
        6 => select(vec![DelegationStatus::Accepted, DelegationStatus::Running, DelegationStatus::RequiresHuman]),
        1 => select(vec![DelegationStatus::Completed, DelegationStatus::Failed, DelegationStatus::Cancelled]),
    ];
    let report = (status, any::<u8>(), prop::bool::weighted(0.2), prop::bool::weighted(0.8), prop::bool::weighted(0.8))
        .prop_map(|(status, message, unknown, bound, ours)| What::Report { status, message, unknown, bound, ours });
    let what = prop_oneof![
        8 => Just(What::Lease),
        6 => prop::bool::weighted(0.4).prop_map(What::Unanswered),
        3 => Just(What::LeaseOver),
        4 => report,
        1 => (0..9_u8).prop_map(What::Cancel),
        2 => Just(What::CancelDue),
        1 => Just(What::DeadlineDue),
    ];
    let fence = which();
    vec((what, fence, prop_oneof![4 => 900..190_000_u64, 1 => 190_000..300_000_u64]), 0..64)
}

struct Life {
    history: Vec<(Trigger, Millis)>,
    steps: Vec<(DelegationRecord, Trigger, Millis, Step)>,
    refusals: Vec<Rejection>,
}

impl Life {
    fn records(&self) -> impl Iterator<Item = DelegationRecord> {
        std::iter::once(accepted()).chain(self.steps.iter().map(|(_, _, _, step)| step.record.clone()))
    }
}

fn live(moves: &[(What, Which, u64)]) -> Life {
    let mut record = accepted();
    let mut life = Life { history: Vec::new(), steps: Vec::new(), refusals: Vec::new() };
    for (what, which, at) in moves {
        let fence = which.of(record.fence);
        let trigger = match what {
            What::Lease => lease(fence),
            What::Unanswered(unclear) => unanswered(fence, if *unclear { Reach::Unclear } else { Reach::None }),
            What::LeaseOver => Trigger::LeaseOver { fence },
            What::Report { status, message, unknown: uncertain, bound, ours } => {
                let mut report = if *uncertain { unknown() } else { report(*status) };
                if !ours {
                    report.child_action_id = ActionId::new("act_other");
                }
                let from = peer(if *bound { "did:key:a" } else { "did:key:b" });
                Trigger::Report { message: MessageId::new(format!("msg_r{message}")), from, report: Box::new(report) }
            }
            What::Cancel(number) => cancel(&format!("msg_c{number}")),
            What::CancelDue => Trigger::CancelDue,
            What::DeadlineDue => Trigger::DeadlineDue,
        };
        life.history.push((trigger.clone(), Millis(*at)));
        match step(&record, trigger.clone(), Millis(*at)) {
            Ok(step) => {
                let before = std::mem::replace(&mut record, step.record.clone());
                life.steps.push((before, trigger, Millis(*at), step));
            }
            Err(why) => life.refusals.push(why),
        }
    }
    life
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]

    #[test]
    fn the_laws_of_every_machine_hold(moves in moves()) {
        let evidence = |record: &DelegationRecord| (record.chain.step, record.chain.updated_at);
        crate::laws::hold(first(), evidence, live(&moves).history)?;
    }

    /// AIP 1.0 §14.4: nothing but the authenticated peer's word about this child is a result.
    #[test]
    fn nobody_but_the_bound_peer_says_how_the_child_ended(moves in moves()) {
        for (before, trigger, _, step) in live(&moves).steps {
            if let Trigger::Report { from, report, .. } = &trigger {
                prop_assert_eq!(from, &before.peer);
                prop_assert_eq!(&report.child_action_id, &before.child_action_id);
            } else {
                prop_assert!(step.record.result.is_none() && step.record.report_hash.is_none());
                prop_assert!(!step.record.phase.is_terminal() || !step.record.may_have_arrived);
            }
        }
    }

    /// AIP 1.0 §11.8, §14.5.
    #[test]
    fn what_may_have_arrived_is_cancelled_by_its_owners_word_only(moves in moves()) {
        for (before, trigger, _, step) in live(&moves).steps {
            if step.record.phase == (Phase::Cancelled {}) && before.may_have_arrived {
                let confirmed = matches!(trigger, Trigger::Report { .. });
                prop_assert!(confirmed);
            }
        }
    }

    #[test]
    fn an_unknown_outcome_is_never_dispatched_again(moves in moves()) {
        let mut given_up = false;
        for (_, trigger, _, step) in live(&moves).steps {
            let dispatched = matches!(trigger, Trigger::Lease { .. });
            prop_assert!(!(given_up && dispatched));
            let is_out = matches!(step.record.phase, Phase::Accepted { .. } | Phase::Dispatching(_));
            given_up |= !is_out;
            prop_assert_eq!(step.record.child.is_some(), is_out);
        }
    }

    #[test]
    fn fences_only_grow_and_dispatches_are_bounded(moves in moves()) {
        let life = live(&moves);
        for (before, trigger, at, step) in &life.steps {
            prop_assert!(step.record.fence >= before.fence);
            prop_assert!(step.record.dispatches <= limits::DELEGATION_DISPATCHES_MAX);
            if let Trigger::Lease { fence, .. } = trigger {
                prop_assert!(*fence > before.fence && before.due().is_some_and(|due| *at >= due) && *at < DEADLINE);
            }
        }
    }

    #[test]
    fn what_was_accepted_never_moves(moves in moves()) {
        let first = accepted();
        for record in live(&moves).records() {
            prop_assert_eq!((&record.child_action_id, &record.child_hash), (&first.child_action_id, &first.child_hash));
            prop_assert_eq!((&record.key, &record.peer), (&first.key, &first.peer));
            prop_assert_eq!((&record.scope, &record.delegation_chain), (&first.scope, &first.delegation_chain));
            prop_assert_eq!((record.deadline, record.accepted_at), (first.deadline, first.accepted_at));
        }
    }

    /// AIP 1.0 §14.4: a terminal result has an action result or an error.
    #[test]
    fn an_end_has_a_result_or_an_error(moves in moves()) {
        for record in live(&moves).records() {
            let terminal = record.phase.is_terminal();
            prop_assert!(!terminal || record.result.is_some() || record.error.is_some());
            prop_assert_eq!(record.completed_at.is_some(), terminal);
            prop_assert_eq!(record.due().is_none(), terminal || (record.phase == (Phase::OutcomeUnknown {}) && record.cancelling.is_none()));
            let view = view(&record, None);
            prop_assert_eq!((view.status, view.delegation_id), (status(&record), record.id.clone()));
        }
    }

    #[test]
    fn a_stored_record_lives_on_and_its_evidence_shows_no_content(moves in moves()) {
        for (_, _, _, step) in live(&moves).steps {
            let text = serde_json::to_string(&step.record).unwrap();
            prop_assert_eq!(&serde_json::from_str::<DelegationRecord>(&text).unwrap(), &step.record);
            prop_assert!(!serde_json::to_string(&(&step.events, &step.receipts)).unwrap().contains("governed"));
        }
    }
}

#[test]
fn random_lives_reach_every_phase_and_every_refusal() {
    use proptest::{strategy::ValueTree as _, test_runner::TestRunner};
    let mut runner = TestRunner::deterministic();
    let (mut phases, mut refusals) = (BTreeSet::new(), BTreeSet::new());
    for _ in 0..1_500 {
        let life = live(&moves().new_tree(&mut runner).unwrap().current());
        phases.extend(life.records().map(|record| record.phase.name()));
        refusals.extend(life.refusals.iter().map(|why| why.name()));
    }
    let all =
        ["accepted", "cancelled", "completed", "dispatching", "failed", "outcome_unknown", "requires_human", "running"];
    assert_eq!(phases.into_iter().collect::<Vec<_>>(), all);
    let all = [
        "conflict",
        "deadline_passed",
        "lease_held",
        "not_admitted",
        "not_due",
        "peer_mismatch",
        "repeated",
        "result_mismatch",
        "stale_fence",
        "terminal",
    ];
    assert_eq!(refusals.into_iter().collect::<Vec<_>>(), all);
}

#[test]
fn a_delegation_runs_to_its_end() {
    let record = after(&accepted(), [(lease(1), 1_000), (says("msg_1", report(DelegationStatus::Accepted)), 1_001)]);
    assert_eq!((status(&record), record.child.is_none()), (DelegationStatus::Running, true));
    assert_eq!(refused(&record, says("msg_1", report(DelegationStatus::RequiresHuman)), 1_002), Rejection::Repeated);
    let reused = after(&record, [(says("msg_1", report(DelegationStatus::Completed)), 1_002)]);
    assert_eq!(reused.phase, Phase::Completed {}, "a result is not lost for the sake of an id");
    let record = after(
        &record,
        [
            (says("msg_2", report(DelegationStatus::RequiresHuman)), 1_002),
            (says("msg_3", report(DelegationStatus::Running)), 1_003),
            (says("msg_4", report(DelegationStatus::Completed)), 1_004),
        ],
    );
    assert_eq!((status(&record), record.result.is_some()), (DelegationStatus::Completed, true));
    assert_eq!(refused(&record, says("msg_5", report(DelegationStatus::Completed)), 1_005), Rejection::Repeated);
    assert_eq!(refused(&record, says("msg_5", report(DelegationStatus::Failed)), 1_005), Rejection::Conflict);
}

#[test]
fn a_dispatch_in_vain_is_repeated_under_the_same_ids() {
    let record = after(&accepted(), [(lease(4), 1_000), (unanswered(4, Reach::None), 1_001)]);
    assert_eq!((record.due(), record.may_have_arrived), (Some(Millis(1_001 + 250)), false));
    assert_eq!(refused(&record, lease(5), 1_250), Rejection::NotDue);
    assert_eq!(refused(&record, lease(4), 1_251), Rejection::StaleFence);
    let record = after(&record, [(lease(5), 1_251)]);
    assert_eq!(refused(&record, unanswered(4, Reach::None), 1_252), Rejection::StaleFence);
    assert_eq!(refused(&record, lease(6), 1_252), Rejection::LeaseHeld);
    assert_eq!((record.child_action_id.as_str(), record.key.unwrap().value.as_str()), ("act_child", "k"));
}

/// Dispatches until there is no more; `reach` of the third, the others reach nobody.
fn dispatched_in_vain(reach: Reach) -> DelegationRecord {
    (1..=u64::from(limits::DELEGATION_DISPATCHES_MAX)).fold(accepted(), |record, fence| {
        let (at, reach) = (record.due().unwrap().0, if fence == 3 { reach } else { Reach::None });
        after(&record, [(lease(fence), at), (unanswered(fence, reach), at)])
    })
}

#[test]
fn the_last_dispatch_in_vain_fails_it_unless_one_may_have_arrived() {
    let record = dispatched_in_vain(Reach::None);
    assert_eq!(record.phase, Phase::Failed {});
    assert_eq!(view(&record, None).error.unwrap().code, "aip.delegation.undelivered");
    let record = dispatched_in_vain(Reach::Unclear);
    assert_eq!((&record.phase, record.due()), (&Phase::OutcomeUnknown {}, None));
    let shown = view(&record, None);
    assert_eq!(
        (shown.status, shown.error.unwrap().code.as_str()),
        (DelegationStatus::Running, "aip.action.outcome_unknown")
    );
    assert_eq!(refused(&record, lease(99), 9_999), Rejection::NotAdmitted);
    assert_eq!(
        after(&record, [(says("msg_1", report(DelegationStatus::Completed)), 9_999)]).phase,
        Phase::Completed {}
    );
}

#[test]
fn a_peer_that_does_not_know_ends_nothing() {
    let record = after(&accepted(), [(lease(1), 1_000), (says("msg_1", unknown()), 1_001)]);
    assert_eq!((&record.phase, record.report_hash.is_none()), (&Phase::OutcomeUnknown {}, true));
    assert_eq!(refused(&record, says("msg_2", unknown()), 1_002), Rejection::Repeated);
    let running = || says("msg_3", report(DelegationStatus::Running));
    assert_eq!(after(&record, [(running(), 1_003)]).phase, Phase::Running {});
    assert_eq!(refused(&record, running(), DEADLINE.0), Rejection::DeadlinePassed);
    assert_eq!(after(&record, [(says("msg_4", report(DelegationStatus::Failed)), DEADLINE.0)]).phase, Phase::Failed {});
}

#[test]
fn a_child_that_never_left_is_cancelled_at_once() {
    assert_eq!(after(&accepted(), [(cancel("msg_c"), 1_000)]).phase, Phase::Cancelled {});
    let leaving = after(&accepted(), [(lease(1), 1_000), (cancel("msg_c"), 1_001)]);
    assert_eq!(leaving.phase.name(), "dispatching");
    assert_eq!(refused(&leaving, cancel("msg_d"), 1_002), Rejection::Repeated);
    assert_eq!(after(&leaving, [(unanswered(1, Reach::None), 1_002)]).phase, Phase::Cancelled {});
    let unclear = after(&leaving, [(unanswered(1, Reach::Unclear), 1_002)]);
    assert_eq!(
        (&unclear.phase, unclear.due()),
        (&Phase::OutcomeUnknown {}, unclear.cancelling.map(|intent| intent.due))
    );
}

#[test]
fn a_peer_is_asked_to_cancel_until_it_confirms_or_the_bound() {
    let running =
        [(lease(1), 1_000), (says("msg_1", report(DelegationStatus::Running)), 1_001), (cancel("msg_c"), 1_002)];
    let mut record = after(&accepted(), running);
    assert_eq!((status(&record), record.due()), (DelegationStatus::Running, Some(Millis(1_252))));
    assert_eq!(refused(&record, Trigger::CancelDue, 1_251), Rejection::NotDue);
    let confirmed = after(&record, [(says("msg_2", report(DelegationStatus::Cancelled)), 1_003)]);
    assert_eq!(confirmed.phase, Phase::Cancelled {});
    let done = after(&record, [(says("msg_2", report(DelegationStatus::Completed)), 1_003)]);
    assert_eq!(done.phase, Phase::Completed {}, "it was faster");
    for asked in 1..limits::DELEGATION_CANCELS_MAX {
        assert_eq!(record.cancelling.as_ref().unwrap().asked, asked);
        let due = record.cancelling.as_ref().unwrap().due;
        record = after(&record, [(Trigger::CancelDue, due.0)]);
    }
    assert_eq!(refused(&record, Trigger::CancelDue, 9_999_999), Rejection::NotAdmitted);
    assert_eq!((record.phase.is_terminal(), record.due()), (false, Some(DEADLINE)));
}

#[test]
fn a_deadline_fails_what_never_arrived_and_leaves_the_rest_unknown() {
    assert_eq!(refused(&accepted(), Trigger::DeadlineDue, DEADLINE.0 - 1), Rejection::NotDue);
    let late = after(&accepted(), [(Trigger::DeadlineDue, DEADLINE.0)]);
    assert_eq!((late.phase, late.error.unwrap().code.as_str()), (Phase::Failed {}, "aip.action.expired"));
    let running = after(&accepted(), [(lease(1), 1_000), (says("msg_1", report(DelegationStatus::Running)), 1_001)]);
    assert_eq!(after(&running, [(Trigger::DeadlineDue, DEADLINE.0)]).phase, Phase::OutcomeUnknown {});
}

#[test]
fn a_report_is_refused_for_what_it_says_of_itself() {
    let record = after(&accepted(), [(lease(1), 1_000)]);
    let refuse = |change: &dyn Fn(&mut Report)| {
        let mut report = report(DelegationStatus::Completed);
        change(&mut report);
        refused(&record, says("msg_1", report), 1_001)
    };
    assert_eq!(refuse(&|report| report.delegation_id = DelegationId::new("dlg_2")), Rejection::ResultMismatch);
    assert_eq!(refuse(&|report| report.parent_action_id = ActionId::new("act_x")), Rejection::ResultMismatch);
    assert_eq!(refuse(&|report| report.child_action_id = ActionId::new("act_parent")), Rejection::ResultMismatch);
    let result = |change: fn(&mut ReportedResult)| refuse(&|report| change(report.result.as_mut().unwrap()));
    assert_eq!(result(|result| result.action_id = ActionId::new("act_x")), Rejection::ResultMismatch);
    assert_eq!(result(|result| result.status = ActionResultStatus::PendingApproval), Rejection::ResultInvalid);
    let large = "x".repeat(limits::RECORD_INLINE_BYTES_MAX);
    assert_eq!(
        refuse(&|report| report.result.as_mut().unwrap().value = Held::Inline(json!(large))),
        Rejection::ResultInvalid
    );
    assert_eq!(refuse(&|report| report.result = None), Rejection::ResultInvalid);
    let large = ErrorCode::ConnectorFailed.error().with_details(json!("x".repeat(limits::ERROR_BYTES_MAX)));
    assert_eq!(refuse(&|report| report.error = Some(large.clone())), Rejection::ResultInvalid);
    assert_eq!(
        refused(&accepted(), says("msg_1", report(DelegationStatus::Completed)), 1_001),
        Rejection::NotAdmitted,
        "nothing has been sent"
    );
}

#[test]
fn a_request_is_accepted_within_the_authority_and_its_time() {
    let with = |change: fn(&mut Acceptance)| {
        let mut acceptance = acceptance();
        change(&mut acceptance);
        accept(acceptance, &policy()).map(|step| step.record.deadline)
    };
    assert_eq!(with(|one| one.child_action_id = one.parent_action_id.clone()), Err(Rejection::SameAction));
    assert_eq!(with(|one| one.hop.entry.scope = "orders:read billing".to_owned()), Err(Rejection::ScopeWidened));
    assert_eq!(with(|one| one.hop.entry.to = agent("agent:requester")), Err(Rejection::Loop));
    assert_eq!(with(|one| one.hop.entry.from = agent("agent:other")), Err(Rejection::ChainBroken));
    assert_eq!(with(|one| one.deadline = AT), Err(Rejection::DeadlinePassed));
    assert_eq!(with(|one| one.hop.expires_at = Some(Millis(5_000))), Ok(Millis(5_000)), "the grant cuts it short");
}

#[test]
fn a_request_that_comes_again_is_a_repeat_or_a_conflict() {
    assert_eq!(again(&accepted(), &acceptance()), Rejection::Repeated);
    let changes: [fn(&mut Acceptance); 5] = [
        |one| one.child_hash = "d".to_owned(),
        |one| one.child_action_id = ActionId::new("act_x"),
        |one| one.parent_action_id = ActionId::new("act_x"),
        |one| one.hop.entry.to = agent("agent:x"),
        |one| one.hop.entry.scope = "mail".to_owned(),
    ];
    for change in changes {
        let mut acceptance = acceptance();
        change(&mut acceptance);
        assert_eq!(again(&accepted(), &acceptance), Rejection::Conflict);
    }
}

#[test]
fn every_phase_answers_every_trigger() {
    let page = delegation::matrix();
    let rows = page.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| trigger")).count();
    assert_eq!(rows, 4 * 24);
    assert!(
        page.contains("  outcome_unknown --> completed: completed\n") && !page.contains("outcome_unknown --> accepted")
    );
}
