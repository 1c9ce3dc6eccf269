//! Approvals, rule by rule (AIP 1.0 §12, §16.6; `design.md` §3).

use aip_core::approval::{
    ActionNow, Decide, Phase, Rejection, Trigger, VerifiedDispatch, VerifiedExport, VerifiedGrant, evidence_payload,
    matrix, request, revalidate, step, verify, view,
};
use aip_types::{
    ActionId, ApprovalConstraint, ApprovalDecisionKind as Kind, ApprovalId, ApprovalPolicy, ApprovalRule,
    DelegatedAuthorityRule, EvidenceArtifact, EvidenceRequirement, IdentityContext, Millis, PrincipalId, PrincipalKind,
    Timestamp, limits,
};
use serde_json::json;

use crate::approval_fixtures::{
    ASKED, EXPIRES, NOW, POLICY_HASH, after, all, asked, authority, decide, grant, human, input, input_hash, needing,
    no, policy, quorum, refusal, requested, revoke, role, ruled, send, yes,
};

fn kinds(step: &aip_core::approval::Step) -> (Vec<&str>, Vec<&str>) {
    let receipts = step.receipts.iter().map(|receipt| receipt.receipt_type.as_str()).collect();
    (receipts, step.events.iter().map(|event| event.kind.as_str()).collect())
}

// Asking.

#[test]
fn a_request_is_a_function_of_the_entry_that_asks() {
    let (first, again) = (request(requested(policy())).unwrap(), request(requested(policy())).unwrap());
    assert_eq!(format!("{first:?}"), format!("{again:?}"));
    assert_eq!(first.event, "requested");
    assert_eq!(kinds(&first), (vec!["policy_decision", "approval_requested"], vec!["aip.approval.requested"]));
    assert_eq!((first.record.due(), first.record.created_at), (Some(EXPIRES), ASKED));
}

#[test]
fn an_approval_ends_with_its_time_and_never_after_the_deadline() {
    let expires = |ttl_ms, deadline| {
        let policy = ApprovalPolicy { ttl_ms, ..policy() };
        request(aip_core::approval::Requested { deadline: Millis(deadline), ..requested(policy) })
            .map(|step| step.record.expires_at)
    };
    assert_eq!(expires(Some(500), 5_000), Ok(Millis(1_500)));
    assert_eq!(expires(Some(u64::MAX), 5_000), Ok(EXPIRES));
    assert_eq!(expires(Some(u64::MAX), u64::MAX), Ok(ASKED.plus(limits::APPROVAL_TTL_MS_MAX)));
    assert_eq!(expires(None, u64::MAX), Ok(ASKED.plus(limits::APPROVAL_TTL_MS_DEFAULT)));
    assert_eq!(expires(Some(0), 5_000), Err(Rejection::RuleInvalid));
}

#[test]
fn what_no_record_holds_is_refused_at_the_request() {
    let asks = |change: &dyn Fn(&mut aip_core::approval::Requested)| {
        let mut requested = requested(policy());
        change(&mut requested);
        request(requested).map(|_| ()).err()
    };
    assert_eq!(asks(&|asks| asks.policy = ruled(all(&[]))), Some(Rejection::RuleInvalid));
    assert_eq!(
        asks(&|asks| asks.evidence = vec![artifact("note", Some("https://u:p@host/x"))]),
        Some(Rejection::EvidenceInvalid)
    );
    let most = limits::APPROVAL_EVIDENCE_LEN_MAX - 2;
    assert_eq!(asks(&|asks| asks.evidence = vec![artifact("note", None); most]), None);
    assert_eq!(asks(&|asks| asks.evidence = vec![artifact("note", None); most + 1]), Some(Rejection::TooLarge));
    assert_eq!(
        asks(&|asks| asks.reason = Some("x".repeat(limits::APPROVAL_REQUEST_BYTES_MAX))),
        Some(Rejection::TooLarge)
    );
}

/// Of people a record keeps ids and kinds: how they proved who they are is not its business.
#[test]
fn a_record_keeps_no_proof_of_identity() {
    let mut requested = requested(policy());
    requested.requester.auth_context = Some(json!({"token": "secret"}));
    let mut behalf = human("subject");
    behalf.auth_context = Some(json!({"token": "secret"}));
    requested.identity = Some(IdentityContext { acted_on_behalf_of: Some(behalf), ..IdentityContext::default() });
    let record = request(requested).unwrap().record;
    let mut vote = yes("ann");
    vote.claimed.approver.auth_context = Some(json!({"token": "secret"}));
    vote.claimed.authority_path = vec!["role:god".to_owned()];
    let record = after(&record, [vote]);
    assert!(!serde_json::to_string(&record).unwrap().contains("secret"));
    assert!(!serde_json::to_string(&view(&record)).unwrap().contains("god"));
}

