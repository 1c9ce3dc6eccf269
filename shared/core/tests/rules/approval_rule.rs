//! When decisions are enough (AIP 1.0 §12.1): the evaluator against a definition that tries everything, and its bounds.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::LazyLock,
};

use aip_core::approval::{Governed, Leaves, Rejection, Rule, Standing, VerifiedGrant};
use aip_types::{
    ApprovalRule, ApproverSelector, CapabilityId, DelegatedApprovalAuthority, DelegatedAuthorityRule,
    ExternalSystemRule, GroupRule, Millis, PrincipalId, PrincipalRule, RiskLevel, TenantPolicyRule,
    TenantPolicySelector, Timestamp, limits,
};
use proptest::{collection::vec, prelude::*};

use crate::approval_fixtures::{NOW, all, all_reusing, any, authority, grant, needing, policy, quorum, role, ruled};

/// Sets of voters, each enough for a rule: the definition in the rule's own words, by trying everything.
fn enough(rule: &ApprovalRule, leaf: &mut u8, voters: &[Leaves]) -> BTreeSet<u32> {
    let (required, apart, rules) = match rule {
        ApprovalRule::All(all) => (all.rules.len(), !all.allow_decision_reuse, &all.rules),
        ApprovalRule::Any(any) => (1, false, &any.rules),
        ApprovalRule::Quorum(quorum) => {
            (usize::try_from(quorum.required).unwrap(), quorum.distinct_principals, &quorum.rules)
        }
        ApprovalRule::Principal(_)
        | ApprovalRule::Role(_)
        | ApprovalRule::Group(_)
        | ApprovalRule::TenantPolicy(_)
        | ApprovalRule::ExternalSystem(_)
        | ApprovalRule::DelegatedAuthority(_) => {
            let one = Leaves::one(*leaf);
            *leaf += 1;
            let holds = (0..).zip(voters).filter(|(_, leaves)| !leaves.and(one).is_empty());
            return holds.map(|(voter, _): (u32, _)| 1 << voter).collect();
        }
    };
    // Chosen branches and the voters that they use, one branch after the other.
    let mut chosen: BTreeSet<(usize, u32)> = [(0, 0)].into();
    for rule in rules {
        let branch = enough(rule, leaf, voters);
        let more: Vec<_> = chosen
            .iter()
            .flat_map(|(count, used)| branch.iter().map(move |set| (*count, *used, *set)))
            .filter(|(_, used, set)| !apart || used & set == 0)
            .map(|(count, used, set)| (count + 1, used | set))
            .collect();
        chosen.extend(more);
    }
    chosen.into_iter().filter(|(count, _)| *count >= required).map(|(_, used)| used).collect()
}

fn rule() -> impl Strategy<Value = ApprovalRule> {
    let leaf = Just(role("r"));
    leaf.prop_recursive(3, 9, 3, |inner| {
        (vec(inner, 1..=3), 0..5_u8, 1..=3_u32).prop_map(|(rules, kind, required)| match kind {
            0 => all(&rules),
            1 => all_reusing(&rules),
            2 => any(&rules),
            distinct => quorum(required.min(u32::try_from(rules.len()).unwrap()), distinct == 3, &rules),
        })
    })
    .prop_filter("as many leaves as we evaluate", |rule| Rule::of(&ruled(rule.clone())).is_ok())
}

/// What up to six principals satisfy of the first nine leaves.
fn voters() -> impl Strategy<Value = Vec<Leaves>> {
    vec(vec(0..9_u8, 0..5), 0..6)
        .prop_map(|all| all.into_iter().map(|leaves| leaves.into_iter().map(Leaves::one).collect()).collect())
}

