//! Offers, begin, results.

use std::{sync::Arc, time::Duration};

use aip_bus::{
    subjects::Report,
    work::{Offer, OfferReply, Outcome, StopReason},
};
use aip_handler::OUTCOME_BYTES_MAX;
use aip_testkit::{Nats, eventually};
use serde_json::json;
use tokio::sync::{Mutex, Notify, Semaphore};

use crate::fleet::{Call, Fleet, READ, SOON, Subject, in_ms, offer, read, reason};

#[tokio::test]
async fn nothing_runs_before_go() {
    let nats = Nats::start().await;
    let fleet = Fleet::new(&nats).await;
    let handler = Call::answering(json!({ "n": 1 }));
    let watched = handler.clone();
    let early = Arc::new(std::sync::Mutex::new(Vec::new()));
    let seen = Arc::clone(&early);
    fleet
        .on(Report::Begin, move |before, _| {
            seen.lock().unwrap().push(watched.count());
            Some(json!(if before < 3 { "later" } else { "go" }))
        })
        .await;
    fleet.on(Report::Result, |_, _| Some(json!("go"))).await;
    let subject = Subject::serve(&nats, handler.clone()).await;
    fleet.give(&offer("act_1", 7)).await;
    assert_eq!(fleet.outcome().await, Outcome::Completed { output: json!({ "n": 1 }) });
    assert_eq!(*early.lock().unwrap(), [0, 0, 0, 0]);
    assert_eq!(handler.count(), 1);
    let attempt = json!({ "tenant": "acme", "action": "act_1", "fence": 7, "instance": subject.served.instance() });
    assert_eq!(fleet.said(Report::Begin)[0], json!({ "attempt": attempt }));
    assert_eq!(fleet.said(Report::Result)[0]["attempt"], attempt);
}

#[tokio::test]
async fn nothing_runs_when_nobody_says_go_before_the_deadline() {
    let nats = Nats::start().await;
    let fleet = Fleet::new(&nats).await;
    fleet.on(Report::Begin, |_, _| Some(json!("later"))).await;
    let handler = Call::answering(json!({}));
    let subject = Subject::serve(&nats, handler.clone()).await;
    fleet.give(&Offer { deadline: in_ms(300), ..offer("act_1", 1) }).await;
    fleet.heard(Report::Begin, 2).await;
    // Draining waits for everything that is in work.
    subject.tasks.drain(SOON).await;
    assert_eq!((handler.count(), fleet.said(Report::Result).len()), (0, 0));
}

#[tokio::test]
async fn a_stale_attempt_is_forgotten_and_a_newer_one_runs() {
    let nats = Nats::start().await;
    let fleet = Fleet::new(&nats).await;
    fleet.on(Report::Begin, |before, _| Some(json!(if before == 0 { "stale" } else { "go" }))).await;
    fleet.on(Report::Result, |_, _| Some(json!("go"))).await;
    let handler = Call::answering(json!({}));
    let _subject = Subject::serve(&nats, handler.clone()).await;
    fleet.give(&offer("act_1", 1)).await;
    fleet.heard(Report::Begin, 1).await;
    fleet.give(&offer("act_1", 2)).await;
    fleet.heard(Report::Result, 1).await;
    assert_eq!(fleet.said(Report::Result)[0]["attempt"]["fence"], json!(2));
    assert_eq!(handler.count(), 1);
}

#[tokio::test]
async fn an_attempt_offered_twice_runs_once() {
    let nats = Nats::start().await;
    let fleet = Fleet::willing(&nats).await;
    let open = Arc::new(Semaphore::new(0));
    let gate = Arc::clone(&open);
    let handler = Call::after(move || {
        let gate = Arc::clone(&gate);
        async move { gate.acquire().await.unwrap().forget() }
    });
    let subject = Subject::serve(&nats, handler.clone()).await;
    fleet.give(&offer("act_1", 5)).await;
    handler.called(1).await;
    fleet.give(&offer("act_1", 5)).await;
    open.add_permits(2);
    fleet.heard(Report::Result, 1).await;
    fleet.give(&offer("act_1", 5)).await;
    fleet.give(&offer("act_1", 4)).await;
    subject.tasks.drain(SOON).await;
    assert_eq!((handler.count(), fleet.said(Report::Begin).len(), fleet.said(Report::Result).len()), (1, 1, 1));
}

