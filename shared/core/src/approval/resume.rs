//! What is verified once more before an approved action is dispatched (AIP 1.0 §12.4, §12.5).

use aip_types::{ActionId, ApprovalDecision, ApprovalDecisionKind, Millis, PrincipalId};
use alloc::collections::BTreeMap;
use serde_json::Value;

use super::Rejection;
use super::authority::VerifiedAuthority;
use super::decision::{all_hold, same};
use super::record::{ApprovalRecord, Phase};
use super::rule::{Leaves, Rule};

/// Verified: what is true of an approved action, immediately before it is dispatched.
#[derive(Clone, Debug)]
pub struct VerifiedDispatch<'a> {
    /// The action that is about to run.
    pub action_id: &'a ActionId,
    /// Policy hash under the policy in force.
    pub policy_hash: &'a str,
    /// The identities of the requester, and of whom it acts for, still stand.
    pub identity_stands: bool,
    /// The present authority of those who approved, by the resolver. Who is not in it has none.
    pub authorities: &'a [VerifiedAuthority],
    /// Whoever dispatches owns the stage of the action's transaction, or there is none.
    pub owns_transaction: bool,
    /// Hash of the input that would run.
    pub input_hash: &'a str,
    /// That input, where a decision has constraints; without it they cannot be enforced.
    pub input: Option<&'a Value>,
}

/// Whether a grant still lets its action begin: of those who approved, enough must have the authority *now*.
///
/// # Errors
/// The first that fails, in the order of AIP 1.0 §12.5: grant, expiration, policy, identity and authority, transaction,
/// input, constraints. Nothing that has changed since makes a grant larger.
pub fn revalidate(record: &ApprovalRecord, now: &VerifiedDispatch<'_>, at: Millis) -> Result<(), Rejection> {
    stands(record, at)?;
    if *now.action_id != record.action_id {
        return Err(Rejection::NotGranted);
    }
    if now.policy_hash != record.policy_hash {
        return Err(Rejection::PolicyChanged);
    }
    if !now.identity_stands {
        return Err(Rejection::IdentityChanged);
    }
    authority(record, now.authorities, at)?;
    if !now.owns_transaction {
        return Err(Rejection::TransactionChanged);
    }
    if now.input_hash != record.input_hash {
        return Err(Rejection::InputChanged);
    }
    let mut approving = record.decisions.iter().filter(|recorded| recorded.approves());
    approving.try_for_each(|recorded| all_hold(&recorded.decision.constraints, now.input))
}

fn stands(record: &ApprovalRecord, at: Millis) -> Result<(), Rejection> {
    match record.phase {
        Phase::Granted {} if at >= record.expires_at => Err(Rejection::Expired),
        Phase::Granted {} => Ok(()),
        Phase::Expired {} => Err(Rejection::Expired),
        Phase::Revoked {} => Err(Rejection::Revoked),
        Phase::Pending {} | Phase::Used {} | Phase::Denied {} | Phase::Withdrawn {} => Err(Rejection::NotGranted),
    }
}

/// A vote counts for the leaves that its principal satisfied when it was given and satisfies now.
fn authority(record: &ApprovalRecord, authorities: &[VerifiedAuthority], at: Millis) -> Result<(), Rejection> {
    let rule = Rule::of(&record.policy)?;
    let governed = record.governed();
    let present = |principal: &PrincipalId| {
        let resolved = authorities.iter().find(|authority| authority.principal.id == *principal);
        let standings = resolved.and_then(|authority| rule.standings(authority, &governed, at).ok());
        standings.map_or(Leaves::NONE, |standings| Leaves::standing(&standings, at))
    };
    let votes: BTreeMap<_, _> =
        record.votes(at).into_iter().map(|(principal, leaves)| (principal, leaves.and(present(principal)))).collect();
    if rule.is_satisfied(&votes) { Ok(()) } else { Err(Rejection::GrantExpired) }
}

/// Whether an `Action.approval` that a caller sent is the stored grant (AIP 1.0 §12.4, end).
///
/// # Errors
/// [`Rejection::NotGranted`] unless it is an approving decision, the same as an accepted one, of this very action; then what
/// [`revalidate`] says of the grant itself.
pub fn verify(
    record: &ApprovalRecord,
    claimed: &ApprovalDecision,
    action_id: &ActionId,
    at: Millis,
) -> Result<(), Rejection> {
    let recorded = claimed.decision_id.as_ref().and_then(|id| record.decision(id));
    let accepted = recorded.is_some_and(|recorded| recorded.approves() && same(&recorded.decision, claimed));
    if claimed.decision != ApprovalDecisionKind::Approved || !accepted || *action_id != record.action_id {
        return Err(Rejection::NotGranted);
    }
    stands(record, at)
}
