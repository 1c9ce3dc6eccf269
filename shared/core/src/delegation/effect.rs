//! What the triggers of a delegation do. Which of them may: `step.rs`.

use aip_types::{
    ActionResultStatus, DelegationStatus, ErrorCode, EventKind, MessageId, Millis, Principal, ProtocolError,
    ReceiptType, Timestamp, limits,
};
use alloc::{borrow::ToOwned as _, string::String};
use serde::Serialize;
use serde_json::{Value, json};

use super::record::{Acceptance, Cancelling, DelegationRecord, Phase, VerifiedPeer, reported};
use super::step::{Reach, Report, is_uncertain};
use super::{Authority, Rejection};
use crate::action::Held;
use crate::causes::Causes;
use crate::outbox::{Lease, backoff_ms};
use crate::step::{Chain, Draft, Step, fleet};

pub(crate) fn accept(
    acceptance: Acceptance,
    authority: &Authority,
    deadline: Millis,
    at: Millis,
) -> Step<DelegationRecord> {
    let requester = acceptance.authority.holder().clone();
    let record = DelegationRecord {
        id: acceptance.id,
        tenant: acceptance.tenant,
        parent_action_id: acceptance.parent_action_id,
        child_action_id: acceptance.child_action_id,
        child: Some(acceptance.child),
        child_hash: acceptance.child_hash,
        key: acceptance.key,
        requester: requester.clone(),
        delegate: authority.holder().clone(),
        scope: authority.scope().text(),
        delegation_chain: authority.entries().to_owned(),
        peer: acceptance.peer,
        causes: Causes::of(acceptance.request.clone()),
        request: acceptance.request,
        correlation_id: acceptance.correlation_id,
        accepted_at: at,
        deadline,
        phase: Phase::Accepted { due: at },
        fence: 0,
        dispatches: 0,
        may_have_arrived: false,
        cancelling: None,
        result: None,
        report_hash: None,
        error: None,
        completed_at: None,
        chain: Chain::default(),
    };
    let received = json!({"message_id": record.request.as_str(), "child_hash": record.child_hash});
    let made = json!({
        "delegation_id": record.id.as_str(),
        "parent_action_id": record.parent_action_id.as_str(),
        "child_action_id": record.child_action_id.as_str(),
        "delegate": record.delegate.id.as_str(),
        "scope": record.scope,
        "hops": record.delegation_chain.len(),
        "peer": record.peer.principal.as_str(),
    });
    let said = said(&record, json!({"delegate": record.delegate.id.as_str()}));
    Draft::new(record, at)
        .receipt(ReceiptType::RequestReceived, &requester, received)
        .receipt(ReceiptType::DelegationMade, &requester, made)
        .event(EventKind::DelegationRequested, Some(said))
        .done("accepted")
}

/// Whether a report comes from the bound peer, is about this child, and keeps the rules of AIP 1.0 §14.4.
pub(crate) fn belongs(record: &DelegationRecord, from: &VerifiedPeer, report: &Report) -> Result<(), Rejection> {
    if *from != record.peer {
        return Err(Rejection::PeerMismatch);
    }
    let about_child = report.result.as_ref().is_none_or(|result| result.action_id == record.child_action_id);
    if report.delegation_id != record.id
        || report.parent_action_id != record.parent_action_id
        || report.child_action_id != record.child_action_id
        || !about_child
    {
        return Err(Rejection::ResultMismatch);
    }
    let wanted = match report.status {
        DelegationStatus::Accepted | DelegationStatus::Running | DelegationStatus::RequiresHuman => None,
        DelegationStatus::Completed => Some(ActionResultStatus::Completed),
        DelegationStatus::Failed => Some(ActionResultStatus::Failed),
        DelegationStatus::Cancelled => Some(ActionResultStatus::Cancelled),
    };
    let is_whole = match (wanted, &report.result) {
        (None, _) => true,
        (Some(wanted), Some(result)) => result.status == wanted,
        (Some(wanted), None) => wanted != ActionResultStatus::Completed && report.error.is_some(),
    };
    if is_whole && is_bounded(report) { Ok(()) } else { Err(Rejection::ResultInvalid) }
}

fn is_bounded(report: &Report) -> bool {
    let result = report.result.as_ref().is_none_or(|result| match &result.value {
        Held::Inline(value) => bytes(value) <= limits::RECORD_INLINE_BYTES_MAX,
        Held::Blob { .. } => true,
    });
    result && report.error.as_ref().is_none_or(|error| bytes(error) <= limits::ERROR_BYTES_MAX)
}

fn bytes(value: &impl Serialize) -> usize {
    serde_json::to_string(value).map_or(usize::MAX, |text| text.len())
}

