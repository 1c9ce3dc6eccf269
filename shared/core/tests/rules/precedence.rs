//! One wrong request has one answer, however many things are wrong with it (AIP 1.0 §11.3).

use aip_core::{
    action::Contract,
    admission::{Facts, Finding, Terms, check},
};
use aip_types::{
    Action, ActionMode, ActionTransaction, Capability, ErrorCode, IdempotencyRequirement, Millis, ProfileId,
    ProtocolError, RetrySafety, TenantRef, TransactionMode, limits,
};
use serde_json::json;

use crate::fixtures::{action, capability};

const AT: Millis = Millis(10_000);

/// A request and what admission has found out about it.
struct World {
    action: Action,
    capability: Capability,
    known: bool,
    live: bool,
    input_fault: bool,
    room: bool,
}

impl World {
    fn right() -> Self {
        Self { action: action(), capability: capability(), known: true, live: true, input_fault: false, room: true }
    }

    fn check(&self) -> Result<Terms, ProtocolError> {
        check(&Facts {
            action: &self.action,
            capability: self.known.then_some(&self.capability),
            live: self.live,
            input_fault: self
                .input_fault
                .then(|| Finding { pointer: "/body/action/input/a".to_owned(), rule: "type".to_owned() }),
            tenant: "acme",
            room: self.room,
            at: AT,
        })
    }

    fn idempotency(&mut self, requirement: IdempotencyRequirement) {
        self.capability.contract.as_mut().unwrap().idempotency.requirement = requirement;
    }
}

type Fault = (ErrorCode, fn(&mut World));

/// One fault a step of the fixed order, first to last.
const FAULTS: [Fault; 9] = [
    (ErrorCode::CapabilityNotFound, |world| world.known = false),
    (ErrorCode::CapabilityUnavailable, |world| world.live = false),
    (ErrorCode::InputInvalid, |world| world.input_fault = true),
    (ErrorCode::TenantMismatch, |world| {
        world.action.identity.get_or_insert_default().tenant = Some(TenantRef::new("other".to_owned()));
    }),
    (ErrorCode::ModeUnsupported, |world| world.action.mode = Some(ActionMode::Streaming)),
    (ErrorCode::TimeoutInvalid, |world| world.action.timeout_ms = Some(0)),
    (ErrorCode::ContextUnsupported, |world| {
        world.action.callback = Some(aip_types::Callback::new(ProfileId::new("p"), "https://x".to_owned()));
    }),
    (ErrorCode::KeyRequired, |world| world.idempotency(IdempotencyRequirement::Required)),
    (ErrorCode::TenantQueueFull, |world| world.room = false),
];

fn code(world: &World) -> Option<ErrorCode> {
    world.check().err().map(|error| error.error_code().unwrap())
}

#[test]
fn of_two_faults_the_earlier_is_answered() {
    for (first, (earlier, break_first)) in FAULTS.iter().enumerate() {
        for (later, break_second) in &FAULTS[first + 1..] {
            let mut world = World::right();
            break_second(&mut world);
            break_first(&mut world);
            assert_eq!(code(&world), Some(*earlier), "{earlier:?} and {later:?}");
        }
    }
}

#[test]
fn of_any_set_of_faults_the_earliest_is_answered() {
    for set in 0..1_u32 << FAULTS.len() {
        let mut world = World::right();
        let chosen: Vec<&Fault> =
            FAULTS.iter().enumerate().filter(|(bit, _)| set >> bit & 1 == 1).map(|(_, fault)| fault).collect();
        chosen.iter().for_each(|(_, break_it)| break_it(&mut world));
        assert_eq!(code(&world), chosen.first().map(|(code, _)| *code), "set {set:b}");
    }
}

#[test]
fn a_right_request_is_admitted_on_its_contract() {
    let terms = World::right().check().unwrap();
    let contract =
        Contract { read_only: false, retry_safety: RetrySafety::SafeWithIdempotencyKey, supports_retry: true };
    let deadline = AT.plus(limits::ACTION_TIMEOUT_MS_DEFAULT);
    assert_eq!(terms, Terms { mode: ActionMode::Sync, deadline, contract });
}

