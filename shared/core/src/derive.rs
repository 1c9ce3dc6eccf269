//! Ids that a step makes. They are derived from the record, so a step is a pure function and a repeated step repeats them.

use aip_crypto::sha256_hex;
use aip_types::Millis;
use alloc::{format, string::String};

/// `prefix` + 12 hex of `at` + 32 hex of a hash over the parts: time-sortable and collision-resistant (AIP 1.0 §5.3).
pub(crate) fn id(prefix: &str, at: Millis, parts: &[&str]) -> String {
    let mut text = String::new();
    for part in parts {
        text.push_str(&format!("{}:{part}|", part.len()));
    }
    let digest = sha256_hex(text.as_bytes());
    let short: String = digest.chars().take(32).collect();
    format!("{prefix}{:012x}{short}", at.0 & 0xffff_ffff_ffff)
}
