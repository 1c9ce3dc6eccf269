//! What holds of every life of an approval, whoever sends what and in whichever order (AIP 1.0 §12).

use std::collections::BTreeSet;

use aip_core::approval::{
    ActionNow, ApprovalRecord, Decide, Phase, Rejection, Step, Trigger, VerifiedGrant, request, step, view,
};
use aip_types::{
    ApprovalDecisionKind as Kind, ApprovalPolicy, ApprovalRule, DelegatedAuthorityRule, EventKind, Millis, PrincipalId,
    limits,
};
use proptest::{collection::vec, prelude::*, sample::select};

use crate::approval_fixtures::{
    ASKED, all, all_reusing, any, decide, grant, needing, policy, quorum, requested, role, ruled,
};

const PEOPLE: [&str; 6] = ["ann", "bob", "carl", "requester", "subject", "operator"];

fn policies() -> impl Strategy<Value = ApprovalPolicy> {
    let lent = || ApprovalRule::DelegatedAuthority(DelegatedAuthorityRule::new("pay".to_owned()));
    let rules = vec![
        policy(),
        needing(2),
        needing(3),
        ruled(all(&[role("a"), role("b")])),
        ruled(all_reusing(&[role("a"), role("b")])),
        ruled(quorum(2, true, &[role("a"), role("b"), lent()])),
        ruled(quorum(2, false, &[role("a"), role("b"), role("approver")])),
        ruled(any(&[all(&[role("a"), lent()]), quorum(2, true, &[role("b"), role("b"), role("approver")])])),
    ];
    (select(rules), any_bool(), any_bool(), any_bool()).prop_map(|(mut policy, own, requester, operator)| {
        policy.separation_of_duties.allow_self_approval = own;
        policy.separation_of_duties.requester_must_differ = requester;
        policy.separation_of_duties.operator_must_differ = operator;
        policy
    })
}

fn any_bool() -> impl Strategy<Value = bool> {
    prop::bool::weighted(0.4)
}

/// Somebody decides: mostly in order, sometimes wrong in any of the ways in which one can be wrong.
fn decision() -> impl Strategy<Value = Decide> {
    let kind = prop_oneof![8 => Just(Kind::Approved), 1 => Just(Kind::Denied), 2 => Just(Kind::Revoked), 1 => Just(Kind::Expired)];
    let roles = vec(select(&["a", "b", "approver"][..]), 0..3);
    let lent = prop::option::weighted(0.4, (prop::option::of(1_500..4_000_u64), prop::bool::weighted(0.2)));
    let action =
        prop_oneof![8 => Just(ActionNow::Waiting), 1 => Just(ActionNow::Dispatched), 1 => Just(ActionNow::Ended)];
    let wrong = prop_oneof![12 => Just(0_u8), 4 => 1..8_u8];
    (select(&PEOPLE[..]), kind, roles, lent, 0..8_u8, 0..8_u8, action, wrong).prop_map(
        |(who, kind, roles, lent, id, target, action, wrong)| {
            let mut decide = decide(who, &roles, kind, &format!("d{id}"));
            decide.now.action = action;
            if kind == Kind::Revoked {
                decide.claimed.target_decision_id = Some(format!("d{target}"));
            }
            if let Some((end, revoked)) = lent {
                let expires_at = end.map(Millis);
                decide.authority.grants.push(VerifiedGrant { expires_at, revoked, ..grant() });
            }
            match wrong {
                1 => decide.visible = false,
                2 => decide.authority.principal.id = PrincipalId::new("mallory"),
                3 => decide.claimed.policy_hash = Some("other".to_owned()),
                4 => decide.now.input_hash = "other".to_owned(),
                5 => decide.authority.tenant = "other".to_owned(),
                6 => decide.authority.revoked = true,
                7 => decide.claimed.decision_id = None,
                _ => {}
            }
            decide
        },
    )
}

fn trigger() -> impl Strategy<Value = Trigger> {
    prop_oneof![
        20 => decision().prop_map(|decide| Trigger::Decide(Box::new(decide))),
        1 => Just(Trigger::Due),
        1 => any_bool().prop_map(|dispatched| Trigger::ActionEnded { dispatched }),
    ]
}