fn satisfied(rule: &ApprovalRule, minimum: u32, voters: &[Leaves]) -> bool {
    let mut policy = ruled(rule.clone());
    policy.minimum_distinct_principals = minimum;
    let names: Vec<_> = (0..voters.len()).map(|number| PrincipalId::new(format!("p{number}"))).collect();
    let votes: BTreeMap<_, _> = names.iter().zip(voters.iter().copied()).collect();
    Rule::of(&policy).unwrap().is_satisfied(&votes)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_024, ..ProptestConfig::default() })]

    #[test]
    fn the_evaluator_says_what_trying_everything_says(rule in rule(), voters in voters()) {
        let expected = !enough(&rule, &mut 0, &voters).is_empty();
        prop_assert_eq!(satisfied(&rule, 1, &voters), expected);
    }

    #[test]
    fn another_vote_never_takes_a_grant_away(rule in rule(), voters in voters(), more in voters()) {
        let together: Vec<_> = voters.iter().chain(&more).copied().collect();
        prop_assert!(!satisfied(&rule, 1, &voters) || satisfied(&rule, 1, &together));
    }

    #[test]
    fn who_satisfies_no_leaf_changes_nothing(rule in rule(), voters in voters(), minimum in 1..5_u32) {
        let together: Vec<_> = voters.iter().copied().chain([Leaves::NONE, Leaves::NONE]).collect();
        prop_assert_eq!(satisfied(&rule, minimum, &voters), satisfied(&rule, minimum, &together));
    }

    #[test]
    fn one_more_requirement_never_grants_more(rule in rule(), other in rule(), voters in voters(), minimum in 1..5_u32) {
        prop_assume!(Rule::of(&ruled(all(&[rule.clone(), other.clone()]))).is_ok());
        let both = satisfied(&all(&[rule.clone(), other.clone()]), 1, &voters);
        let reusing = satisfied(&all_reusing(&[rule.clone(), other.clone()]), 1, &voters);
        prop_assert!(!both || reusing);
        prop_assert!(!reusing || satisfied(&rule, 1, &voters));
        prop_assert!(!satisfied(&rule, minimum + 1, &voters) || satisfied(&rule, minimum, &voters));
    }

    #[test]
    fn there_is_no_grant_below_the_minimum_of_distinct_principals(rule in rule(), voters in voters(), minimum in 1..7_u32) {
        let with_authority = voters.iter().filter(|leaves| !leaves.is_empty()).count();
        prop_assert!(!satisfied(&rule, minimum, &voters) || with_authority >= usize::try_from(minimum).unwrap());
    }

    #[test]
    fn a_quorum_of_distinct_principals_has_as_many(required in 1..4_u32, voters in voters()) {
        let rule = quorum(required, true, &[role("a"), role("b"), role("c")]);
        let with_authority = voters.iter().filter(|leaves| !leaves.and((0..3).map(Leaves::one).collect()).is_empty());
        prop_assert!(!satisfied(&rule, 1, &voters) || with_authority.count() >= usize::try_from(required).unwrap());
    }
}

fn of(leaves: &[u8]) -> Leaves {
    leaves.iter().copied().map(Leaves::one).collect()
}

#[test]
fn one_decision_counts_for_one_branch_of_an_all_only() {
    let two = [role("finance"), role("legal")];
    assert!(!satisfied(&all(&two), 1, &[of(&[0, 1])]));
    assert!(satisfied(&all_reusing(&two), 1, &[of(&[0, 1])]));
    assert!(satisfied(&all(&two), 1, &[of(&[0, 1]), of(&[1])]));
}

/// Whoever can do both is used where the other cannot help, in whichever order they come.
#[test]
fn decisions_are_used_where_they_help() {
    let three = all(&[role("a"), role("b"), role("c")]);
    assert!(satisfied(&three, 1, &[of(&[0, 1, 2]), of(&[0]), of(&[0, 1])]));
    assert!(satisfied(&three, 1, &[of(&[0, 1]), of(&[0]), of(&[0, 1, 2])]));
    assert!(!satisfied(&three, 1, &[of(&[0, 1]), of(&[0]), of(&[0, 1])]));
}

