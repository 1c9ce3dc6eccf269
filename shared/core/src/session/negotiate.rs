//! What comes of a handshake (AIP 1.0 §10.1, §10.2, §23.3).

use aip_types::{CapabilityId, ErrorCode, Handshake, Principal, ProfileId};
use alloc::{collections::BTreeSet, string::String};

/// How well a transport protects what it carries, weakest first (AIP 1.0 §22.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Boundary {
    /// Plain text, inside an environment that is controlled itself.
    Plaintext,
    /// TLS: the responder is authenticated.
    Tls,
    /// Mutual TLS, or TLS with signed envelopes: both are.
    Mutual,
}

/// Another responder that policy approved for this caller. Only the service that asked policy makes one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApprovedRedirect {
    /// Where to go.
    pub target: String,
    /// What protects the way there.
    pub boundary: Boundary,
}

/// What this responder offers to this caller, as the service resolved it.
#[derive(Clone, Debug)]
pub struct Offer {
    /// The authenticated caller.
    pub caller: Principal,
    /// Profiles with their exact versions.
    pub profiles: BTreeSet<ProfileId>,
    /// Capabilities that the caller may see.
    pub visible: BTreeSet<CapabilityId>,
    /// Compliance regimes that the deployment meets.
    pub compliance: BTreeSet<String>,
    /// What protects this very exchange.
    pub boundary: Boundary,
    /// Where this caller's session is served.
    pub place: Place,
}

/// Where a session is served.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// By this responder.
    Here,
    /// By another one.
    Elsewhere(ApprovedRedirect),
    /// By another one, but policy approves none for this caller.
    Nowhere,
}

/// What came of a handshake.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Negotiated {
    /// There can be a session on these terms.
    Accepted {
        /// Profiles that both sides support, of the exact same version.
        profiles: BTreeSet<ProfileId>,
        /// Capabilities that were asked for and may be seen. What may not be seen is left out like what does not exist.
        capabilities: BTreeSet<CapabilityId>,
    },
    /// There is none.
    Rejected(ErrorCode),
    /// Another responder should be asked.
    Redirect {
        /// Where.
        target: String,
    },
}

/// Decides a handshake. What it claims about authentication decides nothing: `offer.caller` is who calls.
///
/// Precedence: caller, redirect, compliance, profiles. A redirect leads to no weaker boundary than this exchange has.
#[must_use]
pub fn negotiate(handshake: &Handshake, offer: &Offer) -> Negotiated {
    if (&handshake.client.id, handshake.client.kind) != (&offer.caller.id, offer.caller.kind) {
        return Negotiated::Rejected(ErrorCode::ActorMismatch);
    }
    match &offer.place {
        Place::Here => {}
        Place::Elsewhere(redirect) if redirect.boundary >= offer.boundary => {
            return Negotiated::Redirect { target: redirect.target.clone() };
        }
        Place::Elsewhere(_) | Place::Nowhere => return Negotiated::Rejected(ErrorCode::SessionRedirectRefused),
    }
    if !handshake.compliance_required.iter().all(|regime| offer.compliance.contains(regime)) {
        return Negotiated::Rejected(ErrorCode::SessionComplianceUnmet);
    }
    let profiles: BTreeSet<_> =
        handshake.profiles.iter().filter(|profile| offer.profiles.contains(*profile)).cloned().collect();
    if profiles.is_empty() {
        return Negotiated::Rejected(ErrorCode::SessionNoCommonProfile);
    }
    let wanted = handshake.requested_capabilities.iter();
    let capabilities = wanted.filter(|capability| offer.visible.contains(*capability)).cloned().collect();
    Negotiated::Accepted { profiles, capabilities }
}
