//! The protocol error, as it travels.
//!
//! Source: AIP 1.0 §19.
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::wire::wire_enum;

/// Error body.
///
/// Source: AIP 1.0 §19.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ErrorBody {
    /// On the wire the body is {"error":{"error":{...}}}.
    pub error: ProtocolError,
}

/// Protocol error.
///
/// Source: AIP 1.0 §19.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProtocolError {
    /// Code.
    pub code: String,
    /// Message.
    pub message: String,
    /// Category.
    pub category: ErrorCategory,
    /// Retryable.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retryable: Option<bool>,
    /// Retry after ms.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after_ms: Option<u64>,
    /// Details.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<Value>,
    /// Source.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<Value>,
}

wire_enum! {
    /// Error category.
    ///
    /// Source: AIP 1.0 §19.
    pub enum ErrorCategory {
        /// `temporary`.
        Temporary => "temporary",
        /// `permanent`.
        Permanent => "permanent",
        /// `auth`.
        Auth => "auth",
        /// `policy`.
        Policy => "policy",
        /// `economic`.
        Economic => "economic",
        /// `connector`.
        Connector => "connector",
        /// `transport`.
        Transport => "transport",
    }
}
