//! Parts of an output.

use aip_bus::{
    subjects::Report,
    work::{Offer, Outcome, StopReason},
};
use aip_handler::ChunkFault;
use aip_testkit::Nats;
use aip_types::{StreamChunkKind, limits};
use serde_json::{Value, json};

use crate::fleet::{Call, Fleet, Subject, offer};

fn streaming() -> Offer {
    Offer { streaming: true, chunk_base: 40, ..offer("act_1", 1) }
}

fn numbers(chunks: &[Value]) -> Vec<(u64, Value)> {
    chunks.iter().map(|chunk| (chunk["sequence"].as_u64().unwrap(), chunk["data"].clone())).collect()
}

#[tokio::test]
async fn chunks_keep_their_order_and_precede_the_result() {
    let nats = Nats::start().await;
    let fleet = Fleet::new(&nats).await;
    for about in [Report::Begin, Report::Result] {
        fleet.on(about, |_, _| Some(json!("go"))).await;
    }
    fleet.on(Report::Chunk, |before, _| Some(json!(if before < 2 { "later" } else { "go" }))).await;
    let handler = Call::new(|work| {
        Box::pin(async move {
            let part = |n: u32| work.chunk(StreamChunkKind::Data, Some(json!(n)));
            futures::future::try_join_all([part(1), part(2), part(3)]).await?;
            Ok(json!({}))
        })
    });
    let _subject = Subject::serve(&nats, handler).await;
    fleet.give(&streaming()).await;
    fleet.heard(Report::Result, 1).await;
    let expected = [(40, 1), (40, 1), (40, 1), (41, 2), (42, 3)].map(|(sequence, data)| (sequence, json!(data)));
    assert_eq!(numbers(&fleet.said(Report::Chunk)), expected);
    assert_eq!(fleet.all_said().last(), Some(&Report::Result));
}

#[tokio::test]
async fn a_chunk_whose_call_was_dropped_keeps_its_number_and_is_stored() {
    let nats = Nats::start().await;
    let fleet = Fleet::new(&nats).await;
    for about in [Report::Begin, Report::Result] {
        fleet.on(about, |_, _| Some(json!("go"))).await;
    }
    fleet.on(Report::Chunk, |before, _| Some(json!(if before < 3 { "later" } else { "go" }))).await;
    let handler = Call::new(|work| {
        Box::pin(async move {
            tokio::select! {
                biased;
                _ = work.chunk(StreamChunkKind::Data, Some(json!("dropped"))) => {}
                () = tokio::task::yield_now() => {}
            }
            Ok(json!({}))
        })
    });
    let _subject = Subject::serve(&nats, handler).await;
    fleet.give(&streaming()).await;
    fleet.heard(Report::Result, 1).await;
    let chunks = numbers(&fleet.said(Report::Chunk));
    assert!(chunks.len() >= 4 && chunks.iter().all(|chunk| *chunk == (40, json!("dropped"))), "{chunks:?}");
}

#[tokio::test]
async fn a_chunk_of_the_bound_passes_and_one_byte_more_is_refused() {
    let nats = Nats::start().await;
    let fleet = Fleet::willing(&nats).await;
    let handler = Call::new(|work| {
        Box::pin(async move {
            let text = |bytes: usize| Some(json!("x".repeat(bytes - 2)));
            let fits = work.chunk(StreamChunkKind::Data, text(limits::CHUNK_BYTES_MAX)).await;
            let over = work.chunk(StreamChunkKind::Data, text(limits::CHUNK_BYTES_MAX + 1)).await;
            let bytes = limits::CHUNK_BYTES_MAX + 1;
            Ok(json!([fits == Ok(()), over == Err(ChunkFault::TooLarge { bytes })]))
        })
    });
    let _subject = Subject::serve(&nats, handler).await;
    fleet.give(&streaming()).await;
    assert_eq!(fleet.outcome().await, Outcome::Completed { output: json!([true, true]) });
    assert_eq!(fleet.said(Report::Chunk).len(), 1);
}

#[tokio::test]
async fn a_stale_chunk_tells_the_handler_to_stop() {
    let nats = Nats::start().await;
    let fleet = Fleet::new(&nats).await;
    for about in [Report::Begin, Report::Result] {
        fleet.on(about, |_, _| Some(json!("go"))).await;
    }
    fleet.on(Report::Chunk, |_, _| Some(json!("stale"))).await;
    let handler = Call::new(|work| {
        Box::pin(async move {
            let sent = work.chunk(StreamChunkKind::Progress, None).await;
            let told = work.cancelled().await;
            Ok(json!([sent == Err(ChunkFault::Stale), told == StopReason::LeaseLost]))
        })
    });
    let _subject = Subject::serve(&nats, handler).await;
    fleet.give(&streaming()).await;
    assert_eq!(fleet.outcome().await, Outcome::Completed { output: json!([true, true]) });
}

#[tokio::test]
async fn chunks_that_nobody_wants_are_not_sent() {
    let nats = Nats::start().await;
    let fleet = Fleet::willing(&nats).await;
    let handler = Call::new(|work| {
        Box::pin(async move {
            work.chunk(StreamChunkKind::Progress, Some(json!(1))).await?;
            Ok(json!({}))
        })
    });
    let _subject = Subject::serve(&nats, handler).await;
    fleet.give(&offer("act_1", 1)).await;
    assert_eq!(fleet.outcome().await, Outcome::Completed { output: json!({}) });
    assert!(fleet.said(Report::Chunk).is_empty());
}
