//! The transition function: every (phase, trigger) pair has its answer here, and nowhere else.

use aip_types::{
    ApprovalDecisionKind as Kind, EventKind, EvidenceArtifact, IdentityContext, Millis, PrincipalKind, ReceiptType,
    Timestamp, limits,
};
use alloc::{boxed::Box, format, string::String, vec::Vec};
use serde_json::{Value, json};

use super::Rejection;
use super::decision::{Decide, check, stored};
use super::evidence::{self, INPUT_SNAPSHOT, POLICY_DECISION};
use super::record::{ApprovalRecord, Phase, Recorded, Requested};
use super::rule::Rule;
use crate::step::{Chain, Draft, Machine, Step, bare, fleet};

/// What happens to an approval after its first entry.
#[derive(Clone, Debug)]
pub enum Trigger {
    /// Somebody decides.
    Decide(Box<Decide>),
    /// The time may be over. Only the fleet's own timer sends it.
    Due,
    /// Verified: the action has ended, after it was dispatched or without.
    ActionEnded {
        /// It was handed to a handler.
        dispatched: bool,
    },
}

/// The first step: an approval is asked for.
///
/// It is a function of the action's `pending_approval` entry alone, so a redelivery makes the same record.
///
/// # Errors
/// [`Rejection::RuleInvalid`], [`Rejection::EvidenceInvalid`], [`Rejection::TooLarge`]. Admission asks `Rule::of` before it
/// lets an action wait for a rule that nobody can satisfy.
pub fn request(requested: Requested) -> Result<Step<ApprovalRecord>, Rejection> {
    requested.evidence.iter().try_for_each(evidence::acceptable)?;
    let record = asked(requested);
    Rule::of(&record.policy)?;
    if record.policy.ttl_ms == Some(0) {
        return Err(Rejection::RuleInvalid);
    }
    let bytes = serde_json::to_vec(&record).map_or(usize::MAX, |bytes| bytes.len());
    if record.evidence.len() > limits::APPROVAL_EVIDENCE_LEN_MAX || bytes > limits::APPROVAL_REQUEST_BYTES_MAX {
        return Err(Rejection::TooLarge);
    }
    let at = record.created_at;
    let actor = record.requester.clone();
    let decided = json!({
        "decision": "approval_required",
        "action_id": record.action_id.as_str(),
        "capability_id": record.capability_id.as_str(),
        "policy_decision_id": record.policy_decision_id,
        "policy_hash": record.policy_hash,
    });
    let asked = receipt_data(&record, None);
    let event = json!({"approval_id": record.id.as_str(), "expires_at": Timestamp::from_millis(record.expires_at)});
    Ok(Draft::new(record, at)
        .receipt(ReceiptType::PolicyDecision, &fleet(), decided)
        .receipt(ReceiptType::ApprovalRequested, &actor, asked)
        .event(EventKind::ApprovalRequested, Some(event))
        .done("requested"))
}

fn asked(requested: Requested) -> ApprovalRecord {
    let Requested { policy, at, deadline, id, policy_hash, input_hash, .. } = requested;
    let ttl_ms = policy.ttl_ms.unwrap_or(limits::APPROVAL_TTL_MS_DEFAULT).min(limits::APPROVAL_TTL_MS_MAX);
    let artifact = |kind: &str, hash: &str| EvidenceArtifact {
        id: format!("{kind}:{id}"),
        kind: kind.into(),
        uri: None,
        hash: Some(hash.into()),
        redacted: true,
    };
    let mut evidence = requested.evidence;
    evidence.push(artifact(POLICY_DECISION, &policy_hash));
    evidence.push(artifact(INPUT_SNAPSHOT, &input_hash));
    let reason = requested.reason.or_else(|| policy.reason.clone());
    ApprovalRecord {
        id,
        tenant: requested.tenant,
        action_id: requested.action_id,
        capability_id: requested.capability_id,
        session_id: requested.session_id,
        correlation_id: requested.correlation_id,
        requester: bare(&requested.requester),
        subject: requested.subject.as_ref().map(bare),
        operator: requested.operator.as_ref().map(bare),
        identity: requested.identity.map(without_proof),
        reason: reason.unwrap_or_else(|| String::from("Policy requires an approval.")),
        risk: requested.risk,
        governed_value: requested.governed_value,
        policy,
        policy_decision_id: requested.policy_decision_id,
        policy_hash,
        input_hash,
        evidence,
        created_at: at,
        expires_at: at.plus(ttl_ms).min(deadline),
        decisions: Vec::new(),
        phase: Phase::Pending {},
        chain: Chain::default(),
    }
}

/// Of the people in it, ids and kinds: how they were authenticated is no part of a record.
fn without_proof(identity: IdentityContext) -> IdentityContext {
    IdentityContext {
        human_actor: identity.human_actor.as_ref().map(bare),
        service_account: identity.service_account.as_ref().map(bare),
        acted_on_behalf_of: identity.acted_on_behalf_of.as_ref().map(bare),
        ..identity
    }
}

