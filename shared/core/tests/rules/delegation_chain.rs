//! The rules of a delegation chain (AIP 1.0 §14.3): authority only narrows, nobody stands in it twice, ten hops at most.

use std::collections::BTreeSet;

use aip_core::delegation::{Authority, HopPolicy, Rejection, Scope, VerifiedHop, VerifiedOrigin};
use aip_types::{DelegationEntry, Millis, Principal, PrincipalId, PrincipalKind, Timestamp, limits};
use proptest::{collection::vec, prelude::*, sample::select};

const AT: Millis = Millis(1_000_000);

fn agent(number: usize) -> Principal {
    Principal::new(PrincipalId::new(format!("agent:{number}")), PrincipalKind::Agent)
}

fn policy() -> HopPolicy {
    let forbidden_domains = BTreeSet::from(["bad.example".to_owned()]);
    HopPolicy { hops_max: limits::DELEGATION_CHAIN_MAX, forbidden_domains, at: AT }
}

fn origin(scope: &str) -> VerifiedOrigin {
    let scope = Scope::read(scope).unwrap();
    VerifiedOrigin { principal: agent(0), trust_domain: "good.example".to_owned(), scope }
}

fn hop(from: usize, to: usize, scope: &str) -> VerifiedHop {
    VerifiedHop {
        entry: DelegationEntry {
            from: agent(from),
            to: agent(to),
            scope: scope.to_owned(),
            delegated_at: Timestamp::from_millis(Millis(1_000)),
        },
        trust_domain: "good.example".to_owned(),
        expires_at: None,
        revoked: false,
        tenant_allowed: true,
        residency_allowed: true,
    }
}

fn at(mut hop: VerifiedHop, millis: u64) -> VerifiedHop {
    hop.entry.delegated_at = Timestamp::from_millis(Millis(millis));
    hop
}

fn received(hops: impl IntoIterator<Item = VerifiedHop>, acting: usize) -> Result<Authority, Rejection> {
    Authority::received(origin("a:* b"), hops, &agent(acting).id, &policy())
}

fn scopes() -> impl Strategy<Value = String> {
    let tokens = select(vec!["*", "a:*", "a:b", "a:b:*", "a:b:c", "a:d", "b", "c:*", "c:x"]);
    vec(tokens, 1..4).prop_map(|tokens| tokens.join(" "))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_024, ..ProptestConfig::default() })]

    /// Whatever is asked for, hop after hop: what was accepted narrows, has no loop and no more than ten hops.
    #[test]
    fn authority_only_narrows_along_any_accepted_chain(
        start in scopes(),
        hops in vec((0..14_usize, 0..14_usize, prop::bool::weighted(0.9), scopes(), prop::bool::weighted(0.6)), 0..64),
    ) {
        let mut authority = Authority::of(origin(&start), &policy()).unwrap();
        let first = authority.scope().clone();
        for (from, to, contiguous, scope, keep) in hops {
            let mut hop = hop(from, to, &scope);
            if contiguous {
                hop.entry.from = authority.holder().clone();
            }
            if keep {
                hop.entry.scope = authority.scope().text();
            }
            let Ok(next) = authority.extend(hop, &policy()) else { continue };
            prop_assert!(authority.scope().covers(next.scope()));
            prop_assert!(first.covers(next.scope()), "narrowing does not add up");
            authority = next;
        }
        let entries = authority.entries();
        prop_assert!(entries.len() <= limits::DELEGATION_CHAIN_MAX);
        let mut seen = BTreeSet::from([agent(0).id]);
        prop_assert!(entries.iter().all(|entry| seen.insert(entry.to.id.clone())));
        prop_assert!(entries.windows(2).all(|pair| pair[0].to == pair[1].from));
        prop_assert!(entries.first().is_none_or(|entry| entry.from == agent(0)));
        prop_assert_eq!(entries.last().map_or(agent(0), |entry| entry.to.clone()), authority.holder().clone());
    }

    /// The same chain received whole is judged as it was when it grew.
    #[test]
    fn a_received_chain_is_judged_hop_by_hop(steps in vec((0..6_usize, scopes()), 0..6)) {
        let mut from = 0;
        let hops: Vec<_> = steps.iter().map(|(to, scope)| hop(std::mem::replace(&mut from, *to), *to, scope)).collect();
        let grown = hops.iter().cloned().try_fold(
            Authority::of(origin("a:* b"), &policy()).unwrap(),
            |authority, hop| authority.extend(hop, &policy()),
        );
        prop_assert_eq!(received(hops, from), grown);
    }

    #[test]
    fn covering_is_an_order(one in scopes(), two in scopes(), three in scopes()) {
        let [one, two, three] = [one, two, three].map(|text| Scope::read(&text).unwrap());
        prop_assert!(one.covers(&one));
        prop_assert!(!(one.covers(&two) && two.covers(&three)) || one.covers(&three));
        prop_assert_eq!(Scope::read(&one.text()), Ok(one));
    }

    #[test]
    fn no_text_panics_and_what_is_read_reads_again(text in "[ab:* é]{0,12}") {
        if let Ok(scope) = Scope::read(&text) {
            prop_assert_eq!(Scope::read(&scope.text()), Ok(scope));
        }
    }
}

