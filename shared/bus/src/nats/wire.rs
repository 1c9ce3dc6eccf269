//! What the server sends, as our types.

use std::{error::Error as StdError, time::Duration};

use aip_types::{Millis, Timestamp};
use async_nats::{HeaderMap, HeaderName, HeaderValue, Message, client::PublishErrorKind};
use base64::{Engine, engine::general_purpose::STANDARD};
use bytes::Bytes;
use serde::Deserialize;

use crate::{
    BusError,
    port::{Headers, Inbound, Sequence, Stored},
};

pub(super) const EXPECTED: &str = "Nats-Expected-Last-Subject-Sequence";
pub(super) const EXPECTED_SUBJECT: &str = "Nats-Expected-Last-Subject-Sequence-Subject";
pub(super) const TTL: &str = "Nats-TTL";
pub(super) const MESSAGE_ID: &str = "Nats-Msg-Id";
pub(super) const SCHEDULE: &str = "Nats-Schedule";
pub(super) const SCHEDULE_TARGET: &str = "Nats-Schedule-Target";
pub(super) const PENDING_MESSAGES: &str = "Nats-Pending-Messages";
pub(super) const LAST_CONSUMER: &str = "Nats-Last-Consumer";
const MARKER_REASON: &str = "Nats-Marker-Reason";
const KV_OPERATION: &str = "KV-Operation";
const STORED_SUBJECT: &str = "Nats-Subject";
const STORED_SEQUENCE: &str = "Nats-Sequence";
const STORED_TIME: &str = "Nats-Time-Stamp";

pub(super) const BAD_REQUEST: u64 = 400;
pub(super) const NOT_FOUND: u16 = 404;
pub(super) const TOO_LARGE: u64 = 413;
const WRONG_LAST_SEQUENCE: u64 = 10_071;
const WRITE_IN_FLIGHT: u64 = 10_164;
const NO_MESSAGE: u64 = 10_037;
/// Metadata cluster or stream without leader, or offline: the same request may succeed soon.
const PASSING: [u64; 4] = [10_004, 10_008, 10_009, 10_118];

/// A failure to get any answer.
pub(super) fn unavailable(source: impl StdError + Send + Sync + 'static) -> BusError {
    BusError::Unavailable(Some(Box::new(source)))
}

pub(super) fn undecodable(source: impl Into<Box<dyn StdError + Send + Sync>>) -> BusError {
    BusError::Undecodable(source.into())
}

pub(super) fn publish_fault(fault: async_nats::PublishError) -> BusError {
    match fault.kind() {
        PublishErrorKind::MaxPayloadExceeded => BusError::Refused { code: TOO_LARGE },
        PublishErrorKind::InvalidSubject => BusError::Refused { code: BAD_REQUEST },
        PublishErrorKind::Send => unavailable(fault),
    }
}

/// Whole seconds, rounded up, at least one: the server knows no shorter time to live.
pub(super) fn whole_seconds(ttl: Duration) -> u64 {
    ttl.as_secs().saturating_add(u64::from(ttl.subsec_nanos() > 0)).max(1)
}

#[derive(Debug, Deserialize)]
struct ApiFault {
    code: u64,
    #[serde(default)]
    err_code: u64,
}

impl From<ApiFault> for BusError {
    fn from(fault: ApiFault) -> Self {
        match fault.err_code {
            WRONG_LAST_SEQUENCE => Self::Conflict,
            WRITE_IN_FLIGHT => Self::Busy,
            code if PASSING.contains(&code) => Self::unavailable(),
            0 => Self::Refused { code: fault.code },
            code => Self::Refused { code },
        }
    }
}

#[derive(Debug, Deserialize)]
struct PublishAnswer {
    seq: Option<u64>,
    error: Option<ApiFault>,
}

/// The sequence in the answer to a publish.
pub(super) fn stored_at(payload: &[u8]) -> Result<Sequence, BusError> {
    let answer: PublishAnswer = serde_json::from_slice(payload).map_err(undecodable)?;
    match answer {
        PublishAnswer { error: Some(fault), .. } => Err(fault.into()),
        PublishAnswer { seq: Some(sequence), .. } => Ok(Sequence(sequence)),
        PublishAnswer { seq: None, error: None } => Err(undecodable("an acknowledgement without a sequence")),
    }
}

#[derive(Debug, Deserialize)]
struct ApiAnswer {
    error: Option<ApiFault>,
    #[serde(default)]
    num_pending: u64,
}

/// The `num_pending` of an answer about a consumer.
pub(super) fn consumer_pending(payload: &[u8]) -> Result<u64, BusError> {
    let answer: ApiAnswer = serde_json::from_slice(payload).map_err(undecodable)?;
    answer.error.map_or(Ok(answer.num_pending), |fault| Err(fault.into()))
}

#[derive(Debug, Deserialize)]
struct LeaderAnswer {
    error: Option<ApiFault>,
    message: Option<LeaderMessage>,
}

#[derive(Debug, Deserialize)]
struct LeaderMessage {
    subject: String,
    seq: u64,
    time: String,
    #[serde(default)]
    hdrs: String,
    #[serde(default)]
    data: String,
}