// Granting.

#[test]
fn one_approver_grants_what_needs_one() {
    let step = send(&asked(policy()), yes("ann")).unwrap();
    assert_eq!((step.record.phase.clone(), step.event), (Phase::Granted {}, "granted"));
    let events = vec!["aip.approval.decision_recorded", "aip.approval.granted"];
    assert_eq!(kinds(&step), (vec!["human_approved", "approval_granted"], events));
    assert_eq!(step.record.due(), None);
}

#[test]
fn a_service_grants_without_a_human_having_approved() {
    let mut vote = yes("bot");
    vote.claimed.approver.kind = PrincipalKind::Service;
    vote.authority.principal.kind = PrincipalKind::Service;
    assert_eq!(kinds(&send(&asked(policy()), vote).unwrap()).0, ["approval_granted"]);
}

#[test]
fn a_vote_that_is_not_enough_is_recorded_and_waits() {
    let step = send(&asked(needing(2)), yes("ann")).unwrap();
    assert_eq!((step.record.phase.clone(), step.event), (Phase::Pending {}, "decision_recorded"));
    assert_eq!(kinds(&step), (vec!["human_approved"], vec!["aip.approval.decision_recorded"]));
    assert_eq!(send(&step.record, yes("bob")).unwrap().record.phase, Phase::Granted {});
}

#[test]
fn a_denial_by_one_with_authority_ends_it() {
    let step = send(&after(&asked(needing(2)), [yes("ann")]), no("bob")).unwrap();
    assert_eq!((step.record.phase.clone(), step.event), (Phase::Denied {}, "denied"));
    assert_eq!(kinds(&step).0, ["approval_denied"]);
    let mallory = decide("mallory", &[], Kind::Denied, "d");
    assert_eq!(refusal(&asked(policy()), mallory), Rejection::NotAuthorised);
}

// The order of AIP 1.0 §12.4.

struct Sent {
    decide: Decide,
    at: Millis,
}

type Spoil = fn(&mut Sent);

/// What can be wrong with an approval, in the order in which it is answered.
const WRONGS: [(Rejection, Spoil); 12] = [
    (Rejection::NotFound, |sent| sent.decide.visible = false),
    (Rejection::ApproverMismatch, |sent| sent.decide.authority.principal = human("mallory")),
    (Rejection::Conflict, |sent| sent.decide.claimed.decision_id = Some("yes-carl".to_owned())),
    (Rejection::ActionOver, |sent| sent.decide.now.action = ActionNow::Ended),
    (Rejection::Expired, |sent| sent.at = EXPIRES),
    (Rejection::GrantExpired, |sent| {
        sent.decide.authority = authority(sent.decide.claimed.approver.id.as_str(), &["approver"]);
        sent.decide.authority.revoked = true;
    }),
    (Rejection::PolicyChanged, |sent| sent.decide.claimed.policy_hash = None),
    (Rejection::InputChanged, |sent| sent.decide.now.input_hash = "other".to_owned()),
    (Rejection::SelfApproval, |sent| {
        sent.decide.claimed.approver = human("requester");
        sent.decide.authority.principal = human("requester");
    }),
    (Rejection::NotAuthorised, |sent| sent.decide.authority.roles.clear()),
    (Rejection::ConstraintInvalid, |sent| sent.decide.claimed.constraints = vec![constraint("absent", "eq", json!(1))]),
    (Rejection::EvidenceMissing, |sent| sent.decide.claimed.reason = None),
];

#[test]
fn one_wrong_decision_has_one_answer_however_much_is_wrong_with_it() {
    let policy = ApprovalPolicy { evidence_requirements: vec![EvidenceRequirement::Reason], ..needing(2) };
    let reasoned = |name: &str| {
        let mut vote = yes(name);
        vote.claimed.reason = Some("checked".to_owned());
        vote
    };
    let record = after(&asked(policy), [reasoned("carl")]);
    let mut sent = Sent { decide: reasoned("bob"), at: NOW };
    assert_eq!(after(&record, [sent.decide.clone()]).phase, Phase::Granted {});
    for (rejection, spoil) in WRONGS.into_iter().rev() {
        spoil(&mut sent);
        let decide = Trigger::Decide(Box::new(sent.decide.clone()));
        assert_eq!(step(&record, decide, sent.at).unwrap_err(), rejection);
    }
}

