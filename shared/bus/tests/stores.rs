//! The stores over a real nats-server: journal, leases, keys, values, chunks and timers, also where acknowledgements are lost
//! and writers come late (`design.md` §2, §4, §5).
#![expect(clippy::unwrap_used, reason = "tests")]

use std::{sync::Arc, time::Duration};

use aip_bus::{
    Bus, BusError, Draft, Loaded, Reserved, Sequence, Source,
    subjects::{AIP_JOURNAL, AIP_QUARANTINE, DueSubject, LaneKind, RecordKey, Tenant, lane},
    work::Fence,
};
use aip_core::{
    action::{
        ActionRecord, Admission, Contract, Grant, Held, IdempotencyKey, Phase, Settled, Step, Trigger, admit, step,
    },
    idempotency::Reservation,
};
use aip_testkit::{Fate, Faulty, Gate, Nats, eventually};
use aip_types::{
    ActionId, ActionMode, CapabilityId, ErrorCode, MessageId, Millis, Principal, PrincipalId, PrincipalKind,
    ProtocolError, RetrySafety, StreamChunk, StreamChunkKind, limits,
};
use futures::{StreamExt, future::join_all};
use serde_json::{Value, json};
use tokio::time::timeout;

/// Time for anything that should happen.
const SOON: Duration = Duration::from_secs(30);
const DAY: Duration = Duration::from_secs(86_400);

struct World {
    bus: Bus,
    faulty: Faulty,
    _nats: Nats,
}

impl World {
    async fn start() -> Self {
        let nats = Nats::start().await.bootstrapped().await;
        let faulty = Faulty::new(Arc::new(nats.port().await));
        Self { bus: Bus::new(Arc::new(faulty.clone())), faulty, _nats: nats }
    }

    async fn loaded(&self, key: &RecordKey) -> Loaded<ActionRecord> {
        self.bus.load(key, Source::Leader).await.unwrap().unwrap()
    }

    async fn history(&self, key: &RecordKey) -> Vec<Loaded<ActionRecord>> {
        self.bus.history(self.loaded(key).await, 100).await.unwrap()
    }

    /// A queued record.
    async fn queued(&self, key: &RecordKey) -> Loaded<ActionRecord> {
        self.bus.save(key, queued(), Sequence::NONE).await.unwrap()
    }

    async fn applied(&self, key: &RecordKey, over: &Loaded<ActionRecord>, trigger: Trigger) -> Loaded<ActionRecord> {
        let step = step(&over.entry.state, trigger, Millis(2_000)).unwrap();
        self.bus.save(key, Draft::of(step, "test", None), over.sequence).await.unwrap()
    }
}

fn acme() -> Tenant {
    Tenant::new("acme").unwrap()
}

fn key() -> RecordKey {
    RecordKey::action(acme(), "act_1")
}

fn another(id: &str) -> RecordKey {
    RecordKey::action(acme(), id)
}

fn first_step() -> Step {
    admit(Admission {
        id: ActionId::new("act_1"),
        tenant: "acme".to_owned(),
        capability_id: CapabilityId::new("cap:demo:x"),
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
        correlation_id: None,
        session_id: None,
        key: Some(IdempotencyKey { value: "k".to_owned(), hash: "h".to_owned() }),
        input: Held::Inline(json!({"amount": 1})),
        input_hash: "i".to_owned(),
        approval_id: None,
        at: Millis(1_000),
        deadline: Millis(9_000),
    })
}

fn queued() -> Draft<ActionRecord> {
    Draft::of(first_step(), "msg_1", Some("_INBOX.x".to_owned()))
}

fn start(fence: u64) -> Trigger {
    Trigger::Start { grant: grant(fence), over: true, chunk_base: 0 }
}

fn grant(fence: u64) -> Grant {
    Grant { fence, instance: "one".to_owned() }
}

fn is_conflict<T>(outcome: &Result<T, BusError>) -> bool {
    matches!(outcome, Err(BusError::Conflict))
}

mod journal {
    use super::*;

    #[tokio::test]
    async fn a_saved_record_is_loaded_as_it_was() {
        let world = World::start().await;
        assert!(world.bus.load::<ActionRecord>(&key(), Source::Leader).await.unwrap().is_none());
        let saved = world.queued(&key()).await;
        for source in [Source::Nearest, Source::Leader] {
            let loaded = world.bus.load::<ActionRecord>(&key(), source).await.unwrap().unwrap();
            assert_eq!((&loaded.entry, loaded.sequence), (&saved.entry, saved.sequence));
        }
        let entry = saved.entry;
        assert_eq!((entry.v, entry.step, entry.cause.as_str(), entry.prev), (1, 1, "msg_1", Sequence::NONE));
        assert_eq!(entry.notify.as_deref(), Some("_INBOX.x"));
        let stored = world.bus.port().last(AIP_JOURNAL, &key().entry("queued"), Source::Leader).await.unwrap();
        assert_eq!(stored.unwrap().sequence, saved.sequence);
    }

