//! The rules that the specification states and no schema expresses, as far as one message alone can show them.
//!
//! **Precedence** is fixed, so one wrong message has one answer: the rules of the envelope, then those of its body. An
//! object's own rules come before those of its members, members come in the order in which the specification lists
//! them, items in the order of their list. What only a record or a second message can show has a row in the table
//! ([`Rule::ALL`]) and is enforced where the row says. Start reading at [`check`].

mod action;
mod delegation;
mod manifest;
mod place;
mod query;
mod receipt;
mod registry;
mod table;
mod transaction;

use aip_types::{Envelope, Manifest, MessageBody, limits};
use serde_json::Value;

pub use place::FINDINGS_MAX;
pub use registry::{Proof, Row, Rule, docs};

use crate::fault::Fault;
use place::{At, Findings};

/// Checks one message; its form has passed the schema. `document` is the same message as received.
///
/// # Errors
/// The first broken rule, with the code of its row.
///
/// Source: AIP 1.0 §5–§19, as `docs/rules.md` lists them.
pub fn check(document: &Value, envelope: &Envelope) -> Result<(), Fault> {
    let mut found = Findings::new(document, 1);
    around(&mut found, envelope);
    found.into_faults().into_iter().next().map_or(Ok(()), Err)
}

/// Every broken rule of one message, in the order of precedence; at most [`FINDINGS_MAX`].
#[must_use]
pub fn findings(document: &Value, envelope: &Envelope) -> Vec<Fault> {
    let mut found = Findings::new(document, FINDINGS_MAX);
    around(&mut found, envelope);
    found.into_faults()
}

/// Every broken rule of a body that stands alone, with its tag; pointers begin at the tagged body.
#[must_use]
pub fn body_findings(document: &Value, it: &MessageBody) -> Vec<Fault> {
    let mut found = Findings::new(document, FINDINGS_MAX);
    body(&mut found, it, At::root(""));
    found.into_faults()
}

/// Everything that is wrong with a manifest; empty if it may be admitted. Pointers begin at the manifest.
///
/// Compiles every schema in it, so it also finds schemas that are no schemas or too large.
///
/// Source: AIP 1.0 §9.1, §9.3, §9.4.
#[must_use]
pub fn manifest(it: &Manifest) -> Vec<Fault> {
    let mut found = Findings::new(&Value::Null, FINDINGS_MAX);
    manifest::manifest(&mut found, it, At::root(""));
    found.into_faults()
}

fn around(found: &mut Findings<'_>, it: &Envelope) {
    let at = At::root("");
    found.require(it.message_type == it.body.message_type(), Rule::TypeOfBody, at.member("message_type"));
    bounded(found, Some(it.message_id.as_str()), at.member("message_id"));
    bounded(found, it.session_id.as_ref().map(|id| id.as_str()), at.member("session_id"));
    bounded(found, it.correlation_id.as_ref().map(|id| id.as_str()), at.member("correlation_id"));
    bounded(found, it.in_response_to.as_ref().map(|id| id.as_str()), at.member("in_response_to"));
    let named = it.idempotency_key.as_deref() != Some("");
    found.require(named, Rule::EnvelopeKeyNotEmpty, at.member("idempotency_key"));
    if let Some(security) = &it.security {
        signed(found, security, at.member("security"));
    }
    body(found, &it.body, at.member("body"));
}

/// Metadata that names a signer or a signature must have both, as strings (AIP 1.0 §22.2).
fn signed(found: &mut Findings<'_>, it: &Value, at: At<'_>) {
    let (did, signature) = (it.get("did"), it.get("signature"));
    let signed = did.is_some() || signature.is_some();
    for (member, name) in [(did, "did"), (signature, "signature")] {
        found.require(!signed || member.is_some_and(Value::is_string), Rule::SignedShape, at.member(name));
    }
}

/// An id or key is copied into records, subjects and answers, so its length is bounded (AIP 1.0 §22.8).
fn bounded(found: &mut Findings<'_>, text: Option<&str>, at: At<'_>) {
    found.require(text.is_none_or(|text| text.len() <= limits::ID_BYTES_MAX), Rule::IdBytesMax, at);
}

