//! What a decision must bring along, and what no evidence may be (AIP 1.0 §12.1, §12.3).

use aip_types::{ApprovalDecision, EvidenceArtifact, EvidenceRequirement};

use super::Rejection;
use super::record::ApprovalRecord;

/// Kind of an artifact that stands for the governed input; its hash is the input hash.
pub(super) const INPUT_SNAPSHOT: &str = "input_snapshot";
/// Kind of an artifact that stands for the policy decision; its hash is the policy hash.
pub(super) const POLICY_DECISION: &str = "policy_decision";
const EXTERNAL_TICKET: &str = "external_ticket";
const ATTACHMENT: &str = "attachment";

/// Whether a decision has all evidence that the policy asks for, its own or the request's.
pub(super) fn check(record: &ApprovalRecord, decision: &ApprovalDecision) -> Result<(), Rejection> {
    for artifact in &decision.evidence {
        acceptable(artifact)?;
        let bound = match artifact.kind.as_str() {
            INPUT_SNAPSHOT => Some(&record.input_hash),
            POLICY_DECISION => Some(&record.policy_hash),
            _ => None,
        };
        if bound.is_some_and(|bound| artifact.hash.as_ref() != Some(bound)) {
            return Err(Rejection::EvidenceInvalid);
        }
    }
    let has = |kind: &str| decision.evidence.iter().chain(&record.evidence).any(|artifact| artifact.kind == kind);
    let brings = |kind: &str| decision.evidence.iter().any(|artifact| artifact.kind == kind && artifact.uri.is_some());
    let complete = record.policy.evidence_requirements.iter().all(|requirement| match requirement {
        EvidenceRequirement::Reason => decision.reason.as_ref().is_some_and(|reason| !reason.trim().is_empty()),
        EvidenceRequirement::InputSnapshot => has(INPUT_SNAPSHOT),
        EvidenceRequirement::PolicyDecision => has(POLICY_DECISION),
        EvidenceRequirement::ExternalTicket => brings(EXTERNAL_TICKET),
        EvidenceRequirement::Attachment => brings(ATTACHMENT),
    });
    if complete { Ok(()) } else { Err(Rejection::EvidenceMissing) }
}

/// Evidence is a reference: it has no content of its own, and no credential in its address.
pub(super) fn acceptable(artifact: &EvidenceArtifact) -> Result<(), Rejection> {
    let named = !artifact.id.trim().is_empty() && !artifact.kind.trim().is_empty();
    let hashed = artifact.hash.as_ref().is_none_or(|hash| {
        hash.len() == 64 && hash.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
    });
    if named && hashed && artifact.uri.as_deref().is_none_or(is_bare_address) {
        Ok(())
    } else {
        Err(Rejection::EvidenceInvalid)
    }
}

/// A URI with a scheme other than `data`, and without a user before its host.
fn is_bare_address(uri: &str) -> bool {
    let Some((scheme, rest)) = uri.split_once(':') else { return false };
    let host = rest.strip_prefix("//").map_or("", |rest| rest.split(['/', '?', '#']).next().unwrap_or_default());
    !scheme.is_empty()
        && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte))
        && !scheme.eq_ignore_ascii_case("data")
        && !rest.is_empty()
        && !host.contains('@')
}