#[test]
fn branches_are_kept_apart_however_deep_the_leaf_lies() {
    let nested = all(&[any(&[role("a"), role("b")]), quorum(1, false, &[role("c"), role("d")])]);
    assert!(!satisfied(&nested, 1, &[of(&[0, 1, 2, 3])]));
    assert!(satisfied(&nested, 1, &[of(&[0, 2]), of(&[3])]));
    let reusing_inside = all(&[role("a"), all_reusing(&[role("b"), role("c")])]);
    assert!(satisfied(&reusing_inside, 1, &[of(&[0]), of(&[1, 2])]));
    assert!(!satisfied(&reusing_inside, 1, &[of(&[0, 1, 2])]));
    let apart_inside = all_reusing(&[role("a"), all(&[role("b"), role("c")])]);
    assert!(satisfied(&apart_inside, 1, &[of(&[0, 1]), of(&[2])]));
}

#[test]
fn a_quorum_counts_one_principal_twice_only_where_it_says_so() {
    let rules = [role("a"), role("b"), role("c")];
    assert!(!satisfied(&quorum(2, true, &rules), 1, &[of(&[0, 1, 2])]));
    assert!(satisfied(&quorum(2, false, &rules), 1, &[of(&[0, 1, 2])]));
}

fn is_refused(rule: ApprovalRule) -> bool {
    Rule::of(&ruled(rule)).err() == Some(Rejection::RuleInvalid)
}

#[test]
fn a_rule_that_nobody_can_satisfy_is_refused() {
    assert!(is_refused(all(&[])) && is_refused(all_reusing(&[])) && is_refused(any(&[])));
    assert!(is_refused(quorum(0, true, &[role("a")])) && is_refused(quorum(0, false, &[])));
    assert!(is_refused(quorum(2, true, &[role("a")])));
    assert!(is_refused(any(&[role("a"), all(&[])])));
}

#[test]
fn a_rule_is_refused_one_past_its_bounds() {
    let leaves = vec![role("a"); limits::APPROVAL_RULE_LEAVES_MAX];
    assert!(!is_refused(any(&leaves)));
    assert!(is_refused(any(&[&leaves[..], &[role("a")]].concat())));
    let nested = |levels| (0..levels).fold(role("a"), |rule, _| any(&[rule]));
    assert!(!is_refused(nested(limits::APPROVAL_RULE_DEPTH_MAX)));
    assert!(is_refused(nested(limits::APPROVAL_RULE_DEPTH_MAX + 1)));
    let most = u32::try_from(limits::APPROVAL_VOTES_MAX).unwrap();
    assert!(Rule::of(&needing(most)).is_ok());
    assert_eq!(Rule::of(&needing(most + 1)).err(), Some(Rejection::RuleInvalid));
}

/// The most expensive rule: each vote has 3^4 uses, and what is missing is found out by trying all of them.
#[test]
fn the_largest_rule_is_decided() {
    let three = [role("a"), role("b"), role("c")];
    let rule = all_reusing(&[all(&three), all(&three), all(&three), all(&three)]);
    let whole: Vec<u8> = (0..12).collect();
    let voters = |whole_len: usize| -> Vec<Leaves> {
        (0..32).map(|voter| if voter < whole_len { of(&whole) } else { of(&[0, 3, 6, 9]) }).collect()
    };
    assert!(!satisfied(&rule, 1, &voters(1)));
    assert!(satisfied(&rule, 1, &voters(2)));
}

static CAPABILITY: LazyLock<CapabilityId> = LazyLock::new(|| CapabilityId::new("cap:demo:pay"));

fn governed() -> Governed<'static> {
    Governed {
        tenant: "acme",
        capability_id: &CAPABILITY,
        barred: BTreeSet::new(),
        risk: Some(RiskLevel::High),
        value: Some(500),
    }
}

