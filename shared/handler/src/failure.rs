//! How a handler's work fails, and which outcomes can be sent at all.

use aip_bus::work::Outcome;
use aip_types::{ErrorCode, ProtocolError, limits};
use serde_json::{Value, json};

/// Bytes of a whole outcome: what a result's envelope can hold, less 32 KiB for the rest of the envelope.
pub const OUTCOME_BYTES_MAX: usize = limits::ENVELOPE_BYTES_MAX - 32 * 1_024;

/// Why a handler did not do its work.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{}", .error.code)]
pub struct Failure {
    /// What the caller is told. Nothing secret, nothing that it may not see.
    pub error: ProtocolError,
    /// An external effect may have happened all the same (AIP 1.0 §19.3): the action is never repeated blindly.
    pub uncertain: bool,
}

impl Failure {
    /// Nothing happened outside.
    #[must_use]
    pub const fn certain(error: ProtocolError) -> Self {
        Self { error, uncertain: false }
    }

    /// Something may have happened outside.
    #[must_use]
    pub const fn uncertain(error: ProtocolError) -> Self {
        Self { error, uncertain: true }
    }

    /// `aip.connector.failed` with a stable reason word, and nothing happened outside.
    #[must_use]
    pub fn connector(reason: &str) -> Self {
        Self::certain(failed(json!({ "reason": reason })))
    }

    /// The handler was told to stop and did, without effect or with its effect undone. To be returned only then.
    #[must_use]
    pub fn cancelled() -> Self {
        Self::certain(ErrorCode::ActionCancelled.into())
    }

    /// The same failure, but something may have happened outside.
    #[must_use]
    pub fn but_uncertain(self) -> Self {
        Self { uncertain: true, ..self }
    }
}

/// Why a chunk was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ChunkFault {
    /// Its data is larger than `limits::CHUNK_BYTES_MAX` as JSON. Nothing was sent: send smaller ones.
    #[error("a chunk of {bytes} bytes is too large")]
    TooLarge {
        /// Its bytes.
        bytes: usize,
    },
    /// Another attempt has overtaken this one: stop, nothing of it counts.
    #[error("the attempt is stale")]
    Stale,
    /// The deadline came before the chunk was stored.
    #[error("the chunk was not stored in time")]
    Late,
}

impl From<ChunkFault> for Failure {
    /// Uncertain: the handler was at work when its chunk failed.
    fn from(fault: ChunkFault) -> Self {
        let details = match fault {
            ChunkFault::TooLarge { bytes } => {
                json!({ "reason": "chunk_too_large", "bytes": bytes, "bytes_max": limits::CHUNK_BYTES_MAX })
            }
            ChunkFault::Stale => json!({ "reason": "stale" }),
            ChunkFault::Late => json!({ "reason": "deadline" }),
        };
        Self::uncertain(failed(details))
    }
}

/// The outcome of an ended call, in a size that can be sent. A read is never uncertain: it has no effect.
pub(crate) fn outcome(ended: Result<Value, Failure>, read_only: bool) -> Outcome {
    let outcome = match ended {
        Ok(output) if deeper_than(&output, limits::DEPTH_MAX) => {
            failure(json!({ "reason": "output_too_deep", "depth_max": limits::DEPTH_MAX }), !read_only)
        }
        Ok(output) => Outcome::Completed { output },
        Err(failure) if failure == Failure::cancelled() => Outcome::Cancelled {},
        Err(Failure { error, uncertain }) => Outcome::Failed { error, uncertain: uncertain && !read_only },
    };
    match bytes(&outcome) {
        Some(bytes) if bytes <= OUTCOME_BYTES_MAX => outcome,
        Some(bytes) => failure(
            json!({ "reason": "output_too_large", "bytes": bytes, "bytes_max": OUTCOME_BYTES_MAX }),
            may_have_happened(&outcome) && !read_only,
        ),
        None => failure(json!({ "reason": "output_not_json" }), may_have_happened(&outcome) && !read_only),
    }
}

/// A handler that ended without an answer.
pub(crate) fn broken(reason: &'static str) -> Failure {
    Failure::uncertain(failed(json!({ "reason": reason })))
}

fn failure(details: Value, uncertain: bool) -> Outcome {
    Outcome::Failed { error: failed(details), uncertain }
}

fn failed(details: Value) -> ProtocolError {
    ProtocolError::from(ErrorCode::ConnectorFailed).with_details(details)
}

fn may_have_happened(outcome: &Outcome) -> bool {
    match outcome {
        Outcome::Completed { .. } => true,
        Outcome::Failed { uncertain, .. } => *uncertain,
        Outcome::Cancelled {} => false,
    }
}

fn bytes(outcome: &Outcome) -> Option<usize> {
    serde_json::to_vec(outcome).ok().map(|text| text.len())
}

/// Whether arrays and objects nest more than `depth` levels.
fn deeper_than(value: &Value, depth: usize) -> bool {
    let mut children: Box<dyn Iterator<Item = &Value>> = match value {
        Value::Array(items) => Box::new(items.iter()),
        Value::Object(members) => Box::new(members.values()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => return false,
    };
    depth.checked_sub(1).is_none_or(|left| children.any(|child| deeper_than(child, left)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reason(outcome: &Outcome) -> Option<(String, bool)> {
        match outcome {
            Outcome::Completed { .. } | Outcome::Cancelled {} => None,
            Outcome::Failed { error, uncertain } => {
                Some((error.details.as_ref()?.get("reason")?.as_str()?.to_owned(), *uncertain))
            }
        }
    }

    #[test]
    fn an_output_of_the_bound_passes_and_one_byte_more_is_refused() {
        let frame = bytes(&Outcome::Completed { output: json!("") }).unwrap();
        let fits = json!("x".repeat(OUTCOME_BYTES_MAX - frame));
        assert_eq!(outcome(Ok(fits.clone()), false), Outcome::Completed { output: fits });
        let over = outcome(Ok(json!("x".repeat(OUTCOME_BYTES_MAX - frame + 1))), false);
        assert_eq!(reason(&over), Some(("output_too_large".to_owned(), true)));
        let read = outcome(Ok(json!("x".repeat(OUTCOME_BYTES_MAX))), true);
        assert_eq!(reason(&read), Some(("output_too_large".to_owned(), false)));
    }

    #[test]
    fn an_output_of_the_deepest_nesting_passes_and_one_level_more_is_refused() {
        let nested = |levels: usize| (0..levels).fold(json!(1), |inner, _| json!([inner]));
        assert_eq!(reason(&outcome(Ok(nested(limits::DEPTH_MAX)), false)), None);
        let over = outcome(Ok(nested(limits::DEPTH_MAX + 1)), false);
        assert_eq!(reason(&over), Some(("output_too_deep".to_owned(), true)));
    }

    #[test]
    fn a_failed_read_is_never_uncertain() {
        assert_eq!(reason(&outcome(Err(broken("panic")), true)), Some(("panic".to_owned(), false)));
        assert_eq!(reason(&outcome(Err(broken("panic")), false)), Some(("panic".to_owned(), true)));
    }

    #[test]
    fn a_failure_too_large_to_send_keeps_its_certainty() {
        let details = json!({ "text": "x".repeat(OUTCOME_BYTES_MAX) });
        let failure = Failure::certain(failed(details));
        assert_eq!(reason(&outcome(Err(failure.clone()), false)), Some(("output_too_large".to_owned(), false)));
        assert_eq!(reason(&outcome(Err(failure.but_uncertain()), false)), Some(("output_too_large".to_owned(), true)));
    }
}