/// A report that ends the child.
pub(crate) fn is_definite(report: &Report) -> bool {
    reported(report.status).is_terminal() && !is_uncertain(report)
}

/// What a terminal report says, in one hash.
pub(crate) fn report_hash(report: &Report) -> String {
    let result = report.result.as_ref().map(|result| hash(&result.value));
    aip_crypto::hash(&json!({"status": report.status, "result_hash": result, "error": report.error}))
}

fn hash(value: &Held) -> String {
    match value {
        Held::Inline(value) => aip_crypto::hash(value),
        Held::Blob { sha256, .. } => sha256.clone(),
    }
}

pub(crate) fn dispatch(record: &DelegationRecord, fence: u64, worker: String, at: Millis) -> Step<DelegationRecord> {
    let mut next = record.clone();
    next.dispatches = record.dispatches.saturating_add(1);
    next.fence = fence;
    next.phase = Phase::Dispatching(Lease::new(fence, worker, limits::DELEGATION_TIMEOUT_MS, at));
    let said = said(&next, json!({"dispatch": next.dispatches}));
    Draft::new(next, at).event(EventKind::DelegationDispatching, Some(said)).done("dispatching")
}

/// A dispatch had no answer: it is repeated under the same ids, unless its time, its number or the parent says no.
pub(crate) fn unanswered(record: &DelegationRecord, reach: Reach, at: Millis) -> Step<DelegationRecord> {
    let mut next = record.clone();
    next.may_have_arrived |= reach == Reach::Unclear;
    if record.cancelling.is_some() {
        return give_up(next, Phase::Cancelled {}, ErrorCode::DelegationCancelled, at);
    }
    if at >= record.deadline {
        return give_up(next, Phase::Failed {}, ErrorCode::ActionExpired, at);
    }
    if record.dispatches >= limits::DELEGATION_DISPATCHES_MAX {
        return give_up(next, Phase::Failed {}, ErrorCode::DelegationUndelivered, at);
    }
    let due = at.plus(backoff_ms(limits::DELEGATION_BACKOFF_MS, record.dispatches));
    next.phase = Phase::Accepted { due };
    let said = said(&next, json!({"dispatch": record.dispatches, "due_at": Timestamp::from_millis(due)}));
    Draft::new(next, at).event(EventKind::DelegationDispatchFailed, Some(said)).done("accepted")
}

/// Nothing is dispatched any more. What the peer cannot have is over; of anything else only the peer knows.
fn give_up(mut next: DelegationRecord, phase: Phase, code: ErrorCode, at: Millis) -> Step<DelegationRecord> {
    if next.may_have_arrived {
        return unknown(next, at);
    }
    next.phase = phase;
    next.error = Some(ProtocolError::from(code));
    end(next, &fleet(), at)
}

fn unknown(mut next: DelegationRecord, at: Millis) -> Step<DelegationRecord> {
    next.phase = Phase::OutcomeUnknown {};
    next.child = None;
    let said = said(&next, json!({}));
    Draft::new(next, at).event(EventKind::DelegationOutcomeUnknown, Some(said)).done("outcome_unknown")
}

pub(crate) fn expire(record: &DelegationRecord, at: Millis) -> Result<Step<DelegationRecord>, Rejection> {
    if at < record.deadline {
        return Err(Rejection::NotDue);
    }
    Ok(give_up(record.clone(), Phase::Failed {}, ErrorCode::ActionExpired, at))
}

pub(crate) fn report(
    record: &DelegationRecord,
    message: MessageId,
    report: Report,
    at: Millis,
) -> Result<Step<DelegationRecord>, Rejection> {
    let phase = reported(report.status);
    let uncertain = is_uncertain(&report);
    // A definite answer counts under whatever id it comes; of anything else a copy that comes late says nothing new.
    if !is_definite(&report) && (record.causes.has(&message) || (!uncertain && phase == record.phase)) {
        return Err(Rejection::Repeated);
    }
    if uncertain && record.phase == (Phase::OutcomeUnknown {}) && record.error.is_some() {
        return Err(Rejection::Repeated);
    }
    let mut next = record.clone();
    next.may_have_arrived = true;
    next.causes.push(message);
    if uncertain {
        next.error = report.error;
        return Ok(unknown(next, at));
    }
    next.error = None;
    next.child = None;
    if phase.is_terminal() {
        next.phase = phase;
        next.report_hash = Some(report_hash(&report));
        next.result = report.result.map(|result| result.value);
        next.error = report.error.filter(|_| report.status != DelegationStatus::Completed);
        let peer = Principal::new(record.peer.principal.clone(), record.peer.kind);
        return Ok(end(next, &peer, at));
    }
    let (event, kind) = match report.status {
        DelegationStatus::RequiresHuman => ("requires_human", EventKind::DelegationRequiresHuman),
        DelegationStatus::Accepted => ("running", EventKind::DelegationAccepted),
        DelegationStatus::Running
        | DelegationStatus::Completed
        | DelegationStatus::Failed
        | DelegationStatus::Cancelled => ("running", EventKind::DelegationRunning),
    };
    next.phase = phase;
    let said = said(&next, json!({}));
    Ok(Draft::new(next, at).event(kind, Some(said)).done(event))
}

