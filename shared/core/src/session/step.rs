//! The transition function: every (state, trigger) pair has its answer here, and nowhere else.

use aip_types::{ActionId, ErrorCode, EventKind, MessageId, Millis, Principal, ReceiptType, SessionState, limits};
use alloc::{collections::BTreeMap, string::ToString as _, vec::Vec};
use serde_json::json;

use super::Rejection;
use super::record::{ActiveAction, Closing, Opening, SessionRecord, Stage, is_open};
use super::state::{fold, follows};
use super::token::{PresentedToken, TokenHash};
use crate::causes::{Causes, push_bounded};
use crate::step::{Chain, Draft, Machine, Step, fleet};

/// Who asks something of a session: authenticated, and its right to this session proved.
#[derive(Clone, Debug)]
pub struct VerifiedRequester {
    /// Who asks.
    pub principal: Principal,
    /// It asks with delegated authority (AIP 1.0 §8.4), not as a side of the session.
    pub delegated: bool,
}

/// What happens to a session after its first entry.
#[derive(Clone, Debug)]
pub enum Trigger {
    /// Admission is about to create an action in it. The session must agree first; a repeat agrees no second time.
    Admit {
        /// The action.
        action: ActionId,
        /// Nothing queues it: a plain read.
        at_once: bool,
    },
    /// The record of an action says where it stands.
    Moved {
        /// The action.
        action: ActionId,
        /// The entry of its record that says so.
        step: u32,
        /// Where it stands.
        stage: Stage,
    },
    /// The record of an action is terminal, or there is none: its admission was refused or died.
    Over {
        /// The action.
        action: ActionId,
    },
    /// Somebody takes it up again (AIP 1.0 §10.5).
    Resume {
        /// The request.
        message: MessageId,
        /// Who asks.
        by: VerifiedRequester,
        /// The token, where one was sent. Only the initiator may leave it out: it may have lost the last answer.
        presented: Option<PresentedToken>,
        /// The replacement, where there shall be one.
        replacement: Option<TokenHash>,
    },
    /// Somebody closes it (AIP 1.0 §10.4).
    Close {
        /// The request.
        message: MessageId,
        /// Who asks.
        by: VerifiedRequester,
    },
    /// Its time may have come.
    ExpireDue,
    /// The fleet cannot or may not serve it any more.
    Fail {
        /// Why.
        code: ErrorCode,
    },
    /// What it held is released.
    Settle,
}

/// The first step: an accepted handshake takes a session from `new` to `active`.
///
/// # Errors
/// [`Rejection::TermsInvalid`]: the terms or times are out of bounds.
pub fn open(opening: Opening) -> Result<Step<SessionRecord>, Rejection> {
    if !opening.is_bounded() {
        return Err(Rejection::TermsInvalid);
    }
    let Opening { id, tenant, initiator, peer, handshake, handshake_hash, correlation_id, .. } = opening;
    let Opening { terms, expires_at, idle_ms, token, at, .. } = opening;
    let record = SessionRecord {
        id,
        tenant,
        initiator,
        peer,
        causes: Causes::of(handshake.clone()),
        handshake,
        correlation_id,
        terms,
        created_at: at,
        expires_at,
        idle_ms,
        state: SessionState::Active,
        actions: BTreeMap::new(),
        ended: Vec::new(),
        generation: u32::from(token.is_some()),
        token,
        closing: None,
        chain: Chain::default(),
    };
    let actor = record.initiator.clone();
    let received = json!({"message_id": record.handshake.as_str(), "handshake_hash": handshake_hash});
    let decided = json!({
        "decision": "allow",
        "profiles": record.terms.profiles,
        "terms_hash": aip_crypto::hash(&json!(record.terms)),
    });
    Ok(Draft::new(record, at)
        .receipt(ReceiptType::RequestReceived, &actor, received)
        .receipt(ReceiptType::PolicyDecision, &fleet(), decided)
        .event(EventKind::SessionCreated, None)
        .event(EventKind::SessionActive, None)
        .done("active"))
}