#[test]
fn ten_hops_are_allowed_and_eleven_refused() {
    let hops = |count| (0..count).map(|number| hop(number, number + 1, "b"));
    assert_eq!(received(hops(10), 10).unwrap().entries().len(), 10);
    assert_eq!(received(hops(11), 11), Err(Rejection::ChainTooLong));
    let fewer = HopPolicy { hops_max: 2, ..policy() };
    assert!(Authority::received(origin("b"), hops(2), &agent(2).id, &fewer).is_ok());
    assert_eq!(Authority::received(origin("b"), hops(3), &agent(3).id, &fewer), Err(Rejection::ChainTooLong));
    let more = HopPolicy { hops_max: 99, ..policy() };
    assert_eq!(Authority::received(origin("b"), hops(11), &agent(11).id, &more), Err(Rejection::ChainTooLong));
}

#[test]
fn a_chain_has_no_gap_and_ends_at_who_acts() {
    assert!(received([], 0).is_ok());
    assert_eq!(received([], 1), Err(Rejection::ChainBroken));
    assert!(received([hop(0, 1, "b"), hop(1, 2, "b")], 2).is_ok());
    assert_eq!(received([hop(0, 1, "b"), hop(1, 2, "b")], 1), Err(Rejection::ChainBroken));
    assert_eq!(received([hop(0, 1, "b"), hop(3, 2, "b")], 2), Err(Rejection::ChainBroken));
    assert_eq!(received([hop(1, 2, "b")], 2), Err(Rejection::ChainBroken));
    let mut other_kind = hop(0, 1, "b");
    other_kind.entry.from.kind = PrincipalKind::Human;
    assert_eq!(received([other_kind], 1), Err(Rejection::ChainBroken));
}

#[test]
fn nobody_stands_in_a_chain_twice() {
    assert_eq!(received([hop(0, 0, "b")], 0), Err(Rejection::Loop));
    assert_eq!(received([hop(0, 1, "b"), hop(1, 0, "b")], 0), Err(Rejection::Loop));
    assert_eq!(received([hop(0, 1, "b"), hop(1, 2, "b"), hop(2, 1, "b")], 1), Err(Rejection::Loop));
}

#[test]
fn a_hop_keeps_or_drops_authority() {
    for (held, passed, allowed) in [
        ("a b", "a b", true),
        ("a b", "b", true),
        ("a", "a b", false),
        ("a:*", "a:b", true),
        ("a:*", "a:b:c a:d", true),
        ("a:*", "a:*", true),
        ("a:*", "a", false),
        ("a:*", "ab", false),
        ("a:*", "*", false),
        ("a:b:*", "a:*", false),
        ("a:b", "a:b:c", false),
        ("*", "a:* b", true),
    ] {
        let authority = Authority::of(origin(held), &policy()).unwrap();
        let expected = if allowed { Ok(()) } else { Err(Rejection::ScopeWidened) };
        assert_eq!(authority.extend(hop(0, 1, passed), &policy()).map(|_| ()), expected, "{held} → {passed}");
    }
}

