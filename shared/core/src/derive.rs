//! Ids that a step makes. They are derived from the record, so a step is a pure function and a repeated step repeats them.

use aip_crypto::sha256_hex;
use aip_types::Millis;
use alloc::{
    format,
    string::{String, ToString},
};

/// `prefix` + 12 hex of `at` + 32 hex of a hash over the parts: time-sortable and collision-resistant (AIP 1.0 §5.3).
pub(crate) fn id(prefix: &str, at: Millis, parts: &[&str]) -> String {
    let mut text = String::new();
    for part in parts {
        let (length, part) = (part.len().to_string(), *part);
        text.extend([length.as_str(), ":", part, "|"]);
    }
    let digest = sha256_hex(text.as_bytes());
    format!("{prefix}{:012x}{}", at.0 & 0xffff_ffff_ffff, digest.get(..32).unwrap_or_default())
}