    #[tokio::test]
    async fn a_record_is_created_once() {
        let world = World::start().await;
        let place = key();
        let saves = (0..50).map(|_| world.bus.save(&place, queued(), Sequence::NONE));
        let outcomes = join_all(saves).await;
        assert_eq!(outcomes.iter().filter(|outcome| outcome.is_ok()).count(), 1);
        assert!(outcomes.iter().filter(|outcome| outcome.is_err()).all(is_conflict));
        assert_eq!(world.history(&place).await.len(), 1);
    }

    #[tokio::test]
    async fn a_save_over_an_old_entry_is_a_conflict_and_changes_nothing() {
        let world = World::start().await;
        let first = world.queued(&key()).await;
        let second = world.applied(&key(), &first, start(5)).await;
        let late = step(&first.entry.state, start(4), Millis(2_000)).unwrap();
        assert!(is_conflict(&world.bus.save(&key(), Draft::of(late, "late", None), first.sequence).await));
        assert_eq!(world.loaded(&key()).await.entry, second.entry);
    }

    #[tokio::test]
    async fn a_save_whose_acknowledgement_is_lost_is_found() {
        let world = World::start().await;
        world.faulty.once(".queued", Fate::LoseAck);
        let saved = world.queued(&key()).await;
        assert_eq!(world.history(&key()).await.len(), 1);
        assert_eq!(world.loaded(&key()).await.sequence, saved.sequence);
        // Also where the record was there before.
        world.faulty.once(".started", Fate::LoseAck);
        let started = world.applied(&key(), &saved, start(5)).await;
        assert_eq!(world.loaded(&key()).await.sequence, started.sequence);
        assert_eq!(world.history(&key()).await.len(), 2);
    }

    #[tokio::test]
    async fn a_save_that_never_arrived_is_repeated() {
        let world = World::start().await;
        world.faulty.once(".queued", Fate::Lose);
        world.queued(&key()).await;
        assert_eq!(world.history(&key()).await.len(), 1);
    }

    /// What was saved may be out of date by then, so its writer must decide again.
    #[tokio::test]
    async fn a_save_that_was_overtaken_before_it_was_found_is_a_conflict() {
        let world = World::start().await;
        let gate = Gate::new();
        world.faulty.once(".queued", Fate::LoseAckAt(gate.clone()));
        let place = key();
        let overtake = async {
            gate.reached().await;
            let first = world.loaded(&place).await;
            world.applied(&place, &first, start(5)).await;
            gate.open();
        };
        let (saved, ()) = tokio::join!(world.bus.save(&place, queued(), Sequence::NONE), overtake);
        assert!(is_conflict(&saved));
        assert_eq!(world.history(&place).await.len(), 2);
    }

    /// A writer that was stopped between its decision and its write (SIGSTOP) writes nothing.
    #[tokio::test]
    async fn a_writer_that_comes_late_is_refused() {
        let world = World::start().await;
        let gate = Gate::new();
        world.faulty.once(".queued", Fate::Hold(gate.clone()));
        let place = key();
        let others = async {
            gate.reached().await;
            world.queued(&place).await;
            gate.open();
        };
        let (late, ()) = tokio::join!(world.bus.save(&place, queued(), Sequence::NONE), others);
        assert!(is_conflict(&late));
        assert_eq!(world.history(&place).await.len(), 1);
    }

    #[tokio::test]
    async fn a_history_is_walked_from_its_end_and_given_from_its_start() {
        let world = World::start().await;
        let mut last = world.queued(&key()).await;
        // Entries of other records lie between.
        for round in 1..4_u64 {
            world.queued(&another(&format!("act_other_{round}"))).await;
            last = world.applied(&key(), &last, start(round * 10)).await;
        }
        let done = Settled::Completed { output: Held::Inline(json!(1)) };
        let settle = Trigger::Settle { grant: Some(grant(30)), settled: done, chunks_last: None };
        let last = world.applied(&key(), &last, settle).await;
        let history = world.history(&key()).await;
        assert_eq!(history.iter().map(|loaded| loaded.entry.step).collect::<Vec<_>>(), [1, 2, 3, 4, 5]);
        assert!(history.windows(2).all(|pair| pair[1].entry.prev == pair[0].sequence));
        assert_eq!(history[4].entry.state.phase, Phase::Completed {});
        let newest = world.bus.history(last, 2).await.unwrap();
        assert_eq!(newest.iter().map(|loaded| loaded.entry.step).collect::<Vec<_>>(), [4, 5]);
    }

