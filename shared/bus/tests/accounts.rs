//! Every generated user on a real nats-server: what it may publish and subscribe, and that everything else is refused; what
//! crosses accounts and what does not.
#![expect(clippy::unwrap_used, clippy::indexing_slicing, clippy::disallowed_methods, reason = "tests")]

#[path = "accounts/rights.rs"]
mod rights;
#[path = "accounts/server.rs"]
mod server;

use std::{collections::BTreeMap, time::Duration};

use aip_bus::{
    accounts::{
        Permissions, REQUEST_INFO, RequestInfo, ServiceUser, connector_permissions, service_permissions,
        tenant_account, tenant_permissions,
    },
    nats::NatsPort,
    port::{Append, Expect, Headers, Port, Sequence, Source, Watched},
    subjects::{self, RecordKey},
    topology::{self, Topology},
};
use aip_testkit::eventually;
use async_nats::{Client, HeaderMap, Message, RequestErrorKind, Subscriber, jetstream};
use futures::StreamExt;
use tokio::time::timeout;

use rights::{PUBLISH, SUBSCRIBE, USERS};
use server::{CONNECTORS, Fleet, Raw, TENANTS, connector, peer, tenant};

const ACTION: &str = "aip.v1.example_org.aip.1_0.aip_core_v1_action";
const WITHIN: Duration = Duration::from_secs(10);

async fn next(subscriber: &mut Subscriber) -> Message {
    timeout(WITHIN, subscriber.next()).await.unwrap().unwrap()
}

async fn listen(client: &Client, subject: &str) -> Subscriber {
    let subscriber = client.queue_subscribe(subject.to_owned(), "group".to_owned()).await.unwrap();
    client.flush().await.unwrap();
    subscriber
}

fn answer(client: Client, mut requests: Subscriber, payload: &'static str) {
    tokio::spawn(async move {
        while let Some(request) = requests.next().await {
            client.publish(request.reply.unwrap(), payload.into()).await.unwrap();
        }
    });
}

