//! Every stored shape, frozen (`style.md` §2): what an older process wrote, a newer one reads, and writes back the same.
//!
//! A change of a shape is a new fixture with a new version beside these; these stay. `AIP_WRITE_FIXTURES=1` writes the files that
//! are missing and never touches one that is there.
#![expect(clippy::unwrap_used, clippy::panic, reason = "tests")]

use std::{fs, path::PathBuf};

use aip_bus::{
    Admitted, Append, Bus, Draft, Due, Entry, Living, Sequence, Source,
    sim::Sim,
    subjects::{RecordKey, Tenant, lease},
    topology::Topology,
    work::Fence,
};
use aip_core::{
    action::{ActionRecord, Admission, Contract, Grant, Held, IdempotencyKey, Settled, Step, Trigger, admit, step},
    idempotency::Reservation,
};
use aip_types::{
    ActionId, ActionMode, Capability, CapabilityId, CapabilityKind, CorrelationId, ErrorCode, MessageId, Millis,
    Principal, PrincipalId, PrincipalKind, ProtocolError, RetrySafety, SessionId, StreamChunk, StreamChunkKind,
};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};
use std::sync::Arc;

const AT: Millis = Millis(1_767_225_600_000);

fn file(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/stored").join(format!("{name}.json"))
}

fn kept(name: &str) -> Value {
    let text = fs::read_to_string(file(name)).unwrap_or_else(|fault| panic!("{name}: {fault}"));
    serde_json::from_str(&text).unwrap()
}

/// Writes a fixture that does not exist yet.
#[expect(clippy::disallowed_methods, reason = "asked for by whoever adds a shape, never by a process")]
fn write_missing(name: &str, value: &impl Serialize) {
    let path = file(name);
    if !path.exists() && std::env::var_os("AIP_WRITE_FIXTURES").is_some() {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, serde_json::to_string_pretty(value).unwrap() + "\n").unwrap();
    }
}

/// The kept text decodes, and is written back member by member as it was.
fn holds<T: Serialize + DeserializeOwned>(name: &str) -> T {
    let kept = kept(name);
    let read: T = serde_json::from_value(kept.clone()).unwrap_or_else(|fault| panic!("{name}: {fault}"));
    assert_eq!(serde_json::to_value(&read).unwrap(), kept, "{name}");
    read
}

fn first(input: Held) -> Step {
    admit(Admission {
        id: ActionId::new("act_1"),
        tenant: "acme".to_owned(),
        capability_id: CapabilityId::new("cap:demo:note:append"),
        connector: "demo".to_owned(),
        contract: Contract {
            read_only: false,
            retry_safety: RetrySafety::SafeWithIdempotencyKey,
            supports_retry: true,
        },
        principal: Principal::new(PrincipalId::new("service:caller"), PrincipalKind::Service),
        method: "token".to_owned(),
        mode: ActionMode::Sync,
        request: MessageId::new("msg_1"),
        correlation_id: Some(CorrelationId::new("corr_1")),
        session_id: Some(SessionId::new("sess_1")),
        key: Some(IdempotencyKey { value: "key".to_owned(), hash: "ab".repeat(32) }),
        input,
        input_hash: "cd".repeat(32),
        approval_id: None,
        at: AT,
        deadline: AT.plus(300_000),
    })
}

fn then(record: &ActionRecord, trigger: Trigger, after_ms: u64) -> Step {
    step(record, trigger, AT.plus(after_ms)).unwrap()
}

fn grant() -> Grant {
    Grant { fence: 7, instance: "instance-1".to_owned() }
}

fn settle(settled: Settled, chunks_last: Option<u64>) -> Trigger {
    Trigger::Settle { grant: Some(grant()), settled, chunks_last }
}

fn failed(uncertain: bool) -> Settled {
    let error = ProtocolError::from(ErrorCode::ConnectorFailed).with_details(json!({"operation": "op_1"}));
    Settled::Failed { error, uncertain }
}

