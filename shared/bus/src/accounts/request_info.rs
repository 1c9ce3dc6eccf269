//! Who sent a request from another account, as the server says.

use serde::Deserialize;

/// The header that the server writes on a request that crosses accounts, over any that the client sent.
pub const REQUEST_INFO: &str = "Nats-Request-Info";

/// What [`REQUEST_INFO`] says when the import shares it (`share: true`), as seen on nats-server 2.15.1.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct RequestInfo {
    /// Name of the account that the request came from.
    #[serde(rename = "acc")]
    pub account: String,
    /// The user: with nkey users its public key.
    pub user: String,
}

impl RequestInfo {
    /// Reads the header; `None` where it does not name account and user.
    #[must_use]
    pub fn parse(header: &str) -> Option<Self> {
        serde_json::from_str(header).ok()
    }
}