    #[tokio::test]
    async fn what_cannot_be_decoded_is_said_so_and_put_aside() {
        let world = World::start().await;
        let append = aip_bus::Append::new(key().entry("queued"), "{}");
        world.bus.port().append(append).await.unwrap();
        let loaded = world.bus.load::<ActionRecord>(&key(), Source::Leader).await;
        assert!(matches!(loaded, Err(BusError::Undecodable(_))));
        let stored = world.bus.port().last(AIP_JOURNAL, &key().filter(), Source::Leader).await.unwrap().unwrap();
        world.bus.quarantine(AIP_JOURNAL, "queued", &stored, "undecodable").await.unwrap();
        let aside = world.bus.port().last(AIP_QUARANTINE, ">", Source::Leader).await.unwrap().unwrap();
        let aside: Value = serde_json::from_slice(&aside.payload).unwrap();
        assert_eq!((&aside["payload"], &aside["sequence"]), (&json!("{}"), &json!(stored.sequence.0)));
    }
}

mod leases {
    use super::*;

    #[tokio::test]
    async fn a_lease_is_taken_by_one_of_fifty() {
        let world = World::start().await;
        let place = key();
        let takings = join_all((0..50).map(|_| world.bus.take_lease(&place))).await;
        let fences: Vec<Fence> = takings.into_iter().filter_map(|taken| taken.unwrap()).collect();
        assert_eq!(fences.len(), 1);
        assert_eq!(world.bus.lease(&place).await.unwrap().unwrap().fence, fences[0]);
    }

    /// One test of all that needs a lease's end, since a lease has one length.
    #[tokio::test]
    async fn a_lease_ends_unless_it_is_renewed_and_only_its_next_taking_outdates_it() {
        let world = World::start().await;
        let (renewed, forgotten, woken) = (key(), another("act_2"), another("act_3"));
        let take = async |key: &RecordKey| world.bus.take_lease(key).await.unwrap().unwrap();
        let (held, lost, slept) = (take(&renewed).await, take(&forgotten).await, take(&woken).await);
        assert!(held < lost && lost < slept);
        eventually(SOON, || async {
            assert!(world.bus.renew_lease(&renewed, held).await.unwrap());
            let (first, second) = (world.bus.lease(&forgotten).await.unwrap(), world.bus.lease(&woken).await.unwrap());
            first.is_none() && second.is_none()
        })
        .await;
        let lease = world.bus.lease(&renewed).await.unwrap().unwrap();
        assert!(lease.fence == held && lease.revision.0 > held.0);
        assert_eq!(world.bus.take_lease(&renewed).await.unwrap(), None);

        // Nobody took it: its holder goes on under its old fence.
        assert!(world.bus.renew_lease(&woken, slept).await.unwrap());
        assert_eq!(world.bus.lease(&woken).await.unwrap().unwrap().fence, slept);
        assert_eq!(world.bus.take_lease(&woken).await.unwrap(), None);

        // Somebody took it: it is lost.
        let next = take(&forgotten).await;
        assert!(next > slept);
        assert!(!world.bus.renew_lease(&forgotten, lost).await.unwrap());
        world.bus.give_lease_back(&forgotten, lost).await.unwrap();
        assert_eq!(world.bus.lease(&forgotten).await.unwrap().unwrap().fence, next);
    }

    #[tokio::test]
    async fn a_lease_given_back_is_free_at_once_and_its_fence_is_over() {
        let world = World::start().await;
        let mut last = Fence(0);
        for _ in 0..5 {
            let fence = world.bus.take_lease(&key()).await.unwrap().unwrap();
            assert!(fence > last);
            world.bus.give_lease_back(&key(), fence).await.unwrap();
            assert_eq!(world.bus.lease(&key()).await.unwrap(), None);
            assert!(!world.bus.renew_lease(&key(), fence).await.unwrap());
            last = fence;
        }
        // A given back value goes by itself too.
        eventually(SOON, || async {
            world.bus.port().last("KV_AIP_LEASES", ">", Source::Leader).await.unwrap().is_none()
        })
        .await;
        assert!(world.bus.take_lease(&key()).await.unwrap().unwrap() > last);
    }

