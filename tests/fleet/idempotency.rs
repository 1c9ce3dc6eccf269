//! One key, one execution (issue 2, done when 4): concurrent repeats, every collision behaviour, every scope, adoption of a dead
//! holder's reservation, and holders that wake up late.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use aip_bus::{
    Bus, BusError, Draft, Sequence,
    accounts::ServiceUser,
    nats::{Connect, NatsPort, Seed},
    subjects::{RecordKey, Tenant},
};
use aip_core::{
    action::{self as machine, Admission, Contract, Held, IdempotencyKey},
    idempotency::{self, Reservation},
};
use aip_types::{Action, ActionMode, Capability, MessageId, Principal, PrincipalId, PrincipalKind};
use futures::future::join_all;
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::{
    caller::{Answer, End, Http, action, body_of, envelope},
    harness::{Fleet, Plan},
    trial,
};

const WITHIN: Duration = Duration::from_secs(60);
const NOTE: &str = "cap:demo:note:append-unsafe";

/// Calls once and returns what came, whatever it is.
async fn call(http: &Http, action: &Value) -> Answer {
    http.within(WITHIN).post("/aip/v1/actions", &envelope(json!({ "action": action }))).await.unwrap()
}

/// Calls once, and the action must have completed.
async fn completed(http: &Http, action: &Value) -> Value {
    End::of(&call(http, action).await.body()).unwrap().completed()
}

fn executions(fleet: &Fleet, capability: &str) -> usize {
    fleet.notes(&trial::notes(capability)).len()
}