/// One entry of each phase.
fn phases() -> Vec<(&'static str, Step)> {
    let input: Value = serde_json::from_str(r#"{"line":"x","amount":12.50}"#).unwrap();
    let queued = first(Held::Inline(input));
    let started = then(&queued.record, Trigger::Start { grant: grant(), over: true, chunk_base: 3 }, 10);
    let completed = Settled::Completed { output: Held::Inline(json!({"line": 1})) };
    let blob = Settled::Completed { output: Held::Blob { sha256: "ef".repeat(32), bytes: 70_000 } };
    let lost = then(&started.record, Trigger::LeaseOver { fence: 7 }, 20);
    vec![
        ("completed", then(&started.record, settle(completed, Some(4)), 20)),
        ("completed_blob", then(&started.record, settle(blob, None), 20)),
        ("failed", then(&started.record, settle(failed(false), None), 20)),
        ("outcome_unknown", then(&started.record, settle(failed(true), None), 20)),
        ("outcome_unknown_lost", then(&lost.record, Trigger::Exhausted, 30)),
        ("retry_due", lost),
        ("expired", then(&queued.record, Trigger::DeadlineDue, 300_000)),
        ("dead_lettered", then(&queued.record, Trigger::Exhausted, 20)),
        ("started", started),
        ("queued", queued),
        ("queued_blob", first(Held::Blob { sha256: "ef".repeat(32), bytes: 70_000 })),
    ]
}

fn entry(step: Step) -> Entry<ActionRecord> {
    let Draft { state, events, receipts, cause, notify, .. } =
        Draft::of(step, "msg_1", Some("_INBOX_admission.x".to_owned()));
    let prev = Sequence(u64::from(state.step) - 1);
    Entry { v: 1, step: state.step, cause, save: "00".repeat(16), prev, state, events, receipts, notify }
}

#[test]
fn an_entry_of_each_phase_is_read_and_written_back() {
    for (name, step) in phases() {
        let name = format!("action_{name}_v1");
        write_missing(&name, &entry(step));
        let entry = holds::<Entry<ActionRecord>>(&name);
        assert_eq!((entry.v, entry.step), (1, entry.state.step), "{name}");
    }
}

/// An entry that was stored before still takes its next step.
#[test]
fn a_kept_record_lives_on() {
    let started = holds::<Entry<ActionRecord>>("action_started_v1").state;
    let done = Settled::Completed { output: Held::Inline(json!(1)) };
    assert!(step(&started, settle(done, None), AT.plus(40)).is_ok());
}

/// A member that this version does not know is refused: it would be lost on the next save.
#[test]
fn an_entry_of_a_newer_shape_is_not_read() {
    let mut newer = kept("action_queued_v1");
    newer.as_object_mut().unwrap().insert("later".to_owned(), json!(1));
    assert!(serde_json::from_value::<Entry<ActionRecord>>(newer).is_err());
}

#[test]
fn a_reservation_is_read_and_written_back() {
    let reservation = Reservation { action_id: ActionId::new("act_1"), input_hash: "cd".repeat(32), at: AT };
    write_missing("reservation_v1", &reservation);
    assert_eq!(holds::<Reservation>("reservation_v1"), reservation);
}

#[test]
fn what_a_connector_was_admitted_with_is_read_and_written_back() {
    let mut capability = Capability::new(
        CapabilityId::new("cap:demo:echo"),
        "echo".to_owned(),
        CapabilityKind::Tool,
        json!({"type": "object", "properties": {"text": {"type": "string", "maxLength": 100}}}),
    );
    capability.output_schema = Some(json!({"type": "object"}));
    let admitted = Admitted { connector: "demo".to_owned(), digest: "ab".repeat(32), capabilities: vec![capability] };
    write_missing("admitted_v1", &admitted);
    assert_eq!(holds::<Admitted>("admitted_v1"), admitted);
}

#[test]
fn a_living_process_is_read_and_written_back() {
    let living = Living { connector: "demo".to_owned(), instance: "instance-1".to_owned(), digest: "ab".repeat(32) };
    write_missing("living_v1", &living);
    assert_eq!(holds::<Living>("living_v1"), living);
}

#[test]
fn a_chunk_is_read_and_written_back() {
    let chunk = StreamChunk {
        action_id: ActionId::new("act_1"),
        sequence: 3,
        kind: StreamChunkKind::Progress,
        data: Some(json!({"percent": 50})),
        part: None,
    };
    write_missing("chunk_v1", &chunk);
    assert_eq!(holds::<StreamChunk>("chunk_v1"), chunk);
}

#[test]
fn a_timer_is_read_and_written_back() {
    let due = Due { purpose: "deadline".to_owned() };
    write_missing("due_v1", &due);
    assert_eq!(holds::<Due>("due_v1"), due);
}

/// The value of a lease is known to this crate alone, so it is put into the bucket as it was kept.
#[tokio::test]
async fn a_lease_is_read_and_renewed_as_it_was_written() {
    write_missing("lease_taken_v1", &json!({"name": "00".repeat(16)}));
    write_missing("lease_renewed_v1", &json!({"name": "00".repeat(16), "fence": 7}));
    write_missing("lease_given_back_v1", &json!({"name": ""}));
    let bus = Bus::new(Arc::new(Sim::new(&Topology::default())));
    let key = |id: &str| RecordKey::action(Tenant::new("acme").unwrap(), id);
    let put = async |id: &str, name: &str| {
        bus.port().append(Append::new(lease(&key(id)), kept(name).to_string())).await.unwrap()
    };
    let value = async |id: &str| -> Value {
        let last = bus.port().last("KV_AIP_LEASES", &lease(&key(id)), Source::Leader).await.unwrap().unwrap();
        serde_json::from_slice(&last.payload).unwrap()
    };

    let taken = Fence(put("taken", "lease_taken_v1").await.0);
    assert_eq!(bus.lease(&key("taken")).await.unwrap().unwrap().fence, taken);
    assert!(bus.renew_lease(&key("taken"), taken).await.unwrap());
    assert_eq!(value("taken").await, json!({"name": "00".repeat(16), "fence": taken.0}));

    put("renewed", "lease_renewed_v1").await;
    assert!(bus.renew_lease(&key("renewed"), Fence(7)).await.unwrap());
    assert_eq!(value("renewed").await, kept("lease_renewed_v1"));

    put("given_back", "lease_given_back_v1").await;
    assert_eq!(bus.lease(&key("given_back")).await.unwrap(), None);
    let fence = bus.take_lease(&key("given_back")).await.unwrap().unwrap();
    let text = value("given_back").await;
    let members: Vec<&String> = text.as_object().unwrap().keys().collect();
    assert_eq!(members, ["name"]);
    bus.give_lease_back(&key("given_back"), fence).await.unwrap();
    assert_eq!(value("given_back").await, kept("lease_given_back_v1"));
}
