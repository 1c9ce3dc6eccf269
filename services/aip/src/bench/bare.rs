//! The ceilings: the writes and hops of `design.md` §4–5 by a bare client, and nothing else.
//!
//! A keyed mutation in the bare loop: the caller's request → the key (expected 0, with TTL) → `queued` (a fresh subject,
//! expected 0 under its record's filter) → pulled by a durable consumer → the lease (expected 0, with TTL) → the offer, a
//! request to the responder's process → `begin`, a request back → `started` → the result, another → `completed` → notify →
//! the answer to the caller, and the lane's ack. No checks, no JSON, no receipts, one account.

use std::{
    collections::HashMap,
    process::Stdio,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use aip_bus::{
    Append, Expect, Headers, Inbound, Messages, Port as _, Received, Sequence,
    nats::NatsPort,
    topology::{LaneSpec, create_lane, create_stream, delete_stream},
};
use aip_service::Tasks;
use anyhow::{Context as _, anyhow};
use bytes::Bytes;
use futures::StreamExt as _;
use tokio::{
    process::{Child, Command},
    sync::oneshot,
    time::sleep,
};

use super::{
    fleet::Kind,
    names::{self, bytes_of},
    target::Target,
};

const WITHIN: Duration = Duration::from_secs(30);
const LEASE: Duration = Duration::from_secs(10);
const KEY: Duration = Duration::from_secs(3_600);
const POLL: Duration = Duration::from_millis(50);
const POLLS_MAX: u32 = 200;
const LANE_IN_FLIGHT: usize = 1_024;

/// A caller, an admission-like and a scheduler-like part, each with a connection of its own, and the responder's process.
pub(super) struct Bare {
    caller: NatsPort,
    tasks: Tasks,
    _responder: Child,
}

struct Admission {
    port: NatsPort,
    inbox: String,
    waiting: Mutex<HashMap<String, oneshot::Sender<Bytes>>>,
}

struct Scheduler {
    port: NatsPort,
    notify: String,
    held: Mutex<HashMap<String, Holding>>,
}

struct Holding {
    received: Received,
    sequence: Sequence,
}

impl Bare {
    pub(super) async fn open(target: &Target, replicas: u8) -> anyhow::Result<Self> {
        let (caller, admission, scheduler) = tokio::try_join!(target.as_bench(), target.as_bench(), target.as_bench())?;
        make_streams(&caller, replicas).await?;
        let inbox = admission.inbox();
        let notify = inbox.clone();
        let admission = Arc::new(Admission { port: admission, inbox, waiting: Mutex::default() });
        let scheduler = Arc::new(Scheduler { port: scheduler, notify, held: Mutex::default() });
        let tasks = Tasks::default();
        Admission::start(&admission, &tasks).await?;
        Scheduler::start(&scheduler, &tasks).await?;
        let responder = start_responder(target)?;
        let bare = Self { caller, tasks, _responder: responder };
        bare.responder_answers().await?;
        Ok(bare)
    }

    /// Core request/reply with the responder's process.
    pub(super) async fn ask_core(&self) -> anyhow::Result<()> {
        let payload = Bytes::from_static(&[b'x'; bytes_of::REQUEST]);
        self.caller.request(names::CORE, Headers::new(), payload, WITHIN).await?;
        Ok(())
    }

    /// A request that is answered after one append.
    pub(super) async fn ask_append(&self, number: u64) -> anyhow::Result<()> {
        let id = names::id(Kind::Mutation, number);
        let request = names::message(&id, bytes_of::REQUEST);
        self.caller.request(names::APPEND, Headers::new(), request, WITHIN).await.context("append + reply")?;
        Ok(())
    }

    /// The bare loop of a kind of action.
    pub(super) async fn ask_loop(&self, kind: Kind, number: u64) -> anyhow::Result<()> {
        let id = names::id(kind, number);
        let request = names::message(&id, bytes_of::REQUEST);
        self.caller.request(names::CALL, Headers::new(), request, WITHIN).await.context("the bare loop")?;
        Ok(())
    }

    /// Removes what the bench made on the server.
    pub(super) async fn close(&self) {
        self.tasks.drain(Duration::from_secs(1)).await;
        for stream in names::streams(1) {
            if let Err(fault) = delete_stream(&self.caller, &stream.name).await {
                tracing::warn!(%fault, stream = stream.name, "a stream of the bench stays");
            }
        }
    }

    async fn responder_answers(&self) -> anyhow::Result<()> {
        for _ in 0..POLLS_MAX {
            if self.ask_core().await.is_ok() {
                return Ok(());
            }
            sleep(POLL).await;
        }
        Err(anyhow!("the responder does not answer"))
    }
}

/// Fresh streams: what an earlier bench left would be measured too.
async fn make_streams(port: &NatsPort, replicas: u8) -> anyhow::Result<()> {
    for stream in names::streams(replicas) {
        delete_stream(port, &stream.name).await.context("removing an earlier bench's stream")?;
        create_stream(port, &stream).await.with_context(|| format!("making {}", stream.name))?;
    }
    let lane = LaneSpec {
        stream: names::JOURNAL.to_owned(),
        name: names::LANE.to_owned(),
        filters: vec!["benchj.*.action.*.*.queued".to_owned()],
        ack_wait: Duration::from_secs(30),
        ack_pending_max: 10_000,
    };
    create_lane(port, &lane).await.context("making the lane")
}

fn start_responder(target: &Target) -> anyhow::Result<Child> {
    let program = std::env::current_exe().context("finding this program")?;
    let mut command = Command::new(program);
    command.args(["bench", "--responder", "--nats-url", &target.nats_url, "--seed-file"]).arg(target.bench_seed());
    // Its standard input closes when this process dies, and then it ends too.
    command.stdin(Stdio::piped()).stdout(Stdio::null()).kill_on_drop(true);
    command.spawn().context("starting the responder")
}

impl Admission {
    async fn start(this: &Arc<Self>, tasks: &Tasks) -> anyhow::Result<()> {
        let mut calls = this.port.subscribe(names::CALL, Some(names::QUEUE)).await?;
        let (admission, spawning) = (Arc::clone(this), tasks.clone());
        tasks.spawn_until_drain(async move {
            while let Some(call) = calls.next().await {
                let admission = Arc::clone(&admission);
                spawning.spawn(async move { told(admission.on_call(call).await, "admission") });
            }
        });
        let mut settled = this.port.subscribe(&this.inbox, None).await?;
        let admission = Arc::clone(this);
        tasks.spawn_until_drain(async move {
            while let Some(entry) = settled.next().await {
                let waiter = names::id_in(&entry.payload).and_then(|id| lock(&admission.waiting).remove(id));
                if let Some(waiter) = waiter {
                    drop(waiter.send(entry.payload));
                }
            }
        });
        Ok(())
    }

    async fn on_call(&self, call: Inbound) -> anyhow::Result<()> {
        let id = names::id_in(&call.payload).ok_or_else(|| anyhow!("a call without id"))?;
        if names::kind_of(id) == Kind::Mutation {
            let key = Append::new(format!("benchk.demo.{id}"), names::message(id, bytes_of::KEY))
                .expecting(Expect::LastOnSubject(Sequence::NONE))
                .expiring(KEY);
            names::store(&self.port, key).await?;
        }
        let (sender, settled) = oneshot::channel();
        lock(&self.waiting).insert(id.to_owned(), sender);
        names::store(&self.port, names::entry(id, "queued", bytes_of::QUEUED, Sequence::NONE)).await?;
        settled.await?;
        let Some(inbox) = &call.reply else { return Ok(()) };
        Ok(self.port.publish(inbox, None, Headers::new(), names::message(id, bytes_of::REPLY)).await?)
    }
}

impl Scheduler {
    async fn start(this: &Arc<Self>, tasks: &Tasks) -> anyhow::Result<()> {
        for (subject, event, bytes) in
            [(names::BEGIN, "started", bytes_of::STARTED), (names::RESULT, "completed", bytes_of::TERMINAL)]
        {
            let mut reports = this.port.subscribe(subject, Some(names::QUEUE)).await?;
            let (scheduler, spawning) = (Arc::clone(this), tasks.clone());
            tasks.spawn_until_drain(async move {
                while let Some(report) = reports.next().await {
                    let scheduler = Arc::clone(&scheduler);
                    spawning.spawn(async move { told(scheduler.on_report(&report, event, bytes).await, event) });
                }
            });
        }
        let queued = this.port.pull(names::JOURNAL, names::LANE, LANE_IN_FLIGHT).await?;
        tasks.spawn_until_drain(Self::take(Arc::clone(this), queued, tasks.clone()));
        Ok(())
    }

    async fn take(this: Arc<Self>, mut queued: Messages<Received>, tasks: Tasks) {
        while let Some(received) = queued.next().await {
            let scheduler = Arc::clone(&this);
            tasks.spawn(async move { told(scheduler.on_queued(received).await, "scheduler") });
        }
    }

    async fn on_queued(&self, received: Received) -> anyhow::Result<()> {
        let id = names::id_of(&received.stored.subject).ok_or_else(|| anyhow!("an entry without id"))?.to_owned();
        let sequence = received.stored.sequence;
        lock(&self.held).insert(id.clone(), Holding { received, sequence });
        let kind = names::kind_of(&id);
        if kind == Kind::Mutation {
            let lease = Append::new(format!("benchl.00.demo.{id}"), names::message(&id, bytes_of::LEASE))
                .expecting(Expect::LastOnSubject(Sequence::NONE))
                .expiring(LEASE);
            names::store(&self.port, lease).await?;
        }
        self.port.request(names::WORK, Headers::new(), names::message(&id, bytes_of::OFFER), WITHIN).await?;
        if kind == Kind::Read {
            self.save(&id, "completed", bytes_of::TERMINAL).await?;
            self.settle(&id).await?;
        }
        Ok(())
    }

    async fn on_report(&self, report: &Inbound, event: &str, bytes: usize) -> anyhow::Result<()> {
        let id = names::id_in(&report.payload).ok_or_else(|| anyhow!("a report without id"))?;
        self.save(id, event, bytes).await?;
        if event == "completed" {
            self.settle(id).await?;
        }
        let Some(inbox) = &report.reply else { return Ok(()) };
        Ok(self.port.publish(inbox, None, Headers::new(), Bytes::from_static(&[b'x'; bytes_of::VERDICT])).await?)
    }

    async fn save(&self, id: &str, event: &str, bytes: usize) -> anyhow::Result<()> {
        let expected = lock(&self.held).get(id).map(|holding| holding.sequence).unwrap_or_default();
        let stored = names::store(&self.port, names::entry(id, event, bytes, expected)).await?;
        if let Some(holding) = lock(&self.held).get_mut(id) {
            holding.sequence = stored;
        }
        Ok(())
    }

    async fn settle(&self, id: &str) -> anyhow::Result<()> {
        self.port.publish(&self.notify, None, Headers::new(), names::message(id, bytes_of::TERMINAL)).await?;
        let held = lock(&self.held).remove(id);
        if let Some(Holding { received, .. }) = held {
            received.handle.ack().await?;
        }
        Ok(())
    }
}

fn told(outcome: anyhow::Result<()>, part: &str) {
    if let Err(fault) = outcome {
        tracing::error!(%fault, part, "the bare loop failed");
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
