//! What must exist on the server: streams, buckets and lanes with their settings (`design.md` §2, §4, §6).
//!
//! [`Topology::bootstrap`] makes it so, before any service starts; every service checks it by [`verify`] and never creates
//! anything. `nats-config/` is printed from [`Topology::streams`] and [`Topology::lanes`].

mod held;

use std::time::Duration;

use bytes::Bytes;
use serde_json::{Map, Value, json};

use crate::{
    BusError,
    nats::{Connect, NatsPort},
    port::{Headers, Port},
    subjects::{self, STREAMS, StreamName},
};

pub use held::{Held, delete_stream, held};

/// Time until a lane delivers again what was not answered. Longer than a lease, so a living holder renews in time.
pub const ACK_WAIT_MS: u64 = 12_000;
/// Messages that one lane may have out unanswered: four times the bound of queued work per tenant.
pub const ACK_PENDING_MAX: usize = 40_000;
/// How long the marker of an expired key stands in the liveness bucket.
pub const MARKER_TTL_MS: u64 = 60_000;

const _: () =
    assert!(ACK_WAIT_MS > aip_types::limits::LEASE_MS, "a living holder renews before its lane delivers again");
const _: () =
    assert!(ACK_PENDING_MAX >= 4 * aip_types::limits::QUEUED_PER_TENANT_MAX, "queued work alone never stalls a lane");

const CALL_WITHIN: Duration = Duration::from_secs(5);
const STREAM_NOT_FOUND: u64 = 10_059;
const CONSUMER_NOT_FOUND: u64 = 10_014;
/// Reported by [`verify`] for a stream or consumer that exists with other settings.
pub const DIFFERENT: u64 = 409;

/// Settings of one stream. What is not said here is the server's default.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StreamSpec {
    /// Its name.
    pub name: String,
    /// What it captures.
    pub subjects: Vec<String>,
    /// Messages are removed once acknowledged, and each subject has at most one consumer.
    pub work_queue: bool,
    /// A full stream refuses new messages; otherwise it drops old ones.
    pub discard_new: bool,
    /// Messages kept for each subject.
    pub per_subject: Option<u64>,
    /// Bytes kept.
    pub bytes_max: Option<u64>,
    /// No message can be deleted.
    pub deny_delete: bool,
    /// Nothing can be purged.
    pub deny_purge: bool,
    /// A message may replace all others of its subject.
    pub allow_rollup: bool,
    /// Messages may expire.
    pub allow_ttl: bool,
    /// Messages may be schedules.
    pub allow_schedules: bool,
    /// The server leaves a marker for what has expired, for this time.
    pub marker_ttl: Option<Duration>,
    /// Live copies.
    pub republish: Option<Republish>,
    /// Copies of the stream.
    pub replicas: u8,
}

/// Live copies of a stream's messages, once they are stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Republish {
    /// What is copied.
    pub source: String,
    /// Where to.
    pub destination: String,
    /// Without the payload.
    pub headers_only: bool,
}

impl StreamSpec {
    /// A plain stream: file storage, direct reads, discard new.
    #[must_use]
    pub fn new(name: impl Into<String>, subjects: &[&str]) -> Self {
        Self {
            name: name.into(),
            subjects: subjects.iter().map(|&subject| subject.to_owned()).collect(),
            work_queue: false,
            discard_new: true,
            per_subject: None,
            bytes_max: None,
            deny_delete: false,
            deny_purge: false,
            allow_rollup: false,
            allow_ttl: false,
            allow_schedules: false,
            marker_ttl: None,
            republish: None,
            replicas: 1,
        }
    }