#[test]
fn a_dropped_token_does_not_come_back() {
    assert_eq!(received([hop(0, 1, "a:x"), hop(1, 2, "a:x b")], 2), Err(Rejection::ScopeWidened));
}

#[test]
fn a_scope_is_a_set_of_tokens_within_bounds() {
    for text in ["", " ", "a  b", " a", "a ", "a::b", ":a", "a:", "a*", "*:a", "a:*:b", "**", "a\tb", "a\u{a0}b", "é"]
    {
        assert_eq!(Scope::read(text), Err(Rejection::ScopeInvalid), "{text:?}");
    }
    let tokens = |count: usize| (0..count).map(|number| format!("t{number}")).collect::<Vec<_>>().join(" ");
    assert!(Scope::read(&tokens(limits::DELEGATION_SCOPE_LEN_MAX)).is_ok());
    assert_eq!(Scope::read(&tokens(limits::DELEGATION_SCOPE_LEN_MAX + 1)), Err(Rejection::ScopeInvalid));
    assert!(Scope::read(&"x".repeat(limits::DELEGATION_SCOPE_BYTES_MAX)).is_ok());
    assert_eq!(Scope::read(&"x".repeat(limits::DELEGATION_SCOPE_BYTES_MAX + 1)), Err(Rejection::ScopeInvalid));
}

#[test]
fn times_do_not_run_back_and_lie_in_no_future() {
    assert!(received([at(hop(0, 1, "b"), 5), at(hop(1, 2, "b"), 5)], 2).is_ok());
    assert_eq!(received([at(hop(0, 1, "b"), 5), at(hop(1, 2, "b"), 4)], 2), Err(Rejection::TimeInvalid));
    let last = AT.0 + limits::REPLAY_FUTURE_MS;
    assert!(received([at(hop(0, 1, "b"), last)], 1).is_ok());
    assert_eq!(received([at(hop(0, 1, "b"), last + 1)], 1), Err(Rejection::TimeInvalid));
}

#[test]
fn a_grant_that_ended_anywhere_ends_the_chain() {
    let until = |mut hop: VerifiedHop, end: u64| {
        hop.expires_at = Some(Millis(end));
        hop
    };
    let authority = received([until(hop(0, 1, "b"), AT.0 + 9), until(hop(1, 2, "b"), AT.0 + 5)], 2).unwrap();
    assert_eq!(authority.expires_at(), Some(Millis(AT.0 + 5)));
    assert_eq!(received([until(hop(0, 1, "b"), AT.0), hop(1, 2, "b")], 2), Err(Rejection::GrantExpired));
    let revoked = VerifiedHop { revoked: true, ..hop(0, 1, "b") };
    assert_eq!(received([revoked, hop(1, 2, "b")], 2), Err(Rejection::GrantExpired));
}

#[test]
fn policy_forbids_domains_tenants_and_regions() {
    let bad = || "bad.example".to_owned();
    let middle = |hop| received([hop, self::hop(1, 2, "b")], 2);
    assert_eq!(middle(VerifiedHop { trust_domain: bad(), ..hop(0, 1, "b") }), Err(Rejection::DomainForbidden));
    assert_eq!(middle(VerifiedHop { tenant_allowed: false, ..hop(0, 1, "b") }), Err(Rejection::TenantForbidden));
    assert_eq!(middle(VerifiedHop { residency_allowed: false, ..hop(0, 1, "b") }), Err(Rejection::ResidencyForbidden));
    let origin = VerifiedOrigin { trust_domain: bad(), ..origin("b") };
    assert_eq!(Authority::of(origin, &policy()), Err(Rejection::DomainForbidden));
}