/// The parent wants no child any more. One that certainly never left is cancelled; one that may be leaving is looked at
/// when its dispatch ends; any other is cancelled when its owner says so, who is asked for it.
pub(crate) fn cancel(record: &DelegationRecord, message: MessageId, at: Millis) -> Step<DelegationRecord> {
    let mut next = record.clone();
    let requester = record.requester.clone();
    let received = json!({"message_id": message.as_str(), "cancel": record.child_action_id.as_str()});
    next.causes.push(message);
    let asked = match record.phase {
        Phase::Accepted { .. } if !record.may_have_arrived => {
            next.phase = Phase::Cancelled {};
            next.error = Some(ProtocolError::from(ErrorCode::DelegationCancelled));
            return end(next, &requester, at);
        }
        Phase::Accepted { .. } => {
            next.phase = Phase::OutcomeUnknown {};
            next.child = None;
            1
        }
        Phase::Dispatching(_) => 0,
        Phase::Running {}
        | Phase::RequiresHuman {}
        | Phase::OutcomeUnknown {}
        | Phase::Completed {}
        | Phase::Failed {}
        | Phase::Cancelled {} => 1,
    };
    next.cancelling = Some(Cancelling { due: at.plus(backoff_ms(limits::DELEGATION_BACKOFF_MS, asked)), asked });
    let said = said(&next, json!({"asked": asked}));
    Draft::new(next, at)
        .receipt(ReceiptType::RequestReceived, &requester, received)
        .event(EventKind::DelegationCancelling, Some(said))
        .done("cancelling")
}

/// Asks the peer again to cancel. Asking twice does no harm, so the stored intent is the outbox.
pub(crate) fn ask(record: &DelegationRecord, at: Millis) -> Result<Step<DelegationRecord>, Rejection> {
    let due = record.cancel_due().ok_or(Rejection::NotAdmitted)?;
    if at < due {
        return Err(Rejection::NotDue);
    }
    let mut next = record.clone();
    let asked = record.cancelling.as_ref().map_or(0, |cancelling| cancelling.asked).saturating_add(1);
    next.cancelling = Some(Cancelling { due: at.plus(backoff_ms(limits::DELEGATION_BACKOFF_MS, asked)), asked });
    let said = said(&next, json!({"asked": asked}));
    Ok(Draft::new(next, at).event(EventKind::DelegationCancelling, Some(said)).done("cancelling"))
}

fn end(mut next: DelegationRecord, actor: &Principal, at: Millis) -> Step<DelegationRecord> {
    next.child = None;
    next.completed_at = Some(at);
    let (event, kind) = match next.phase {
        Phase::Completed {} => ("completed", EventKind::DelegationCompleted),
        Phase::Cancelled {} => ("cancelled", EventKind::DelegationCancelled),
        Phase::Accepted { .. }
        | Phase::Dispatching(_)
        | Phase::Running {}
        | Phase::RequiresHuman {}
        | Phase::OutcomeUnknown {}
        | Phase::Failed {} => ("failed", EventKind::DelegationFailed),
    };
    let code = next.error.as_ref().map(|error| error.code.clone());
    let returned: Value = json!({
        "status": event,
        "delegation_id": next.id.as_str(),
        "child_action_id": next.child_action_id.as_str(),
        "result_hash": next.result.as_ref().map(hash),
        "code": code,
    });
    let said = said(&next, if kind == EventKind::DelegationFailed { json!({"code": code}) } else { json!({}) });
    Draft::new(next, at).receipt(ReceiptType::ResultReturned, actor, returned).event(kind, Some(said)).done(event)
}

/// What the events of a delegation say: its ids, and `more`.
fn said(record: &DelegationRecord, mut more: Value) -> Value {
    if let Some(members) = more.as_object_mut() {
        members.insert("delegation_id".to_owned(), json!(record.id.as_str()));
        members.insert("child_action_id".to_owned(), json!(record.child_action_id.as_str()));
    }
    more
}
