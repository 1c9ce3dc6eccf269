//! An action's way in: judged, reserved, journaled, and answered when it is settled (`design.md` §5).

use std::{sync::Arc, time::Duration};

use aip_bus::{
    Bus, BusError, Draft, Loaded, Sequence, Source,
    subjects::{RecordKey, Tenant},
};
use aip_core::{
    action::{self as machine, ActionRecord, Admission, IdempotencyKey},
    admission::{self, Facts, Finding, Terms},
    idempotency,
};
use aip_service::{Answer, Catalogue, Context, Offered, now, receive::Request};
use aip_types::{Ack, AckStatus, Action, ActionId, ActionMode, ErrorCode, MessageBody, Millis, ProtocolError, limits};
use serde_json::json;

use crate::{
    keyed::{Keyed, Keys},
    room::Room,
    waiters::Waiters,
};

/// What every action needs.
#[derive(Clone)]
pub(crate) struct Actions {
    bus: Bus,
    catalogue: Catalogue,
    waiters: Waiters,
    room: Arc<Room>,
    keys: Keys,
}

/// An action that was judged and may be written.
pub(crate) struct Judged<'a> {
    pub(crate) action: &'a Action,
    pub(crate) offered: Arc<Offered>,
    pub(crate) terms: Terms,
    pub(crate) tenant: Tenant,
    pub(crate) input_hash: String,
    pub(crate) at: Millis,
}

/// Whether an action needs a handler that lives now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Live {
    Required,
    Any,
}

/// The name of the reservation of an action's key.
fn key_hash(request: &Request, judged: &Judged<'_>) -> Option<String> {
    let (action, principal) = (judged.action, &request.caller.principal().id);
    let key = action.idempotency_key.as_deref()?;
    Some(idempotency::reservation(action, &judged.offered.capability, judged.tenant.as_str(), principal, key))
}

impl Actions {
    pub(crate) async fn start(ctx: &Context, catalogue: Catalogue) -> anyhow::Result<Self> {
        let room = Arc::new(Room::default());
        let waiters = Waiters::start(ctx, Arc::clone(&room)).await?;
        Ok(Self { bus: ctx.bus.clone(), catalogue, waiters, room, keys: Keys::new(ctx.bus.clone()) })
    }

    pub(crate) const fn bus(&self) -> &Bus {
        &self.bus
    }

    pub(crate) async fn on_action(&self, request: &Request, action: &Action) -> Result<Answer, ProtocolError> {
        let judged = match self.judge(request, action, Live::Required) {
            Ok(judged) => judged,
            Err(error) => return self.repeated(request, action, error).await,
        };
        let key_hash = key_hash(request, &judged);
        let id = match &key_hash {
            None => action.id.clone(),
            Some(hash) => match self.keys.reserve(&judged, hash).await? {
                Keyed::Write(id) => id,
                Keyed::Replay(record) => return self.replay(request, *record, judged.terms.mode).await,
            },
        };
        self.create(request, &judged, id, key_hash).await
    }

    /// A repeat needs no handler: what a key names is answered while nobody serves the capability.
    async fn repeated(
        &self,
        request: &Request,
        action: &Action,
        error: ProtocolError,
    ) -> Result<Answer, ProtocolError> {
        let away = [ErrorCode::CapabilityUnavailable, ErrorCode::TransportUnavailable];
        if !error.error_code().is_some_and(|code| away.contains(&code)) || action.idempotency_key.is_none() {
            return Err(error);
        }
        let Ok(judged) = self.judge(request, action, Live::Any) else { return Err(error) };
        let Some(hash) = key_hash(request, &judged) else { return Err(error) };
        match self.keys.known(&judged, &hash).await? {
            Some(record) => self.replay(request, *record, judged.terms.mode).await,
            None => Err(error),
        }
    }

