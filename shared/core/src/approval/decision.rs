//! What is checked before a decision is accepted, in the order in which it is checked (AIP 1.0 §12.4). One wrong decision
//! has one answer, however many things are wrong with it.

use aip_types::{ApprovalConstraint, ApprovalDecision, ApprovalDecisionKind as Kind, Millis, limits};
use alloc::{string::String, vec::Vec};
use serde_json::Value;

use super::Rejection;
use super::authority::{Standing, VerifiedAuthority};
use super::constraint::{self, Fault};
use super::evidence;
use super::record::{ApprovalRecord, Phase, Recorded};
use super::rule::Rule;

/// A decision as it came in, and what the service has found out for itself.
#[derive(Clone, Debug)]
pub struct Decide {
    /// The decision. All of it is claimed.
    pub claimed: ApprovalDecision,
    /// The authenticated sender, with its authority from the trusted resolver.
    pub authority: VerifiedAuthority,
    /// The sender may read this approval.
    pub visible: bool,
    /// What the decision would let run, as it stands now.
    pub now: VerifiedNow,
}

/// Verified: what is governed, as it stands now.
#[derive(Clone, Debug)]
pub struct VerifiedNow {
    /// The action.
    pub action: ActionNow,
    /// Policy hash under the policy in force.
    pub policy_hash: String,
    /// Hash of the stored input.
    pub input_hash: String,
    /// The stored input, where the decision has constraints; without it they cannot be enforced.
    pub input: Option<Value>,
}

/// Where the governed action stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ActionNow {
    /// It waits, for the approval or for a handler.
    Waiting,
    /// It was handed to a handler.
    Dispatched,
    /// It has ended.
    Ended,
}

/// Checks a decision. Gives its id and the leaves that its decider satisfies.
pub(super) fn check(
    record: &ApprovalRecord,
    decide: &Decide,
    at: Millis,
) -> Result<(String, Vec<Standing>), Rejection> {
    let claimed = &decide.claimed;
    if !decide.visible || decide.authority.tenant != record.tenant || claimed.approval_id != record.id {
        return Err(Rejection::NotFound);
    }
    if claimed.approver.id != decide.authority.principal.id || claimed.approver.kind != decide.authority.principal.kind
    {
        return Err(Rejection::ApproverMismatch);
    }
    let id = replayed(record, claimed)?;
    open(record, decide)?;
    if at >= record.expires_at {
        return Err(Rejection::Expired);
    }
    // To take one's own vote back needs no authority: it may be what the decider has lost.
    let own = takes_back(record, claimed);
    let rule = Rule::of(&record.policy)?;
    let standings = if own { Ok(Vec::new()) } else { rule.standings(&decide.authority, &record.governed(), at) };
    if let Err(Rejection::GrantExpired) = standings {
        return Err(Rejection::GrantExpired);
    }
    hashes(record, decide)?;
    separation(record, claimed)?;
    let standings = standings?;
    constraints(claimed, decide.now.input.as_ref())?;
    if claimed.decision != Kind::Revoked {
        evidence::check(record, claimed)?;
    }
    room(record, claimed)?;
    Ok((id, standings))
}

/// A known id stands for its decision and no other. The claimed time is no part of it: a repeat may be stamped anew.
fn replayed(record: &ApprovalRecord, claimed: &ApprovalDecision) -> Result<String, Rejection> {
    let id = claimed.decision_id.as_ref().filter(|id| !id.is_empty());
    let id = match (id, claimed.decision) {
        (Some(id), _) => id,
        (None, Kind::Expired) => return Err(Rejection::ExpiredByCaller),
        (None, Kind::Approved | Kind::Denied | Kind::Revoked) => return Err(Rejection::DecisionIdRequired),
    };
    match record.decision(id) {
        None => Ok(id.clone()),
        Some(recorded) if same(&recorded.decision, claimed) => Err(Rejection::Repeated),
        Some(_) => Err(Rejection::Conflict),
    }
}

/// Whether two decisions say the same.
pub(super) fn same(left: &ApprovalDecision, right: &ApprovalDecision) -> bool {
    left.approval_id == right.approval_id
        && left.decision == right.decision
        && left.approver.id == right.approver.id
        && left.reason == right.reason
        && left.constraints == right.constraints
        && left.evidence == right.evidence
        && left.policy_hash == right.policy_hash
        && left.target_decision_id == right.target_decision_id
}