#[test]
fn a_decision_needs_an_id() {
    for id in [None, Some(String::new())] {
        let mut nameless = yes("ann");
        nameless.claimed.decision_id = id;
        assert_eq!(refusal(&asked(policy()), nameless), Rejection::DecisionIdRequired);
    }
}

#[test]
fn an_approval_of_another_tenant_or_id_is_not_there() {
    let record = asked(policy());
    let mut other = yes("ann");
    other.authority.tenant = "other".to_owned();
    assert_eq!(refusal(&record, other), Rejection::NotFound);
    let mut other = yes("ann");
    other.claimed.approval_id = ApprovalId::new("appr_2");
    assert_eq!(refusal(&record, other), Rejection::NotFound);
}

#[test]
fn nobody_decides_in_anothers_name() {
    let mut posing = yes("ann");
    posing.authority = authority("mallory", &["approver"]);
    assert_eq!(refusal(&asked(policy()), posing), Rejection::ApproverMismatch);
    let mut kind = yes("ann");
    kind.claimed.approver.kind = PrincipalKind::System;
    assert_eq!(refusal(&asked(policy()), kind), Rejection::ApproverMismatch);
}

/// What a payload says of authority is not even read.
#[test]
fn claimed_authority_counts_for_nothing() {
    let mut claims = decide("mallory", &[], Kind::Approved, "d");
    claims.claimed.authority_path = vec!["role:approver".to_owned()];
    let lent = aip_types::DelegatedAuthorityGrant::new(PrincipalId::new("ann"));
    claims.claimed.approver.delegated_authority = vec![lent.clone()];
    claims.authority.principal.delegated_authority = vec![lent];
    assert_eq!(refusal(&asked(policy()), claims), Rejection::NotAuthorised);
}

#[test]
fn a_repeated_decision_is_told_from_a_conflict() {
    let record = after(&asked(needing(2)), [yes("ann")]);
    let mut again = yes("ann");
    again.claimed.decided_at = Timestamp::from_millis(Millis(2_500));
    assert_eq!(refusal(&record, again), Rejection::Repeated);
    let mut other = yes("ann");
    other.claimed.reason = Some("why".to_owned());
    assert_eq!(refusal(&record, other), Rejection::Conflict);
    let mut thief = yes("bob");
    thief.claimed.decision_id = Some("yes-ann".to_owned());
    assert_eq!(refusal(&record, thief), Rejection::Conflict);
    assert_eq!(record.decision("yes-ann").unwrap().at, NOW);
}

/// The answer to a repeat is the stored decision, also after the approval has ended.
#[test]
fn a_decision_is_recognised_after_the_end() {
    let record = after(&asked(policy()), [yes("ann")]);
    assert_eq!(refusal(&record, yes("ann")), Rejection::Repeated);
    let ended = step(&record, Trigger::ActionEnded { dispatched: true }, NOW).unwrap().record;
    assert_eq!(refusal(&ended, yes("ann")), Rejection::Repeated);
    assert_eq!(refusal(&ended, yes("bob")), Rejection::NotOpen);
    let mut late = decide("bob", &[], Kind::Approved, "d");
    late.visible = false;
    assert_eq!(refusal(&ended, late), Rejection::NotFound);
}

#[test]
fn one_principal_has_one_vote() {
    let record = after(&asked(needing(2)), [yes("ann")]);
    let second = decide("ann", &["approver"], Kind::Approved, "second");
    assert_eq!(refusal(&record, second), Rejection::AlreadyDecided);
    assert_eq!(refusal(&record, no("ann")), Rejection::AlreadyDecided);
}

#[test]
fn no_callers_clock_lets_an_approval_expire() {
    let expired = decide("ann", &["approver"], Kind::Expired, "d");
    assert_eq!(refusal(&asked(policy()), expired.clone()), Rejection::ExpiredByCaller);
    let mut without_id = expired;
    without_id.claimed.decision_id = None;
    assert_eq!(refusal(&asked(policy()), without_id), Rejection::ExpiredByCaller);
}

#[test]
fn an_approver_has_seen_the_policy_that_is_still_in_force() {
    let record = asked(policy());
    let mut unseen = yes("ann");
    unseen.claimed.policy_hash = None;
    assert_eq!(refusal(&record, unseen), Rejection::PolicyChanged);
    let mut changed = yes("ann");
    changed.now.policy_hash = "other".to_owned();
    assert_eq!(refusal(&record, changed), Rejection::PolicyChanged);
    let mut swapped = yes("ann");
    swapped.now.input_hash = "other".to_owned();
    assert_eq!(refusal(&record, swapped), Rejection::InputChanged);
}

