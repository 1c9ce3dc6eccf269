//! `docs/subjects.md`, printed from the names themselves.

use std::fmt::Write as _;

use aip_types::MessageType;

use super::owner::{Owner, owner};
use super::streams::{STREAMS, lanes};

/// Subject, publishers, listeners, meaning.
const SUBJECTS: [[&str; 4]; 19] = [
    [
        "`aip.v1.<td>.<svc>.<ver>.<type>`",
        "edges; a tenant's users, in their own account",
        "the type's owner (queue group)",
        "a request. Never captured by a stream",
    ],
    [
        "`aip.v1.<td>.<svc>.<ver>.stream.<corr>`",
        "nobody directly",
        "a tenant's users",
        "`aips` as a tenant's account sees it",
    ],
    [
        "`aipn.<tenant>.<type>`",
        "the import of the tenant's account",
        "the type's owner (queue group)",
        "the request of a tenant; `Nats-Request-Info` says who",
    ],
    ["`aips.<tenant>.<corr>`", "scheduler", "that tenant's account", "what happens under a correlation"],
    [
        "`aipj.<vp>.<kind>.<tenant>.<id>.<event>`",
        "the record's owner; admission the first entry",
        "lanes",
        "an entry of a record: the record itself",
    ],
    [
        "`aipl.<vp>.<kind>.<tenant>.<id>.<event>`",
        "the server (republish of `aipj.>`)",
        "admission, scheduler, edges",
        "the same entry, once stored, to whoever listens now",
    ],
    ["`aipk.<vp>.<tenant>.<action>.<fence>`", "scheduler", "scheduler", "chunks of one attempt"],
    [
        "`aipc.<vp>.<tenant>.<action>.<fence>`",
        "the server (republish of `aipk.>`, headers only)",
        "edges",
        "one more chunk is stored, to whoever listens now",
    ],
    ["`aipt.<vp>.<kind>.<tenant>.<id>.<purpose>.<nonce>`", "scheduler", "the server", "a timer"],
    ["`aipd.<vp>.<kind>.<tenant>.<id>.<purpose>.<nonce>`", "the server, when a timer is due", "lanes", "a trigger"],
    ["`aipw.<connector>.<capability>`", "scheduler", "that connector", "an offer of work"],
    ["`aipx.<connector>.<action>`", "scheduler", "every process of that connector", "stop an attempt"],
    ["`aipr.<connector>.{begin,chunk,result,hb}`", "that connector", "scheduler", "what an attempt reports"],
    ["`aipr.<connector>.{register,alive}`", "that connector", "admission", "who a connector is, and that it lives"],
    ["`aipb.<tenant>.<sha256>`", "admission, scheduler", "admission, scheduler", "a value too large for its record"],
    [
        "`aipa.<tenant>.<label>`",
        "admission, scheduler",
        "nobody yet",
        "an audit line; tenant `=` where the caller was not known",
    ],
    ["`aipq.<stream>.<consumer>`", "scheduler", "nobody yet", "a received message that cannot be processed"],
    ["`$KV.<bucket>.<key>`", "see the buckets", "see the buckets", "a value of a bucket"],
    ["`_INBOX_<user>.>`", "who answers that user", "that user", "answers, and the `notify` of a settled action"],
];

/// Bucket, key, writer, reader.
const BUCKETS: [[&str; 4]; 5] = [
    ["`AIP_IDEMPOTENCY`", "`<tenant>.<hash of scope and key>`", "admission", "admission"],
    ["`AIP_REPLAY`", "`<issuer>.<message id>`, both hashed", "admission, scheduler", "admission, scheduler"],
    ["`AIP_LEASES`", "`<vp>.<tenant>.<action>`", "scheduler", "scheduler"],
    ["`AIP_REGISTRY`", "`<connector>`", "admission", "admission, scheduler"],
    ["`AIP_LIVENESS`", "`<connector>.<instance>`", "admission", "admission, scheduler"],
];

/// The text of `docs/subjects.md`.
#[must_use]
pub fn docs() -> String {
    let mut text = String::from(
        "# Subjects, streams, buckets, lanes\n\n\
         Printed from `shared/bus/src/subjects` by `cargo xtask`; do not edit. `<vp>` is the tenant's virtual partition, `00` to `63`\n\
         (first byte of the SHA-256 of the tenant id, modulo 64). Ids stand as they are when they are `[A-Za-z0-9_-]{1,96}` and do not\n\
         start with `h_`; any other id becomes `h_` and its SHA-256 in hex. In a capability `:` is written `=`. Only the tokens of\n\
         `aip.v1.…` and a correlation are folded as AIP 1.0 §20.4 says.\n",
    );
    table(&mut text, "Subjects", ["Subject", "Published by", "Heard by", "What"], SUBJECTS);
    table(&mut text, "Buckets", ["Bucket", "Key", "Written by", "Read by"], BUCKETS);
    let streams = STREAMS.map(|stream| {
        let subjects: Vec<String> = stream.subjects.iter().map(|subject| format!("`{subject}`")).collect();
        [format!("`{}`", stream.name), subjects.join(", "), stream.holds.to_owned()]
    });
    table(&mut text, "Streams", ["Stream", "Captures", "Holds"], streams);
    let lanes = lanes().map(|lane| {
        let cell = |text: &str| format!("`{text}`");
        [cell(lane.consumer), cell(lane.stream), cell(lane.filter), Owner::Scheduler.as_str().to_owned()]
    });
    table(&mut text, "Lanes", ["Consumer", "Stream", "Filter", "Drained by"], lanes);
    let owners = MessageType::ALL.iter().filter_map(|message| {
        let owner = owner(*message)?;
        Some([format!("`{}`", message.as_str()), format!("`{}`", message.subject_token()), owner.as_str().to_owned()])
    });
    table(&mut text, "Requests", ["Message type", "`<type>`", "Owner"], owners);
    text
}

fn table<const N: usize, Cell: AsRef<str>>(
    text: &mut String,
    title: &str,
    head: [&str; N],
    rows: impl IntoIterator<Item = [Cell; N]>,
) {
    text.push_str("\n## ");
    text.push_str(title);
    text.push_str("\n\n");
    line(text, &head);
    line(text, &["---"; N]);
    for row in rows {
        line(text, &row);
    }
}

fn line<Cell: AsRef<str>>(text: &mut String, cells: &[Cell]) {
    text.push('|');
    for cell in cells {
        let written = write!(text, " {} |", cell.as_ref());
        debug_assert!(written.is_ok(), "writing to a string cannot fail");
    }
    text.push('\n');
}