    fn judge<'a>(&self, request: &Request, action: &'a Action, live: Live) -> Result<Judged<'a>, ProtocolError> {
        let caller = &request.caller;
        let snapshot = self.catalogue.now();
        let found = snapshot.find(&action.capability_id).filter(|_| caller.known().may_call(&action.capability_id));
        let input_fault = found.and_then(|(offered, _)| offered.input.check(&action.input).err()).map(|fault| {
            Finding { pointer: format!("/body/action/input{}", fault.pointer), rule: fault.rule.into_owned() }
        });
        let at = now();
        let terms = admission::check(&Facts {
            action,
            capability: found.map(|(offered, _)| &offered.capability),
            live: live == Live::Any || found.is_some_and(|(_, live)| live),
            input_fault,
            tenant: caller.tenant().as_str(),
            room: self.room.has_room(caller.tenant(), at),
            at,
        })
        .map_err(|error| self.right_after_outage(error))?;
        let (offered, _) = found.ok_or(ErrorCode::CapabilityNotFound)?;
        let transaction = action.transaction.as_ref().and_then(|transaction| serde_json::to_value(transaction).ok());
        let input_hash = aip_crypto::input_hash(action.capability_id.as_str(), &action.input, transaction.as_ref());
        Ok(Judged { action, offered: Arc::clone(offered), terms, tenant: caller.tenant().clone(), input_hash, at })
    }

    /// A connector that is not heard of is gone, but while the bus was away nobody could be heard.
    fn right_after_outage(&self, error: ProtocolError) -> ProtocolError {
        let is_new = self.bus.port().connected_for() < Duration::from_millis(limits::LIVENESS_TTL_MS);
        if is_new && error.error_code() == Some(ErrorCode::CapabilityUnavailable) {
            return ProtocolError::from(ErrorCode::TransportUnavailable).with_retry_after_ms(limits::RETRY_AFTER_MS);
        }
        error
    }

    /// Appends the first entry under an id. A lost race for the id is a repeat, or a conflict.
    async fn create(
        &self,
        request: &Request,
        judged: &Judged<'_>,
        id: ActionId,
        key_hash: Option<String>,
    ) -> Result<Answer, ProtocolError> {
        let key = RecordKey::action(judged.tenant.clone(), id.as_str());
        let input = self.bus.hold(&judged.tenant, judged.action.input.clone()).await.map_err(unavailable)?;
        let step = machine::admit(Admission {
            id,
            tenant: judged.tenant.to_string(),
            capability_id: judged.action.capability_id.clone(),
            connector: judged.offered.connector.clone(),
            contract: judged.terms.contract,
            principal: request.caller.principal().clone(),
            method: request.caller.method().to_owned(),
            mode: judged.terms.mode,
            request: request.envelope.message_id.clone(),
            correlation_id: request.envelope.correlation_id.clone(),
            session_id: request.envelope.session_id.clone(),
            key: key_hash
                .clone()
                .zip(judged.action.idempotency_key.clone())
                .map(|(hash, value)| IdempotencyKey { value, hash }),
            input,
            input_hash: judged.input_hash.clone(),
            approval_id: None,
            at: judged.at,
            deadline: judged.terms.deadline,
        });
        let cause = request.envelope.message_id.to_string();
        let waiting = self.waiters.expect(&key);
        let draft = Draft::of(step, cause, Some(self.waiters.inbox().to_owned()));
        // Before the save: its end may be heard of before its acknowledgement.
        let entered = self.room.enter(&judged.tenant, &key, judged.terms.deadline);
        match self.bus.save(&key, draft, Sequence::NONE).await {
            Ok(saved) => {
                let record = &saved.entry.state;
                if record.mode == ActionMode::Async {
                    return Ok(Answer::from(ack(record, AckStatus::Queued)));
                }
                let settled = waiting.settled(wait_of(record, judged.at)).await;
                self.outcome(settled.as_ref().map_or(record, |settled| &settled.entry.state), &judged.tenant)
                    .await
                    .map(Answer::from)
            }
            Err(fault) => {
                if entered {
                    self.room.leave(&key);
                }
                if matches!(fault, BusError::Conflict) {
                    self.lost_race(request, judged, &key, key_hash).await
                } else {
                    Err(unavailable(fault))
                }
            }
        }
    }

    /// Somebody wrote under this id first.
    async fn lost_race(
        &self,
        request: &Request,
        judged: &Judged<'_>,
        key: &RecordKey,
        key_hash: Option<String>,
    ) -> Result<Answer, ProtocolError> {
        let record = self
            .bus
            .load::<ActionRecord>(key, Source::Leader)
            .await
            .map_err(unavailable)?
            .ok_or(ErrorCode::ActionIdConflict)?;
        let state = &record.entry.state;
        let caller = &request.caller.principal().id;
        // This very message wrote it: its acknowledgement was lost, and the record has moved on since.
        let ours = state.request == request.envelope.message_id
            && state.principal.id == *caller
            && state.input_hash == judged.input_hash
            && state.key.as_ref().map(|key| &key.hash) == key_hash.as_ref();
        let same = match key_hash {
            _ if ours => true,
            None => idempotency::same_action(state, caller, judged.action.capability_id.as_str(), &judged.input_hash),
            Some(hash) if state.key.as_ref().is_some_and(|key| key.hash == hash) => {
                return match self.keys.collide(judged, &hash, Box::new(record)).await? {
                    Keyed::Replay(record) => self.replay(request, *record, judged.terms.mode).await,
                    Keyed::Write(_) => Err(ErrorCode::ActionIdConflict.into()),
                };
            }
            Some(hash) => {
                self.keys.give_up(judged, &hash).await;
                false
            }
        };
        if same {
            self.replay(request, record, judged.terms.mode).await
        } else {
            Err(ErrorCode::ActionIdConflict.into())
        }
    }

    /// Answers a repeat with the original. It is authorised as a read.
    async fn replay(
        &self,
        request: &Request,
        record: Loaded<ActionRecord>,
        mode: ActionMode,
    ) -> Result<Answer, ProtocolError> {
        let known = request.caller.known();
        let original = &record.entry.state;
        if original.principal.id != known.principal.id && !known.has_scope(aip_service::SCOPE_READ_ANY) {
            return Err(ErrorCode::IdempotencyConflict.into());
        }
        let key = RecordKey::action(known.tenant.clone(), original.id.as_str());
        if mode == ActionMode::Async {
            let status = if original.phase.is_terminal() { AckStatus::Cached } else { AckStatus::Accepted };
            return Ok(Answer::from(ack(original, status)));
        }
        let wait = wait_of(original, now());
        let settled = if original.phase.is_settled_or_parked() {
            record
        } else {
            aip_service::wait_settled(&self.bus, &key, record, wait).await
        };
        let body = self.outcome(&settled.entry.state, &known.tenant).await?;
        Ok(Answer::from(body).with_extension("idempotent_replay", json!(true)))
    }

    /// What a synchronous caller gets: the result, or where to look for it.
    async fn outcome(&self, record: &ActionRecord, tenant: &Tenant) -> Result<MessageBody, ProtocolError> {
        if !record.phase.is_settled_or_parked() {
            return Ok(ack(record, AckStatus::Accepted));
        }
        let output = match &record.output {
            Some(held) => Some(self.bus.held(tenant, held).await.map_err(unavailable)?),
            None => None,
        };
        machine::result(record, output).map(MessageBody::from)
    }
}

/// How long a synchronous caller is kept: until the deadline, but never longer than the bound of waits (AIP 1.0 §16.4).
fn wait_of(record: &ActionRecord, at: Millis) -> Duration {
    Duration::from_millis(
        record.deadline.0.saturating_sub(at.0).saturating_add(limits::RETRY_AFTER_MS).min(limits::WAIT_MS_MAX),
    )
}

fn ack(record: &ActionRecord, status: AckStatus) -> MessageBody {
    MessageBody::from(Ack { action_id: record.id.clone(), status, reason: None, retry_after_ms: None, queue: None })
}

/// The bus did not answer: nothing is promised, a repeat with the same key or id is safe.
pub(crate) fn unavailable(fault: BusError) -> ProtocolError {
    tracing::warn!(%fault, source = ?std::error::Error::source(&fault), "the bus failed");
    let code = if matches!(fault, BusError::Refused { .. }) {
        ErrorCode::JournalFull
    } else {
        ErrorCode::TransportUnavailable
    };
    ProtocolError::from(code).with_retry_after_ms(limits::RETRY_AFTER_MS)
}
