use std::time::Duration;

use aip_bus::{Append, BusError, Expect, Sequence, Source, topology};
use aip_testkit::eventually;
use futures::future::join_all;

use crate::world::{SOON, World, text};

const RECORD: &str = "aipj.01.action.acme.a1.*";

fn under(filter: &str, sequence: Sequence) -> Expect {
    Expect::LastUnder { filter: filter.to_owned(), sequence }
}

pub(crate) async fn of_fifty_creates_of_one_record_one_is_stored(world: &World) {
    let saves = (0..50).map(|n| async move {
        let subject =
            if n % 2 == 0 { "aipj.01.action.acme.a1.queued" } else { "aipj.01.action.acme.a1.pending_approval" };
        world.save(subject, "x", under(RECORD, Sequence::NONE)).await
    });
    let (stored, refused): (Vec<_>, Vec<_>) = join_all(saves).await.into_iter().partition(Result::is_ok);
    assert_eq!(stored.len(), 1);
    assert!(refused.iter().all(|save| matches!(save, Err(BusError::Conflict | BusError::Busy))), "{refused:?}");
    assert_eq!(world.port.page("AIP_JOURNAL", RECORD, Sequence(1), 100).await.unwrap().len(), 1);
}

pub(crate) async fn a_save_over_a_stale_sequence_is_a_conflict(world: &World) {
    let key = "$KV.AIP_LEASES.01.acme.a1";
    let first = world.save(key, "1", Expect::LastOnSubject(Sequence::NONE)).await.unwrap();
    let second = world.save(key, "2", Expect::LastOnSubject(first)).await.unwrap();
    assert!(second > first);
    for stale in [Sequence::NONE, first, Sequence(second.0 + 1)] {
        assert!(
            matches!(world.save(key, "3", Expect::LastOnSubject(stale)).await, Err(BusError::Conflict)),
            "{stale:?}"
        );
    }
    assert_eq!(text(&world.last("KV_AIP_LEASES", key).await.unwrap().payload), "2");
}

pub(crate) async fn a_guard_may_stand_on_a_wildcard_filter(world: &World) {
    world.put("aipj.01.action.acme.other.queued", "x").await;
    let queued = world.save("aipj.01.action.acme.a1.queued", "1", under(RECORD, Sequence::NONE)).await.unwrap();
    world.put("aipj.01.action.acme.another.queued", "x").await;
    let started = world.save("aipj.01.action.acme.a1.started", "2", under(RECORD, queued)).await.unwrap();
    // Its own subject is still without a message, which does not matter: the guard stands on the filter.
    let late = world.save("aipj.01.action.acme.a1.completed", "3", under(RECORD, queued)).await;
    assert!(matches!(late, Err(BusError::Conflict)));
    world.save("aipj.01.action.acme.a1.completed", "3", under(RECORD, started)).await.unwrap();
}

pub(crate) async fn a_guard_on_no_message_holds_until_one_is_stored(world: &World) {
    let stale = world.save("aipj.01.action.acme.a1.queued", "1", under(RECORD, Sequence(7))).await;
    assert!(matches!(stale, Err(BusError::Conflict)));
    world.save("aipj.01.action.acme.a1.queued", "1", under(RECORD, Sequence::NONE)).await.unwrap();
    let again = world.save("aipj.01.action.acme.a1.queued", "1", under(RECORD, Sequence::NONE)).await;
    assert!(matches!(again, Err(BusError::Conflict)));
}

pub(crate) async fn both_sources_read_the_last_message(world: &World) {
    world.put("aipj.01.action.acme.a1.queued", "1").await;
    let last = world.put("aipj.01.action.acme.a1.started", "2").await;
    world.put("aipj.01.action.acme.a2.queued", "3").await;
    for source in [Source::Nearest, Source::Leader] {
        let stored = world.port.last("AIP_JOURNAL", RECORD, source).await.unwrap().unwrap();
        assert_eq!(
            (stored.sequence, stored.subject.as_str(), text(&stored.payload)),
            (last, "aipj.01.action.acme.a1.started", "2")
        );
        assert!(!stored.marker && stored.at.0 > 1_700_000_000_000);
        let exact = world.port.last("AIP_JOURNAL", "aipj.01.action.acme.a1.queued", source).await.unwrap().unwrap();
        assert_eq!(text(&exact.payload), "1");
        assert_eq!(world.port.last("AIP_JOURNAL", "aipj.01.action.acme.a9.*", source).await.unwrap(), None);
    }
    let nearest = world.port.last("AIP_JOURNAL", RECORD, Source::Nearest).await.unwrap();
    assert_eq!(nearest, world.last("AIP_JOURNAL", RECORD).await);
}

pub(crate) async fn a_message_is_read_by_its_sequence(world: &World) {
    let first = world.put("aipj.01.action.acme.a1.queued", "1").await;
    world.put("aipj.01.action.acme.a1.started", "2").await;
    for source in [Source::Nearest, Source::Leader] {
        let stored = world.port.get("AIP_JOURNAL", first, source).await.unwrap().unwrap();
        assert_eq!((stored.sequence, text(&stored.payload)), (first, "1"));
        assert_eq!(world.port.get("AIP_JOURNAL", Sequence(99), source).await.unwrap(), None);
        assert_eq!(world.port.get("AIP_JOURNAL", Sequence::NONE, source).await.unwrap(), None);
    }
}