/// Applies a trigger. Total: every state answers every trigger.
///
/// # Errors
/// A [`Rejection`], which changes nothing.
///
/// Source: AIP 1.0 §10.3, §10.5, §11.8.
pub fn step(record: &SessionRecord, trigger: Trigger, at: Millis) -> Result<Step<SessionRecord>, Rejection> {
    owned(record, &trigger)?;
    match record.state {
        SessionState::New => match trigger {
            Trigger::Admit { .. }
            | Trigger::Moved { .. }
            | Trigger::Over { .. }
            | Trigger::Resume { .. }
            | Trigger::Close { .. }
            | Trigger::ExpireDue
            | Trigger::Fail { .. }
            | Trigger::Settle => Err(Rejection::NotAdmitted),
        },
        SessionState::Active
        | SessionState::Queued
        | SessionState::Processing
        | SessionState::Streaming
        | SessionState::WaitingForHuman => match trigger {
            Trigger::Admit { action, at_once } => admit(record, action, at_once, at),
            Trigger::Moved { action, step, stage } => moved(record, &action, ActiveAction { stage, step }, at),
            Trigger::Over { action } => over(record, action, at),
            Trigger::Resume { message, by, presented, replacement } => {
                resumable(record, &message, &by, presented.as_ref(), at)?;
                Ok(resume(record, message, &by, replacement, at))
            }
            Trigger::Close { message, by } => close(record, message, &by, at),
            Trigger::ExpireDue => expire(record, at),
            Trigger::Fail { code } => {
                let code = Some(code.as_str().to_string());
                closing(record, Closing { to: SessionState::Failed, request: None, code, at }, &fleet(), at)
            }
            Trigger::Settle => Err(Rejection::NotAdmitted),
        },
        SessionState::Completed | SessionState::Cancelled | SessionState::Failed => match trigger {
            Trigger::Close { message, .. } if record.causes.has(&message) => Err(Rejection::Repeated),
            Trigger::Over { action } if record.knows(&action) => Err(Rejection::Repeated),
            Trigger::Admit { .. }
            | Trigger::Moved { .. }
            | Trigger::Over { .. }
            | Trigger::Resume { .. }
            | Trigger::Close { .. }
            | Trigger::ExpireDue
            | Trigger::Fail { .. } => Err(Rejection::Ended),
            Trigger::Settle => {
                let mut next = record.clone();
                next.state = SessionState::Settled;
                Ok(Draft::new(next, at).event(EventKind::SessionSettled, None).done("settled"))
            }
        },
        SessionState::Settled => match trigger {
            Trigger::Admit { .. }
            | Trigger::Moved { .. }
            | Trigger::Over { .. }
            | Trigger::Resume { .. }
            | Trigger::Close { .. }
            | Trigger::ExpireDue
            | Trigger::Fail { .. }
            | Trigger::Settle => Err(Rejection::Terminal),
        },
    }
}

impl Machine for SessionRecord {
    type Trigger = Trigger;
    type Rejection = Rejection;

    fn step(&self, trigger: Trigger, at: Millis) -> Result<Step<Self>, Rejection> {
        step(self, trigger, at)
    }

    fn is_terminal(&self) -> bool {
        self.state == SessionState::Settled
    }

    fn phase(&self) -> &'static str {
        self.state.as_str()
    }
}

/// The initiator resumes, either side closes, and who has delegated authority does both. To others there is no session.
fn owned(record: &SessionRecord, trigger: &Trigger) -> Result<(), Rejection> {
    let is_owned = match trigger {
        Trigger::Resume { by, .. } => by.delegated || by.principal.id == record.initiator.id,
        Trigger::Close { by, .. } => {
            by.delegated || by.principal.id == record.initiator.id || by.principal.id == record.peer.id
        }
        Trigger::Admit { .. }
        | Trigger::Moved { .. }
        | Trigger::Over { .. }
        | Trigger::ExpireDue
        | Trigger::Fail { .. }
        | Trigger::Settle => true,
    };
    if is_owned { Ok(()) } else { Err(Rejection::NotOwner) }
}