/// A life: what was asked, and every trigger with what came of it.
#[derive(Debug)]
struct Life {
    first: Step,
    moves: Vec<(ApprovalRecord, Trigger, Millis, Result<Step, Rejection>)>,
}

impl Life {
    fn steps(&self) -> impl Iterator<Item = &Step> {
        std::iter::once(&self.first).chain(self.moves.iter().filter_map(|(_, _, _, result)| result.as_ref().ok()))
    }

    fn last(&self) -> &ApprovalRecord {
        &self.steps().last().unwrap_or(&self.first).record
    }
}

fn life() -> impl Strategy<Value = Life> {
    // Clocks of different processes disagree, also about the order.
    let at = prop_oneof![8 => 1_000..4_000_u64, 1 => 4_000..6_000_u64];
    (policies(), vec((trigger(), at), 0..40)).prop_map(|(policy, history)| {
        let first = request(requested(policy)).unwrap();
        let mut record = first.record.clone();
        let moves = history
            .into_iter()
            .map(|(trigger, at)| {
                let before = record.clone();
                let result = step(&record, trigger.clone(), Millis(at));
                if let Ok(step) = &result {
                    record = step.record.clone();
                }
                (before, trigger, Millis(at), result)
            })
            .collect();
        Life { first, moves }
    })
}