/// A denial only narrows: it needs no policy hash, but a wrong one says that something else was meant.
#[test]
fn a_denial_stands_whatever_has_changed() {
    let mut denial = no("ann");
    denial.claimed.policy_hash = None;
    denial.now.policy_hash = "other".to_owned();
    denial.now.input_hash = "other".to_owned();
    assert_eq!(after(&asked(policy()), [denial]).phase, Phase::Denied {});
    let mut confused = no("ann");
    confused.claimed.policy_hash = Some("other".to_owned());
    assert_eq!(refusal(&asked(policy()), confused), Rejection::PolicyChanged);
}

// Separation of duties.

#[test]
fn nobody_approves_for_themselves() {
    let record = asked(policy());
    for own in ["requester", "subject"] {
        assert_eq!(refusal(&record, yes(own)), Rejection::SelfApproval);
        assert_eq!(after(&record, [no(own)]).phase, Phase::Denied {});
    }
    assert_eq!(after(&record, [yes("operator")]).phase, Phase::Granted {});
    let mut requested = requested(policy());
    let behalf = Some(human("principal"));
    requested.identity = Some(IdentityContext { acted_on_behalf_of: behalf, ..IdentityContext::default() });
    assert_eq!(refusal(&request(requested).unwrap().record, yes("principal")), Rejection::SelfApproval);
}

#[test]
fn self_approval_is_allowed_by_the_policy_alone_and_not_beyond_it() {
    let mut policy = policy();
    policy.separation_of_duties.allow_self_approval = true;
    assert_eq!(after(&asked(policy.clone()), [yes("requester")]).phase, Phase::Granted {});
    policy.separation_of_duties.requester_must_differ = true;
    policy.separation_of_duties.operator_must_differ = true;
    assert_eq!(refusal(&asked(policy.clone()), yes("requester")), Rejection::RequesterMustDiffer);
    assert_eq!(refusal(&asked(policy.clone()), yes("operator")), Rejection::OperatorMustDiffer);
    assert_eq!(after(&asked(policy), [yes("subject")]).phase, Phase::Granted {});
}

/// To lend the authority to somebody and have it used for oneself is to approve for oneself.
#[test]
fn authority_lent_by_the_requester_does_not_approve_its_own_action() {
    let rule = ApprovalRule::DelegatedAuthority(DelegatedAuthorityRule::new("pay".to_owned()));
    let mut policy = ruled(rule);
    let by = |lender: &str| {
        let mut vote = decide("dan", &[], Kind::Approved, "d");
        vote.authority.grants.push(VerifiedGrant { lent_by: Some(PrincipalId::new(lender)), ..grant() });
        vote
    };
    assert_eq!(refusal(&asked(policy.clone()), by("requester")), Rejection::NotAuthorised);
    assert_eq!(refusal(&asked(policy.clone()), by("subject")), Rejection::NotAuthorised);
    assert_eq!(after(&asked(policy.clone()), [by("boss")]).phase, Phase::Granted {});
    policy.separation_of_duties.allow_self_approval = true;
    assert_eq!(after(&asked(policy), [by("requester")]).phase, Phase::Granted {});
}

// Grants that end.

fn delegated() -> ApprovalPolicy {
    let leaf = ApprovalRule::DelegatedAuthority(DelegatedAuthorityRule::new("pay".to_owned()));
    ruled(quorum(2, true, &[leaf, role("approver")]))
}

fn lent(name: &str, id: &str, expires_at: Option<Millis>, revoked: bool) -> Decide {
    let mut decide = decide(name, &[], Kind::Approved, id);
    decide.authority.grants.push(VerifiedGrant { expires_at, revoked, ..grant() });
    decide
}

#[test]
fn an_expired_or_revoked_grant_never_counts() {
    let record = asked(delegated());
    assert_eq!(refusal(&record, lent("dan", "d", Some(NOW), false)), Rejection::GrantExpired);
    assert_eq!(refusal(&record, lent("dan", "d", None, true)), Rejection::GrantExpired);
    // It ends while others still decide.
    let record = after(&record, [lent("dan", "d", Some(Millis(2_500)), false)]);
    let later = |at| step(&record, Trigger::Decide(Box::new(yes("ann"))), Millis(at)).unwrap().record.phase;
    assert_eq!(later(2_499), Phase::Granted {});
    assert_eq!(later(2_500), Phase::Pending {});
}