/// Nothing new begins in a session that is closing or over.
fn begins(record: &SessionRecord, at: Millis) -> Result<(), Rejection> {
    if record.closing.is_some() {
        return Err(Rejection::Closing);
    }
    if record.due().is_some_and(|due| at >= due) { Err(Rejection::Expired) } else { Ok(()) }
}

fn admit(
    record: &SessionRecord,
    action: ActionId,
    at_once: bool,
    at: Millis,
) -> Result<Step<SessionRecord>, Rejection> {
    if record.knows(&action) {
        return Err(Rejection::Repeated);
    }
    begins(record, at)?;
    if record.actions.len() >= limits::SESSION_ACTIONS_LEN_MAX {
        return Err(Rejection::ActionsFull);
    }
    let mut next = record.clone();
    let stage = if at_once { Stage::Processing } else { Stage::Queued };
    next.actions.insert(action, ActiveAction { stage, step: 0 });
    Ok(folded(record, next, at))
}

fn moved(
    record: &SessionRecord,
    action: &ActionId,
    now: ActiveAction,
    at: Millis,
) -> Result<Step<SessionRecord>, Rejection> {
    let Some(known) = record.actions.get(action) else {
        return Err(if record.knows(action) { Rejection::Repeated } else { Rejection::ActionUnknown });
    };
    if now.step <= known.step {
        return Err(Rejection::Repeated);
    }
    let mut next = record.clone();
    next.actions.insert(action.clone(), now);
    Ok(folded(record, next, at))
}

fn over(record: &SessionRecord, action: ActionId, at: Millis) -> Result<Step<SessionRecord>, Rejection> {
    let mut next = record.clone();
    if next.actions.remove(&action).is_none() {
        return Err(if record.knows(&action) { Rejection::Repeated } else { Rejection::ActionUnknown });
    }
    push_bounded(&mut next.ended, action, limits::SESSION_ENDED_LEN_MAX);
    match next.closing.clone() {
        Some(closing) if next.actions.is_empty() => {
            ended(&mut next, &closing);
            let state = next.state;
            Ok(end(Draft::new(next, at), state, &closing))
        }
        Some(_) | None => Ok(folded(record, next, at)),
    }
}

/// The state that the actions of `next` give it. Readers hear of a change of state only.
fn folded(before: &SessionRecord, mut next: SessionRecord, at: Millis) -> Step<SessionRecord> {
    next.state = fold(before.state, next.actions.values().map(|action| action.stage));
    let state = next.state;
    if state == before.state {
        return Draft::new(next, at).done("updated");
    }
    Draft::new(next, at).event(kind(state), None).done(state.as_str())
}

fn resumable(
    record: &SessionRecord,
    message: &MessageId,
    by: &VerifiedRequester,
    presented: Option<&PresentedToken>,
    at: Millis,
) -> Result<(), Rejection> {
    if record.causes.has(message) {
        return Err(Rejection::Repeated);
    }
    match (presented, &record.token) {
        (None, None) => {}
        (None, Some(_)) if !by.delegated => {}
        (None, Some(_)) => return Err(Rejection::TokenInvalid),
        (Some(presented), Some(token)) if presented.hash == *token => {}
        (Some(presented), token) => {
            // Of the tokens issued, the last one may be unused; all before it are used or replaced.
            let used = record.generation.saturating_sub(u32::from(token.is_some()));
            let is_used = presented.generation.is_some_and(|generation| (1..=used).contains(&generation));
            return Err(if is_used { Rejection::TokenUsed } else { Rejection::TokenInvalid });
        }
    }
    begins(record, at)
}

