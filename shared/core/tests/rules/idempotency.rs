//! What a repeated key means (AIP 1.0 §9.5; `design.md` §5).

use std::collections::BTreeMap;

use aip_core::idempotency::{Hit, Reservation, collision, decide, reservation, same_action};
use aip_types::{
    Action, ActionId, Capability, CapabilityId, ErrorCode, ExternalAccountRef, IdempotencyCollisionBehavior,
    IdempotencyKeyScope, Millis, PrincipalId,
};
use proptest::{collection::vec, prelude::*, sample::select};

use crate::fixtures::{Kind, action, capability, record};

const BEHAVIOURS: &[IdempotencyCollisionBehavior] = IdempotencyCollisionBehavior::ALL;

/// Every behaviour, with and without a record, with the same and another input, with our key, another and none.
#[test]
fn a_taken_key_is_decided_by_behaviour_record_and_input() {
    use ErrorCode::{IdempotencyConflict, IdempotencyInputMismatch};
    use IdempotencyCollisionBehavior::{RejectConflict, ReturnOriginalResult, RevalidateInputHash};
    let table = [
        (ReturnOriginalResult, false, true, Hit::Adopt),
        (ReturnOriginalResult, false, false, Hit::Adopt),
        (ReturnOriginalResult, true, true, Hit::Replay),
        (ReturnOriginalResult, true, false, Hit::Replay),
        (RejectConflict, false, true, Hit::Adopt),
        (RejectConflict, false, false, Hit::Adopt),
        (RejectConflict, true, true, Hit::Refuse(IdempotencyConflict)),
        (RejectConflict, true, false, Hit::Refuse(IdempotencyConflict)),
        (RevalidateInputHash, false, true, Hit::Adopt),
        (RevalidateInputHash, false, false, Hit::Refuse(IdempotencyInputMismatch)),
        (RevalidateInputHash, true, true, Hit::Replay),
        (RevalidateInputHash, true, false, Hit::Refuse(IdempotencyInputMismatch)),
    ];
    assert_eq!(table.len(), BEHAVIOURS.len() * 4);
    let reserved = Reservation { action_id: ActionId::new("act_1"), input_hash: "i".to_owned(), at: Millis(0) };
    for (behaviour, stored, same, expected) in table {
        let record = stored.then(|| record(Kind::SAFE));
        let input = if same { "i" } else { "j" };
        assert_eq!(
            decide(&reserved, record.as_ref(), "h", input, behaviour),
            expected,
            "{behaviour:?} {stored} {same}"
        );
    }
    for behaviour in BEHAVIOURS {
        for record in [record(Kind::SAFE), record(Kind { keyed: false, ..Kind::SAFE })] {
            for input in ["i", "j"] {
                assert_eq!(decide(&reserved, Some(&record), "another", input, *behaviour), Hit::Foreign);
            }
        }
    }
}

#[test]
fn without_a_contract_a_key_means_the_same_input() {
    let mut bare = capability();
    bare.contract = None;
    assert_eq!(collision(&bare), IdempotencyCollisionBehavior::RevalidateInputHash);
}

/// An action id that is seen again without a key.
#[test]
fn the_same_id_is_the_same_action_only_for_all_that_made_it() {
    let unkeyed = record(Kind { keyed: false, ..Kind::SAFE });
    let caller = PrincipalId::new("service:caller");
    let same = |record, principal: &str, capability, input| {
        same_action(record, &PrincipalId::new(principal), capability, input)
    };
    assert!(same_action(&unkeyed, &caller, "cap:demo:x", "i"));
    assert!(!same(&unkeyed, "service:other", "cap:demo:x", "i"));
    assert!(!same(&unkeyed, "service:caller", "cap:demo:y", "i"));
    assert!(!same(&unkeyed, "service:caller", "cap:demo:x", "j"));
    assert!(!same(&record(Kind::SAFE), "service:caller", "cap:demo:x", "i"));
}

/// Everything that may tell two uses of a key apart.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Use {
    tenant: String,
    principal: String,
    capability: String,
    action: String,
    account: Option<(String, String)>,
    key: String,
}

impl Use {
    fn hash(&self, scope: IdempotencyKeyScope) -> String {
        let mut capability: Capability = capability();
        capability.id = CapabilityId::new(self.capability.clone());
        capability.contract.as_mut().unwrap().idempotency.key_scope = scope;
        let mut action: Action = action();
        action.id = ActionId::new(self.action.clone());
        action.identity.get_or_insert_default().external_account =
            self.account.clone().map(|(system, id)| ExternalAccountRef { id, system });
        reservation(&action, &capability, &self.tenant, &PrincipalId::new(self.principal.clone()), &self.key)
    }

    /// What the scope keeps of it.
    fn within(&self, scope: IdempotencyKeyScope) -> (String, String, Vec<String>) {
        let parts = match scope {
            IdempotencyKeyScope::Action => vec![self.action.clone()],
            IdempotencyKeyScope::Capability => vec![self.capability.clone()],
            IdempotencyKeyScope::Principal => vec![self.principal.clone(), self.capability.clone()],
            IdempotencyKeyScope::Tenant => vec![],
            IdempotencyKeyScope::ExternalAccount => {
                let (system, id) = self.account.clone().unwrap_or_default();
                vec![system, id]
            }
        };
        (self.tenant.clone(), self.key.clone(), parts)
    }
}

/// Texts that would collide where parts are only joined: separators, lengths, and names of scopes.
fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        select(vec!["", "a", "b", "a|", "|a", "1:a|", "1:", "tenant", "action", "6:tenant|", "a1:b|"])
            .prop_map(str::to_owned)
    ]
}

fn usage() -> impl Strategy<Value = Use> {
    (text(), text(), text(), text(), prop::option::of((text(), text())), text()).prop_map(
        |(tenant, principal, capability, action, account, key)| Use {
            tenant,
            principal,
            capability,
            action,
            account,
            key,
        },
    )
}

proptest! {
    /// Two uses of a key meet exactly where the scope says so; never across tenants.
    #[test]
    fn keys_meet_within_their_scope_only(uses in vec(usage(), 2..24)) {
        for scope in IdempotencyKeyScope::ALL {
            let mut names: BTreeMap<String, _> = BTreeMap::new();
            for one in &uses {
                let within = one.within(*scope);
                let kept = names.entry(one.hash(*scope)).or_insert_with(|| within.clone());
                prop_assert_eq!(&*kept, &within);
            }
            let distinct: std::collections::BTreeSet<_> = uses.iter().map(|one| one.within(*scope)).collect();
            prop_assert_eq!(names.len(), distinct.len());
        }
    }

    /// A name of one scope is never a name of another.
    #[test]
    fn scopes_do_not_meet(one in usage(), other in usage()) {
        for (number, scope) in IdempotencyKeyScope::ALL.iter().enumerate() {
            for another in &IdempotencyKeyScope::ALL[number + 1..] {
                prop_assert_ne!(one.hash(*scope), other.hash(*another));
            }
        }
    }
}
