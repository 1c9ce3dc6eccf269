//! The registry of error codes: one row a code. `docs/errors.md` is printed from it.
//!
//! Codes are never reused or renamed. The public text of an error is the fixed sentence of its row.
//!
//! Source: AIP 1.0 §19.1, §25.2; `design.md` §8.

use std::fmt::Write as _;

use crate::error::{ErrorCategory, ProtocolError};

/// Everything that is fixed about one error code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ErrorRow {
    /// The stable code.
    pub code: &'static str,
    /// The category, which tells a program what kind of failure this is.
    pub category: ErrorCategory,
    /// Whether the same request may succeed later. Never enough to retry: AIP 1.0 §19.2 has more conditions.
    pub retryable: bool,
    /// The HTTP status of the native binding.
    pub http_status: u16,
    /// The public sentence.
    pub message: &'static str,
    /// What causes it and what to change; for the documentation.
    pub meaning: &'static str,
}

#[macro_use]
mod general;
#[macro_use]
mod governed;

macro_rules! error_codes {
    ( $( $variant:ident { $code:literal, $category:ident, $retryable:literal, $status:literal, $message:literal, $meaning:literal } )+ ) => {
        /// A registered error code.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum ErrorCode {
            $( #[doc = concat!("`", $code, "`: ", $meaning)] $variant, )+
        }

        impl ErrorCode {
            /// All codes, in the order of the documentation.
            pub const ALL: &[Self] = &[$(Self::$variant),+];

            /// What is fixed about this code.
            #[must_use]
            pub const fn row(self) -> ErrorRow {
                match self {
                    $( Self::$variant => ErrorRow {
                        code: $code,
                        category: ErrorCategory::$category,
                        retryable: $retryable,
                        http_status: $status,
                        message: $message,
                        meaning: $meaning,
                    }, )+
                }
            }

            /// The code with this text, or `None` if it is not ours.
            #[must_use]
            pub fn from_code(text: &str) -> Option<Self> {
                match text { $($code => Some(Self::$variant),)+ _ => None }
            }
        }
    };
}

general_rows!(governed_rows);

impl ErrorCode {
    /// The stable text of the code.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        self.row().code
    }

    /// The protocol error of this code, ready to be sent.
    #[must_use]
    pub fn error(self) -> ProtocolError {
        ProtocolError::from(self)
    }
}

impl core::fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The HTTP status of a category whose code names no more specific one (AIP 1.0 §19.1).
#[must_use]
pub const fn http_status(category: ErrorCategory) -> u16 {
    match category {
        ErrorCategory::Temporary | ErrorCategory::Transport => 503,
        ErrorCategory::Permanent => 400,
        ErrorCategory::Auth => 401,
        ErrorCategory::Policy => 403,
        ErrorCategory::Economic => 402,
        ErrorCategory::Connector => 502,
    }
}

/// The text of `docs/errors.md`.
#[must_use]
pub fn docs() -> String {
    let mut text = String::from(
        "# Error codes\n\nGenerated from `aip_types::error_codes` by `cargo xtask generate`; do not edit. A program reads `code`, \
         `category` and\n`retryable`; the message is for people and may change. `retryable` alone is no leave to retry (AIP 1.0 §19.2).\n\n\
         | Code | Category | Retryable | HTTP | Message | What to do |\n| --- | --- | --- | --- | --- | --- |\n",
    );
    for code in ErrorCode::ALL {
        let row = code.row();
        let retryable = if row.retryable { "yes" } else { "no" };
        let line = writeln!(
            text,
            "| `{}` | {} | {retryable} | {} | {} | {} |",
            row.code, row.category, row.http_status, row.message, row.meaning
        );
        debug_assert!(line.is_ok(), "a string takes all that is written to it");
    }
    text
}

#[cfg(test)]
mod tests;
