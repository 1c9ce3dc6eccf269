use std::{collections::BTreeSet, time::Duration};

use aip_bus::{BusError, Expect, Headers, Sequence};
use bytes::Bytes;
use futures::{StreamExt, future::join};

use crate::world::{QUIET, SOON, World, next, nothing, said, text};

async fn publish(world: &World, subject: &str, payload: &str) {
    world.port.publish(subject, None, Headers::new(), Bytes::from(payload.to_owned())).await.unwrap();
}

pub(crate) async fn what_is_stored_is_republished_afterwards(world: &World) {
    let mut live = world.port.subscribe("aipl.01.action.acme.>", None).await.unwrap();
    let stored = world.put("aipj.01.action.acme.a1.queued", "x").await;
    let copy = next(&mut live).await;
    assert_eq!((copy.subject.as_str(), said(&copy)), ("aipl.01.action.acme.a1.queued", "x"));
    assert_eq!(copy.headers["Nats-Sequence"], stored.0.to_string());
    assert_eq!(copy.headers["Nats-Subject"], "aipj.01.action.acme.a1.queued");
    assert!(copy.headers.contains_key("Nats-Time-Stamp"));
    assert_eq!(text(&world.last("AIP_JOURNAL", "aipj.01.action.acme.a1.*").await.unwrap().payload), "x");
}

pub(crate) async fn a_refused_save_is_not_republished(world: &World) {
    let mut live = world.port.subscribe("aipl.>", None).await.unwrap();
    let refused = world.save("aipj.01.action.acme.a1.queued", "x", Expect::LastOnSubject(Sequence(5))).await;
    assert!(matches!(refused, Err(BusError::Conflict)));
    nothing(&mut live).await;
}

pub(crate) async fn a_request_is_answered(world: &World) {
    let mut asked = world.port.subscribe("svc.ask", Some("svc")).await.unwrap();
    let answering = async {
        let request = next(&mut asked).await;
        let answer = Bytes::from(format!("you said {}", said(&request)));
        world.port.publish(request.reply.as_ref().unwrap(), None, Headers::new(), answer).await.unwrap();
    };
    let asking = world.port.request("svc.ask", Headers::new(), Bytes::from_static(b"hello"), SOON);
    let (answer, ()) = join(asking, answering).await;
    assert_eq!(said(&answer.unwrap()), "you said hello");
}

pub(crate) async fn a_request_that_nobody_answers_ends_in_time(world: &World) {
    let _deaf = world.port.subscribe("svc.ask", None).await.unwrap();
    let outcome = world.port.request("svc.ask", Headers::new(), Bytes::new(), Duration::from_millis(300)).await;
    assert!(matches!(outcome, Err(BusError::Unavailable(_))));
}

pub(crate) async fn a_request_without_listeners_says_so(world: &World) {
    let outcome = world.port.request("svc.nobody", Headers::new(), Bytes::new(), SOON).await;
    assert!(matches!(outcome, Err(BusError::NoResponders)));
}

pub(crate) async fn a_queue_group_takes_each_message_once(world: &World) {
    let first = world.port.subscribe("svc.work", Some("svc")).await.unwrap();
    let second = world.port.subscribe("svc.*", Some("svc")).await.unwrap();
    let mut group = futures::stream::select(first, second);
    for n in 0..40 {
        publish(world, "svc.work", &n.to_string()).await;
    }
    let mut seen = BTreeSet::new();
    while seen.len() < 40 {
        let inbound = tokio::time::timeout(SOON, group.next()).await.unwrap().unwrap();
        assert!(seen.insert(said(&inbound).to_owned()), "{} came twice", said(&inbound));
    }
    assert!(tokio::time::timeout(QUIET, group.next()).await.is_err());
}

pub(crate) async fn every_plain_subscriber_gets_every_message(world: &World) {
    let mut exact = world.port.subscribe("news.sport.local", None).await.unwrap();
    let mut star = world.port.subscribe("news.*.local", None).await.unwrap();
    let mut tail = world.port.subscribe("news.>", None).await.unwrap();
    let mut other = world.port.subscribe("news.sport", None).await.unwrap();
    publish(world, "news.sport.local", "x").await;
    for subscriber in [&mut exact, &mut star, &mut tail] {
        assert_eq!(next(subscriber).await.subject, "news.sport.local");
    }
    nothing(&mut other).await;
}

pub(crate) async fn headers_arrive_as_sent(world: &World) {
    let mut messages = world.port.subscribe("svc.headers", None).await.unwrap();
    let headers = Headers::from([
        ("AIP-Context".to_owned(), "{\"tenant\":\"acme\"}".to_owned()),
        ("traceparent".to_owned(), "00-1".to_owned()),
    ]);
    world.port.publish("svc.headers", Some("reply.here"), headers.clone(), Bytes::from_static(b"x")).await.unwrap();
    let inbound = next(&mut messages).await;
    assert_eq!((inbound.headers, inbound.reply.as_deref()), (headers, Some("reply.here")));
    let broken = Headers::from([("AIP-Context".to_owned(), "one\r\nForged: two".to_owned())]);
    let outcome = world.port.publish("svc.headers", None, broken, Bytes::new()).await;
    assert!(matches!(outcome, Err(BusError::Refused { code: 400 })));
}

pub(crate) async fn an_ended_subscription_no_longer_answers(world: &World) {
    let listener = world.port.subscribe("svc.leaving", Some("svc")).await.unwrap();
    drop(listener);
    aip_testkit::eventually(SOON, || async {
        let outcome = world.port.request("svc.leaving", Headers::new(), Bytes::new(), Duration::from_millis(300)).await;
        matches!(outcome, Err(BusError::NoResponders))
    })
    .await;
}