/// The message in the leader's answer to `STREAM.MSG.GET`.
pub(super) fn leader_message(payload: &[u8]) -> Result<Option<Stored>, BusError> {
    let answer: LeaderAnswer = serde_json::from_slice(payload).map_err(undecodable)?;
    match answer {
        LeaderAnswer { error: Some(fault), .. } if fault.err_code == NO_MESSAGE => Ok(None),
        LeaderAnswer { error: Some(fault), .. } => Err(fault.into()),
        LeaderAnswer { message: Some(message), .. } => {
            let headers = decode(&message.hdrs)?;
            Ok(Some(Stored {
                subject: message.subject,
                sequence: Sequence(message.seq),
                at: instant(&message.time)?,
                payload: decode(&message.data)?.into(),
                marker: raw_headers_mark(&headers),
            }))
        }
        LeaderAnswer { message: None, error: None } => Err(undecodable("a read without a message")),
    }
}

fn decode(text: &str) -> Result<Vec<u8>, BusError> {
    STANDARD.decode(text).map_err(|fault| undecodable(fault.to_string()))
}

/// Whether a header block as stored says that the message is a marker.
fn raw_headers_mark(block: &[u8]) -> bool {
    let text = String::from_utf8_lossy(block);
    text.lines().filter_map(|line| line.split_once(':')).any(|(name, _)| {
        let name = name.trim();
        name.eq_ignore_ascii_case(MARKER_REASON) || name.eq_ignore_ascii_case(KV_OPERATION)
    })
}

fn marks(headers: Option<&HeaderMap>) -> bool {
    headers.is_some_and(|headers| headers.get(MARKER_REASON).is_some() || headers.get(KV_OPERATION).is_some())
}

fn instant(text: &str) -> Result<Millis, BusError> {
    Timestamp::parse(text).map(|at| at.millis()).map_err(undecodable)
}

/// A direct get's answer. `None`: there is no such message.
pub(super) fn direct_message(message: Message) -> Result<Option<Stored>, BusError> {
    match message.status.map(|status| status.as_u16()) {
        None => {}
        Some(NOT_FOUND) => return Ok(None),
        Some(code) => return Err(BusError::Refused { code: code.into() }),
    }
    let headers = message.headers.as_ref();
    let field = |name: &str| headers.and_then(|headers| headers.get(name)).map(HeaderValue::as_str);
    let (Some(subject), Some(sequence), Some(time)) =
        (field(STORED_SUBJECT), field(STORED_SEQUENCE), field(STORED_TIME))
    else {
        return Err(undecodable("a direct read without its headers"));
    };
    Ok(Some(Stored {
        subject: subject.to_owned(),
        sequence: Sequence(sequence.parse().map_err(undecodable)?),
        at: instant(time)?,
        marker: marks(headers),
        payload: message.payload,
    }))
}

/// What the reply subject of a delivery tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Delivery {
    pub(super) deliveries: u64,
    pub(super) stream_sequence: u64,
    pub(super) consumer_sequence: u64,
    pub(super) at: Millis,
    pub(super) pending: u64,
}

impl Delivery {
    /// `$JS.ACK[.<domain>.<account>].<stream>.<consumer>.<delivered>.<stream seq>.<consumer seq>.<nanoseconds>.<pending>[.…]`
    pub(super) fn parse(reply: &str) -> Option<Self> {
        let rest = reply.strip_prefix("$JS.ACK.")?;
        let skip = if rest.split('.').count() >= 9 { 4 } else { 2 };
        let mut numbers = rest.split('.').skip(skip).map(str::parse::<u64>);
        let mut next = || numbers.next()?.ok();
        let (deliveries, stream_sequence, consumer_sequence) = (next()?, next()?, next()?);
        let at = Millis(next()? / 1_000_000);
        Some(Self { deliveries, stream_sequence, consumer_sequence, at, pending: next()? })
    }

    pub(super) fn stored(self, message: Message) -> Stored {
        Stored {
            subject: message.subject.into_string(),
            sequence: Sequence(self.stream_sequence),
            at: self.at,
            marker: marks(message.headers.as_ref()),
            payload: message.payload,
        }
    }
}

pub(super) fn inbound(message: Message) -> Inbound {
    let headers = message.headers.iter().flat_map(HeaderMap::iter);
    let headers: Headers =
        headers.filter_map(|(name, values)| Some((name.to_string(), values.first()?.to_string()))).collect();
    Inbound {
        subject: message.subject.into_string(),
        reply: message.reply.map(async_nats::Subject::into_string),
        headers,
        payload: message.payload,
    }
}

/// Refuses what the client would panic on: a name or value that breaks out of its line.
pub(super) fn header_map(headers: Headers) -> Result<HeaderMap, BusError> {
    let refused = BusError::Refused { code: BAD_REQUEST };
    headers
        .into_iter()
        .try_fold(HeaderMap::new(), |mut map, (name, value)| {
            let (Ok(name), Ok(value)) = (HeaderName::try_from(name), value.parse::<HeaderValue>()) else { return None };
            map.insert(name, value);
            Some(map)
        })
        .ok_or(refused)
}

/// A number in a status message's headers.
pub(super) fn header_number(message: &Message, name: &str) -> Option<u64> {
    message.headers.as_ref()?.get(name)?.as_str().parse().ok()
}

pub(super) fn json(value: &serde_json::Value) -> Bytes {
    Bytes::from(value.to_string())
}