fn grants(before: &ApprovalRecord, step: &Step) -> bool {
    before.phase == (Phase::Pending {}) && step.record.phase == (Phase::Granted {})
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]

    #[test]
    fn the_laws_of_every_machine_hold(life in life()) {
        let history = life.moves.iter().map(|(_, trigger, at, _)| (trigger.clone(), *at));
        crate::laws::hold(life.first.clone(), |record| (record.chain.step, record.chain.updated_at), history)?;
    }

    #[test]
    fn a_terminal_record_answers_every_trigger_with_a_refusal(life in life()) {
        for (before, _, _, result) in life.moves.iter().filter(|(before, ..)| before.phase.is_terminal()) {
            prop_assert!(result.is_err(), "{:?}", before.phase);
        }
    }

    /// The record never forgets a decision id: whatever was accepted once is a repeat for ever.
    #[test]
    fn an_accepted_decision_is_never_applied_again(life in life()) {
        for (_, trigger, at, result) in &life.moves {
            if let (Trigger::Decide(decide), Ok(_)) = (trigger, result) {
                let again = step(life.last(), Trigger::Decide(decide.clone()), *at);
                prop_assert_eq!(again.unwrap_err(), Rejection::Repeated);
            }
        }
    }

    #[test]
    fn a_principal_has_at_most_one_vote_that_counts(life in life()) {
        for step in life.steps() {
            let voters: Vec<_> =
                step.record.decisions.iter().filter(|one| one.approves()).map(|one| &one.decision.approver.id).collect();
            let distinct: BTreeSet<_> = voters.iter().collect();
            prop_assert_eq!(voters.len(), distinct.len());
        }
    }

    #[test]
    fn nobody_is_recorded_but_the_authenticated_sender(life in life()) {
        for (before, trigger, _, result) in &life.moves {
            let (Trigger::Decide(decide), Ok(step)) = (trigger, result) else { continue };
            let recorded = step.record.decisions.last().unwrap();
            prop_assert_eq!(step.record.decisions.len(), before.decisions.len() + 1);
            prop_assert_eq!(&recorded.decision.approver.id, &decide.authority.principal.id);
            prop_assert!(decide.visible && decide.authority.tenant == "acme");
            prop_assert!(decide.claimed.decision != Kind::Expired);
        }
    }

    #[test]
    fn self_approval_is_never_accepted_unless_allowed(life in life()) {
        let record = life.last();
        let duties = &record.policy.separation_of_duties;
        for recorded in record.decisions.iter().filter(|one| one.decision.decision == Kind::Approved) {
            let who = recorded.decision.approver.id.as_str();
            prop_assert!(duties.allow_self_approval || !["requester", "subject"].contains(&who));
            prop_assert!(!duties.requester_must_differ || who != "requester");
            prop_assert!(!duties.operator_must_differ || who != "operator");
        }
    }

    /// No grant without the quorum: at that moment enough distinct principals have approved, each with authority that still
    /// stands, and of no vote that was taken back or has run out.
    #[test]
    fn a_grant_has_the_principals_that_its_policy_asks_for(life in life()) {
        for (before, _, at, result) in &life.moves {
            let Ok(step) = result else { continue };
            if !grants(before, step) {
                continue;
            }
            let counting: BTreeSet<_> = step.record.decisions.iter()
                .filter(|one| one.approves() && one.standings.iter().any(|standing| standing.holds(*at)))
                .map(|one| &one.decision.approver.id)
                .collect();
            let policy = &step.record.policy;
            let distinct = match &policy.rule {
                Some(ApprovalRule::Quorum(quorum)) if quorum.distinct_principals => quorum.required,
                Some(ApprovalRule::All(all)) if !all.allow_decision_reuse => 2,
                _ => 1,
            };
            let needed = distinct.max(policy.minimum_distinct_principals);
            prop_assert!(counting.len() >= usize::try_from(needed).unwrap(), "{counting:?}");
        }
    }

    /// Time runs out for everybody: nothing is decided at the end or after, nothing expires before it.
    #[test]
    fn nothing_is_decided_late_and_nothing_expires_early(life in life()) {
        for (before, trigger, at, result) in &life.moves {
            let Ok(step) = result else { continue };
            if matches!(trigger, Trigger::Decide(_)) {
                prop_assert!(*at < before.expires_at);
            }
            let expired = step.record.phase == (Phase::Expired {});
            prop_assert!(!expired || *at >= before.expires_at);
        }
    }

    #[test]
    fn what_was_asked_never_moves(life in life()) {
        let frozen = |record: &ApprovalRecord| {
            let mut record = record.clone();
            record.decisions.clear();
            record.phase = Phase::Pending {};
            record.chain = aip_core::Chain::default();
            record
        };
        for step in life.steps() {
            prop_assert_eq!(frozen(&step.record), frozen(&life.first.record));
        }
    }

    /// Evidence names ids, hashes and decisions; the input stays where it is.
    #[test]
    fn no_evidence_has_governed_input(life in life()) {
        for step in life.steps() {
            for text in [serde_json::to_string(&step.receipts).unwrap(), serde_json::to_string(&step.events).unwrap()] {
                prop_assert!(!text.contains("currency"));
            }
            prop_assert!(!serde_json::to_string(&step.record).unwrap().contains("currency"));
        }
    }

    /// AIP 1.0 §25.2: every event is registered, with every member that it has.
    #[test]
    fn events_are_registered(life in life()) {
        for event in life.steps().flat_map(|step| &step.events) {
            let row = EventKind::from_kind(&event.kind).map(EventKind::row);
            let known: Vec<_> = row.iter().flat_map(|row| row.data).map(|member| member.name).collect();
            prop_assert!(row.is_some(), "{}", event.kind);
            for name in event.data.iter().filter_map(|data| data.as_object()).flat_map(|data| data.keys()) {
                prop_assert!(known.contains(&name.as_str()), "{} {name}", event.kind);
            }
        }
    }

    #[test]
    fn receipts_say_what_the_phase_says(life in life()) {
        for (before, _, _, result) in &life.moves {
            let Ok(step) = result else { continue };
            let receipts: Vec<_> = step.receipts.iter().map(|receipt| receipt.receipt_type.as_str()).collect();
            prop_assert_eq!(receipts.contains(&"approval_granted"), grants(before, step));
            prop_assert_eq!(receipts.contains(&"approval_denied"), step.record.phase == (Phase::Denied {}));
            prop_assert_eq!(receipts.contains(&"approval_expired"), step.record.phase == (Phase::Expired {}));
            let revoked = step.record.phase == (Phase::Revoked {});
            prop_assert!(!revoked || receipts.contains(&"approval_revoked"));
        }
    }

    /// After any prefix of a history, the stored text is all that the next process needs.
    #[test]
    fn a_stored_record_lives_on(life in life()) {
        for step in life.steps() {
            let text = serde_json::to_string(&step.record).unwrap();
            prop_assert!(text.len() < limits::RECORD_STATE_BYTES_MAX);
            prop_assert_eq!(&serde_json::from_str::<ApprovalRecord>(&text).unwrap(), &step.record);
            prop_assert_eq!(step.record.due().is_some(), step.record.phase == (Phase::Pending {}));
            prop_assert_eq!(view(&step.record).decision.is_none(), matches!(step.record.phase, Phase::Pending {} | Phase::Withdrawn {}));
        }
    }
}