/// Consumption and replacement are one step.
fn resume(
    record: &SessionRecord,
    message: MessageId,
    by: &VerifiedRequester,
    replacement: Option<TokenHash>,
    at: Millis,
) -> Step<SessionRecord> {
    let mut next = record.clone();
    next.generation = record.generation.saturating_add(u32::from(replacement.is_some()));
    next.token = replacement;
    let resumed = json!({"decision": "allow", "message_id": message.as_str(), "delegated": by.delegated});
    next.causes.push(message);
    Draft::new(next, at)
        .receipt(ReceiptType::PolicyDecision, &by.principal, resumed)
        .event(EventKind::SessionResumed, None)
        .done("resumed")
}

fn close(
    record: &SessionRecord,
    message: MessageId,
    by: &VerifiedRequester,
    at: Millis,
) -> Result<Step<SessionRecord>, Rejection> {
    if record.causes.has(&message) {
        return Err(Rejection::Repeated);
    }
    let wanted = Closing { to: SessionState::Cancelled, request: Some(message.clone()), code: None, at };
    let mut next = record.clone();
    next.causes.push(message);
    closing(&next, wanted, &by.principal, at)
}

fn expire(record: &SessionRecord, at: Millis) -> Result<Step<SessionRecord>, Rejection> {
    if record.closing.is_some() {
        return Err(Rejection::Closing);
    }
    if record.due().is_none_or(|due| at < due) {
        return Err(Rejection::NotDue);
    }
    let idle = record.actions.is_empty();
    let to = if idle { SessionState::Completed } else { SessionState::Cancelled };
    closing(record, Closing { to, request: None, code: None, at }, &fleet(), at)
}

/// The one way to an end: what is wanted is recorded; who has the lane `closing` cancels the actions; the end comes with
/// the last of them, at once where there is none.
fn closing(
    record: &SessionRecord,
    closing: Closing,
    actor: &Principal,
    at: Millis,
) -> Result<Step<SessionRecord>, Rejection> {
    if record.closing.is_some() {
        return Err(Rejection::Closing);
    }
    let mut next = record.clone();
    next.closing = Some(closing.clone());
    let is_over = next.actions.is_empty();
    if is_over {
        ended(&mut next, &closing);
    }
    let wanted = json!({"to": closing.to, "message_id": closing.request, "code": closing.code});
    let said = json!({"to": closing.to, "code": closing.code});
    let state = next.state;
    let draft = Draft::new(next, at).receipt(ReceiptType::RequestReceived, actor, wanted);
    if is_over {
        return Ok(end(draft, state, &closing));
    }
    Ok(draft.event(EventKind::SessionClosing, Some(said)).done("closing"))
}

/// Where AIP 1.0 §10.3 has no edge to the end that is wanted (from `active` and `queued`), it is `cancelled`.
fn ended(next: &mut SessionRecord, closing: &Closing) {
    debug_assert!(is_open(next.state), "only an open session ends");
    next.state = if follows(next.state, closing.to) { closing.to } else { SessionState::Cancelled };
    next.token = None;
}

fn end(draft: Draft<SessionRecord>, state: SessionState, closing: &Closing) -> Step<SessionRecord> {
    let ended = json!({"status": state, "message_id": closing.request, "code": closing.code});
    let said = (state == SessionState::Failed).then(|| json!({"code": closing.code}));
    draft.receipt(ReceiptType::ResultReturned, &fleet(), ended).event(kind(state), said).done(state.as_str())
}

/// The event that says where a session stands.
const fn kind(state: SessionState) -> EventKind {
    match state {
        SessionState::New => EventKind::SessionCreated,
        SessionState::Active => EventKind::SessionActive,
        SessionState::Queued => EventKind::SessionQueued,
        SessionState::Processing => EventKind::SessionProcessing,
        SessionState::Streaming => EventKind::SessionStreaming,
        SessionState::WaitingForHuman => EventKind::SessionWaitingForHuman,
        SessionState::Completed => EventKind::SessionCompleted,
        SessionState::Cancelled => EventKind::SessionCancelled,
        SessionState::Failed => EventKind::SessionFailed,
        SessionState::Settled => EventKind::SessionSettled,
    }
}
