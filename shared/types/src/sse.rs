//! Server-sent events: the frames of `aip.sse.stream.v1`, written and read. Pure text; connections are the edge's.
//!
//! Source: AIP 1.0 §20.2; WHATWG HTML, "Server-sent events".

use core::mem;

use serde_json::Value;

use crate::action::StreamChunkKind;
use crate::message::{MessageBody, MessageType};
use crate::wire::wire_enum;

wire_enum! {
    /// The standard event names.
    ///
    /// Source: AIP 1.0 §20.2.
    pub enum EventName {
        /// An acknowledgement.
        Ack => "ack",
        /// A chunk that is not the last.
        Chunk => "chunk",
        /// The last chunk.
        Done => "done",
        /// An action result.
        Result => "result",
        /// A delegation request.
        DelegationRequest => "delegation_request",
        /// A delegation result.
        DelegationResult => "delegation_result",
        /// A heartbeat.
        Heartbeat => "heartbeat",
        /// The answer to a heartbeat.
        HeartbeatAck => "heartbeat_ack",
        /// A protocol error.
        Error => "error",
        /// Every other message.
        Message => "message",
    }
}

impl EventName {
    /// The name for a message.
    #[must_use]
    pub fn of_body(body: &MessageBody) -> Self {
        let done = matches!(body, MessageBody::StreamChunk(chunk) if chunk.kind == StreamChunkKind::Done);
        Self::of_kind(Some(body.message_type()), done)
    }

    /// The name for an envelope, by the body that it has.
    #[must_use]
    pub fn of(envelope: &Value) -> Self {
        let Some((key, body)) = envelope.get("body").and_then(Value::as_object).and_then(|body| body.iter().next())
        else {
            return Self::Message;
        };
        let done = body.get("kind").and_then(Value::as_str) == Some(StreamChunkKind::Done.as_str());
        Self::of_kind(MessageType::from_body_key(key), done)
    }

    const fn of_kind(kind: Option<MessageType>, done: bool) -> Self {
        match kind {
            Some(MessageType::Ack) => Self::Ack,
            Some(MessageType::StreamChunk) if done => Self::Done,
            Some(MessageType::StreamChunk) => Self::Chunk,
            Some(MessageType::ActionResult) => Self::Result,
            Some(MessageType::DelegationRequest) => Self::DelegationRequest,
            Some(MessageType::DelegationResult) => Self::DelegationResult,
            Some(MessageType::Heartbeat) => Self::Heartbeat,
            Some(MessageType::HeartbeatAck) => Self::HeartbeatAck,
            Some(MessageType::Error) => Self::Error,
            Some(_) | None => Self::Message,
        }
    }

    /// Whether nothing comes after it on its correlation stream.
    ///
    /// Source: AIP 1.0 §20.2.
    #[must_use]
    pub const fn is_terminal(self) -> bool {
        match self {
            Self::Done | Self::Result | Self::DelegationResult | Self::Error => true,
            Self::Ack
            | Self::Chunk
            | Self::DelegationRequest
            | Self::Heartbeat
            | Self::HeartbeatAck
            | Self::Message => false,
        }
    }
}

/// Why an event cannot be written or a stream not be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SseFault {
    /// An event id that is empty or has a line end or NUL: the other side would read another one.
    #[error("the event id cannot be written")]
    Id,
    /// An event of the stream is larger than its reader takes.
    #[error("the event is too large")]
    TooLarge,
}

/// The frame of one envelope: id, perhaps `retry`, the name by its body, and the envelope as compact JSON on one line.
///
/// # Errors
/// [`SseFault::Id`].
///
/// Source: AIP 1.0 §20.2.
pub fn frame(id: &str, retry_ms: Option<u64>, envelope: &Value) -> Result<String, SseFault> {
    // JSON escapes line ends inside strings, and compact JSON has none outside.
    frame_text(id, retry_ms, EventName::of(envelope), &envelope.to_string())
}

/// The same for an envelope that is written already, as compact JSON.
///
/// # Errors
/// [`SseFault::Id`]; also for a text with a line end, which would be more than one line of data.
pub fn frame_text(id: &str, retry_ms: Option<u64>, name: EventName, envelope: &str) -> Result<String, SseFault> {
    if envelope.contains(['\r', '\n']) || id.is_empty() || id.contains(['\r', '\n', '\0']) {
        return Err(SseFault::Id);
    }
    let retry = retry_ms.map(|ms| format!("retry: {ms}\n")).unwrap_or_default();
    Ok(format!("id: {id}\n{retry}event: {name}\ndata: {envelope}\n\n"))
}

