//! Keys of the buckets. A bucket is our own stream `KV_<bucket>`; a key's subject is `$KV.<bucket>.<key>`.

use super::record::{RecordKey, RecordKind, parse_key};
use super::token::{ConnectorName, Tenant, id_token, is_id_token};

/// `$KV.AIP_IDEMPOTENCY.<tenant>.<hash>`: a reserved key, by the hash over the contract's scope parts and the key.
#[must_use]
pub fn idempotency(tenant: &Tenant, hash: &str) -> String {
    format!("$KV.AIP_IDEMPOTENCY.{tenant}.{}", id_token(hash))
}

/// `$KV.AIP_REPLAY.<issuer>.<message>`: a signed message that was seen, by the hashes of its issuer (or DID) and of its id.
#[must_use]
pub fn replay(issuer: &str, message: &str) -> String {
    format!("$KV.AIP_REPLAY.{}.{}", id_token(issuer), id_token(message))
}

/// `$KV.AIP_LEASES.<vp>.<tenant>.<id>`: the lease of a record.
#[must_use]
pub fn lease(key: &RecordKey) -> String {
    format!("$KV.AIP_LEASES.{}.{}.{}", key.vp(), key.tenant, key.id_token())
}

/// The record (of the kind that has leases, an action) whose lease a subject names.
#[must_use]
pub fn parse_lease(subject: &str) -> Option<RecordKey> {
    let tokens: Vec<&str> = subject.strip_prefix("$KV.AIP_LEASES.")?.split('.').collect();
    match tokens.as_slice() {
        [vp, tenant, id] => parse_key([vp, RecordKind::Action.as_str(), tenant, id]),
        _ => None,
    }
}

/// `$KV.AIP_REGISTRY.<connector>`: what a connector was admitted with.
#[must_use]
pub fn registry(connector: &ConnectorName) -> String {
    format!("$KV.AIP_REGISTRY.{connector}")
}

/// `$KV.AIP_REGISTRY.>`: all admitted connectors.
#[must_use]
pub fn registry_all() -> String {
    "$KV.AIP_REGISTRY.>".to_owned()
}

/// The connector that a subject of the registry names.
#[must_use]
pub fn parse_registry(subject: &str) -> Option<ConnectorName> {
    ConnectorName::new(subject.strip_prefix("$KV.AIP_REGISTRY.")?).ok()
}

/// `$KV.AIP_LIVENESS.<connector>.<instance>`: a connector process that is alive.
#[must_use]
pub fn liveness(connector: &ConnectorName, instance: &str) -> String {
    format!("$KV.AIP_LIVENESS.{connector}.{}", id_token(instance))
}

/// `$KV.AIP_LIVENESS.>`: all processes that are alive.
#[must_use]
pub fn liveness_all() -> String {
    "$KV.AIP_LIVENESS.>".to_owned()
}

/// The connector, and [`id_token`] of its process, that a subject of the liveness bucket names.
#[must_use]
pub fn parse_liveness(subject: &str) -> Option<(ConnectorName, String)> {
    let (connector, instance) = subject.strip_prefix("$KV.AIP_LIVENESS.")?.split_once('.')?;
    let connector = ConnectorName::new(connector).ok()?;
    is_id_token(instance).then(|| (connector, instance.to_owned()))
}
