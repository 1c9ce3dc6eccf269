//! The demo connector: small capabilities that show, and let tests count, what the fleet does.

use std::{num::NonZeroUsize, sync::Arc, time::Duration};

use aip_handler::{Connector, ConnectorName, Failure, Handler, StopReason, Work};
use aip_types::{
    Capability, ErrorCategory, IdempotencyRequirement, ProtocolError, RetrySafety, SideEffect, StreamChunkKind,
};
use async_trait::async_trait;
use serde_json::{Number, Value, json};

use crate::{
    config::Config,
    contract::{Terms, capability, object, string},
    notes::{Keeps, Notes},
};

const ECHO_CHARACTERS_MAX: u32 = 65_536;
const NUMBERS_MAX: u32 = 10_000;
const SLOW_SECONDS_MAX: u32 = 3_600;
const SLOW_PARTS: u32 = 10;
const SLOW_PARTS_MAX: u32 = 100_000;
const NOTE_CHARACTERS_MAX: u32 = 4_096;
const CODE_CHARACTERS_MAX: u32 = 128;

/// The connector with all its capabilities.
pub(crate) fn connector(name: ConnectorName, config: &Config) -> Connector {
    let safe = Arc::new(Notes::new(config.notes_file.clone(), Keeps::Keys));
    let not_safe = Arc::new(Notes::new(config.notes_unsafe_file.clone(), Keeps::Nothing));
    Connector::new(name)
        .in_flight_max(NonZeroUsize::from(config.concurrency))
        .capability(echo(), Echo)
        .capability(sum(), Sum)
        .capability(append(), Append(safe))
        .capability(append_unsafe(), Append(not_safe))
        .capability(slow(), Slow)
        .capability(fail(), Fail)
}

fn echo() -> Capability {
    let text = || object(json!({ "text": string(ECHO_CHARACTERS_MAX) }), &["text"]);
    capability(Terms {
        id: "cap:demo:echo",
        name: "Echo",
        description: "Answers with its input.",
        input: text(),
        output: text(),
        effect: SideEffect::Read,
        requirement: IdempotencyRequirement::Optional,
        safety: RetrySafety::Safe,
        streams: false,
    })
}

struct Echo;

#[async_trait]
impl Handler for Echo {
    async fn call(&self, work: &Work) -> Result<Value, Failure> {
        Ok(work.input.clone())
    }
}

fn sum() -> Capability {
    let numbers = json!({ "type": "array", "items": { "type": "number" }, "maxItems": NUMBERS_MAX });
    capability(Terms {
        id: "cap:demo:sum",
        name: "Sum",
        description: "Adds numbers.",
        input: object(json!({ "numbers": numbers }), &["numbers"]),
        output: object(json!({ "sum": { "type": "number" } }), &["sum"]),
        effect: SideEffect::Read,
        requirement: IdempotencyRequirement::Optional,
        safety: RetrySafety::Safe,
        streams: false,
    })
}

struct Sum;

#[async_trait]
impl Handler for Sum {
    async fn call(&self, work: &Work) -> Result<Value, Failure> {
        let numbers = work.input.get("numbers").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        let sum = add(numbers).ok_or_else(|| Failure::connector("sum_out_of_range"))?;
        Ok(json!({ "sum": sum }))
    }
}

/// Exact for integers of 64 bits, else in floating point; nothing when the sum is no finite number.
fn add(numbers: &[Value]) -> Option<Number> {
    let exact = numbers.iter().try_fold(0_i64, |sum, number| sum.checked_add(number.as_i64()?));
    match exact {
        Some(sum) => Some(sum.into()),
        None => Number::from_f64(numbers.iter().map(|number| number.as_f64().unwrap_or(f64::NAN)).sum()),
    }
}

fn append() -> Capability {
    note(
        "cap:demo:note:append",
        "Append a note",
        "Appends a line to the notes. A repeated key adds no second line.",
        RetrySafety::SafeWithIdempotencyKey,
    )
}

fn append_unsafe() -> Capability {
    note(
        "cap:demo:note:append-unsafe",
        "Append a note, unsafely",
        "Appends a line to the notes, at every execution.",
        RetrySafety::Unsafe,
    )
}

fn note(id: &'static str, name: &'static str, description: &'static str, safety: RetrySafety) -> Capability {
    let (line, key) = (json!({ "type": "string" }), json!({ "type": "string" }));
    capability(Terms {
        id,
        name,
        description,
        input: object(json!({ "text": string(NOTE_CHARACTERS_MAX) }), &[]),
        output: object(json!({ "line": line, "key": key }), &["line", "key"]),
        effect: SideEffect::Write,
        requirement: IdempotencyRequirement::Required,
        safety,
        streams: false,
    })
}