#[tokio::test]
async fn a_newer_fence_stops_the_older_attempt() {
    let nats = Nats::start().await;
    let fleet = Fleet::willing(&nats).await;
    let reasons = Arc::new(Mutex::new(Vec::new()));
    let told = Arc::clone(&reasons);
    let handler = Call::new(move |work| {
        let told = Arc::clone(&told);
        Box::pin(async move {
            if work.fence.is_some_and(|fence| fence.0 == 1) {
                told.lock().await.push(work.cancelled().await);
                assert!(work.is_cancelled());
            }
            Ok(json!({}))
        })
    });
    let _subject = Subject::serve(&nats, handler.clone()).await;
    fleet.give(&offer("act_1", 1)).await;
    handler.called(1).await;
    fleet.give(&offer("act_1", 2)).await;
    fleet.heard(Report::Result, 2).await;
    assert_eq!(*reasons.lock().await, [StopReason::LeaseLost]);
}

#[tokio::test]
async fn a_control_message_stops_its_attempt_only() {
    let nats = Nats::start().await;
    let fleet = Fleet::willing(&nats).await;
    let handler = Call::new(|work| Box::pin(async move { Ok(json!(format!("{:?}", work.cancelled().await))) }));
    let _subject = Subject::serve(&nats, handler.clone()).await;
    fleet.give(&offer("act_1", 1)).await;
    fleet.give(&offer("act_2", 2)).await;
    handler.called(2).await;
    fleet.stop("act_1", 2, StopReason::LeaseLost).await;
    fleet.stop("act_2", 2, StopReason::LeaseLost).await;
    assert_eq!(fleet.outcome().await, Outcome::Completed { output: json!("LeaseLost") });
    assert_eq!(fleet.said(Report::Result)[0]["attempt"]["action"], json!("act_2"));
}

#[tokio::test]
async fn an_overdue_attempt_that_ignores_its_signal_is_dropped() {
    let nats = Nats::start().await;
    let fleet = Fleet::willing(&nats).await;
    let handler = Call::after(std::future::pending);
    let _subject = Subject::serve(&nats, handler.clone()).await;
    fleet.give(&offer("act_1", 1)).await;
    handler.called(1).await;
    fleet.stop("act_1", 1, StopReason::DeadlinePassed).await;
    assert_eq!(reason(&fleet.outcome().await), ("deadline".to_owned(), true));
}

#[tokio::test]
async fn a_result_is_repeated_until_it_is_stored() {
    let nats = Nats::start().await;
    let fleet = Fleet::new(&nats).await;
    fleet.on(Report::Begin, |_, _| Some(json!("go"))).await;
    let handler = Call::answering(json!({ "n": 1 }));
    let subject = Subject::serve(&nats, handler.clone()).await;
    fleet.give(&offer("act_1", 1)).await;
    handler.called(1).await;
    // Nobody listens so far; then somebody who does not answer, then one who cannot decide.
    fleet
        .on(Report::Result, |before, _| match before {
            0 => None,
            1 | 2 => Some(json!("later")),
            _ => Some(json!("go")),
        })
        .await;
    fleet.heard(Report::Result, 4).await;
    subject.tasks.drain(SOON).await;
    let results = fleet.said(Report::Result);
    assert_eq!(results.len(), 4);
    assert!(results.iter().all(|result| *result == results[0]));
    assert_eq!(handler.count(), 1);
}