#[test]
fn a_timeout_is_taken_at_its_bounds_and_refused_one_past_them() {
    for (timeout_ms, taken) in
        [(0, false), (1, true), (limits::ACTION_TIMEOUT_MS_MAX, true), (limits::ACTION_TIMEOUT_MS_MAX + 1, false)]
    {
        let mut world = World::right();
        world.action.timeout_ms = Some(timeout_ms);
        match world.check() {
            Ok(terms) => assert!(taken && terms.deadline == AT.plus(timeout_ms)),
            Err(error) => assert!(!taken && error.error_code() == Some(ErrorCode::TimeoutInvalid)),
        }
    }
}

#[test]
fn a_mode_is_the_wanted_one_or_the_first_that_the_contract_supports() {
    let modes = |sync, r#async, streaming| {
        let mut world = World::right();
        let execution = &mut world.capability.contract.as_mut().unwrap().execution;
        (execution.supports_sync, execution.supports_async, execution.supports_streaming) = (sync, r#async, streaming);
        world
    };
    let got = |mut world: World, wanted| {
        world.action.mode = wanted;
        world.check().ok().map(|terms| terms.mode)
    };
    let (sync, r#async, streaming) = (ActionMode::Sync, ActionMode::Async, ActionMode::Streaming);
    assert_eq!(got(modes(false, true, true), None), Some(r#async));
    assert_eq!(got(modes(false, false, true), None), Some(streaming));
    assert_eq!(got(modes(true, true, true), Some(streaming)), Some(streaming));
    assert_eq!(got(modes(true, true, false), Some(streaming)), None);
    assert_eq!(got(modes(false, false, false), None), None);
    assert_eq!(got(modes(true, true, true), Some(sync)), Some(sync));
    // Without a contract: sync and async, never streaming (AIP 1.0 §9.4).
    let mut bare = World::right();
    bare.capability.contract = None;
    bare.action.mode = Some(streaming);
    assert_eq!(code(&bare), Some(ErrorCode::ModeUnsupported));
}

#[test]
fn a_key_is_checked_against_the_requirement() {
    use IdempotencyRequirement::{Optional, Required, Unsupported};
    let table = [
        (Required, false, Some(ErrorCode::KeyRequired)),
        (Required, true, None),
        (Optional, false, None),
        (Optional, true, None),
        (Unsupported, false, None),
        (Unsupported, true, Some(ErrorCode::KeyUnsupported)),
    ];
    for (requirement, keyed, expected) in table {
        let mut world = World::right();
        world.idempotency(requirement);
        world.action.idempotency_key = keyed.then(|| "k".to_owned());
        assert_eq!(code(&world), expected, "{requirement:?} {keyed}");
    }
}

/// What is not served yet is refused, never skipped.
#[test]
fn governance_that_is_not_served_is_refused() {
    let transacting = |mode| {
        let mut world = World::right();
        world.action.transaction = Some(ActionTransaction::new(mode));
        code(&world)
    };
    assert_eq!(transacting(TransactionMode::Execute), None);
    assert_eq!(transacting(TransactionMode::DryRun), Some(ErrorCode::ContextUnsupported));
    assert_eq!(transacting(TransactionMode::Commit), Some(ErrorCode::ContextUnsupported));
    let mut world = World::right();
    world.capability.requires_human_approval = Some(true);
    assert_eq!(code(&world), Some(ErrorCode::PolicyDenied));
    world.capability.requires_human_approval = Some(false);
    assert_eq!(code(&world), None);
}

#[test]
fn a_claimed_tenant_must_be_the_trusted_one() {
    let mut world = World::right();
    world.action.identity.get_or_insert_default().tenant = Some(TenantRef::new("acme".to_owned()));
    assert_eq!(code(&world), None);
}

/// The refusal of an input names the place and the rule, and repeats no value.
#[test]
fn a_refused_input_names_its_place() {
    let mut world = World::right();
    world.input_fault = true;
    let error = world.check().unwrap_err();
    assert_eq!(error.details, Some(json!({"pointer": "/body/action/input/a", "rule": "type"})));
}

#[test]
fn what_passes_says_when_to_come_again() {
    for (code, break_it) in FAULTS {
        let mut world = World::right();
        break_it(&mut world);
        let error = world.check().unwrap_err();
        assert_eq!(error.retryable == Some(true), error.retry_after_ms.is_some(), "{code:?}");
    }
}
