//! The rules that the specification states and no schema expresses, as far as one message alone can show them.
//!
//! Receipt hashes and links need the cryptographic profile and are not here; neither is what depends on a record.

mod manifest;

use aip_types::{
    Action, ActionResult, ActionResultStatus, ApprovalDecisionKind, DelegationRequest, DelegationResult,
    DelegationStatus, Envelope, ErrorCode, MessageBody, TransactionMode, TransactionProtocolStatus, TransactionRequest,
    TransactionResult, limits,
};
use serde_json::Value;

pub use manifest::manifest;

use crate::fault::Fault;

type Checked = Result<(), Fault>;

/// Checks one message; its form has passed the schema.
///
/// # Errors
/// The first broken rule: [`ErrorCode::InputNull`], [`ErrorCode::TimeoutInvalid`], [`ErrorCode::QueryInvalid`] (limits and
/// waits), [`ErrorCode::ManifestRejected`], [`ErrorCode::TypeMismatch`], else [`ErrorCode::EnvelopeInvalid`].
///
/// Source: AIP 1.0 §6.4, §9, §10.1, §11.1, §11.7, §12.4, §13, §14, §16.4, §18.2, §22.2.
pub fn check(envelope: &Envelope) -> Checked {
    if envelope.message_type != envelope.body.message_type() {
        return Err(Fault::new(ErrorCode::TypeMismatch, "/message_type", "type_of_body"));
    }
    require(!envelope.message_id.is_empty(), "/message_id", "not_empty")?;
    require(envelope.idempotency_key.as_deref() != Some(""), "/idempotency_key", "not_empty")?;
    bounded(Some(envelope.message_id.as_str()), "/message_id")?;
    bounded(envelope.correlation_id.as_ref().map(|id| id.as_str()), "/correlation_id")?;
    bounded(envelope.session_id.as_ref().map(|id| id.as_str()), "/session_id")?;
    envelope.security.as_ref().map_or(Ok(()), signed_shape)?;
    body(&envelope.body)
}