// Revoking.

#[test]
fn a_vote_is_taken_back_by_its_own_principal_while_pending() {
    let record = after(&asked(needing(2)), [yes("ann")]);
    assert_eq!(refusal(&record, revoke("bob", "yes-ann")), Rejection::TargetUnknown);
    let step = send(&record, revoke("ann", "yes-ann")).unwrap();
    assert_eq!((step.record.phase.clone(), step.event), (Phase::Pending {}, "decision_recorded"));
    assert_eq!(kinds(&step).0, ["approval_revoked"]);
    // The vote is gone, its id is not; and its principal may vote again.
    let record = after(&step.record, [yes("bob")]);
    assert_eq!(record.phase, Phase::Pending {});
    assert_eq!(refusal(&record, yes("ann")), Rejection::Repeated);
    assert_eq!(refusal(&record, revoke("ann", "yes-ann")), Rejection::Repeated);
    let again = decide("ann", &["approver"], Kind::Approved, "again");
    assert_eq!(after(&record, [again]).phase, Phase::Granted {});
}

#[test]
fn only_an_approval_that_counts_is_revoked() {
    let record = after(&asked(needing(2)), [yes("ann"), revoke("ann", "yes-ann")]);
    let mut again = revoke("ann", "yes-ann");
    again.claimed.decision_id = Some("another".to_owned());
    assert_eq!(refusal(&record, again), Rejection::TargetUnknown);
    assert_eq!(refusal(&record, revoke("ann", "revoke-ann-yes-ann")), Rejection::TargetUnknown);
    let mut aimless = revoke("ann", "yes-ann");
    aimless.claimed.target_decision_id = None;
    aimless.claimed.decision_id = Some("aimless".to_owned());
    assert_eq!(refusal(&record, aimless), Rejection::TargetUnknown);
}

#[test]
fn who_has_lost_the_authority_can_still_take_the_vote_back() {
    let record = after(&asked(needing(2)), [yes("ann")]);
    let mut lost = revoke("ann", "yes-ann");
    lost.authority.roles.clear();
    lost.authority.revoked = true;
    assert_eq!(after(&record, [lost, yes("bob")]).phase, Phase::Pending {});
}

#[test]
fn a_grant_is_revoked_until_its_action_is_dispatched() {
    let record = after(&asked(policy()), [yes("ann")]);
    let mut late = revoke("bob", "yes-ann");
    late.now.action = ActionNow::Dispatched;
    assert_eq!(refusal(&record, late.clone()), Rejection::ActionDispatched);
    late.now.action = ActionNow::Ended;
    assert_eq!(refusal(&record, late), Rejection::ActionOver);
    let mut mallory = revoke("mallory", "yes-ann");
    mallory.authority.roles.clear();
    assert_eq!(refusal(&record, mallory), Rejection::NotAuthorised);
    assert_eq!(refusal(&record, revoke("bob", "unknown")), Rejection::TargetUnknown);
    let step = send(&record, revoke("bob", "yes-ann")).unwrap();
    assert_eq!((step.record.phase.clone(), step.event), (Phase::Revoked {}, "revoked"));
    assert_eq!(kinds(&step).0, ["approval_revoked"]);
    assert_eq!(revalidate(&step.record, &dispatch(&[authority("ann", &["approver"])]), NOW), Err(Rejection::Revoked));
}

// Time and the action's end.

#[test]
fn only_the_timer_lets_it_expire_and_never_early() {
    let record = asked(policy());
    assert_eq!(step(&record, Trigger::Due, Millis(4_999)).unwrap_err(), Rejection::NotDue);
    let expired = step(&record, Trigger::Due, EXPIRES).unwrap();
    assert_eq!((expired.record.phase.clone(), expired.event), (Phase::Expired {}, "expired"));
    assert_eq!(kinds(&expired).0, ["approval_expired"]);
    assert_eq!(view(&expired.record).decision.unwrap().decision, Kind::Expired);
    let at_the_end = step(&record, Trigger::Decide(Box::new(yes("ann"))), EXPIRES);
    assert_eq!(at_the_end.unwrap_err(), Rejection::Expired);
}