fn approvals() -> impl Strategy<Value = Vec<Decide>> {
    let one = (vec(select(&["a", "b", "approver"][..]), 0..3), any_bool());
    vec(one, PEOPLE.len()).prop_map(|all| {
        let voted = PEOPLE.iter().zip(all).map(|(who, (roles, lent))| {
            let mut decide = decide(who, &roles, Kind::Approved, who);
            if lent {
                decide.authority.grants.push(grant());
            }
            decide
        });
        voted.collect()
    })
}

/// What comes of approvals, in this order; those that are refused change nothing.
fn outcome(policy: &ApprovalPolicy, decisions: &[Decide]) -> Phase {
    let mut record = request(requested(policy.clone())).unwrap().record;
    for decide in decisions {
        if let Ok(step) = step(&record, Trigger::Decide(Box::new(decide.clone())), ASKED) {
            record = step.record;
        }
    }
    record.phase
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]

    #[test]
    fn the_order_of_votes_does_not_matter(
        policy in policies(),
        (votes, shuffled) in approvals().prop_flat_map(|votes| (Just(votes.clone()), Just(votes).prop_shuffle())),
    ) {
        prop_assert_eq!(outcome(&policy, &votes), outcome(&policy, &shuffled));
    }

    #[test]
    fn repeats_do_not_change_the_outcome(policy in policies(), votes in approvals()) {
        let twice: Vec<_> = votes.iter().flat_map(|vote| [vote.clone(), vote.clone()]).collect();
        prop_assert_eq!(outcome(&policy, &votes), outcome(&policy, &twice));
    }

    #[test]
    fn who_has_no_authority_does_not_change_the_outcome(policy in policies(), votes in approvals(), place in 0..6_usize) {
        let mut more = votes.clone();
        more.insert(place, decide("mallory", &["other"], Kind::Approved, "m1"));
        more.push(decide("mallory", &[], Kind::Denied, "m2"));
        prop_assert_eq!(outcome(&policy, &votes), outcome(&policy, &more));
    }

    /// One requirement more never grants what was not granted without it.
    #[test]
    fn a_stricter_policy_never_grants_more(policy in policies(), votes in approvals(), which in 0..4_u8) {
        let mut strict = policy.clone();
        match which {
            0 => strict.minimum_distinct_principals += 1,
            1 => strict.separation_of_duties.requester_must_differ = true,
            2 => strict.separation_of_duties.allow_self_approval = false,
            _ => strict.evidence_requirements = vec![aip_types::EvidenceRequirement::ExternalTicket],
        }
        let granted = |policy| outcome(policy, &votes) == (Phase::Granted {});
        prop_assert!(!granted(&strict) || granted(&policy));
    }
}

/// The strategies reach what they are to prove something about.
#[test]
fn random_lives_reach_every_phase_and_most_refusals() {
    use proptest::{strategy::ValueTree as _, test_runner::TestRunner};
    let mut runner = TestRunner::deterministic();
    let (mut phases, mut refusals) = (BTreeSet::new(), BTreeSet::new());
    for _ in 0..1_500 {
        let life = life().new_tree(&mut runner).unwrap().current();
        phases.extend(life.steps().map(|step| step.record.phase.name()));
        refusals.extend(life.moves.iter().filter_map(|(_, _, _, result)| result.as_ref().err()).map(|why| why.name()));
    }
    let all = ["denied", "expired", "granted", "pending", "revoked", "used", "withdrawn"];
    assert_eq!(phases.into_iter().collect::<Vec<_>>(), all);
    for reached in [
        "action_dispatched",
        "action_over",
        "already_decided",
        "approver_mismatch",
        "conflict",
        "decision_id_required",
        "expired",
        "expired_by_caller",
        "grant_expired",
        "input_changed",
        "not_admitted",
        "not_authorised",
        "not_due",
        "not_found",
        "not_open",
        "operator_must_differ",
        "policy_changed",
        "repeated",
        "requester_must_differ",
        "self_approval",
        "target_unknown",
        "terminal",
    ] {
        assert!(refusals.contains(reached), "{reached}");
    }
}
