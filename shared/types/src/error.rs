//! The protocol error, as it travels.
//!
//! Source: AIP 1.0 §19.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::error_codes::ErrorCode;
use crate::wire::wire_enum;

/// The body of an error message.
///
/// Source: AIP 1.0 §19.1.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ErrorBody {
    /// The failure.
    pub error: ProtocolError,
}

/// A failure as a program on the other side reads it.
///
/// Source: AIP 1.0 §19.1.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProtocolError {
    /// The stable code; the one member that a program decides by.
    pub code: String,
    /// A text for people; it may change.
    pub message: String,
    /// What kind of failure it is.
    pub category: ErrorCategory,
    /// Whether the same request may succeed later.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retryable: Option<bool>,
    /// Milliseconds to wait before another try.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after_ms: Option<u64>,
    /// Structured details, redacted for the recipient.
    #[serde(default, deserialize_with = "crate::exact::option", skip_serializing_if = "Option::is_none")]
    pub details: Option<Value>,
    /// Where the failure arose, redacted for the recipient.
    #[serde(default, deserialize_with = "crate::exact::option", skip_serializing_if = "Option::is_none")]
    pub source: Option<Value>,
}

impl From<ErrorCode> for ProtocolError {
    fn from(code: ErrorCode) -> Self {
        let row = code.row();
        Self {
            code: row.code.to_owned(),
            message: row.message.to_owned(),
            category: row.category,
            retryable: Some(row.retryable),
            retry_after_ms: None,
            details: None,
            source: None,
        }
    }
}

impl ProtocolError {
    /// The same error with structured details. They reach the peer: nothing secret, nothing it may not see.
    #[must_use]
    pub fn with_details(self, details: Value) -> Self {
        Self { details: Some(details), ..self }
    }

    /// The same error with the place and the rule that a received document breaks.
    #[must_use]
    pub fn with_finding(self, pointer: &str, rule: &str) -> Self {
        self.with_details(serde_json::json!({ "pointer": pointer, "rule": rule }))
    }

    /// The same error with the milliseconds to wait before another try.
    #[must_use]
    pub fn with_retry_after_ms(self, ms: u64) -> Self {
        Self { retry_after_ms: Some(ms), ..self }
    }

    /// The code, if it is one of ours.
    #[must_use]
    pub fn error_code(&self) -> Option<ErrorCode> {
        ErrorCode::from_code(&self.code)
    }
}

wire_enum! {
    /// What kind of failure an error is.
    ///
    /// Source: AIP 1.0 §19.1.
    pub enum ErrorCategory {
        /// It may work later.
        Temporary => "temporary",
        /// It cannot work unchanged.
        Permanent => "permanent",
        /// The caller is not authenticated as needed.
        Auth => "auth",
        /// The caller is known but not permitted.
        Policy => "policy",
        /// Billing or settlement failed.
        Economic => "economic",
        /// An external system failed.
        Connector => "connector",
        /// The delivery path failed.
        Transport => "transport",
    }
}