#[tokio::test]
async fn a_result_survives_an_outage_of_the_server() {
    let mut nats = Nats::start().await;
    let fleet = Fleet::willing(&nats).await;
    let end = Arc::new(Notify::new());
    let wait = Arc::clone(&end);
    let handler = Call::after(move || {
        let wait = Arc::clone(&wait);
        async move { wait.notified().await }
    });
    let _subject = Subject::serve(&nats, handler.clone()).await;
    fleet.give(&offer("act_1", 1)).await;
    handler.called(1).await;
    nats.server.kill9().await.unwrap();
    end.notify_one();
    nats.server.restart().await.unwrap();
    assert_eq!(fleet.outcome().await, Outcome::Completed { output: json!({ "done": true }) });
    assert_eq!(handler.count(), 1);
}

#[tokio::test]
async fn a_panic_is_an_uncertain_failure_of_a_mutation_and_a_plain_one_of_a_read() {
    let nats = Nats::start().await;
    let fleet = Fleet::willing(&nats).await;
    let handler = Call::new(|_| Box::pin(async { panic!("a handler panics, as this test wants it") }));
    let _subject = Subject::serve(&nats, handler).await;
    fleet.give(&offer("act_1", 1)).await;
    assert_eq!(reason(&fleet.outcome().await), ("panic".to_owned(), true));
    let OfferReply::Result { outcome, .. } = fleet.offer(&read()).await.unwrap() else { panic!("no result") };
    assert_eq!(reason(&outcome), ("panic".to_owned(), false));
}

#[tokio::test]
async fn a_handler_is_dropped_at_its_deadline() {
    let nats = Nats::start().await;
    let fleet = Fleet::willing(&nats).await;
    let dropped = Arc::new(());
    let held = Arc::clone(&dropped);
    let handler = Call::after(move || {
        let held = Arc::clone(&held);
        async move {
            std::future::pending::<()>().await;
            drop(held);
        }
    });
    let subject = Subject::serve(&nats, handler.clone()).await;
    fleet.give(&Offer { deadline: in_ms(400), ..offer("act_1", 1) }).await;
    assert_eq!(reason(&fleet.outcome().await), ("deadline".to_owned(), true));
    // An attempt at a read that is no plain one: it has no effect, so nothing is uncertain.
    fleet.give(&Offer { capability_id: READ.to_owned(), deadline: in_ms(400), ..offer("act_2", 2) }).await;
    fleet.heard(Report::Result, 2).await;
    assert_eq!(fleet.said(Report::Result)[1]["outcome"]["failed"]["uncertain"], json!(false));
    subject.tasks.drain(SOON).await;
    drop(handler);
    drop(subject);
    eventually(SOON, || async { Arc::strong_count(&dropped) == 1 }).await;
}

#[tokio::test]
async fn a_plain_read_is_answered_with_its_result() {
    let nats = Nats::start().await;
    let fleet = Fleet::willing(&nats).await;
    let handler = Call::new(|work| {
        Box::pin(async move {
            work.chunk(aip_types::StreamChunkKind::Progress, None).await?;
            Ok(work.input.clone())
        })
    });
    let subject = Subject::serve(&nats, handler).await;
    fleet.present().await;
    let reply = fleet.offer(&Offer { input: json!({ "text": "hi" }), ..read() }).await.unwrap();
    let OfferReply::Result { instance, outcome } = reply else { panic!("{reply:?}") };
    assert_eq!(instance, subject.served.instance());
    assert_eq!(outcome, Outcome::Completed { output: json!({ "text": "hi" }) });
    let reports = fleet.all_said();
    assert!(!reports.iter().any(|report| matches!(report, Report::Begin | Report::Chunk | Report::Result)));
}

#[tokio::test]
async fn an_output_too_large_to_send_is_a_typed_failure() {
    let nats = Nats::start().await;
    let fleet = Fleet::willing(&nats).await;
    let handler = Call::answering(json!("x".repeat(OUTCOME_BYTES_MAX)));
    let _subject = Subject::serve(&nats, handler).await;
    fleet.give(&offer("act_1", 1)).await;
    assert_eq!(reason(&fleet.outcome().await), ("output_too_large".to_owned(), true));
}