/// Whether the state admits this kind of decision, from this decider.
fn open(record: &ApprovalRecord, decide: &Decide) -> Result<(), Rejection> {
    let claimed = &decide.claimed;
    if record.phase.is_terminal() {
        return Err(Rejection::NotOpen);
    }
    match claimed.decision {
        Kind::Expired => return Err(Rejection::ExpiredByCaller),
        Kind::Approved | Kind::Denied if record.phase == (Phase::Granted {}) => return Err(Rejection::NotOpen),
        Kind::Approved | Kind::Denied | Kind::Revoked => {}
    }
    match decide.now.action {
        ActionNow::Waiting => {}
        ActionNow::Dispatched => return Err(Rejection::ActionDispatched),
        ActionNow::Ended => return Err(Rejection::ActionOver),
    }
    match claimed.decision {
        Kind::Revoked => {
            let found = target(record, claimed).is_some();
            let admitted = found && (record.phase == (Phase::Granted {}) || takes_back(record, claimed));
            if admitted { Ok(()) } else { Err(Rejection::TargetUnknown) }
        }
        Kind::Approved | Kind::Denied | Kind::Expired => {
            let voted = record
                .decisions
                .iter()
                .any(|recorded| recorded.approves() && recorded.decision.approver.id == claimed.approver.id);
            if voted { Err(Rejection::AlreadyDecided) } else { Ok(()) }
        }
    }
}

/// The decision that a revocation is about.
fn target<'a>(record: &'a ApprovalRecord, claimed: &ApprovalDecision) -> Option<&'a Recorded> {
    record.decision(claimed.target_decision_id.as_ref()?).filter(|recorded| recorded.approves())
}

/// It revokes the decider's own decision.
fn takes_back(record: &ApprovalRecord, claimed: &ApprovalDecision) -> bool {
    claimed.decision == Kind::Revoked
        && target(record, claimed).is_some_and(|recorded| recorded.decision.approver.id == claimed.approver.id)
}

/// Who approves must have seen the policy hash of the request, and it must still be true. What only narrows, a denial or a
/// revocation, does not depend on that.
fn hashes(record: &ApprovalRecord, decide: &Decide) -> Result<(), Rejection> {
    let seen = decide.claimed.policy_hash.as_ref();
    let approves = decide.claimed.decision == Kind::Approved;
    if seen.map_or(approves, |seen| *seen != record.policy_hash) {
        return Err(Rejection::PolicyChanged);
    }
    if approves && decide.now.policy_hash != record.policy_hash {
        return Err(Rejection::PolicyChanged);
    }
    if approves && decide.now.input_hash != record.input_hash {
        return Err(Rejection::InputChanged);
    }
    Ok(())
}

/// Separation of duties (AIP 1.0 §12.1): of approving; saying no is everybody's who has the authority.
fn separation(record: &ApprovalRecord, claimed: &ApprovalDecision) -> Result<(), Rejection> {
    match record.barred().get(&claimed.approver.id) {
        Some(why) if claimed.decision == Kind::Approved => Err(*why),
        Some(_) | None => Ok(()),
    }
}

/// Only an approval may have constraints, and all of them must be enforceable on the input and hold for it.
fn constraints(claimed: &ApprovalDecision, input: Option<&Value>) -> Result<(), Rejection> {
    if claimed.constraints.is_empty() {
        return Ok(());
    }
    if claimed.decision != Kind::Approved || claimed.constraints.len() > limits::APPROVAL_CONSTRAINTS_LEN_MAX {
        return Err(Rejection::ConstraintInvalid);
    }
    all_hold(&claimed.constraints, input)
}

/// Whether an input meets all constraints.
pub(super) fn all_hold(constraints: &[ApprovalConstraint], input: Option<&Value>) -> Result<(), Rejection> {
    constraints.iter().try_for_each(|one| {
        input.ok_or(Fault::Unenforceable).and_then(|input| constraint::check(one, input)).map_err(|fault| match fault {
            Fault::Unenforceable => Rejection::ConstraintInvalid,
            Fault::Failed => Rejection::ConstraintFailed,
        })
    })
}

/// Room for one more. A denial always finds some, and every vote can be taken back.
fn room(record: &ApprovalRecord, claimed: &ApprovalDecision) -> Result<(), Rejection> {
    let votes = record.decisions.iter().filter(|recorded| recorded.decision.decision == Kind::Approved).count();
    let full = claimed.decision == Kind::Approved && votes >= limits::APPROVAL_VOTES_MAX;
    let bytes = serde_json::to_vec(&stored(claimed)).map_or(usize::MAX, |bytes| bytes.len());
    if full || claimed.evidence.len() > limits::APPROVAL_EVIDENCE_LEN_MAX || bytes > limits::APPROVAL_DECISION_BYTES_MAX
    {
        return Err(Rejection::TooLarge);
    }
    Ok(())
}

/// A decision as it is kept: of its approver id and kind, which were authenticated; of its authority path nothing, which is
/// ours to say.
pub(super) fn stored(claimed: &ApprovalDecision) -> ApprovalDecision {
    let mut stored = claimed.clone();
    stored.approver = crate::step::bare(&claimed.approver);
    stored.authority_path = Vec::new();
    stored
}