#[test]
fn every_kind_of_leaf_is_satisfied_by_what_the_resolver_says() {
    let rule = any(&[
        ApprovalRule::Principal(PrincipalRule { id: PrincipalId::new("ann") }),
        role("approver"),
        ApprovalRule::Group(GroupRule { name: "board".to_owned() }),
        ApprovalRule::TenantPolicy(TenantPolicyRule { policy_id: "tp".to_owned() }),
        ApprovalRule::ExternalSystem(ExternalSystemRule { system: "erp".to_owned() }),
        ApprovalRule::DelegatedAuthority(DelegatedAuthorityRule::new("pay".to_owned())),
    ]);
    let policy = ruled(rule);
    let rule = Rule::of(&policy).unwrap();
    let mut who = authority("ann", &["approver"]);
    who.groups.insert("board".to_owned());
    who.tenant_policies.insert("tp".to_owned());
    who.external_systems.insert("erp".to_owned());
    who.grants.push(grant());
    let numbers = |standings: Vec<Standing>| standings.iter().map(|one| one.leaf).collect::<Vec<_>>();
    assert_eq!(numbers(rule.standings(&who, &governed(), NOW).unwrap()), [0, 1, 2, 3, 4, 5]);
    assert_eq!(numbers(rule.standings(&authority("ann", &[]), &governed(), NOW).unwrap()), [0]);
    assert_eq!(rule.standings(&authority("bob", &["other"]), &governed(), NOW), Err(Rejection::NotAuthorised));
}

#[test]
fn authority_of_another_tenant_is_none() {
    let mut who = authority("ann", &["approver"]);
    who.tenant = "other".to_owned();
    assert_eq!(Rule::of(&policy()).unwrap().standings(&who, &governed(), NOW), Err(Rejection::NotAuthorised));
}

#[test]
fn authority_counts_until_it_ends() {
    let policy = policy();
    let rule = Rule::of(&policy).unwrap();
    let mut who = authority("ann", &["approver"]);
    who.expires_at = Some(Millis(3_000));
    let standings = rule.standings(&who, &governed(), NOW).unwrap();
    assert!(standings[0].holds(Millis(2_999)) && !standings[0].holds(Millis(3_000)));
    assert_eq!(rule.standings(&who, &governed(), Millis(3_000)), Err(Rejection::GrantExpired));
    who.expires_at = None;
    who.revoked = true;
    assert_eq!(rule.standings(&who, &governed(), NOW), Err(Rejection::GrantExpired));
}

/// AIP 1.0 §8.4: scope, risk, value, end and revocation of a grant, and of the leaf that asks for one.
#[test]
fn a_delegated_grant_covers_what_it_says_and_no_more() {
    let asks = |max_risk, max_value| {
        let rule = DelegatedAuthorityRule { scope: "pay".to_owned(), max_risk, max_value };
        ruled(ApprovalRule::DelegatedAuthority(rule))
    };
    let check = |policy: &aip_types::ApprovalPolicy, grant: VerifiedGrant, governed: Governed<'_>| {
        let mut who = authority("ann", &[]);
        who.grants.push(grant);
        Rule::of(policy).unwrap().standings(&who, &governed, NOW).map(|standings| standings[0].until)
    };
    let open = asks(None, None);
    let no = Err(Rejection::NotAuthorised);
    let over = Err(Rejection::GrantExpired);
    assert_eq!(check(&open, grant(), governed()), Ok(None));
    assert_eq!(check(&open, VerifiedGrant { scope: "other".to_owned(), ..grant() }, governed()), no);
    assert_eq!(check(&open, VerifiedGrant { max_risk: Some(RiskLevel::Medium), ..grant() }, governed()), no);
    assert_eq!(check(&open, VerifiedGrant { max_risk: Some(RiskLevel::High), ..grant() }, governed()), Ok(None));
    assert_eq!(check(&open, VerifiedGrant { max_value: Some(499), ..grant() }, governed()), no);
    assert_eq!(check(&open, VerifiedGrant { max_value: Some(500), ..grant() }, governed()), Ok(None));
    assert_eq!(check(&open, VerifiedGrant { revoked: true, ..grant() }, governed()), over);
    assert_eq!(check(&open, VerifiedGrant { expires_at: Some(NOW), ..grant() }, governed()), over);
    let end = Some(Millis(NOW.0 + 1));
    assert_eq!(check(&open, VerifiedGrant { expires_at: end, ..grant() }, governed()), Ok(end));
    assert_eq!(check(&asks(Some(RiskLevel::Medium), None), grant(), governed()), no);
    assert_eq!(check(&asks(None, Some(499)), grant(), governed()), no);
    // A limit over what nobody has stated covers nothing.
    let unknown = || Governed { risk: None, value: None, ..governed() };
    assert_eq!(check(&open, grant(), unknown()), Ok(None));
    assert_eq!(check(&open, VerifiedGrant { max_value: Some(u64::MAX), ..grant() }, unknown()), no);
    assert_eq!(check(&asks(Some(RiskLevel::Critical), None), grant(), unknown()), no);
}