/// One arm a message type, so that a new type cannot be forgotten.
fn body(body: &MessageBody) -> Checked {
    match body {
        MessageBody::Action(it) => action(it, "/body/action"),
        MessageBody::ActionResult(it) => result(it, "/body/action_result"),
        MessageBody::ActionStatus(it) => {
            it.result.as_ref().map_or(Ok(()), |inner| result(inner, "/body/action_status/result"))
        }
        MessageBody::Handshake(it) => require(!it.purpose.is_empty(), "/body/handshake/purpose", "not_empty"),
        MessageBody::Manifest(it) => manifest(it)
            .into_iter()
            .next()
            .map_or(Ok(()), |finding| Err(Fault { pointer: format!("/body/manifest{}", finding.pointer), ..finding })),
        MessageBody::DelegationRequest(it) => delegation_request(it),
        MessageBody::DelegationResult(it) => delegation_result(it),
        MessageBody::TransactionRequest(it) => transaction_request(it),
        MessageBody::TransactionResult(it) => transaction_result(it),
        MessageBody::ReceiptChain(it) => {
            let rooted = it.receipts.is_empty() || it.root_hash.is_some();
            require(rooted, "/body/receipt_chain/root_hash", "required_with_receipts")
        }
        MessageBody::ActionStatusRequest(it) => wait(it.wait_ms, "/body/action_status_request/wait_ms"),
        MessageBody::ActionResultRequest(it) => wait(it.wait_ms, "/body/action_result_request/wait_ms"),
        MessageBody::ActionListRequest(it) => limit(it.limit, "/body/action_list_request/limit"),
        MessageBody::ActionEventsRequest(it) => limit(it.limit, "/body/action_events_request/limit"),
        MessageBody::SessionListRequest(it) => limit(it.limit, "/body/session_list_request/limit"),
        MessageBody::ApprovalListRequest(it) => limit(it.limit, "/body/approval_list_request/limit"),
        MessageBody::EventStreamRequest(it) => limit(it.limit, "/body/event_stream_request/limit"),
        MessageBody::ResourceListRequest(it) => limit(it.limit, "/body/resource_list_request/limit"),
        MessageBody::CallbackDeliveryListRequest(it) => limit(it.limit, "/body/callback_delivery_list_request/limit"),
        MessageBody::AuditQueryRequest(it) => limit(it.limit, "/body/audit_query_request/limit"),
        MessageBody::ActionList(it) => page(it.actions.len(), "/body/action_list/actions"),
        MessageBody::ActionEvents(it) => page(it.events.len(), "/body/action_events/events"),
        MessageBody::SessionList(it) => page(it.sessions.len(), "/body/session_list/sessions"),
        MessageBody::ApprovalList(it) => page(it.approvals.len(), "/body/approval_list/approvals"),
        MessageBody::EventStream(it) => page(it.events.len(), "/body/event_stream/events"),
        MessageBody::ResourceList(it) => page(it.resources.len(), "/body/resource_list/resources"),
        MessageBody::CallbackDeliveryList(it) => page(it.deliveries.len(), "/body/callback_delivery_list/deliveries"),
        MessageBody::AuditQueryResult(it) => page(it.events.len(), "/body/audit_query_result/events"),
        MessageBody::HandshakeResponse(_)
        | MessageBody::Ack(_)
        | MessageBody::StreamChunk(_)
        | MessageBody::ApprovalRequest(_)
        | MessageBody::ApprovalDecision(_)
        | MessageBody::ApprovalQueryRequest(_)
        | MessageBody::ApprovalRecordView(_)
        | MessageBody::CallbackDeliveryQueryRequest(_)
        | MessageBody::CallbackDeliveryRecord(_)
        | MessageBody::SessionRequest(_)
        | MessageBody::SessionView(_)
        | MessageBody::SessionCloseRequest(_)
        | MessageBody::SessionResumeRequest(_)
        | MessageBody::SessionResume(_)
        | MessageBody::TransactionQueryRequest(_)
        | MessageBody::TransactionView(_)
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
        | MessageBody::BatchSettlement(_) => Ok(()),
    }
}

/// An id or key is copied into records, subjects and answers, so its length is bounded (AIP 1.0 §22.8).
fn bounded(text: Option<&str>, pointer: &str) -> Checked {
    require(text.is_none_or(|text| text.len() <= limits::ID_BYTES_MAX), pointer, "id_bytes_max")
}

/// Refuses unless the rule holds.
fn require(holds: bool, pointer: impl Into<String>, rule: &'static str) -> Checked {
    if holds { Ok(()) } else { Err(Fault::new(ErrorCode::EnvelopeInvalid, pointer, rule)) }
}

/// Metadata that names a signer or a signature must have both, as strings (AIP 1.0 §22.2).
fn signed_shape(security: &Value) -> Checked {
    let (did, signature) = (security.get("did"), security.get("signature"));
    for (member, pointer) in [(did, "/security/did"), (signature, "/security/signature")] {
        let signed = did.is_some() || signature.is_some();
        require(!signed || member.is_some_and(Value::is_string), pointer, "signed_shape")?;
    }
    Ok(())
}

fn action(it: &Action, at: &str) -> Checked {
    if it.input.is_null() {
        return Err(Fault::new(ErrorCode::InputNull, format!("{at}/input"), "not_null"));
    }
    if it.timeout_ms == Some(0) {
        return Err(Fault::new(ErrorCode::TimeoutInvalid, format!("{at}/timeout_ms"), "greater_than_zero"));
    }
    require(it.idempotency_key.as_deref() != Some(""), format!("{at}/idempotency_key"), "not_empty")?;
    bounded(Some(it.id.as_str()), &format!("{at}/id"))?;
    bounded(Some(it.capability_id.as_str()), &format!("{at}/capability_id"))?;
    bounded(it.idempotency_key.as_deref(), &format!("{at}/idempotency_key"))?;
    require(
        it.delegation_chain.len() <= limits::DELEGATION_CHAIN_MAX,
        format!("{at}/delegation_chain"),
        "delegation_chain_max",
    )?;
    let approved = it.approval.as_ref().is_none_or(|approval| approval.decision == ApprovalDecisionKind::Approved);
    require(approved, format!("{at}/approval/decision"), "approved")?;
    let Some(transaction) = &it.transaction else { return Ok(()) };
    let (member, given, rule) = match transaction.mode {
        TransactionMode::Commit => ("plan_id", transaction.plan_id.is_some(), "required_with_commit"),
        TransactionMode::Compensate => {
            ("compensation_for", transaction.compensation_for.is_some(), "required_with_compensate")
        }
        TransactionMode::Execute
        | TransactionMode::DryRun
        | TransactionMode::Plan
        | TransactionMode::Reconcile
        | TransactionMode::RollbackNotSupported => return Ok(()),
    };
    require(given, format!("{at}/transaction/{member}"), rule)
}