    /// The settings as the server takes them.
    #[must_use]
    pub fn config(&self) -> Value {
        let mut config = json!({
            "name": self.name,
            "subjects": self.subjects,
            "storage": "file",
            "retention": if self.work_queue { "workqueue" } else { "limits" },
            "discard": if self.discard_new { "new" } else { "old" },
            "max_msgs_per_subject": self.per_subject.map_or(json!(-1), |count| json!(count)),
            "max_bytes": self.bytes_max.map_or(json!(-1), |bytes| json!(bytes)),
            "max_msgs": -1,
            "max_age": 0,
            "max_consumers": -1,
            "num_replicas": self.replicas,
            "allow_direct": true,
            "deny_delete": self.deny_delete,
            "deny_purge": self.deny_purge,
            "allow_rollup_hdrs": self.allow_rollup,
            "allow_msg_ttl": self.allow_ttl,
            "allow_msg_schedules": self.allow_schedules,
        });
        let mut set =
            |name: &str, value: Value| config.as_object_mut().map(|fields| fields.insert(name.to_owned(), value));
        if let Some(ttl) = self.marker_ttl {
            set("subject_delete_marker_ttl", json!(nanos(ttl)));
        }
        if let Some(Republish { source, destination, headers_only }) = &self.republish {
            // The server leaves the member out where it is false, and `verify` compares.
            set(
                "republish",
                match headers_only {
                    true => json!({ "src": source, "dest": destination, "headers_only": true }),
                    false => json!({ "src": source, "dest": destination }),
                },
            );
        }
        config
    }
}

/// Settings of one lane: explicit acknowledgement, unlimited deliveries, no `backoff` (it would replace the wait).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LaneSpec {
    /// Its stream.
    pub stream: String,
    /// Its durable name.
    pub name: String,
    /// What it brings.
    pub filters: Vec<String>,
    /// Time until a message that was not answered comes again.
    pub ack_wait: Duration,
    /// Messages out unanswered.
    pub ack_pending_max: usize,
}

impl LaneSpec {
    /// The settings as the server takes them.
    #[must_use]
    pub fn config(&self) -> Value {
        json!({
            "durable_name": self.name,
            "name": self.name,
            "filter_subjects": self.filters,
            "ack_policy": "explicit",
            "deliver_policy": "all",
            "replay_policy": "instant",
            "ack_wait": nanos(self.ack_wait),
            "max_deliver": -1,
            "max_ack_pending": self.ack_pending_max,
        })
    }
}

/// What may differ between deployments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Topology {
    /// Copies of every stream: 1, or 3 in a cluster.
    pub replicas: u8,
    /// Bytes of the journal; the server's account limit otherwise.
    pub journal_bytes: Option<u64>,
}

impl Default for Topology {
    fn default() -> Self {
        Self { replicas: 1, journal_bytes: None }
    }
}

fn republish((source, destination): (&str, &str), headers_only: bool) -> Republish {
    Republish { source: source.to_owned(), destination: destination.to_owned(), headers_only }
}

impl Topology {
    /// Every stream, in the order of creation.
    #[must_use]
    pub fn streams(&self) -> Vec<StreamSpec> {
        STREAMS.iter().map(|stream| self.stream(stream)).collect()
    }

    fn stream(&self, stream: &StreamName) -> StreamSpec {
        let mut spec = StreamSpec { replicas: self.replicas, ..StreamSpec::new(stream.name, stream.subjects) };
        match stream.name {
            subjects::AIP_JOURNAL => {
                spec.republish = Some(republish(subjects::REPUBLISH, false));
                spec.bytes_max = self.journal_bytes;
                spec.deny_delete = true;
            }
            subjects::AIP_CHUNKS => spec.republish = Some(republish(subjects::REPUBLISH_CHUNKS, true)),
            subjects::AIP_TRIGGERS => {
                spec.work_queue = true;
                spec.discard_new = false; // a stream with schedules cannot discard new
                spec.allow_schedules = true;
                spec.allow_ttl = true;
                spec.allow_rollup = true;
            }
            subjects::AIP_AUDIT => {
                spec.deny_delete = true;
                spec.deny_purge = true;
            }
            bucket if bucket.starts_with("KV_") => {
                spec.per_subject = Some(1);
                spec.allow_ttl = true;
                spec.allow_rollup = true;
                spec.marker_ttl = (bucket == subjects::KV_AIP_LIVENESS).then_some(Duration::from_millis(MARKER_TTL_MS));
            }
            _ => {}
        }
        spec
    }