#[tokio::test]
async fn an_offer_beyond_the_bound_is_told_to_come_again() {
    let nats = Nats::start().await;
    let fleet = Fleet::willing(&nats).await;
    let end = Arc::new(Notify::new());
    let wait = Arc::clone(&end);
    let handler = Call::after(move || {
        let wait = Arc::clone(&wait);
        async move { wait.notified().await }
    });
    let _subject = Subject::serve_bounded(&nats, handler.clone(), 2).await;
    fleet.give(&offer("act_1", 1)).await;
    fleet.give(&offer("act_2", 2)).await;
    handler.called(2).await;
    for beyond in [offer("act_3", 3), read()] {
        let reply = fleet.offer(&beyond).await.unwrap();
        assert!(matches!(reply, OfferReply::Busy { retry_after_ms: 1.. }), "{reply:?}");
    }
    // A repeat of what is in work is no new work.
    fleet.give(&offer("act_1", 1)).await;
    end.notify_one();
    fleet.heard(Report::Result, 1).await;
    eventually(SOON, || async { matches!(fleet.offer(&offer("act_3", 3)).await, Ok(OfferReply::Accepted { .. })) })
        .await;
}

#[tokio::test]
async fn a_capability_of_somebody_else_is_unknown() {
    let nats = Nats::start().await;
    let fleet = Fleet::willing(&nats).await;
    let _subject = Subject::serve(&nats, Call::answering(json!({}))).await;
    fleet.present().await;
    let reply = fleet.offer(&Offer { capability_id: "cap:test:other".to_owned(), ..offer("act_1", 1) }).await;
    assert!(matches!(reply, Ok(OfferReply::Unknown {})), "{reply:?}");
}

#[tokio::test]
async fn only_what_runs_beats() {
    let nats = Nats::start().await;
    let fleet = Fleet::new(&nats).await;
    fleet
        .on(Report::Begin, |_, value| {
            Some(json!(if value["attempt"]["action"] == json!("act_runs") { "go" } else { "later" }))
        })
        .await;
    fleet.on(Report::Heartbeat, |_, _| None).await;
    let handler = Call::after(std::future::pending);
    let _subject = Subject::serve(&nats, handler).await;
    fleet.give(&offer("act_runs", 1)).await;
    fleet.give(&offer("act_waits", 2)).await;
    fleet.heard(Report::Heartbeat, 2).await;
    for beat in fleet.said(Report::Heartbeat) {
        let attempts = beat["attempts"].as_array().unwrap();
        assert_eq!((attempts.len(), &attempts[0]["action"]), (1, &json!("act_runs")));
    }
}

#[tokio::test]
async fn a_draining_process_ends_its_work_and_refuses_new_offers() {
    let nats = Nats::start().await;
    let fleet = Fleet::willing(&nats).await;
    let end = Arc::new(Notify::new());
    let wait = Arc::clone(&end);
    let handler = Call::after(move || {
        let wait = Arc::clone(&wait);
        async move { wait.notified().await }
    });
    let subject = Subject::serve(&nats, handler.clone()).await;
    fleet.give(&offer("act_1", 1)).await;
    handler.called(1).await;
    let tasks = subject.tasks.clone();
    let draining = async {
        tasks.drain(SOON).await;
    };
    let meanwhile = async {
        subject.tasks.draining().await;
        eventually(SOON, || async { fleet.offer(&offer("act_2", 2)).await.is_err() }).await;
        end.notify_one();
    };
    tokio::time::timeout(SOON + Duration::from_secs(1), futures::future::join(draining, meanwhile)).await.unwrap();
    assert_eq!((handler.count(), fleet.said(Report::Result).len()), (1, 1));
}