fn result(it: &ActionResult, at: &str) -> Checked {
    let told = it.status != ActionResultStatus::Failed || it.error.is_some();
    require(told, format!("{at}/error"), "required_with_failed")
}

fn delegation_request(it: &DelegationRequest) -> Checked {
    require(!it.scope.is_empty(), "/body/delegation_request/scope", "not_empty")?;
    let other = it.parent_action_id != it.child_action.id;
    require(other, "/body/delegation_request/child_action/id", "differs_from_parent")?;
    action(&it.child_action, "/body/delegation_request/child_action")
}

fn delegation_result(it: &DelegationResult) -> Checked {
    let ended = match it.status {
        DelegationStatus::Completed | DelegationStatus::Failed | DelegationStatus::Cancelled => true,
        DelegationStatus::Accepted | DelegationStatus::Running | DelegationStatus::RequiresHuman => false,
    };
    let told = !ended || it.result.is_some() || it.error.is_some();
    require(told, "/body/delegation_result/result", "required_at_end")?;
    it.result.as_ref().map_or(Ok(()), |inner| result(inner, "/body/delegation_result/result"))
}

fn transaction_request(it: &TransactionRequest) -> Checked {
    let inner = it.action.transaction.as_ref().and_then(|transaction| transaction.transaction_id.as_ref());
    let same = inner.is_none_or(|id| *id == it.transaction_id);
    require(same, "/body/transaction_request/action/transaction/transaction_id", "equals_transaction_id")?;
    action(&it.action, "/body/transaction_request/action")
}

fn transaction_result(it: &TransactionResult) -> Checked {
    if it.status == TransactionProtocolStatus::Planned {
        let fits = it.plan.as_ref().is_some_and(|plan| {
            plan.transaction_id == it.transaction_id
                && plan.action_id == it.action_id
                && plan.capability_id == it.capability_id
        });
        require(fits, "/body/transaction_result/plan", "required_with_planned")?;
    }
    let failed = it.status == TransactionProtocolStatus::Failed;
    let inner =
        it.result.as_ref().is_some_and(|inner| inner.status == ActionResultStatus::Failed && inner.error.is_some());
    require(!failed || it.error.is_some() || inner, "/body/transaction_result/error", "required_with_failed")?;
    it.result.as_ref().map_or(Ok(()), |inner| result(inner, "/body/transaction_result/result"))
}

fn wait(wait_ms: Option<u64>, pointer: &'static str) -> Checked {
    if wait_ms.is_some_and(|ms| ms > limits::WAIT_MS_MAX) {
        return Err(Fault::new(ErrorCode::QueryInvalid, pointer, "wait_ms_max"));
    }
    Ok(())
}

fn limit(limit: Option<u32>, pointer: &'static str) -> Checked {
    if limit.is_some_and(|limit| limit == 0 || limit > limits::LIST_PAGE_MAX) {
        return Err(Fault::new(ErrorCode::QueryInvalid, pointer, "list_page_range"));
    }
    Ok(())
}

fn page(records: usize, pointer: &'static str) -> Checked {
    let fits = u32::try_from(records).is_ok_and(|records| records <= limits::LIST_PAGE_MAX);
    require(fits, pointer, "list_page_max")
}
