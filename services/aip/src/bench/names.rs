//! Names and sizes of the bare loop, in the account `BENCH`. As long, and as many tokens, as those of the fleet.

use std::sync::atomic::{AtomicU64, Ordering};

use aip_bus::{
    Append, Expect, Port, Sequence,
    topology::{Republish, StreamSpec},
};
use bytes::Bytes;

use super::fleet::Kind;

/// Length of an id: `act_` and 44 more.
pub(super) const ID_LEN: usize = 48;

pub(super) const CORE: &str = "bench.core";
pub(super) const APPEND: &str = "bench.append";
pub(super) const CALL: &str = "bench.call";
pub(super) const WORK: &str = "bench.work";
pub(super) const BEGIN: &str = "bench.begin";
pub(super) const RESULT: &str = "bench.result";
pub(super) const QUEUE: &str = "bench";
pub(super) const JOURNAL: &str = "BENCH_JOURNAL";
pub(super) const KEYS: &str = "BENCH_KEYS";
pub(super) const LEASES: &str = "BENCH_LEASES";
pub(super) const LANE: &str = "bench-queued";

/// Bytes of the fleet's messages for the bench's actions, as seen on the wire.
pub(super) mod bytes_of {
    pub(in super::super) const REQUEST: usize = 440;
    pub(in super::super) const KEY: usize = 170;
    pub(in super::super) const QUEUED: usize = 2_740;
    pub(in super::super) const STARTED: usize = 1_606;
    pub(in super::super) const TERMINAL: usize = 2_372;
    pub(in super::super) const LEASE: usize = 48;
    pub(in super::super) const OFFER: usize = 460;
    pub(in super::super) const ACCEPTED: usize = 64;
    pub(in super::super) const BEGIN: usize = 160;
    pub(in super::super) const RESULT: usize = 290;
    pub(in super::super) const VERDICT: usize = 4;
    pub(in super::super) const REPLY: usize = 850;
}

static RUN: AtomicU64 = AtomicU64::new(0);

/// A fresh id: `act_`, whether it is read or written, this run, and a number.
pub(super) fn id(kind: Kind, number: u64) -> String {
    let mut run = RUN.load(Ordering::Relaxed);
    if run == 0 {
        let [a, b, c, d, e, f, ..] = aip_bus::random();
        run = u64::from_be_bytes([0, 1, a, b, c, d, e, f]);
        run = RUN.compare_exchange(0, run, Ordering::Relaxed, Ordering::Relaxed).map_or_else(|other| other, |_| run);
    }
    let letter = match kind {
        Kind::Read => 'r',
        Kind::Mutation => 'w',
    };
    format!("act_{letter}{run:016x}_{number:026x}")
}

/// What a message's id says about it.
pub(super) fn kind_of(id: &str) -> Kind {
    if id.starts_with("act_r") { Kind::Read } else { Kind::Mutation }
}

/// A message about an id, as long as ours.
pub(super) fn message(id: &str, bytes: usize) -> Bytes {
    let mut text = Vec::with_capacity(bytes.max(id.len()));
    text.extend_from_slice(id.as_bytes());
    text.resize(bytes.max(id.len()), b'x');
    text.into()
}

/// The id at the start of a message.
pub(super) fn id_in(payload: &[u8]) -> Option<&str> {
    payload.get(..ID_LEN).and_then(|id| std::str::from_utf8(id).ok())
}

/// The id in an entry's subject.
pub(super) fn id_of(subject: &str) -> Option<&str> {
    subject.split('.').nth(4)
}

/// `benchj.00.action.demo.<id>.<event>`
pub(super) fn entry(id: &str, event: &str, bytes: usize, expected: Sequence) -> Append {
    let subject = format!("benchj.00.action.demo.{id}");
    Append::new(format!("{subject}.{event}"), message(id, bytes))
        .expecting(Expect::LastUnder { filter: format!("{subject}.*"), sequence: expected })
}

/// The streams, as the fleet has its own (`design.md` §2): a ceiling is about the client and not about the server's work.
pub(super) fn streams(replicas: u8) -> [StreamSpec; 3] {
    let mut journal = StreamSpec::new(JOURNAL, &["benchj.>"]);
    journal.deny_delete = true;
    journal.republish =
        Some(Republish { source: "benchj.>".to_owned(), destination: "benchlive.>".to_owned(), headers_only: false });
    let bucket = |name: &str, subject: &str| {
        let mut bucket = StreamSpec::new(name, &[subject]);
        bucket.per_subject = Some(1);
        bucket.allow_ttl = true;
        bucket.allow_rollup = true;
        bucket
    };
    let mut all = [journal, bucket(KEYS, "benchk.*.*"), bucket(LEASES, "benchl.*.*.*")];
    all.iter_mut().for_each(|stream| stream.replicas = replicas);
    all
}

/// Stores, and again where a replicated stream has another write in flight.
pub(super) async fn store(port: &dyn Port, append: Append) -> Result<Sequence, aip_bus::BusError> {
    let mut backoff = aip_bus::Backoff::new(20);
    loop {
        match port.append(append.clone()).await {
            Err(aip_bus::BusError::Busy) if backoff.wait().await => {}
            stored => return stored,
        }
    }
}