    #[tokio::test]
    async fn of_fifty_takers_of_a_lease_given_back_one_has_it() {
        let world = World::start().await;
        let place = key();
        let first = world.bus.take_lease(&place).await.unwrap().unwrap();
        world.bus.give_lease_back(&place, first).await.unwrap();
        let takings = join_all((0..50).map(|_| world.bus.take_lease(&place))).await;
        assert_eq!(takings.into_iter().filter_map(|taken| taken.unwrap()).count(), 1);
    }

    #[tokio::test]
    async fn a_lease_that_was_renewed_is_not_given_back_by_its_old_revision() {
        let world = World::start().await;
        let fence = world.bus.take_lease(&key()).await.unwrap().unwrap();
        assert!(world.bus.renew_lease(&key(), fence).await.unwrap());
        world.bus.give_lease_back(&key(), fence).await.unwrap();
        assert_eq!(world.bus.lease(&key()).await.unwrap().unwrap().fence, fence);
    }

    #[tokio::test]
    async fn a_taking_whose_acknowledgement_is_lost_is_ours() {
        let world = World::start().await;
        world.faulty.once("act_1", Fate::LoseAck);
        let fence = world.bus.take_lease(&key()).await.unwrap().unwrap();
        assert_eq!(world.bus.lease(&key()).await.unwrap().unwrap().fence, fence);
        // One that never arrived is nobody's, and not said to be.
        world.faulty.once("act_2", Fate::Lose);
        assert!(matches!(world.bus.take_lease(&another("act_2")).await, Err(BusError::Unavailable(_))));
        assert!(world.bus.take_lease(&another("act_2")).await.unwrap().is_some());
    }
}

mod keys {
    use super::*;

    fn wanted(id: &str) -> Reservation {
        Reservation { action_id: ActionId::new(id), input_hash: "i".to_owned(), at: Millis(1_000) }
    }

    async fn reserve(world: &World, id: &str, ttl: Duration) -> Reserved {
        world.bus.reserve(&acme(), "hash", &wanted(id), ttl).await.unwrap()
    }

    #[tokio::test]
    async fn a_key_is_reserved_by_one_of_fifty_and_names_its_action_to_all_others() {
        let world = World::start().await;
        let world = &world;
        let all =
            join_all((0..50).map(|number| async move { reserve(world, &format!("act_{number}"), DAY).await })).await;
        let winner = all.iter().position(|reserved| *reserved == Reserved::New).unwrap();
        let named: Vec<_> = all
            .iter()
            .filter_map(|reserved| match reserved {
                Reserved::Taken { reservation, .. } => Some(reservation.clone()),
                Reserved::New => None,
            })
            .collect();
        assert_eq!(named, vec![wanted(&format!("act_{winner}")); 49]);
    }

    #[tokio::test]
    async fn a_key_given_up_is_free_and_only_who_read_it_last_can_give_it_up() {
        let world = World::start().await;
        assert_eq!(reserve(&world, "act_1", DAY).await, Reserved::New);
        let Reserved::Taken { revision, .. } = reserve(&world, "act_2", DAY).await else { panic!("taken") };
        world.bus.release_reservation(&acme(), "hash", revision).await.unwrap();
        assert_eq!(reserve(&world, "act_2", DAY).await, Reserved::New);
        assert!(is_conflict(&world.bus.release_reservation(&acme(), "hash", revision).await));
        let Reserved::Taken { reservation, .. } = reserve(&world, "act_3", DAY).await else { panic!("taken") };
        assert_eq!(reservation, wanted("act_2"));
        // The same name in another tenant is another key.
        let other = Tenant::new("other").unwrap();
        assert_eq!(world.bus.reserve(&other, "hash", &wanted("act_9"), DAY).await.unwrap(), Reserved::New);
    }

    #[tokio::test]
    async fn a_reservation_whose_acknowledgement_is_lost_is_found_under_its_own_id() {
        let world = World::start().await;
        world.faulty.once(".hash", Fate::LoseAck);
        let Reserved::Taken { reservation, .. } = reserve(&world, "act_1", DAY).await else { panic!("taken") };
        assert_eq!(reservation, wanted("act_1"));
        world.faulty.once(".lost", Fate::Lose);
        let lost = world.bus.reserve(&acme(), "lost", &wanted("act_1"), DAY).await;
        assert!(matches!(lost, Err(BusError::Unavailable(_))));
    }