#[test]
fn the_end_of_the_action_ends_its_approval() {
    let ends = |record, dispatched| step(record, Trigger::ActionEnded { dispatched }, NOW).unwrap();
    let pending = asked(policy());
    let withdrawn = ends(&pending, false);
    assert_eq!((withdrawn.record.phase.clone(), withdrawn.event), (Phase::Withdrawn {}, "withdrawn"));
    let granted = after(&pending, [yes("ann")]);
    assert_eq!(ends(&granted, false).record.phase, Phase::Withdrawn {});
    let used = ends(&granted, true).record;
    assert_eq!((used.phase.clone(), view(&used).status.as_str()), (Phase::Used {}, "granted"));
    let mut over = yes("ann");
    over.now.action = ActionNow::Ended;
    assert_eq!(refusal(&pending, over), Rejection::ActionOver);
}

// Constraints and evidence.

fn constraint(field: &str, operator: &str, value: serde_json::Value) -> ApprovalConstraint {
    ApprovalConstraint { field: field.to_owned(), operator: operator.to_owned(), value }
}

fn bound(constraints: &[ApprovalConstraint]) -> Decide {
    let mut vote = yes("ann");
    vote.claimed.constraints = constraints.to_vec();
    vote
}

#[test]
fn constraints_of_a_decision_are_enforceable_and_hold() {
    let record = asked(policy());
    let max = constraint("amount", "lte", json!(100));
    assert_eq!(after(&record, [bound(std::slice::from_ref(&max))]).phase, Phase::Granted {});
    let low = constraint("amount", "lte", json!(99));
    assert_eq!(refusal(&record, bound(&[max.clone(), low])), Rejection::ConstraintFailed);
    assert_eq!(refusal(&record, bound(&[constraint("amount", "about", json!(1))])), Rejection::ConstraintInvalid);
    let mut blind = bound(std::slice::from_ref(&max));
    blind.now.input = None;
    assert_eq!(refusal(&record, blind), Rejection::ConstraintInvalid);
    let mut denial = no("ann");
    denial.claimed.constraints = vec![max.clone()];
    assert_eq!(refusal(&record, denial), Rejection::ConstraintInvalid);
    let most = limits::APPROVAL_CONSTRAINTS_LEN_MAX;
    assert_eq!(after(&record, [bound(&vec![max.clone(); most])]).phase, Phase::Granted {});
    assert_eq!(refusal(&record, bound(&vec![max; most + 1])), Rejection::ConstraintInvalid);
}

fn artifact(kind: &str, uri: Option<&str>) -> EvidenceArtifact {
    EvidenceArtifact {
        id: "e".to_owned(),
        kind: kind.to_owned(),
        uri: uri.map(str::to_owned),
        hash: None,
        redacted: false,
    }
}

#[test]
fn a_decision_brings_the_evidence_that_the_policy_asks_for() {
    let record = asked(ApprovalPolicy { evidence_requirements: EvidenceRequirement::ALL.to_vec(), ..policy() });
    let mut vote = yes("ann");
    assert_eq!(refusal(&record, vote.clone()), Rejection::EvidenceMissing);
    vote.claimed.reason = Some("  ".to_owned());
    vote.claimed.evidence =
        vec![artifact("external_ticket", Some("https://t/1")), artifact("attachment", Some("aip-blob:1"))];
    assert_eq!(refusal(&record, vote.clone()), Rejection::EvidenceMissing);
    vote.claimed.reason = Some("checked".to_owned());
    assert_eq!(after(&record, [vote.clone()]).phase, Phase::Granted {});
    vote.claimed.evidence[0].uri = None;
    assert_eq!(refusal(&record, vote), Rejection::EvidenceMissing);
}

#[test]
fn evidence_is_a_reference_to_what_is_decided_about() {
    let record = asked(policy());
    let with = |artifact: EvidenceArtifact| {
        let mut vote = yes("ann");
        vote.claimed.evidence = vec![artifact];
        send(&record, vote).map(|step| step.record.phase)
    };
    for uri in ["data:text/plain,secret", "DATA:,x", "https://user:pass@host/x", "no-scheme", "https:", "://x"] {
        assert_eq!(with(artifact("attachment", Some(uri))), Err(Rejection::EvidenceInvalid), "{uri}");
    }
    assert_eq!(
        with(EvidenceArtifact { hash: Some("ABC".to_owned()), ..artifact("note", None) }),
        Err(Rejection::EvidenceInvalid)
    );
    assert_eq!(with(EvidenceArtifact { id: String::new(), ..artifact("note", None) }), Err(Rejection::EvidenceInvalid));
    let snapshot = |hash: &str| EvidenceArtifact { hash: Some(hash.to_owned()), ..artifact("input_snapshot", None) };
    assert_eq!(with(snapshot(&input_hash())), Ok(Phase::Granted {}));
    assert_eq!(with(snapshot(&"0".repeat(64))), Err(Rejection::EvidenceInvalid));
    assert_eq!(with(artifact("input_snapshot", None)), Err(Rejection::EvidenceInvalid));
}