#[test]
fn a_grant_for_another_capability_covers_nothing() {
    let policy = ruled(ApprovalRule::DelegatedAuthority(DelegatedAuthorityRule::new("pay".to_owned())));
    let check = |capability: &str| {
        let mut who = authority("ann", &[]);
        who.grants.push(VerifiedGrant { capability_id: Some(CapabilityId::new(capability)), ..grant() });
        Rule::of(&policy).unwrap().standings(&who, &governed(), NOW).is_ok()
    };
    assert!(check("cap:demo:pay") && !check("cap:demo:other"));
}

#[test]
fn the_delegate_of_a_policy_needs_every_scope_from_the_resolver() {
    let mut policy = policy();
    let lent = DelegatedApprovalAuthority {
        principal: PrincipalId::new("dan"),
        scope: vec!["pay".to_owned(), "refund".to_owned()],
        expires_at: Some(Timestamp::from_millis(Millis(4_000))),
    };
    policy.delegated_authority = Some(lent);
    let mut dan = authority("dan", &[]);
    dan.grants.push(grant());
    assert_eq!(Rule::of(&policy).unwrap().standings(&dan, &governed(), NOW), Err(Rejection::NotAuthorised));
    dan.grants.push(VerifiedGrant { scope: "refund".to_owned(), expires_at: Some(Millis(3_000)), ..grant() });
    let standings = Rule::of(&policy).unwrap().standings(&dan, &governed(), NOW).unwrap();
    assert_eq!(standings, [Standing { leaf: 1, until: Some(Millis(3_000)) }]);
    assert_eq!(Rule::of(&policy).unwrap().standings(&dan, &governed(), Millis(4_000)), Err(Rejection::GrantExpired));
    let mut eve = dan.clone();
    eve.principal.id = PrincipalId::new("eve");
    assert_eq!(Rule::of(&policy).unwrap().standings(&eve, &governed(), NOW), Err(Rejection::NotAuthorised));
    // A rule says all itself; and a policy that lends no scope lends nothing.
    policy.rule = Some(role("approver"));
    assert_eq!(Rule::of(&policy).unwrap().standings(&dan, &governed(), NOW), Err(Rejection::NotAuthorised));
    policy.rule = None;
    policy.delegated_authority = Some(DelegatedApprovalAuthority::new(PrincipalId::new("dan")));
    assert_eq!(Rule::of(&policy).unwrap().standings(&dan, &governed(), NOW), Err(Rejection::NotAuthorised));
}

#[test]
fn the_selector_is_the_rule_where_there_is_none() {
    let mut policy = policy();
    policy.approver_selector = ApproverSelector::TenantPolicy(TenantPolicySelector {});
    let mut who = authority("ann", &["approver"]);
    assert_eq!(Rule::of(&policy).unwrap().standings(&who, &governed(), NOW), Err(Rejection::NotAuthorised));
    who.tenant_policies.insert("any".to_owned());
    assert!(Rule::of(&policy).unwrap().standings(&who, &governed(), NOW).is_ok());
}