    /// Every lane.
    #[must_use]
    pub fn lanes(&self) -> Vec<LaneSpec> {
        let lanes = subjects::lanes().into_iter();
        lanes
            .map(|lane| LaneSpec {
                stream: lane.stream.to_owned(),
                name: lane.consumer.to_owned(),
                filters: vec![lane.filter.to_owned()],
                ack_wait: Duration::from_millis(ACK_WAIT_MS),
                ack_pending_max: ACK_PENDING_MAX,
            })
            .collect()
    }

    /// Creates what is missing and changes what differs, over a connection of its own. May be repeated, also by several at once.
    ///
    /// # Errors
    /// [`BusError::Refused`]: what exists cannot be changed into this; the log names it. [`BusError::Unavailable`].
    pub async fn bootstrap(&self, connect: &Connect) -> Result<(), BusError> {
        let port = NatsPort::connect(connect.clone()).await?;
        for stream in self.streams() {
            create_stream(&port, &stream).await?;
        }
        for lane in self.lanes() {
            create_lane(&port, &lane).await?;
        }
        Ok(())
    }

    /// Checks that everything is there as this topology says.
    ///
    /// # Errors
    /// [`BusError::Refused`]: something is missing or differs ([`DIFFERENT`]); the log names it. [`BusError::Unavailable`].
    pub async fn verify(&self, port: &dyn Port) -> Result<(), BusError> {
        for stream in self.streams() {
            check(port, &stream_info(&stream.name), &stream.config(), &stream.name).await?;
        }
        for lane in self.lanes() {
            check(port, &lane_info(&lane), &lane.config(), &lane.name).await?;
        }
        Ok(())
    }
}

/// Checks that these streams and their lanes exist: those that a service works with. What a deployment may choose (replicas,
/// bytes) is not compared.
///
/// # Errors
/// As [`Topology::verify`].
pub async fn verify(port: &dyn Port, names: &[&str]) -> Result<(), BusError> {
    let chosen = ["num_replicas", "max_bytes"];
    let topology = Topology::default();
    for stream in topology.streams().into_iter().filter(|stream| names.contains(&stream.name.as_str())) {
        let mut config = stream.config();
        if let Some(fields) = config.as_object_mut() {
            fields.retain(|name, _| !chosen.contains(&name.as_str()));
        }
        check(port, &stream_info(&stream.name), &config, &stream.name).await?;
    }
    for lane in topology.lanes().into_iter().filter(|lane| names.contains(&lane.stream.as_str())) {
        check(port, &lane_info(&lane), &lane.config(), &lane.name).await?;
    }
    Ok(())
}

/// Creates one stream, or changes it where it differs.
///
/// # Errors
/// As [`Topology::bootstrap`].
pub async fn create_stream(port: &dyn Port, stream: &StreamSpec) -> Result<(), BusError> {
    let (name, config) = (&stream.name, stream.config());
    match call(port, &stream_info(name), &Value::Null).await {
        Ok(found) if differences(&config, &found).is_empty() => Ok(()),
        Ok(found) => {
            tracing::info!(stream = %name, fields = ?differences(&config, &found), "stream is changed");
            told(call(port, &format!("$JS.API.STREAM.UPDATE.{name}"), &config).await, name)
        }
        Err(BusError::Refused { code: STREAM_NOT_FOUND }) => {
            told(call(port, &format!("$JS.API.STREAM.CREATE.{name}"), &config).await, name)
        }
        Err(fault) => Err(fault),
    }
}