#[tokio::test]
async fn each_user_has_the_rights_of_the_table_and_no_others() {
    let fleet = Fleet::start().await;
    let mut wrong = Vec::new();
    for user in USERS {
        let mut raw = Raw::connect(&fleet, user);
        for (subject, allowed) in PUBLISH {
            if raw.may_publish(subject) != allowed.contains(&user) {
                wrong.push(format!("{user} publish {subject}: expected {}", allowed.contains(&user)));
            }
        }
        for (subject, allowed) in SUBSCRIBE {
            if raw.may_subscribe(subject) != allowed.contains(&user) {
                wrong.push(format!("{user} subscribe {subject}: expected {}", allowed.contains(&user)));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// No right exists without being granted by the server as it is written.
#[tokio::test]
async fn each_right_that_is_written_works() {
    let fleet = Fleet::start().await;
    let mut users: BTreeMap<&str, Permissions> =
        ServiceUser::ALL.iter().map(|user| (user.as_str(), service_permissions(*user, &peer()))).collect();
    users.extend(TENANTS.map(|(name, users)| (users[1], tenant_permissions(&tenant(name), &peer()))));
    users.extend(CONNECTORS.map(|name| (name, connector_permissions(&connector(name)))));
    for (user, permissions) in users {
        let mut raw = Raw::connect(&fleet, user);
        for pattern in &permissions.publish {
            let subject = pattern.replace('*', "x").replace('>', "x.y");
            assert!(raw.may_publish(&subject), "{user} publish {subject}");
        }
        for pattern in &permissions.publish_not {
            assert!(!raw.may_publish(&pattern.replace('*', "x")), "{user} publish {pattern}");
        }
        for pattern in &permissions.subscribe {
            assert!(raw.may_subscribe(pattern), "{user} subscribe {pattern}");
        }
    }
}

#[tokio::test]
async fn nobody_is_admitted_without_a_known_key() {
    let fleet = Fleet::start().await;
    let mut raw = Raw::open(&fleet);
    raw.line();
    assert_eq!(raw.say("CONNECT {\"verbose\":true}\r\n"), "-ERR 'Authorization Violation'");
    assert!(!fleet.admits(nkeys::KeyPair::new_user()).await);
}

#[tokio::test]
async fn a_request_carries_its_tenant_and_the_users_key_whatever_the_client_claims() {
    let fleet = Fleet::start().await;
    let admission = fleet.client("admission").await;
    let mut requests = listen(&admission, "aipn.*.aip_core_v1_action").await;
    let alice = fleet.client("alice").await;
    for forged in [REQUEST_INFO, "nats-request-info"] {
        let mut headers = HeaderMap::new();
        let bob = format!("{{\"acc\":\"TENANT_globex\",\"user\":\"{}\"}}", fleet.key("bob"));
        headers.append(forged, bob.as_str());
        headers.append(forged, bob.as_str());
        alice.publish_with_headers(ACTION, headers, "{}".into()).await.unwrap();
        let request = next(&mut requests).await;
        assert_eq!(request.subject.as_str(), "aipn.acme.aip_core_v1_action");
        let written: Vec<_> = request.headers.as_ref().unwrap().get_all(REQUEST_INFO).collect();
        assert_eq!(written.len(), 1, "{written:?}");
        let said = RequestInfo::parse(written[0].as_str()).unwrap();
        assert_eq!(said, RequestInfo { account: tenant_account(&tenant("acme")), user: fleet.key("alice") });
    }
}

/// A tenant may name any subject as its reply: the answer stays in its account, and as a request it is not the tenant's.
#[tokio::test]
async fn an_answer_sent_back_as_a_request_is_not_taken_for_the_tenants() {
    let fleet = Fleet::start().await;
    let admission = fleet.client("admission").await;
    let mut requests = listen(&admission, "aipn.*.aip_core_v1_action").await;
    let alice = fleet.client("alice").await;
    alice.publish_with_reply(ACTION, ACTION, "first".into()).await.unwrap();
    let first = next(&mut requests).await;
    admission.publish(first.reply.unwrap(), "answer".into()).await.unwrap();
    admission.flush().await.unwrap();
    alice.publish(ACTION, "second".into()).await.unwrap();
    let mut seen = next(&mut requests).await;
    if seen.payload == "answer" {
        let said = seen
            .headers
            .as_ref()
            .and_then(|headers| headers.get(REQUEST_INFO))
            .and_then(|info| RequestInfo::parse(info.as_str()));
        assert!(said.is_none_or(|info| info.account != tenant_account(&tenant("acme"))), "{:?}", seen.headers);
        seen = next(&mut requests).await;
    }
    assert_eq!(seen.payload, "second");
}

#[tokio::test]
async fn a_request_that_nobody_hears_fails_at_once_across_accounts() {
    let fleet = Fleet::start().await;
    for (user, subject) in [("alice", ACTION), ("scheduler", "aipw.demo.cap"), ("demo", "aipr.demo.begin")] {
        let asked =
            timeout(Duration::from_secs(5), fleet.client(user).await.request(subject, "".into())).await.unwrap();
        assert_eq!(asked.unwrap_err().kind(), RequestErrorKind::NoResponders, "{user}");
    }
}

#[tokio::test]
async fn a_connector_answers_each_offer_once() {
    let fleet = Fleet::start().await;
    let demo = fleet.client("demo").await;
    let mut offers = listen(&demo, "aipw.demo.*").await;
    let scheduler = fleet.client("scheduler").await;
    let asked = tokio::spawn(async move { scheduler.request("aipw.demo.cap", "offer".into()).await });
    let reply = next(&mut offers).await.reply.unwrap();
    // the first word counts, the second is a violation
    demo.publish(reply.clone(), "accepted".into()).await.unwrap();
    demo.publish(reply, "again".into()).await.unwrap();
    demo.flush().await.unwrap();
    assert_eq!(asked.await.unwrap().unwrap().payload, "accepted");
    fleet.wait_for_log("Publish Violation").await;
}

#[tokio::test]
async fn work_reaches_one_process_of_the_connector_and_control_all() {
    let fleet = Fleet::start().await;
    let (one, two, ledger) = (fleet.client("demo").await, fleet.client("demo").await, fleet.client("ledger").await);
    let mut controls = [one.subscribe("aipx.demo.*").await.unwrap(), two.subscribe("aipx.demo.*").await.unwrap()];
    let mut other = ledger.subscribe("aipw.ledger.*").await.unwrap();
    ledger.flush().await.unwrap();
    answer(one.clone(), listen(&one, "aipw.demo.*").await, "one");
    answer(two.clone(), listen(&two, "aipw.demo.*").await, "two");
    let scheduler = fleet.client("scheduler").await;
    let mut answers: BTreeMap<bytes::Bytes, u32> = BTreeMap::new();
    for _ in 0..64 {
        let answer = timeout(WITHIN, scheduler.request("aipw.demo.cap", "".into())).await.unwrap().unwrap();
        *answers.entry(answer.payload).or_default() += 1;
    }
    assert_eq!((answers.len(), answers.values().sum::<u32>()), (2, 64));
    scheduler.publish("aipx.demo.act_1", "stop".into()).await.unwrap();
    for control in &mut controls {
        assert_eq!(next(control).await.subject.as_str(), "aipx.demo.act_1");
    }
    scheduler.publish("aipw.ledger.cap", "for ledger".into()).await.unwrap();
    assert_eq!(next(&mut other).await.payload, "for ledger");
}

#[tokio::test]
async fn a_report_carries_the_connectors_name_in_its_subject() {
    let fleet = Fleet::start().await;
    let scheduler = fleet.client("scheduler").await;
    let mut reports = listen(&scheduler, "aipr.*.begin").await;
    let demo = fleet.client("demo").await;
    let asked = tokio::spawn(async move { demo.request("aipr.demo.begin", "may I".into()).await });
    let report = next(&mut reports).await;
    assert_eq!(report.subject.as_str(), "aipr.demo.begin");
    scheduler.publish(report.reply.unwrap(), "go".into()).await.unwrap();
    assert_eq!(asked.await.unwrap().unwrap().payload, "go");
}

#[tokio::test]
async fn a_correlation_stream_is_seen_by_its_tenant_only() {
    let fleet = Fleet::start().await;
    let follow = peer().streams();
    let (alice, bob) = (fleet.client("alice").await, fleet.client("bob").await);
    let (mut of_alice, mut of_bob) = (listen(&alice, &follow).await, listen(&bob, &follow).await);
    let scheduler = fleet.client("scheduler").await;
    scheduler.publish("aips.acme.corr_1", "for acme".into()).await.unwrap();
    scheduler.publish("aips.globex.corr_1", "for globex".into()).await.unwrap();
    for (subscriber, payload) in [(&mut of_alice, "for acme"), (&mut of_bob, "for globex")] {
        let event = next(subscriber).await;
        assert_eq!(
            (event.subject.as_str(), event.payload.as_ref()),
            ("aip.v1.example_org.aip.1_0.stream.corr_1", payload.as_bytes())
        );
    }
}

#[tokio::test]
async fn the_bench_account_has_streams_of_its_own() {
    let fleet = Fleet::start().await;
    let bench = jetstream::new(fleet.client("bench").await);
    let config = jetstream::stream::Config {
        name: "AIP_JOURNAL".to_owned(),
        subjects: vec!["aipj.>".to_owned()],
        ..Default::default()
    };
    bench.create_stream(config).await.unwrap();
    bench.publish("aipj.02.action.acme.act_1.queued", "bench".into()).await.unwrap().await.unwrap();
    let observer = fleet.client("observer").await;
    let names = observer.request("$JS.API.STREAM.NAMES", "".into()).await.unwrap();
    let names: serde_json::Value = serde_json::from_slice(&names.payload).unwrap();
    assert_eq!(names["total"], 0, "{names}");
    let counters = observer.request("$SYS.REQ.ACCOUNT.PING.STATZ", "".into()).await.unwrap();
    assert!(
        serde_json::from_slice::<serde_json::Value>(&counters.payload).unwrap()["data"]["account_statz"].is_array()
    );
}

async fn write(port: &NatsPort, subject: &str) -> Sequence {
    port.append(Append::new(subject, "{}").expecting(Expect::LastOnSubject(Sequence::NONE))).await.unwrap()
}

async fn read(port: &NatsPort, stream: &str, filter: &str) {
    for source in [Source::Nearest, Source::Leader] {
        assert!(port.last(stream, filter, source).await.unwrap().is_some(), "{stream} {filter}");
        assert!(port.get(stream, Sequence(1), source).await.unwrap().is_some(), "{stream} 1");
    }
    assert!(!port.page(stream, filter, Sequence::NONE, 10).await.unwrap().is_empty());
}

/// The whole life of an action in the words of the port, each service with its own user.
#[tokio::test]
async fn every_operation_of_a_service_is_allowed_to_its_user() {
    let fleet = Fleet::start().await;
    Topology::default().bootstrap(&fleet.connect("bootstrap")).await.unwrap();
    Topology::default().bootstrap(&fleet.connect("bootstrap")).await.unwrap();
    let (admission, scheduler, edge) =
        (fleet.port("admission").await, fleet.port("scheduler").await, fleet.port("edge-http").await);
    let of_admission = [
        subjects::AIP_JOURNAL,
        subjects::AIP_BLOBS,
        subjects::AIP_AUDIT,
        subjects::KV_AIP_IDEMPOTENCY,
        subjects::KV_AIP_REPLAY,
        subjects::KV_AIP_REGISTRY,
        subjects::KV_AIP_LIVENESS,
    ];
    topology::verify(&admission, &of_admission).await.unwrap();
    let of_scheduler = subjects::STREAMS.map(|stream| stream.name);
    let of_scheduler: Vec<&str> =
        of_scheduler.into_iter().filter(|name| *name != subjects::KV_AIP_IDEMPOTENCY).collect();
    topology::verify(&scheduler, &of_scheduler).await.unwrap();
    let (tenant, key) = (tenant("acme"), RecordKey::action(tenant("acme"), "act_1"));

    let mut live = edge.subscribe(&key.live(), None).await.unwrap();
    let mut registry = admission.watch(subjects::KV_AIP_REGISTRY, &subjects::registry_all()).await.unwrap();
    assert_eq!(timeout(WITHIN, registry.next()).await.unwrap(), Some(Watched::Caught));
    let mut living = scheduler.watch(subjects::KV_AIP_LIVENESS, &subjects::liveness_all()).await.unwrap();
    assert_eq!(timeout(WITHIN, living.next()).await.unwrap(), Some(Watched::Caught));
    for (stream, subject) in [
        (subjects::KV_AIP_IDEMPOTENCY, subjects::idempotency(&tenant, "e3b0")),
        (subjects::KV_AIP_REPLAY, subjects::replay("issuer", "msg_1")),
        (subjects::KV_AIP_REGISTRY, subjects::registry(&connector("demo"))),
        (subjects::KV_AIP_LIVENESS, subjects::liveness(&connector("demo"), "i1")),
        (subjects::AIP_BLOBS, subjects::blob(&tenant, "e3b0")),
        (subjects::AIP_JOURNAL, key.entry("queued")),
    ] {
        write(&admission, &subject).await;
        read(&admission, stream, &subject).await;
    }
    write(&admission, &subjects::audit(None, "refused")).await;
    assert!(matches!(timeout(WITHIN, registry.next()).await.unwrap(), Some(Watched::Change(_))));
    assert_eq!(
        timeout(WITHIN, live.next()).await.unwrap().unwrap().subject,
        key.entry("queued").replacen("aipj", "aipl", 1)
    );

    let lane = subjects::lane(subjects::LaneKind::Queued);
    let mut queued = scheduler.pull(lane.stream, lane.consumer, 16).await.unwrap();
    let received = timeout(WITHIN, queued.next()).await.unwrap().unwrap();
    received.handle.progress().await.unwrap();
    received.handle.nak(Duration::from_millis(1)).await.unwrap();
    let again = timeout(WITHIN, queued.next()).await.unwrap().unwrap();
    assert_eq!(again.deliveries, 2);
    for (stream, subject) in [
        (subjects::KV_AIP_LEASES, subjects::lease(&key)),
        (subjects::AIP_CHUNKS, subjects::chunk(&tenant, "act_1", aip_bus::work::Fence(7))),
        (subjects::AIP_JOURNAL, key.entry("completed")),
    ] {
        write(&scheduler, &subject).await;
        read(&scheduler, stream, &subject).await;
    }
    write(&scheduler, &key.timer("deadline", "n1")).await;
    write(&scheduler, &subjects::quarantine(lane.stream, lane.consumer)).await;
    again.handle.ack().await.unwrap();
    scheduler.flush().await.unwrap();

    let mut notified = admission.subscribe(&admission.inbox(), None).await.unwrap();
    let inbox = admission.inbox();
    let mut own = admission.subscribe(&inbox, None).await.unwrap();
    // Another connection's subscription takes its time to reach the server.
    let heard = async {
        loop {
            scheduler.publish(&inbox, None, Headers::new(), "settled".into()).await.unwrap();
            if let Ok(message) = timeout(Duration::from_millis(100), own.next()).await {
                return message.unwrap();
            }
        }
    };
    assert_eq!(timeout(WITHIN, heard).await.unwrap().payload, "settled");
    assert!(futures::poll!(notified.next()).is_pending());
    for port in [&admission, &scheduler, &edge] {
        assert_eq!(port.counters().server_errors, 0);
    }
}

/// A write that the server forbids is not stored, and the caller learns that it does not know.
#[tokio::test]
async fn a_forbidden_write_is_not_stored() {
    let fleet = Fleet::start().await;
    Topology::default().bootstrap(&fleet.connect("bootstrap")).await.unwrap();
    let key = RecordKey::action(tenant("acme"), "act_1");
    let mut connect = fleet.connect("edge-http");
    connect.timeout = Duration::from_millis(300);
    let edge = NatsPort::connect(connect).await.unwrap();
    assert!(edge.append(Append::new(key.entry("queued"), "{}")).await.is_err());
    let admission = fleet.port("admission").await;
    assert_eq!(admission.last(subjects::AIP_JOURNAL, &key.filter(), Source::Leader).await.unwrap(), None);
    eventually(WITHIN, || async { edge.counters().server_errors == 1 }).await;
}

#[tokio::test]
async fn three_servers_form_a_cluster_that_keeps_three_copies() {
    let fleet = Fleet::start_cluster().await;
    let topology = Topology { replicas: 3, ..Topology::default() };
    // until the cluster has a leader there is nobody to create a stream
    eventually(Duration::from_secs(60), || async { topology.bootstrap(&fleet.connect("bootstrap")).await.is_ok() })
        .await;
    topology.verify(&fleet.port("bootstrap").await).await.unwrap();
}
