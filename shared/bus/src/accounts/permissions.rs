//! What each user may publish and subscribe.
//!
//! | call of the adapter (`nats`) | publish |
//! |---|---|
//! | `append` | the subject itself; the target of a schedule is published by the server |
//! | `last`, `get` from the nearest; `page` | `$JS.API.DIRECT.GET.<stream>` |
//! | `last`, `get` from the leader | `$JS.API.STREAM.MSG.GET.<stream>` |
//! | `pull` | `$JS.API.CONSUMER.INFO.<stream>.<consumer>`, `$JS.API.CONSUMER.MSG.NEXT.<stream>.<consumer>` |
//! | `ack`, `nak`, `progress`, `term` | `$JS.ACK.<stream>.<consumer>.>`, and `$JS.ACK.*.*.<stream>.<consumer>.>` in a domain or since 2.14 |
//! | `watch` | `$JS.API.CONSUMER.CREATE.<stream>.*.<filter>`, `$JS.API.CONSUMER.MSG.NEXT.<stream>.*`, `$JS.API.CONSUMER.DELETE.<stream>.*` |
//! | `topology::verify` | `$JS.API.STREAM.INFO.<stream>`, `$JS.API.CONSUMER.INFO.<stream>.<consumer>` |
//! | `topology::bootstrap` | the same, `$JS.API.STREAM.{CREATE,UPDATE}.<stream>`, `$JS.API.CONSUMER.CREATE.<stream>.<consumer>` |
//!
//! All of them subscribe the user's own inbox prefix. Nobody may delete or purge a stream, delete a message or a lane.
//!
//! What the server cannot restrict: the subject *inside* a read (who reads a stream by direct or leader get reads all of it),
//! the delivery subject inside a consumer's creation (who may watch a bucket could have its values pushed to any subject of the
//! account: given for what a connector says of itself only, never for records or leases), and the headers of a publish.

use std::time::Duration;

use crate::subjects::{
    AIP_AUDIT, AIP_BLOBS, AIP_CHUNKS, AIP_JOURNAL, AIP_QUARANTINE, AIP_TRIGGERS, ConnectorName, KV_AIP_IDEMPOTENCY,
    KV_AIP_LEASES, KV_AIP_LIVENESS, KV_AIP_REGISTRY, KV_AIP_REPLAY, Owner, Peer, Report, STREAMS, Tenant, control_all,
    lanes, liveness_all, owner_subjects, registry_all, report_all, work_all,
};

use super::{ANSWER_WITHIN, ServiceUser, inbox_prefix};

/// Replies to requests that came from another account.
const FOREIGN_REPLIES: &str = "_R_.>";

/// What a user may do; everything else is refused.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Permissions {
    /// May publish these subjects.
    pub publish: Vec<String>,
    /// May not publish these, though [`Self::publish`] has them.
    pub publish_not: Vec<String>,
    /// May subscribe these subjects and what lies under them.
    pub subscribe: Vec<String>,
    /// May answer each request that reaches it once, within this time.
    pub answer_within: Option<Duration>,
}

impl Permissions {
    fn publish<S: Into<String>>(mut self, subjects: impl IntoIterator<Item = S>) -> Self {
        self.publish.extend(subjects.into_iter().map(Into::into));
        self
    }

    fn subscribe<S: Into<String>>(mut self, subjects: impl IntoIterator<Item = S>) -> Self {
        self.subscribe.extend(subjects.into_iter().map(Into::into));
        self
    }

    fn own_inbox(self, user: &str) -> Self {
        self.subscribe([format!("{}.>", inbox_prefix(user))])
    }

    /// Answers to requests that came from users of account `AIP` and, with them, from other accounts.
    fn answers(self, users: &[ServiceUser]) -> Self {
        self.publish([FOREIGN_REPLIES]).publish(users.iter().map(|user| format!("{}.>", user.inbox_prefix())))
    }

    fn reads(self, streams: &[&str]) -> Self {
        self.publish(
            streams.iter().flat_map(|stream| {
                [format!("$JS.API.DIRECT.GET.{stream}"), format!("$JS.API.STREAM.MSG.GET.{stream}")]
            }),
        )
    }

    /// A service checks at its start that the streams it works with, and their lanes, are there.
    fn verifies(self, streams: &[&str]) -> Self {
        let lanes = lanes().into_iter().filter(|lane| streams.contains(&lane.stream));
        self.publish(streams.iter().map(|stream| format!("$JS.API.STREAM.INFO.{stream}")))
            .publish(lanes.map(|lane| format!("$JS.API.CONSUMER.INFO.{}.{}", lane.stream, lane.consumer)))
    }

    fn watches(self, stream: &str, filter: &str) -> Self {
        self.publish([
            format!("$JS.API.CONSUMER.CREATE.{stream}.*.{filter}"),
            format!("$JS.API.CONSUMER.MSG.NEXT.{stream}.*"),
            format!("$JS.API.CONSUMER.DELETE.{stream}.*"),
        ])
    }

    fn lanes(self) -> Self {
        self.publish(lanes().into_iter().flat_map(|lane| {
            let (stream, consumer) = (lane.stream, lane.consumer);
            [
                format!("$JS.API.CONSUMER.MSG.NEXT.{stream}.{consumer}"),
                format!("$JS.ACK.{stream}.{consumer}.>"),
                format!("$JS.ACK.*.*.{stream}.{consumer}.>"),
            ]
        }))
    }
}