/// One arm a message type, so that a new type cannot be forgotten.
fn body(found: &mut Findings<'_>, body: &MessageBody, at: At<'_>) {
    let at = at.member(body.key());
    match body {
        MessageBody::Handshake(it) => {
            found.require(!it.purpose.is_empty(), Rule::HandshakePurpose, at.member("purpose"));
        }
        MessageBody::Manifest(it) => manifest::manifest(found, it, at),
        MessageBody::Action(it) => action::action(found, it, at),
        MessageBody::ActionResult(it) => action::result(found, it, None, at),
        MessageBody::ActionStatus(it) => action::status(found, it, at),
        MessageBody::ActionList(it) => query::actions(found, it, at),
        MessageBody::ActionEvents(it) => action::events(found, it, at),
        MessageBody::ApprovalRequest(it) => query::approval_request(found, it, at),
        MessageBody::ApprovalRecordView(it) => query::approval(found, it, at),
        MessageBody::ApprovalList(it) => query::approvals(found, it, at),
        MessageBody::CallbackDeliveryRecord(it) => query::delivery(found, it, at),
        MessageBody::CallbackDeliveryList(it) => query::deliveries(found, it, at),
        MessageBody::DelegationRequest(it) => delegation::request(found, it, at),
        MessageBody::DelegationResult(it) => delegation::result(found, it, at),
        MessageBody::TransactionRequest(it) => transaction::request(found, it, at),
        MessageBody::TransactionResult(it) => transaction::result(found, it, at),
        MessageBody::TransactionView(it) => transaction::view(found, it, at),
        MessageBody::ReceiptChain(it) => receipt::chain(found, it, at),
        MessageBody::AuditQueryResult(it) => query::audit(found, it, at),
        MessageBody::ActionStatusRequest(it) => query::wait(found, it.wait_ms, at),
        MessageBody::ActionResultRequest(it) => query::wait(found, it.wait_ms, at),
        MessageBody::ActionListRequest(it) => query::limit(found, it.limit, at),
        MessageBody::ActionEventsRequest(it) => query::limit(found, it.limit, at),
        MessageBody::SessionListRequest(it) => query::limit(found, it.limit, at),
        MessageBody::ApprovalListRequest(it) => query::limit(found, it.limit, at),
        MessageBody::EventStreamRequest(it) => query::limit(found, it.limit, at),
        MessageBody::ResourceListRequest(it) => query::limit(found, it.limit, at),
        MessageBody::CallbackDeliveryListRequest(it) => query::limit(found, it.limit, at),
        MessageBody::AuditQueryRequest(it) => query::limit(found, it.limit, at),
        MessageBody::SessionList(it) => query::page(found, it.sessions.len(), at.member("sessions")),
        MessageBody::EventStream(it) => query::page(found, it.events.len(), at.member("events")),
        MessageBody::ResourceList(it) => query::page(found, it.resources.len(), at.member("resources")),
        MessageBody::HandshakeResponse(_)
        | MessageBody::Ack(_)
        | MessageBody::StreamChunk(_)
        | MessageBody::ApprovalDecision(_)
        | MessageBody::ApprovalQueryRequest(_)
        | MessageBody::CallbackDeliveryQueryRequest(_)
        | MessageBody::SessionRequest(_)
        | MessageBody::SessionView(_)
        | MessageBody::SessionCloseRequest(_)
        | MessageBody::SessionResumeRequest(_)
        | MessageBody::SessionResume(_)
        | MessageBody::TransactionQueryRequest(_)
        | MessageBody::Error(_)
        | MessageBody::Cancel(_)
        | MessageBody::Heartbeat(_)
        | MessageBody::HeartbeatAck(_)
        | MessageBody::Escalation(_)
        | MessageBody::EscalationResolution(_)
        | MessageBody::ManifestRequest(_)
        | MessageBody::ChannelMessage(_)
        | MessageBody::Conversation(_)
        | MessageBody::ReceiptQueryRequest(_)
        | MessageBody::AuditEvent(_)
        | MessageBody::ResourceReadRequest(_)
        | MessageBody::ResourceReadResult(_)
        | MessageBody::BatchSettlement(_) => {}
    }
}