/// Applies a trigger. Total: every phase answers every trigger.
///
/// # Errors
/// A [`Rejection`], which changes nothing.
///
/// Source: AIP 1.0 §12.4; `design.md` §3.
pub fn step(record: &ApprovalRecord, trigger: Trigger, at: Millis) -> Result<Step<ApprovalRecord>, Rejection> {
    match &record.phase {
        Phase::Pending {} => match trigger {
            Trigger::Decide(decide) => decided(record, &decide, at),
            Trigger::Due if at < record.expires_at => Err(Rejection::NotDue),
            Trigger::Due => Ok(expire(record, at)),
            Trigger::ActionEnded { .. } => Ok(withdraw(record, at)),
        },
        Phase::Granted {} => match trigger {
            Trigger::Decide(decide) => decided(record, &decide, at),
            Trigger::Due => Err(Rejection::NotAdmitted),
            Trigger::ActionEnded { dispatched: false } => Ok(withdraw(record, at)),
            Trigger::ActionEnded { dispatched: true } => {
                let used = moved(record, Phase::Used {});
                Ok(Draft::new(used, at).done("used"))
            }
        },
        Phase::Used {} | Phase::Denied {} | Phase::Expired {} | Phase::Revoked {} | Phase::Withdrawn {} => {
            match trigger {
                Trigger::Decide(decide) => Err(check(record, &decide, at).err().unwrap_or(Rejection::NotOpen)),
                Trigger::Due | Trigger::ActionEnded { .. } => Err(Rejection::Terminal),
            }
        }
    }
}

impl Machine for ApprovalRecord {
    type Trigger = Trigger;
    type Rejection = Rejection;

    fn step(&self, trigger: Trigger, at: Millis) -> Result<Step<Self>, Rejection> {
        step(self, trigger, at)
    }

    fn is_terminal(&self) -> bool {
        self.phase.is_terminal()
    }

    fn phase(&self) -> &'static str {
        self.phase.name()
    }
}

/// Records an admitted decision and draws its consequence.
fn decided(record: &ApprovalRecord, decide: &Decide, at: Millis) -> Result<Step<ApprovalRecord>, Rejection> {
    let (id, standings) = check(record, decide, at)?;
    let decider = bare(&decide.authority.principal);
    let kind = decide.claimed.decision;
    let mut next = record.clone();
    if kind == Kind::Revoked {
        let target = decide.claimed.target_decision_id.as_ref();
        for recorded in next.decisions.iter_mut().filter(|recorded| Some(&recorded.id) == target) {
            recorded.revoked_by = Some(id.clone());
        }
    }
    next.decisions.push(Recorded {
        id: id.clone(),
        decision: stored(&decide.claimed),
        at,
        standings,
        authority_revision: decide.authority.revision,
        revoked_by: None,
    });
    let enough = kind == Kind::Approved && Rule::of(&next.policy)?.is_satisfied(&next.votes(at));
    let granted = record.phase == (Phase::Granted {});
    next.phase = match kind {
        Kind::Approved if enough => Phase::Granted {},
        Kind::Denied => Phase::Denied {},
        Kind::Revoked if granted => Phase::Revoked {},
        Kind::Approved | Kind::Revoked | Kind::Expired => record.phase.clone(),
    };
    let data = receipt_data(&next, Some(&id));
    let about = json!({"approval_id": record.id.as_str()});
    let recorded = json!({
        "approval_id": record.id.as_str(),
        "decision": kind.as_str(),
        "decision_id": id,
        "approver": decider.id.as_str(),
    });
    let human = kind == Kind::Approved && decider.kind == PrincipalKind::Human;
    let mut draft = Draft::new(next, at).event(EventKind::ApprovalDecisionRecorded, Some(recorded));
    if human {
        draft = draft.receipt(ReceiptType::HumanApproved, &decider, data.clone());
    }
    Ok(match kind {
        Kind::Approved if enough => draft
            .receipt(ReceiptType::ApprovalGranted, &decider, data)
            .event(EventKind::ApprovalGranted, Some(about))
            .done("granted"),
        Kind::Denied => draft
            .receipt(ReceiptType::ApprovalDenied, &decider, data)
            .event(EventKind::ApprovalDenied, Some(about))
            .done("denied"),
        Kind::Revoked if granted => draft
            .receipt(ReceiptType::ApprovalRevoked, &decider, data)
            .event(EventKind::ApprovalRevoked, Some(json!({"approval_id": record.id.as_str(), "decision_id": id})))
            .done("revoked"),
        Kind::Revoked => draft.receipt(ReceiptType::ApprovalRevoked, &decider, data).done("decision_recorded"),
        Kind::Approved | Kind::Expired => draft.done("decision_recorded"),
    })
}

fn expire(record: &ApprovalRecord, at: Millis) -> Step<ApprovalRecord> {
    let expired = moved(record, Phase::Expired {});
    let data = receipt_data(&expired, None);
    Draft::new(expired, at)
        .receipt(ReceiptType::ApprovalExpired, &fleet(), data)
        .event(EventKind::ApprovalExpired, Some(json!({"approval_id": record.id.as_str()})))
        .done("expired")
}

fn withdraw(record: &ApprovalRecord, at: Millis) -> Step<ApprovalRecord> {
    let withdrawn = moved(record, Phase::Withdrawn {});
    Draft::new(withdrawn, at)
        .event(EventKind::ApprovalWithdrawn, Some(json!({"approval_id": record.id.as_str()})))
        .done("withdrawn")
}

fn moved(record: &ApprovalRecord, phase: Phase) -> ApprovalRecord {
    let mut next = record.clone();
    next.phase = phase;
    next
}

/// Ids and hashes: a receipt has no governed input and no text of people (AIP 1.0 §12.6).
fn receipt_data(record: &ApprovalRecord, decision_id: Option<&str>) -> Value {
    let mut data = json!({
        "approval_id": record.id.as_str(),
        "action_id": record.action_id.as_str(),
        "capability_id": record.capability_id.as_str(),
        "policy_hash": record.policy_hash,
        "input_hash": record.input_hash,
    });
    let recorded = decision_id.and_then(|id| record.decision(id));
    if let (Some(recorded), Some(members)) = (recorded, data.as_object_mut()) {
        members.insert("decision_id".into(), json!(recorded.id));
        members.insert("authority_revision".into(), json!(recorded.authority_revision));
        if let Some(target) = &recorded.decision.target_decision_id {
            members.insert("target_decision_id".into(), json!(target));
        }
    }
    data
}