/// What a user of account `AIP` may do.
#[must_use]
pub fn service_permissions(user: ServiceUser, peer: &Peer) -> Permissions {
    let permissions = Permissions::default().own_inbox(user.as_str());
    match user {
        ServiceUser::Bootstrap => bootstrap(permissions),
        ServiceUser::Admission => admission(permissions, peer),
        ServiceUser::Scheduler => scheduler(permissions, peer),
        ServiceUser::EdgeHttp => permissions.publish([peer.subjects()]).subscribe(["aipl.>", "aipc.>"]),
        ServiceUser::Observer => observer(permissions),
    }
}

fn bootstrap(permissions: Permissions) -> Permissions {
    let streams = STREAMS.map(|stream| stream.name);
    let create = |stream: &str| [format!("$JS.API.STREAM.CREATE.{stream}"), format!("$JS.API.STREAM.UPDATE.{stream}")];
    let lanes = lanes().into_iter();
    permissions
        .verifies(&streams)
        .publish(streams.iter().flat_map(|stream| create(stream)))
        .publish(lanes.map(|lane| format!("$JS.API.CONSUMER.CREATE.{}.{}", lane.stream, lane.consumer)))
}

fn admission(permissions: Permissions, peer: &Peer) -> Permissions {
    let streams = [AIP_JOURNAL, AIP_BLOBS, KV_AIP_IDEMPOTENCY, KV_AIP_REPLAY, KV_AIP_REGISTRY, KV_AIP_LIVENESS];
    permissions
        .publish(["aipj.*.action.*.*.queued", "aipd.*.action.*.*.cancel.*", "aipb.*.*", "aipa.*.*"])
        .publish(["$KV.AIP_IDEMPOTENCY.>", "$KV.AIP_REPLAY.>", "$KV.AIP_REGISTRY.>", "$KV.AIP_LIVENESS.>"])
        .verifies(&streams)
        .verifies(&[AIP_AUDIT, AIP_TRIGGERS])
        .reads(&streams)
        .watches(KV_AIP_REGISTRY, &registry_all())
        .watches(KV_AIP_LIVENESS, &liveness_all())
        .answers(&[ServiceUser::EdgeHttp])
        .subscribe(owner_subjects(peer, &Owner::Admission.messages()))
        .subscribe([Report::Register, Report::Alive].map(report_all))
        .subscribe(["aipl.>"])
}

fn scheduler(permissions: Permissions, peer: &Peer) -> Permissions {
    let streams = [AIP_JOURNAL, AIP_CHUNKS, AIP_BLOBS, KV_AIP_LEASES, KV_AIP_REPLAY];
    let mut permissions = permissions
        .publish(["aipj.*.action.*.*.*", "aipk.*.*.*.*", "aipt.*.action.*.*.*.*", "aipb.*.*", "aipa.*.*", "aipq.*.*"])
        .publish(["$KV.AIP_LEASES.>", "$KV.AIP_REPLAY.>"])
        .publish(["aips.*.*", "aipw.*.*", "aipx.*.*"])
        .verifies(&streams)
        .verifies(&[AIP_TRIGGERS, AIP_AUDIT, AIP_QUARANTINE, KV_AIP_REGISTRY, KV_AIP_LIVENESS])
        .reads(&streams)
        .lanes()
        .watches(KV_AIP_REGISTRY, &registry_all())
        .watches(KV_AIP_LIVENESS, &liveness_all())
        .answers(&[ServiceUser::EdgeHttp, ServiceUser::Admission])
        .subscribe(owner_subjects(peer, &Owner::Scheduler.messages()))
        .subscribe([Report::Begin, Report::Chunk, Report::Result, Report::Heartbeat].map(report_all))
        .subscribe(["aipl.>"]);
    permissions.publish_not.push("aipj.*.action.*.*.queued".to_owned());
    permissions
}

fn observer(permissions: Permissions) -> Permissions {
    permissions.publish([
        "$JS.API.INFO",
        "$JS.API.STREAM.NAMES",
        "$JS.API.STREAM.LIST",
        "$JS.API.STREAM.INFO.*",
        "$JS.API.CONSUMER.NAMES.*",
        "$JS.API.CONSUMER.LIST.*",
        "$JS.API.CONSUMER.INFO.*.*",
        "$SYS.REQ.ACCOUNT.PING.STATZ",
    ])
}

/// What a tenant's user may do, in the tenant's account.
#[must_use]
pub fn tenant_permissions(_tenant: &Tenant, peer: &Peer) -> Permissions {
    Permissions::default().publish([peer.subjects()]).subscribe(["_INBOX.>".to_owned(), peer.streams()])
}

/// What a connector's user may do, in the connector's account.
#[must_use]
pub fn connector_permissions(connector: &ConnectorName) -> Permissions {
    let mut permissions = Permissions::default()
        .own_inbox(connector.as_str())
        .publish([format!("aipr.{connector}.*")])
        .subscribe([work_all(connector), control_all(connector)]);
    permissions.answer_within = Some(ANSWER_WITHIN);
    permissions
}