// Bounds.

#[test]
fn a_decision_is_refused_one_past_its_bounds() {
    let record = asked(policy());
    let sized = |reason: usize| {
        let mut vote = yes("ann");
        vote.claimed.reason = Some("x".repeat(reason));
        vote
    };
    let empty = serde_json::to_vec(&sized(0).claimed).unwrap().len();
    let most = limits::APPROVAL_DECISION_BYTES_MAX - empty;
    assert_eq!(after(&record, [sized(most)]).phase, Phase::Granted {});
    assert_eq!(refusal(&record, sized(most + 1)), Rejection::TooLarge);
}

#[test]
fn evidence_of_a_decision_is_bounded() {
    let most = limits::APPROVAL_EVIDENCE_LEN_MAX;
    let with = |count: usize| {
        let mut vote = yes("ann");
        vote.claimed.evidence = vec![artifact("note", None); count];
        send(&asked(policy()), vote).map(|step| step.record.phase)
    };
    assert_eq!(with(most), Ok(Phase::Granted {}));
    assert_eq!(with(most + 1), Err(Rejection::TooLarge));
}

/// Votes are bounded, and a full record can still be denied and its votes taken back.
#[test]
fn a_full_approval_takes_no_more_votes_but_every_no() {
    let most = limits::APPROVAL_VOTES_MAX;
    let voter = |number: usize| decide(&format!("p{number}"), &["a"], Kind::Approved, &format!("d{number}"));
    let record = after(&asked(ruled(all(&[role("a"), role("b")]))), (0..most).map(voter));
    assert_eq!(refusal(&record, voter(most)), Rejection::TooLarge);
    let denial = decide("p99", &["b"], Kind::Denied, "no");
    assert_eq!(after(&record, [denial]).phase, Phase::Denied {});
    let record = after(&record, (0..most).map(|number| revoke(&format!("p{number}"), &format!("d{number}"))));
    assert_eq!(record.decisions.len(), 2 * most);
    assert!(serde_json::to_vec(&record).unwrap().len() < limits::RECORD_STATE_BYTES_MAX);
}

// Before dispatch.

fn dispatch(authorities: &[aip_core::approval::VerifiedAuthority]) -> VerifiedDispatch<'_> {
    let action_id: &'static ActionId = Box::leak(Box::new(ActionId::new("act_1")));
    VerifiedDispatch {
        action_id,
        policy_hash: POLICY_HASH,
        identity_stands: true,
        authorities,
        owns_transaction: true,
        input_hash: Box::leak(input_hash().into_boxed_str()),
        input: None,
    }
}

#[test]
fn a_grant_is_looked_at_again_before_dispatch() {
    let record = after(&asked(policy()), [bound(&[constraint("amount", "lte", json!(100))])]);
    let ann = [authority("ann", &["approver"])];
    let (same, more) = (input(), json!({"amount": 200}));
    let good = VerifiedDispatch { input: Some(&same), ..dispatch(&ann) };
    assert_eq!(revalidate(&record, &good, NOW), Ok(()));
    let refused = |now: VerifiedDispatch<'_>| revalidate(&record, &now, NOW).unwrap_err();
    let other = ActionId::new("act_2");
    assert_eq!(revalidate(&record, &good, EXPIRES), Err(Rejection::Expired));
    assert_eq!(refused(VerifiedDispatch { action_id: &other, ..good.clone() }), Rejection::NotGranted);
    assert_eq!(refused(VerifiedDispatch { policy_hash: "other", ..good.clone() }), Rejection::PolicyChanged);
    assert_eq!(refused(VerifiedDispatch { identity_stands: false, ..good.clone() }), Rejection::IdentityChanged);
    assert_eq!(refused(VerifiedDispatch { authorities: &[], ..good.clone() }), Rejection::GrantExpired);
    assert_eq!(refused(VerifiedDispatch { owns_transaction: false, ..good.clone() }), Rejection::TransactionChanged);
    assert_eq!(refused(VerifiedDispatch { input_hash: "other", ..good.clone() }), Rejection::InputChanged);
    assert_eq!(refused(VerifiedDispatch { input: Some(&more), ..good.clone() }), Rejection::ConstraintFailed);
    assert_eq!(refused(VerifiedDispatch { input: None, ..good }), Rejection::ConstraintInvalid);
}

