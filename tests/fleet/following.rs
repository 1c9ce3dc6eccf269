//! Following an action over server-sent events (AIP 1.0 §11.6, §20.2): in order, resumable, through the death of anybody.

use std::time::Duration;

use aip_testkit::eventually;
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::{
    caller::{Http, Told, action},
    harness::{Fleet, Plan},
};

const WITHIN: Duration = Duration::from_secs(120);
const SLOW: &str = "cap:demo:slow";

/// Streaming work, and its id.
fn streaming(seconds: u32, parts: u32) -> (Value, String) {
    let mut slow = action(SLOW, Some("k"), json!({ "seconds": seconds, "parts": parts }));
    slow["mode"] = json!("streaming");
    let id = slow["id"].as_str().unwrap().to_owned();
    (slow, id)
}

/// Waits until an action can be followed.
async fn begun(http: &Http, id: &str) {
    let path = format!("/aip/v1/actions/{id}");
    eventually(WITHIN, || async { http.get(&path).await.is_ok_and(|answer| answer.status == 200) }).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_action_is_followed_from_its_first_event_to_its_result() {
    let fleet = Fleet::start(Plan::default()).await;
    let http = fleet.http().within(WITHIN);
    let (slow, id) = streaming(2, 10);
    let path = format!("/aip/v1/actions/{id}/events?include_chunks=true");
    let mut told: Vec<Told> = Vec::new();
    let following = async {
        begun(&http, &id).await;
        let ended = http.follow(&path, None, |one| {
            told.push(one);
            true
        });
        ended.await.unwrap();
    };
    let (called, ()) = futures::join!(http.run(&slow, WITHIN), following);
    called.completed();
    let kinds: Vec<&str> = told.iter().filter_map(Told::kind).collect();
    assert_eq!(kinds, ["aip.action.accepted", "aip.action.started", "aip.action.completed"]);
    let chunks: Vec<u64> = told.iter().filter_map(Told::chunk).collect();
    assert_eq!(chunks, (0..10).collect::<Vec<_>>());
    let last = told.last().unwrap();
    assert_eq!(last.event, "result");
    assert_eq!(last.envelope["body"]["action_result"]["output"], json!({ "seconds": 2 }));
    let names: Vec<&str> = told.iter().map(|one| one.event.as_str()).collect();
    assert!(names.iter().filter(|name| **name == "chunk").count() == 10, "{names:?}");

    // Every id is a place to go on from: what was told after it comes, and nothing before it is lost.
    for (index, one) in told.iter().enumerate() {
        let mut rest: Vec<Told> = Vec::new();
        let again = http.follow(&path, Some(&one.id), |one| {
            rest.push(one);
            true
        });
        again.await.unwrap();
        let ours =
            |told: &[Told]| told.iter().map(|one| (one.kind().map(str::to_owned), one.chunk())).collect::<Vec<_>>();
        let (seen, wanted) = (ours(&rest), ours(&told[index + 1..]));
        assert!(wanted.iter().all(|one| seen.contains(one)), "after {index}: {seen:?} lacks some of {wanted:?}");
    }
    // Only chunks, and the result.
    let mut only: Vec<Told> = Vec::new();
    http.follow(&format!("/aip/v1/actions/{id}/chunks?follow=true"), None, |one| {
        only.push(one);
        true
    })
    .await
    .unwrap();
    assert!(only.iter().all(|one| one.kind().is_none()) && only.len() == 11, "{only:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_follower_that_comes_back_has_each_chunk_once_whoever_dies() {
    const CHUNKS: u32 = 4_000;
    let mut fleet = Fleet::start(Plan { schedulers: 2, ..Plan::default() }).await;
    let http = fleet.http().within(WITHIN);
    let (slow, id) = streaming(8, CHUNKS);
    let path = format!("/aip/v1/actions/{id}/chunks?follow=true");
    let follower = async {
        begun(&http, &id).await;
        let (mut chunks, mut last, mut results, mut breaks) = (Vec::new(), None::<String>, 0, 0);
        while results == 0 {
            // Breaks by itself now and then, too.
            let (mut left, from) = (700, last.clone());
            let followed = http.follow(&path, from.as_deref(), |one| {
                last = Some(one.id.clone());
                chunks.extend(one.chunk().filter(|chunk| chunks.last().is_none_or(|before| before < chunk)));
                results += usize::from(one.event == "result");
                left -= 1;
                left > 0
            });
            if followed.await.is_err() {
                sleep(Duration::from_millis(50)).await;
            }
            breaks += 1;
        }
        (chunks, breaks)
    };
    let killer = async {
        begun(&http, &id).await;
        for victim in ["scheduler", "edge-http", "scheduler-2", "edge-http"] {
            sleep(Duration::from_millis(900)).await;
            fleet.process(victim).kill9().await;
            fleet.process(victim).start().await;
        }
    };
    let (called, (chunks, breaks), ()) = futures::join!(http.run(&slow, WITHIN), follower, killer);
    called.completed();
    assert_eq!(chunks, (0..u64::from(CHUNKS)).collect::<Vec<_>>());
    assert!(breaks > 3, "{breaks}");

    // Read afterwards, over many pages: what ends it comes last.
    let mut order: Vec<String> = Vec::new();
    let path = format!("/aip/v1/actions/{id}/events?include_chunks=true");
    let read = http.follow(&path, None, |one| {
        order.push(one.kind().unwrap_or(&one.event).to_owned());
        true
    });
    read.await.unwrap();
    let end = order.iter().position(|one| one == "aip.action.completed").unwrap();
    assert_eq!(order[end + 1..], ["result"]);
    assert_eq!(order.iter().filter(|one| *one == "chunk").count(), CHUNKS as usize);
}

#[tokio::test(flavor = "multi_thread")]
async fn who_may_not_read_an_action_may_not_follow_it() {
    let fleet = Fleet::start(Plan::default()).await;
    let echo = action("cap:demo:echo", None, json!({ "text": "x" }));
    let id = echo["id"].as_str().unwrap().to_owned();
    fleet.http().run(&echo, WITHIN).await.completed();
    let follow = |http: Http, id: &str, last: Option<&'static str>| {
        let path = format!("/aip/v1/actions/{id}/events?follow=true");
        async move { http.follow(&path, last, |_| true).await }
    };
    assert_eq!(follow(fleet.http(), &id, None).await, Ok(()));
    for (http, id, last, status) in [
        (fleet.stranger(), id.as_str(), None, "401"),
        (fleet.http_other(), id.as_str(), None, "404"),
        (fleet.http(), "act_none", None, "404"),
        (fleet.http(), id.as_str(), Some("e1-0-0-0123456789abcdef"), "400"),
        (fleet.http(), id.as_str(), Some("chunk:7"), "400"),
    ] {
        assert_eq!(follow(http, id, last).await, Err(status.to_owned()), "{id} {last:?}");
    }
    let refused = |http: Http, id: &str| http.get(&format!("/aip/v1/actions/{id}/events?follow=true"));
    let (foreign, unknown) = (refused(fleet.http_other(), &id).await, refused(fleet.http_other(), "act_none").await);
    let told = |text: String| serde_json::from_str::<Value>(&text).unwrap()["body"].clone();
    assert_eq!(told(foreign.unwrap().text), told(unknown.unwrap().text));
    let limited =
        fleet.http().follow(&format!("/aip/v1/actions/{id}/events?follow=true&limit=7"), None, |_| true).await;
    assert_eq!(limited, Err("400".to_owned()));
    // A page for who asks for no stream.
    let page = fleet.http().get(&format!("/aip/v1/actions/{id}/chunks")).await.unwrap();
    assert_eq!(page.body()["action_events"]["terminal"], json!(true), "{}", page.text);
}