struct Append(Arc<Notes>);

#[async_trait]
impl Handler for Append {
    async fn call(&self, work: &Work) -> Result<Value, Failure> {
        let Some(key) = &work.idempotency_key else { return Err(Failure::connector("key_missing")) };
        let Some(fence) = work.fence else { return Err(Failure::connector("fence_missing")) };
        let line = self.0.append(&work.tenant, key, fence).await?;
        Ok(json!({ "line": line, "key": key }))
    }
}

fn slow() -> Capability {
    let seconds = json!({ "type": "number", "minimum": 0, "maximum": SLOW_SECONDS_MAX });
    let parts = json!({ "type": "integer", "minimum": 1, "maximum": SLOW_PARTS_MAX });
    capability(Terms {
        id: "cap:demo:slow",
        name: "Slow",
        description: "Takes some seconds and tells how far it is, in 10 parts or as many as are asked for.",
        input: object(json!({ "seconds": seconds, "parts": parts }), &["seconds"]),
        output: object(json!({ "seconds": { "type": "number" } }), &["seconds"]),
        effect: SideEffect::Read,
        requirement: IdempotencyRequirement::Optional,
        safety: RetrySafety::Safe,
        streams: true,
    })
}

struct Slow;

#[async_trait]
impl Handler for Slow {
    async fn call(&self, work: &Work) -> Result<Value, Failure> {
        let asked = work.input.get("seconds").cloned().unwrap_or_else(|| json!(0));
        let seconds = asked.as_f64().unwrap_or_default().clamp(0.0, f64::from(SLOW_SECONDS_MAX));
        let asked_parts = work.input.get("parts").and_then(Value::as_u64).and_then(|parts| u32::try_from(parts).ok());
        let parts = asked_parts.unwrap_or(SLOW_PARTS).clamp(1, SLOW_PARTS_MAX);
        let part = Duration::from_secs_f64(seconds / f64::from(parts));
        for done in 1..=parts {
            tokio::select! {
                () = tokio::time::sleep(part) => {}
                why = work.cancelled() => return Err(stopped(why)),
            }
            work.chunk(StreamChunkKind::Progress, Some(json!({ "done": done, "of": parts }))).await?;
        }
        // Not by `json!`, which would write the number anew.
        Ok(Value::Object([("seconds".to_owned(), asked)].into_iter().collect()))
    }
}

fn stopped(why: StopReason) -> Failure {
    match why {
        StopReason::Cancelled | StopReason::DeadlinePassed => Failure::cancelled(),
        StopReason::LeaseLost => Failure::connector("lease_lost"),
    }
}

fn fail() -> Capability {
    let code =
        json!({ "type": "string", "pattern": "^[a-z][a-z0-9_]*(\\.[a-z0-9_]+)+$", "maxLength": CODE_CHARACTERS_MAX });
    let flag = || json!({ "type": "boolean" });
    capability(Terms {
        id: "cap:demo:fail",
        name: "Fail",
        description: "Fails, with the code and the certainty that are asked for.",
        input: object(json!({ "code": code, "retryable": flag(), "uncertain": flag() }), &[]),
        output: object(json!({}), &[]),
        effect: SideEffect::Write,
        requirement: IdempotencyRequirement::Optional,
        safety: RetrySafety::Unsafe,
        streams: false,
    })
}

struct Fail;

#[async_trait]
impl Handler for Fail {
    async fn call(&self, work: &Work) -> Result<Value, Failure> {
        let flag = |name: &str| work.input.get(name).and_then(Value::as_bool).unwrap_or(false);
        let error = ProtocolError {
            code: work.input.get("code").and_then(Value::as_str).unwrap_or("demo.failed").to_owned(),
            message: "The demo connector failed as it was asked to.".to_owned(),
            category: ErrorCategory::Connector,
            retryable: Some(flag("retryable")),
            retry_after_ms: None,
            details: None,
            source: None,
        };
        Err(Failure { error, uncertain: flag("uncertain") })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_add_exactly_and_others_as_floats() {
        let sum = |numbers: Value| add(numbers.as_array().unwrap()).map(|sum| sum.to_string());
        assert_eq!(sum(json!([])), Some("0".to_owned()));
        assert_eq!(sum(json!([9_007_199_254_740_993_i64, 1])), Some("9007199254740994".to_owned()));
        assert_eq!(sum(json!([0.5, 1])), Some("1.5".to_owned()));
        assert_eq!(sum(serde_json::from_str("[1e308, 1e308]").unwrap()), None);
    }
}