#[tokio::test(flavor = "multi_thread")]
async fn fifty_calls_of_one_key_at_once_are_one_execution_and_fifty_equal_answers() {
    let fleet = Fleet::start(Plan { admissions: 2, schedulers: 2, trials: 1, ..Plan::default() }).await;
    let (http, user) = (fleet.http().within(WITHIN), fleet.nats_user().await);

    // The one has no gate; the other is at work while all calls are there.
    for (capability, gate, file) in
        [(NOTE, None, "notes-unsafe-demo.txt".to_owned()), (trial::SLOW, Some("fifty"), trial::notes(trial::SLOW))]
    {
        let input = gate.map_or_else(|| json!({ "text": "x" }), |gate| json!({ "gate": gate }));
        let calls = (0..50).map(|number| {
            let envelope = envelope(
                json!({ "action": action(capability, Some(&format!("one-key-of-{capability}")), input.clone()) }),
            );
            let (http, user) = (http.clone(), user.clone());
            async move {
                if number % 2 == 0 {
                    http.post("/aip/v1/actions", &envelope).await.unwrap().body()
                } else {
                    body_of(&user.ask(&envelope).await.unwrap())
                }
            }
        });
        let opened = async {
            sleep(Duration::from_millis(500)).await; // so that most are there
            trial::open(&fleet.dir(), "fifty", 1);
        };
        let (bodies, ()) = futures::join!(join_all(calls), opened);

        assert_eq!(bodies[0]["action_result"]["status"], "completed", "{}", bodies[0]);
        bodies.iter().for_each(|body| assert_eq!(*body, bodies[0]));
        assert_eq!(fleet.notes(&file).len(), 1);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repeated_key_is_answered_as_its_capability_declares() {
    let fleet = Fleet::start(Plan { trials: 1, ..Plan::default() }).await;
    let http = fleet.http();
    let of = |capability: &str, text: &str| action(capability, Some("k"), json!({ "text": text }));

    // revalidate_input_hash: the same input is the same action, another input a typed conflict.
    let first = completed(&http, &of(trial::SLOW, "a")).await;
    assert_eq!(completed(&http, &of(trial::SLOW, "a")).await, first);
    let conflict = call(&http, &of(trial::SLOW, "b")).await;
    assert_eq!((conflict.status, conflict.code().as_str()), (409, "aip.idempotency.input_mismatch"));
    assert_eq!(executions(&fleet, trial::SLOW), 1);

    // reject_conflict: a key is good once, whatever the input.
    let (reject, original) = ("cap:trial:reject", "cap:trial:original");
    let keyed = |capability: &str, key: &str, text: &str| action(capability, Some(key), json!({ "text": text }));
    completed(&http, &keyed(reject, "r", "a")).await;
    for text in ["a", "b"] {
        let conflict = call(&http, &keyed(reject, "r", text)).await;
        assert_eq!((conflict.status, conflict.code().as_str()), (409, "aip.idempotency.conflict"));
    }
    assert_eq!(executions(&fleet, reject), 1);

    // return_original_result: the first answer stands, whatever the input.
    let first = completed(&http, &keyed(original, "o", "a")).await;
    assert_eq!(completed(&http, &keyed(original, "o", "b")).await, first);
    assert_eq!(first["output"]["text"], "a");
    assert_eq!(executions(&fleet, original), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_is_one_within_its_scope_and_another_outside_of_it() {
    let fleet = Fleet::start(Plan { trials: 1, ..Plan::default() }).await;
    let http = fleet.http();
    let colleague = fleet.stranger().with_token(fleet.variable("AIP_TOKEN_DEMO_OTHER"));
    let of = |capability: &str| action(capability, Some("k"), json!({}));

    // action: the key belongs to one action id.
    let one = of("cap:trial:action");
    assert_eq!(completed(&http, &one).await, completed(&http, &one).await);
    completed(&http, &of("cap:trial:action")).await;
    assert_eq!(executions(&fleet, "cap:trial:action"), 2);

    // capability: all callers of the tenant share it, another capability does not.
    let first = completed(&colleague, &of("cap:trial:capability")).await;
    assert_eq!(completed(&http, &of("cap:trial:capability")).await, first);
    completed(&http, &of("cap:trial:capability-too")).await;
    assert_eq!(executions(&fleet, "cap:trial:capability"), 1);
    assert_eq!(executions(&fleet, "cap:trial:capability-too"), 1);

    // principal: each caller has its own.
    let first = completed(&http, &of("cap:trial:principal")).await;
    assert_eq!(completed(&http, &of("cap:trial:principal")).await, first);
    assert_ne!(completed(&colleague, &of("cap:trial:principal")).await, first);
    assert_eq!(executions(&fleet, "cap:trial:principal"), 2);

    // tenant: one for all callers and capabilities of it. Who may not read the action learns nothing of it.
    let first = completed(&http, &of("cap:trial:tenant")).await;
    let taken = call(&colleague, &of("cap:trial:tenant")).await;
    assert_eq!((taken.status, taken.code().as_str()), (409, "aip.idempotency.conflict"));
    assert!(!taken.text.contains(first["action_id"].as_str().unwrap()), "{}", taken.text);
    let elsewhere = call(&http, &of(trial::SLOW)).await;
    assert_eq!(elsewhere.code(), "aip.idempotency.input_mismatch");
    assert_ne!(completed(&fleet.http_other(), &of("cap:trial:tenant")).await, first);
    assert_eq!((executions(&fleet, "cap:trial:tenant"), executions(&fleet, trial::SLOW)), (2, 0));

    // external_account: one for each account in the other system.
    let account = |id: &str| {
        let mut action = of("cap:trial:account");
        action["identity"] = json!({ "external_account": { "system": "crm", "id": id } });
        action
    };
    let first = completed(&colleague, &account("a")).await;
    assert_eq!(completed(&http, &account("a")).await, first);
    assert_ne!(completed(&http, &account("b")).await, first);
    assert_eq!(executions(&fleet, "cap:trial:account"), 2);
}

/// What an admission process can do, done by hand: the test is the process that died, or that sleeps.
struct Holder {
    bus: Bus,
    capability: Capability,
    tenant: Tenant,
}

impl Holder {
    async fn connect(fleet: &Fleet) -> Self {
        let user = ServiceUser::Admission;
        let connect = Connect::new(fleet.variable("NATS_URL"), "holder")
            .with_seed(Seed::File(fleet.dir().join("keys").join(format!("{}.nk", user.as_str()))))
            .with_inbox_prefix(user.inbox_prefix());
        let port = NatsPort::connect(connect).await.unwrap();
        let capability = trial::capability(trial::CAPABILITIES[0]);
        Self { bus: Bus::new(Arc::new(port)), capability, tenant: Tenant::new("demo").unwrap() }
    }

    fn caller() -> Principal {
        Principal::new(PrincipalId::new("service:demo-client"), PrincipalKind::Service)
    }

    fn hash(&self, action: &Action) -> String {
        let key = action.idempotency_key.as_deref().unwrap();
        idempotency::reservation(action, &self.capability, self.tenant.as_str(), &Self::caller().id, key)
    }

    /// Reserves the action's key, as admission does before it appends.
    async fn reserve(&self, action: &Action) {
        let reservation = Reservation {
            action_id: action.id.clone(),
            input_hash: aip_crypto::input_hash(action.capability_id.as_str(), &action.input, None),
            at: aip_service::now(),
        };
        let reserved = self.bus.reserve(&self.tenant, &self.hash(action), &reservation, WITHIN).await.unwrap();
        assert_eq!(reserved, aip_bus::Reserved::New);
    }

    /// Appends the first entry under the reserved id.
    async fn append(&self, action: &Action) -> Result<(), BusError> {
        let at = aip_service::now();
        let step = machine::admit(Admission {
            id: action.id.clone(),
            tenant: self.tenant.to_string(),
            capability_id: action.capability_id.clone(),
            connector: trial::NAME.to_owned(),
            contract: Contract::of(&self.capability),
            principal: Self::caller(),
            method: "token".to_owned(),
            mode: ActionMode::Sync,
            request: MessageId::new(format!("msg_{}", aip_bus::nonce())),
            correlation_id: None,
            session_id: None,
            key: Some(IdempotencyKey { value: action.idempotency_key.clone().unwrap(), hash: self.hash(action) }),
            input: Held::Inline(action.input.clone()),
            input_hash: aip_crypto::input_hash(action.capability_id.as_str(), &action.input, None),
            approval_id: None,
            at,
            deadline: at.plus(60_000),
        });
        let key = RecordKey::action(self.tenant.clone(), action.id.as_str());
        self.bus.save(&key, Draft::of(step, "late".to_owned(), None), Sequence::NONE).await.map(drop)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reservation_whose_holder_died_is_adopted_under_the_reserved_id_and_its_holder_comes_too_late() {
    let fleet = Fleet::start(Plan { trials: 1, ..Plan::default() }).await;
    let (http, holder) = (fleet.http(), Holder::connect(&fleet).await);
    let held: Action = serde_json::from_value(action(trial::SLOW, Some("k"), json!({ "text": "x" }))).unwrap();
    holder.reserve(&held).await;

    let own = action(trial::SLOW, Some("k"), json!({ "text": "x" }));
    let result = completed(&http, &own).await;

    assert_eq!(result["action_id"], held.id.as_str());
    let absent = http.get(&format!("/aip/v1/actions/{}", own["id"].as_str().unwrap())).await.unwrap();
    assert_eq!((absent.status, absent.code().as_str()), (404, "aip.action.not_found"));
    // It wakes up between its reservation and its append.
    assert!(matches!(holder.append(&held).await, Err(BusError::Conflict)));
    assert_eq!(completed(&http, &own).await, result);
    assert_eq!(executions(&fleet, trial::SLOW), 1);

    // Another input than the dead holder's is a conflict, and makes nothing.
    let held: Action = serde_json::from_value(action(trial::SLOW, Some("k2"), json!({ "text": "x" }))).unwrap();
    holder.reserve(&held).await;
    let other = call(&http, &action(trial::SLOW, Some("k2"), json!({ "text": "y" }))).await;
    assert_eq!(other.code(), "aip.idempotency.input_mismatch");
    // This holder wakes up first: it made the action, and its caller's repeat finds it.
    holder.append(&held).await.unwrap();
    let result = completed(&http, &action(trial::SLOW, Some("k2"), json!({ "text": "x" }))).await;
    assert_eq!(result["action_id"], held.id.as_str());
    assert_eq!(executions(&fleet, trial::SLOW), 2);
}

const STOPS: usize = 40;
const CALLERS_OF_A_KEY: usize = 4;

#[tokio::test(flavor = "multi_thread")]
async fn admissions_that_are_stopped_anywhere_and_wake_up_late_make_no_second_action() {
    let mut fleet = Fleet::start(Plan { admissions: 2, ..Plan::default() }).await;
    let mut seed = aip_testkit::seed();

    for round in 0..STOPS {
        let name = if seed.chance(50) { "admission" } else { "admission-2" };
        let keys: Vec<String> = (0..4).map(|number| format!("r{round}-{number}")).collect();
        let calls = keys.iter().flat_map(|key| std::iter::repeat_n(key, CALLERS_OF_A_KEY)).map(|key| {
            let (http, note) = (fleet.http(), action(NOTE, Some(key), json!({ "text": key })));
            async move { (key.as_str(), http.run(&note, WITHIN).await.completed()) }
        });
        let calls = join_all(calls);
        let (before, asleep) = (Duration::from_micros(seed.below(30_000)), Duration::from_millis(seed.below(400)));
        let process = fleet.process(name);
        let stopped = async {
            sleep(before).await;
            process.stop().await;
            sleep(asleep).await;
            process.resume().await;
        };
        let (results, ()) = futures::join!(calls, stopped);

        let results: BTreeSet<(&str, String)> =
            results.into_iter().map(|(key, result)| (key, result.to_string())).collect();
        assert_eq!(results.len(), keys.len(), "one result a key: {results:?}");
    }

    let notes = fleet.notes("notes-unsafe-demo.txt");
    let distinct: BTreeSet<&str> = notes.iter().map(|(key, _)| key.as_str()).collect();
    assert_eq!((notes.len(), distinct.len()), (STOPS * 4, STOPS * 4), "each key ran once");
}
