//! A wish to stop an action (AIP 1.0 §11.8): stored for its owner, then acknowledged. Nothing is stopped here, and nothing is
//! called stopped before its owner says so.

use aip_bus::{CancelAsked, Source, subjects::RecordKey};
use aip_core::action::{ActionRecord, Phase};
use aip_service::{Answer, Known, SCOPE_READ_ANY, SCOPE_WRITE_ANY, receive::Request};
use aip_types::{Ack, AckStatus, ActionId, Cancel, CancelTarget, ErrorCode, MessageBody, ProtocolError, limits};
use serde_json::json;

use crate::action::{Actions, unavailable};

impl Actions {
    pub(crate) async fn on_cancel(&self, request: &Request, cancel: &Cancel) -> Result<Answer, ProtocolError> {
        if cancel.reason.as_ref().is_some_and(|reason| reason.len() > limits::REASON_BYTES_MAX) {
            return Err(
                ProtocolError::from(ErrorCode::EnvelopeInvalid).with_finding("/body/cancel/reason", "reason_bytes_max")
            );
        }
        match &cancel.target {
            CancelTarget::Action(id) => self.cancel_action(request, id, cancel.reason.clone()).await,
            CancelTarget::Session(_) => Err(ProtocolError::from(ErrorCode::ContextUnsupported)
                .with_details(json!({"pointer": "/body/cancel/target/session"}))),
        }
    }

    async fn cancel_action(
        &self,
        request: &Request,
        id: &ActionId,
        reason: Option<String>,
    ) -> Result<Answer, ProtocolError> {
        let known = request.caller.known();
        let key = RecordKey::action(known.tenant.clone(), id.as_str());
        let loaded = self.bus().load::<ActionRecord>(&key, Source::Leader).await.map_err(unavailable)?;
        let record = loaded.filter(|loaded| may_see(known, &loaded.entry.state)).ok_or(ErrorCode::ActionNotFound)?;
        let record = &record.entry.state;
        if !may_stop(known, record) {
            return Err(ErrorCode::PolicyDenied.into());
        }
        if record.phase.is_terminal() {
            return Ok(Answer::from(MessageBody::from(ack(
                record,
                AckStatus::Rejected,
                Some("the action is over".to_owned()),
            ))));
        }
        if matches!(record.phase, Phase::OutcomeUnknown(_)) {
            let reason = "its outcome is unknown: only a reconciliation can end it".to_owned();
            return Ok(Answer::from(MessageBody::from(ack(record, AckStatus::Rejected, Some(reason)))));
        }
        if record.stop.is_none() {
            let message = request.envelope.message_id.clone();
            let asked = CancelAsked { message, by: known.principal.clone(), reason };
            self.bus().ask_to_cancel(&key, &asked).await.map_err(unavailable)?;
        }
        Ok(Answer::from(MessageBody::from(ack(record, AckStatus::Accepted, None))))
    }
}

fn may_see(known: &Known, record: &ActionRecord) -> bool {
    record.principal.id == known.principal.id || known.has_scope(SCOPE_READ_ANY) || known.has_scope(SCOPE_WRITE_ANY)
}

fn may_stop(known: &Known, record: &ActionRecord) -> bool {
    record.principal.id == known.principal.id || known.has_scope(SCOPE_WRITE_ANY)
}

fn ack(record: &ActionRecord, status: AckStatus, reason: Option<String>) -> Ack {
    Ack { action_id: record.id.clone(), status, reason, retry_after_ms: None, queue: None }
}