pub(crate) async fn pages_are_in_order_and_end_empty(world: &World) {
    for n in 0..25 {
        world.put(&format!("aipj.01.action.acme.a{n}.queued"), &n.to_string()).await;
        world.put(&format!("aipj.01.action.globex.a{n}.queued"), "other").await;
    }
    let (mut from, mut seen, mut sizes) = (Sequence(1), Vec::new(), Vec::new());
    loop {
        let page = world.port.page("AIP_JOURNAL", "aipj.01.action.acme.>", from, 10).await.unwrap();
        let Some(last) = page.last() else { break };
        from = Sequence(last.sequence.0 + 1);
        sizes.push(page.len());
        seen.extend(page.into_iter().map(|stored| text(&stored.payload).parse::<u32>().unwrap()));
    }
    assert_eq!(seen, (0..25).collect::<Vec<_>>());
    assert_eq!(sizes, [10, 10, 5]);
    assert!(world.port.page("AIP_JOURNAL", "aipj.01.action.nobody.>", Sequence(1), 10).await.unwrap().is_empty());
    assert!(world.port.page("AIP_JOURNAL", "aipj.>", Sequence(1), 0).await.unwrap().is_empty());
    assert_eq!(world.port.page("AIP_JOURNAL", "aipj.>", Sequence::NONE, 100).await.unwrap().len(), 50);
}

pub(crate) async fn a_page_of_large_messages_loses_none(world: &World) {
    let large = vec![b'x'; 1_000_000];
    for n in 0..20 {
        world.port.append(Append::new(format!("aipb.acme.{n}"), large.clone())).await.unwrap();
    }
    let (mut from, mut count) = (Sequence(1), 0);
    loop {
        let page = world.port.page("AIP_BLOBS", "aipb.acme.>", from, 20).await.unwrap();
        let Some(last) = page.last() else { break };
        from = Sequence(last.sequence.0 + 1);
        count += page.len();
    }
    assert_eq!(count, 20);
}

pub(crate) async fn a_repeated_message_id_is_stored_once(world: &World) {
    let append = Append { message_id: Some("m1".to_owned()), ..Append::new("aipa.acme", "x") };
    let first = world.port.append(append.clone()).await.unwrap();
    assert_eq!(world.port.append(append).await.unwrap(), first);
    assert_eq!(world.port.page("AIP_AUDIT", "aipa.>", Sequence(1), 10).await.unwrap().len(), 1);
}

pub(crate) async fn a_subject_that_no_stream_captures_is_unavailable(world: &World) {
    let outcome = world.port.append(Append::new("nowhere.to.go", "x")).await;
    assert!(matches!(outcome, Err(BusError::Unavailable(_))), "{outcome:?}");
}

pub(crate) async fn an_expiry_where_none_is_allowed_is_refused(world: &World) {
    let outcome =
        world.port.append(Append::new("aipj.01.action.acme.a1.queued", "x").expiring(Duration::from_secs(1))).await;
    assert!(matches!(outcome, Err(BusError::Refused { code: 10_166 })), "{outcome:?}");
}

pub(crate) async fn a_bucket_keeps_the_newest_value_only(world: &World) {
    for value in ["1", "2", "3"] {
        world.put("$KV.AIP_REGISTRY.demo", value).await;
    }
    world.put("$KV.AIP_REGISTRY.other", "x").await;
    let all = world.port.page("KV_AIP_REGISTRY", "$KV.AIP_REGISTRY.>", Sequence(1), 10).await.unwrap();
    assert_eq!(
        all.iter().map(|stored| (stored.sequence.0, text(&stored.payload))).collect::<Vec<_>>(),
        [(3, "3"), (4, "x")]
    );
}

pub(crate) async fn an_expired_key_may_be_created_again(world: &World) {
    let key = "$KV.AIP_LEASES.01.acme.a1";
    let create =
        || Append::new(key, "x").expecting(Expect::LastOnSubject(Sequence::NONE)).expiring(Duration::from_secs(1));
    let first = world.port.append(create()).await.unwrap();
    assert!(matches!(world.port.append(create()).await, Err(BusError::Conflict)));
    eventually(SOON, || async { world.last("KV_AIP_LEASES", key).await.is_none() }).await;
    // The old holder is refused although nobody has taken over.
    assert!(matches!(world.save(key, "late", Expect::LastOnSubject(first)).await, Err(BusError::Conflict)));
    assert!(world.port.append(create()).await.unwrap() > first);
}

pub(crate) async fn a_renewed_key_outlives_its_first_expiry(world: &World) {
    let key = "$KV.AIP_LEASES.01.acme.a1";
    let lease =
        |sequence| Append::new(key, "x").expecting(Expect::LastOnSubject(sequence)).expiring(Duration::from_secs(1));
    let mut last = world.port.append(lease(Sequence::NONE)).await.unwrap();
    let renewed = Append { ttl: Some(Duration::from_secs(60)), ..lease(last) };
    last = world.port.append(renewed).await.unwrap();
    // Another key with the first expiry tells when it has passed.
    world.port.append(Append::new("$KV.AIP_LEASES.01.acme.a2", "x").expiring(Duration::from_secs(2))).await.unwrap();
    eventually(SOON, || async { world.last("KV_AIP_LEASES", "$KV.AIP_LEASES.01.acme.a2").await.is_none() }).await;
    assert_eq!(world.last("KV_AIP_LEASES", key).await.unwrap().sequence, last);
}

pub(crate) async fn the_topology_is_verified(world: &World) {
    let names: Vec<&str> = aip_bus::subjects::STREAMS.iter().map(|stream| stream.name).collect();
    topology::verify(&*world.port, &names).await.unwrap();
    topology::Topology::default().verify(&*world.port).await.unwrap();
    let other = topology::Topology { journal_bytes: Some(1 << 30), ..topology::Topology::default() };
    assert!(matches!(other.verify(&*world.port).await, Err(BusError::Refused { code: topology::DIFFERENT })));
}