    #[tokio::test]
    async fn a_key_is_forgotten_after_its_time() {
        let world = World::start().await;
        assert_eq!(reserve(&world, "act_1", Duration::from_secs(1)).await, Reserved::New);
        assert!(matches!(reserve(&world, "act_2", DAY).await, Reserved::Taken { .. }));
        eventually(SOON, || async { reserve(&world, "act_2", DAY).await == Reserved::New }).await;
    }

    #[tokio::test]
    async fn a_message_is_claimed_once_of_fifty() {
        let world = World::start().await;
        let claims = join_all((0..50).map(|_| world.bus.claim_message("did:key:z", "msg_1"))).await;
        assert_eq!(claims.into_iter().filter(|claim| *claim.as_ref().unwrap()).count(), 1);
        assert!(world.bus.claim_message("did:key:y", "msg_1").await.unwrap());
        assert!(world.bus.claim_message("did:key:z", "msg_2").await.unwrap());
    }

    #[tokio::test]
    async fn a_claim_whose_acknowledgement_is_lost_is_ours() {
        let world = World::start().await;
        let mut first = true;
        world.faulty.on_append(move |_| if std::mem::take(&mut first) { Fate::LoseAck } else { Fate::Pass });
        assert!(world.bus.claim_message("did:key:z", "msg_1").await.unwrap());
        assert!(!world.bus.claim_message("did:key:z", "msg_1").await.unwrap());
        world.faulty.on_append(|_| Fate::Lose);
        assert!(matches!(world.bus.claim_message("did:key:z", "msg_2").await, Err(BusError::Unavailable(_))));
    }
}

mod values {
    use super::*;

    /// A JSON text of exactly this many bytes.
    fn of_bytes(bytes: usize) -> Value {
        json!("x".repeat(bytes - 2))
    }

    #[tokio::test]
    async fn a_value_is_kept_inline_at_the_bound_and_as_a_blob_one_past_it() {
        let world = World::start().await;
        let small = of_bytes(limits::RECORD_INLINE_BYTES_MAX);
        assert_eq!(world.bus.hold(&acme(), small.clone()).await.unwrap(), Held::Inline(small));
        let large = of_bytes(limits::RECORD_INLINE_BYTES_MAX + 1);
        let held = world.bus.hold(&acme(), large.clone()).await.unwrap();
        assert!(matches!(held, Held::Blob { bytes, .. } if bytes == 65_537));
        assert_eq!(world.bus.held(&acme(), &held).await.unwrap(), large);
        // Kept twice, it is stored once; another tenant has nothing of it.
        assert_eq!(world.bus.hold(&acme(), large).await.unwrap(), held);
        let other = Tenant::new("other").unwrap();
        assert!(matches!(world.bus.held(&other, &held).await, Err(BusError::Unavailable(_))));
    }

    /// The receipt's output hash does not depend on where the output lies.
    #[tokio::test]
    async fn a_blob_is_named_by_the_hash_that_receipts_name() {
        let world = World::start().await;
        let text = format!("\u{1}\u{7f}\"\\/\u{e9}\u{1f600}{}", "y".repeat(70_000));
        let output: Value = serde_json::from_str(&format!(
            r#"{{"b":1.0,"a":[1e5,-0,12345678901234567890123456789,0.1],"ä":null,"t":{}}}"#,
            json!(text)
        ))
        .unwrap();
        let Held::Blob { sha256, .. } = world.bus.hold(&acme(), output.clone()).await.unwrap() else { panic!("large") };
        let running = step(&first_step().record, start(5), Millis(2_000)).unwrap().record;
        let settled = Settled::Completed { output: Held::Inline(output) };
        let settle = Trigger::Settle { grant: Some(grant(5)), settled, chunks_last: None };
        let receipts = step(&running, settle, Millis(2_000)).unwrap().receipts;
        assert_eq!(receipts[0].data.as_ref().unwrap()["output_hash"], json!(sha256));
    }

    #[tokio::test]
    async fn a_blob_that_was_changed_is_refused() {
        let world = World::start().await;
        let held = world.bus.hold(&acme(), of_bytes(70_000)).await.unwrap();
        let Held::Blob { sha256, .. } = &held else { panic!("large") };
        let append = aip_bus::Append::new(format!("aipb.acme.{sha256}"), "\"changed\"");
        world.bus.port().append(append).await.unwrap();
        assert!(matches!(world.bus.held(&acme(), &held).await, Err(BusError::Undecodable(_))));
    }
}