/// Creates one lane, or changes it where it differs.
///
/// # Errors
/// As [`Topology::bootstrap`].
pub async fn create_lane(port: &dyn Port, lane: &LaneSpec) -> Result<(), BusError> {
    let LaneSpec { stream, name, .. } = lane;
    let config = lane.config();
    match call(port, &lane_info(lane), &Value::Null).await {
        Ok(found) if differences(&config, &found).is_empty() => return Ok(()),
        Ok(found) => tracing::info!(%stream, lane = %name, fields = ?differences(&config, &found), "lane is changed"),
        Err(BusError::Refused { code: CONSUMER_NOT_FOUND }) => {}
        Err(fault) => return Err(fault),
    }
    // Without an action the server creates or changes.
    let request = json!({ "stream_name": stream, "config": config });
    told(call(port, &format!("$JS.API.CONSUMER.CREATE.{stream}.{name}"), &request).await, name)
}

fn told(outcome: Result<Value, BusError>, name: &str) -> Result<(), BusError> {
    outcome.map(drop).inspect_err(|fault| tracing::error!(name, %fault, "not created"))
}

fn stream_info(name: &str) -> String {
    format!("$JS.API.STREAM.INFO.{name}")
}

fn lane_info(lane: &LaneSpec) -> String {
    format!("$JS.API.CONSUMER.INFO.{}.{}", lane.stream, lane.name)
}

async fn check(port: &dyn Port, subject: &str, wanted: &Value, name: &str) -> Result<(), BusError> {
    let found =
        call(port, subject, &Value::Null).await.inspect_err(|fault| tracing::error!(name, %fault, "not there"))?;
    let different = differences(wanted, &found);
    if different.is_empty() {
        return Ok(());
    }
    tracing::error!(name, fields = ?different, "exists with other settings");
    Err(BusError::Refused { code: DIFFERENT })
}

/// One API call; the `config` of its answer.
async fn call(port: &dyn Port, subject: &str, request: &Value) -> Result<Value, BusError> {
    Ok(answer(port, subject, request).await?.remove("config").unwrap_or_default())
}

/// One API call; its answer, unless that is a refusal.
async fn answer(port: &dyn Port, subject: &str, request: &Value) -> Result<Map<String, Value>, BusError> {
    let payload = if request.is_null() { Bytes::new() } else { Bytes::from(request.to_string()) };
    let answer = match port.request(subject, Headers::new(), payload, CALL_WITHIN).await {
        Err(BusError::NoResponders) => return Err(BusError::unavailable()),
        answer => answer?,
    };
    let answer: Map<String, Value> =
        serde_json::from_slice(&answer.payload).map_err(|fault| BusError::Undecodable(Box::new(fault)))?;
    let Some(fault) = answer.get("error") else { return Ok(answer) };
    let number = |name: &str| fault.get(name).and_then(Value::as_u64).unwrap_or_default();
    let description = fault.get("description").and_then(Value::as_str).unwrap_or_default();
    tracing::debug!(subject, description, "the server refused");
    Err(match (number("code"), number("err_code")) {
        (503, 10_008) | (500, 10_009) => BusError::unavailable(),
        (code, 0) => BusError::Refused { code },
        (_, code) => BusError::Refused { code },
    })
}

/// Names of the settings that are wanted and not found so. The server leaves out what is false, zero or empty, and keeps one
/// filter in a field of its own.
fn differences(wanted: &Value, found: &Value) -> Vec<String> {
    let is_zero = |value: &Value| matches!(value, Value::Null | Value::Bool(false)) || value.as_f64() == Some(0.0);
    let same = |name: &String, value: &Value| match (name.as_str(), found.get(name)) {
        (_, Some(other)) => value == other,
        ("filter_subjects", None) => value
            .as_array()
            .is_some_and(|all| matches!(all.as_slice(), [one] if Some(one) == found.get("filter_subject"))),
        (_, None) => is_zero(value),
    };
    let fields = wanted.as_object().into_iter().flatten();
    fields.filter(|(name, value)| !same(name, value)).map(|(name, _)| name.clone()).collect()
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}