/// A comment, which readers drop: it keeps a silent connection open. Line ends begin a new comment line.
#[must_use]
pub fn comment(text: &str) -> String {
    let mut out = String::new();
    for line in text.split(['\r', '\n']) {
        out.push_str(": ");
        out.push_str(line);
        out.push('\n');
    }
    out.push('\n');
    out
}

/// One event of a stream, as its reader sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerEvent {
    /// The last event id so far; empty when none came.
    pub id: String,
    /// The name; `message` when the stream named none.
    pub event: String,
    /// The lines of `data`, joined by line feeds.
    pub data: String,
}

/// Reads a stream of events from pieces of any size. The same bytes give the same events, wherever they are cut.
///
/// Source: WHATWG HTML, "Interpreting an event stream".
#[derive(Clone, Debug)]
pub struct Decoder {
    event_bytes_max: usize,
    /// Bytes of the line that is not at its end.
    line: Vec<u8>,
    /// No line has ended yet: a byte order mark may stand before the first one.
    at_start: bool,
    /// The byte before was a CR: an LF now belongs to the same line end.
    after_cr: bool,
    data: String,
    event: String,
    id: String,
    retry_ms: Option<u64>,
    broken: bool,
}

impl Decoder {
    /// A reader at the start of a stream. `event_bytes_max` bounds one event: its unfinished line, data and name.
    #[must_use]
    pub const fn new(event_bytes_max: usize) -> Self {
        Self {
            event_bytes_max,
            line: Vec::new(),
            at_start: true,
            after_cr: false,
            data: String::new(),
            event: String::new(),
            id: String::new(),
            retry_ms: None,
            broken: false,
        }
    }

    /// Takes the next bytes and appends the events that they complete to `events`. What is not complete when the stream
    /// ends was no event.
    ///
    /// # Errors
    /// [`SseFault::TooLarge`]: an event passes the bound. The events before it were appended; the stream cannot be read on.
    pub fn feed(&mut self, bytes: &[u8], events: &mut Vec<ServerEvent>) -> Result<(), SseFault> {
        let mut rest = bytes;
        while !rest.is_empty() && !self.broken {
            if mem::take(&mut self.after_cr)
                && let Some(tail) = rest.strip_prefix(b"\n")
            {
                rest = tail;
                continue;
            }
            let end = rest.iter().position(|byte| matches!(byte, b'\r' | b'\n'));
            let (piece, tail) = rest.split_at_checked(end.unwrap_or(rest.len())).unwrap_or((rest, &[]));
            self.grow(piece);
            rest = tail;
            if let Some((byte, tail)) = tail.split_first()
                && !self.broken
            {
                self.after_cr = *byte == b'\r';
                rest = tail;
                events.extend(self.end_line());
            }
        }
        if self.broken { Err(SseFault::TooLarge) } else { Ok(()) }
    }

    /// The id to send as `Last-Event-ID` after a reconnect; empty when none came.
    #[must_use]
    pub fn last_event_id(&self) -> &str {
        &self.id
    }

    /// Milliseconds to wait before a reconnect, if the stream said so.
    #[must_use]
    pub const fn retry_ms(&self) -> Option<u64> {
        self.retry_ms
    }

    fn grow(&mut self, piece: &[u8]) {
        let size = [piece.len(), self.line.len(), self.data.len(), self.event.len()];
        if size.into_iter().fold(0, usize::saturating_add) > self.event_bytes_max {
            self.broken = true;
            self.line = Vec::new();
        } else {
            self.line.extend_from_slice(piece);
        }
    }

    /// The line is complete: an empty one ends the event.
    fn end_line(&mut self) -> Option<ServerEvent> {
        let line = mem::take(&mut self.line);
        let mut line = line.as_slice();
        if mem::take(&mut self.at_start) {
            line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
        }
        let line = String::from_utf8_lossy(line);
        if line.is_empty() {
            return self.dispatch();
        }
        let (field, value) = line.split_once(':').unwrap_or((&line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => value.clone_into(&mut self.event),
            "data" => {
                self.data.push_str(value);
                self.data.push('\n');
            }
            "id" if !value.contains('\0') => value.clone_into(&mut self.id),
            "retry" if !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit()) => {
                self.retry_ms = value.parse().ok().or(self.retry_ms);
            }
            _ => {} // a comment, or a field that nobody knows
        }
        None
    }

    fn dispatch(&mut self) -> Option<ServerEvent> {
        let mut data = mem::take(&mut self.data);
        let event = mem::take(&mut self.event);
        data.pop()?; // the line feed behind the last line; without any line there is no event
        let event = if event.is_empty() { EventName::Message.as_str().to_owned() } else { event };
        Some(ServerEvent { id: self.id.clone(), event, data })
    }
}