mod chunks {
    use super::*;

    fn chunk(sequence: u64) -> StreamChunk {
        let data = Some(json!({"n": sequence}));
        StreamChunk { action_id: ActionId::new("act_1"), sequence, kind: StreamChunkKind::Progress, data, part: None }
    }

    #[tokio::test]
    async fn chunks_are_paged_in_order_over_all_attempts() {
        let world = World::start().await;
        assert_eq!(world.bus.next_chunk(&key()).await.unwrap(), 0);
        for sequence in 0..7 {
            let fence = if sequence < 4 { Fence(5) } else { Fence(9) };
            world.bus.append_chunk(&another("act_2"), fence, &chunk(sequence)).await.unwrap();
            world.bus.append_chunk(&key(), fence, &chunk(sequence)).await.unwrap();
        }
        assert_eq!(world.bus.next_chunk(&key()).await.unwrap(), 7);
        let (mut from, mut seen) = (Sequence(1), Vec::new());
        loop {
            let page = world.bus.chunks(&key(), from, 3).await.unwrap();
            let Some(last) = page.last() else { break };
            from = Sequence(last.sequence.0 + 1);
            assert!(page.len() <= 3);
            seen.extend(page.into_iter().map(|stored| (stored.chunk.sequence, stored.fence.0)));
        }
        assert_eq!(seen, [(0, 5), (1, 5), (2, 5), (3, 5), (4, 9), (5, 9), (6, 9)]);
    }

    #[tokio::test]
    async fn a_chunk_that_is_repeated_is_stored_once() {
        let world = World::start().await;
        let first = world.bus.append_chunk(&key(), Fence(5), &chunk(0)).await.unwrap();
        assert_eq!(world.bus.append_chunk(&key(), Fence(5), &chunk(0)).await.unwrap(), first);
        assert_eq!(world.bus.chunks(&key(), Sequence(1), 10).await.unwrap().len(), 1);
    }
}

mod timers {
    use super::*;

    fn soon(ms: u64) -> Millis {
        Millis(wall_clock() + ms)
    }

    #[expect(clippy::disallowed_methods, reason = "the test's own clock")]
    fn wall_clock() -> u64 {
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
        u64::try_from(since.as_millis()).unwrap()
    }

    #[tokio::test]
    async fn a_timer_comes_once_to_the_lane_of_its_record_and_a_replaced_one_at_its_new_time() {
        let world = World::start().await;
        let lane = lane(LaneKind::DueAction);
        let mut due = world.bus.port().pull(lane.stream, lane.consumer, 8).await.unwrap();
        world.bus.arm(&key(), "deadline", "far", soon(3_600_000)).await.unwrap();
        world.bus.arm(&key(), "deadline", "moved", soon(3_600_000)).await.unwrap();
        let armed = soon(1_000);
        world.bus.arm(&key(), "deadline", "moved", armed).await.unwrap();
        let received = timeout(SOON, due.next()).await.unwrap().unwrap();
        assert!(Millis(wall_clock()) >= armed);
        let subject = DueSubject::parse(&received.stored.subject).unwrap();
        assert_eq!((subject.key, subject.purpose.as_str(), subject.nonce.as_str()), (key(), "deadline", "moved"));
        let body: aip_bus::Due = serde_json::from_slice(&received.stored.payload).unwrap();
        assert_eq!(body.purpose, "deadline");
        received.handle.ack().await.unwrap();
        // One that was armed after it comes next: it came once.
        world.bus.arm(&key(), "deadline", "last", soon(500)).await.unwrap();
        let received = timeout(SOON, due.next()).await.unwrap().unwrap();
        assert_eq!(DueSubject::parse(&received.stored.subject).unwrap().nonce, "last");
    }
}

/// A mistake of ours shows as a refusal with a code, never as a silent success.
#[tokio::test]
async fn an_error_is_kept_whole_in_the_record() {
    let world = World::start().await;
    let first = world.queued(&key()).await;
    let running = world.applied(&key(), &first, start(5)).await;
    let error = ProtocolError::from(ErrorCode::ConnectorFailed).with_details(json!({"operation": "op_7"}));
    let settled = Settled::Failed { error: error.clone(), uncertain: false };
    let settle = Trigger::Settle { grant: Some(grant(5)), settled, chunks_last: Some(3) };
    world.applied(&key(), &running, settle).await;
    let state = world.loaded(&key()).await.entry.state.clone();
    assert_eq!((state.error, state.chunks_last, state.input), (Some(error), Some(3), None));
}