/// Who has gained a role since has not approved in it.
#[test]
fn authority_at_dispatch_narrows_and_never_widens() {
    let record = after(
        &asked(ruled(quorum(2, true, &[role("a"), role("b")]))),
        [decide("ann", &["a"], Kind::Approved, "d1"), decide("bob", &["b"], Kind::Approved, "d2")],
    );
    let check = |ann: &[&str], bob: &[&str]| {
        let authorities = [authority("ann", ann), authority("bob", bob)];
        revalidate(&record, &dispatch(&authorities), NOW)
    };
    assert_eq!(check(&["a"], &["b"]), Ok(()));
    assert_eq!(check(&["a", "b"], &[]), Err(Rejection::GrantExpired));
    assert_eq!(check(&["b"], &["a"]), Err(Rejection::GrantExpired));
}

#[test]
fn nothing_but_a_grant_lets_an_action_begin() {
    let pending = asked(needing(2));
    let ann = [authority("ann", &["approver"])];
    assert_eq!(revalidate(&pending, &dispatch(&ann), NOW), Err(Rejection::NotGranted));
    assert_eq!(revalidate(&after(&pending, [no("ann")]), &dispatch(&ann), NOW), Err(Rejection::NotGranted));
    let expired = step(&pending, Trigger::Due, EXPIRES).unwrap().record;
    assert_eq!(revalidate(&expired, &dispatch(&ann), NOW), Err(Rejection::Expired));
}

/// AIP 1.0 §12.4: `Action.approval` is a claim about the stored record.
#[test]
fn a_sent_approval_is_the_stored_grant_or_nothing() {
    let record = after(&asked(policy()), [yes("ann")]);
    let (action, sent) = (ActionId::new("act_1"), yes("ann").claimed);
    assert_eq!(verify(&record, &sent, &action, NOW), Ok(()));
    assert_eq!(verify(&record, &sent, &action, EXPIRES), Err(Rejection::Expired));
    assert_eq!(verify(&record, &sent, &ActionId::new("act_2"), NOW), Err(Rejection::NotGranted));
    assert_eq!(verify(&record, &yes("bob").claimed, &action, NOW), Err(Rejection::NotGranted));
    assert_eq!(verify(&asked(policy()), &sent, &action, NOW), Err(Rejection::NotGranted));
    let mut altered = sent;
    altered.reason = Some("because".to_owned());
    assert_eq!(verify(&record, &altered, &action, NOW), Err(Rejection::NotGranted));
}

// Reading.

#[test]
fn an_ordinary_view_has_no_governed_input_and_the_verified_authority_path() {
    let shown = view(&after(&asked(policy()), [yes("ann")]));
    let decision = shown.decision.clone().unwrap();
    assert_eq!(decision.authority_path, ["principal:ann", "tenant:acme", "role:approver", "authority_revision:7"]);
    assert_eq!((shown.status.as_str(), shown.evidence_payload.is_none()), ("granted", true));
    assert_eq!(shown.request.subject.id.as_str(), "subject");
    assert!(!serde_json::to_string(&shown).unwrap().contains("currency"));
    assert_eq!(view(&asked(policy())).decision, None);
}

#[test]
fn the_governed_input_is_exported_with_its_right_and_its_hash_only() {
    let record = asked(policy());
    let export = |id: &str, tenant: &str| VerifiedExport {
        approval_id: ApprovalId::new(id),
        tenant: tenant.to_owned(),
        reader: PrincipalId::new("auditor"),
    };
    let payload = evidence_payload(&record, &export("appr_1", "acme"), input(), None).unwrap();
    assert_eq!((payload.input, payload.input_hash), (input(), input_hash()));
    assert_eq!(evidence_payload(&record, &export("appr_2", "acme"), input(), None), Err(Rejection::NotFound));
    assert_eq!(evidence_payload(&record, &export("appr_1", "other"), input(), None), Err(Rejection::NotFound));
    let other = evidence_payload(&record, &export("appr_1", "acme"), json!({"amount": 1}), None);
    assert_eq!(other, Err(Rejection::InputChanged));
}

/// The whole table is printed for people in `docs/states/approval.md`; that file is compared by `cargo xtask tidy`.
#[test]
fn the_matrix_has_no_empty_cell() {
    let matrix = matrix();
    let rows: Vec<&str> = matrix.lines().filter(|line| line.starts_with("| ")).collect();
    assert_eq!(rows.len(), 2 * (1 + 21));
    assert!(rows.iter().all(|row| row.split('|').count() == 10 && !row.contains("|  |")), "{matrix}");
}
