//! Who acts, for whom, and with which credentials.
//!
//! Source: AIP 1.0 §8.
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::ids::PrincipalId;
use crate::time::Timestamp;
use crate::wire::wire_enum;

/// Principal.
///
/// Source: AIP 1.0 §8.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Principal {
    /// Id.
    pub id: PrincipalId,
    /// Kind.
    pub kind: PrincipalKind,
    /// Display name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub display_name: Option<String>,
    /// Trust domain.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trust_domain: Option<String>,
    /// Did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub did: Option<String>,
    /// External refs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub external_refs: Vec<ExternalRef>,
    /// Delegated authority.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub delegated_authority: Vec<DelegatedAuthorityGrant>,
    /// Auth context.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub auth_context: Option<Value>,
}

impl Principal {
    /// A value with its required members; the optional ones are absent.
    #[must_use]
    pub fn new(id: PrincipalId, kind: PrincipalKind) -> Self {
        Self {
            id,
            kind,
            display_name: None,
            trust_domain: None,
            did: None,
            external_refs: Vec::new(),
            delegated_authority: Vec::new(),
            auth_context: None,
        }
    }
}

wire_enum! {
    /// Principal kind.
    ///
    /// Source: AIP 1.0 §8.
    pub enum PrincipalKind {
        /// `human`.
        Human => "human",
        /// `agent`.
        Agent => "agent",
        /// `service`.
        Service => "service",
        /// `tenant`.
        Tenant => "tenant",
        /// `customer`.
        Customer => "customer",
        /// `contact`.
        Contact => "contact",
        /// `system`.
        System => "system",
    }
}

/// External ref.
///
/// Source: AIP 1.0 §8.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExternalRef {
    /// System.
    pub system: String,
    /// Type.
    pub r#type: String,
    /// Id.
    pub id: String,
}

/// Delegated authority grant.
///
/// Source: AIP 1.0 §8.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DelegatedAuthorityGrant {
    /// Whose work the grant covers.
    pub principal_id: PrincipalId,
    /// `*` stands for every scope.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub scopes: Vec<String>,
    /// Expires at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
    /// Reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl DelegatedAuthorityGrant {
    /// A value with its required members; the optional ones are absent.
    #[must_use]
    pub fn new(principal_id: PrincipalId) -> Self {
        Self { principal_id, scopes: Vec::new(), expires_at: None, reason: None }
    }
}

/// Identity context.
///
/// Source: AIP 1.0 §8.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IdentityContext {
    /// Tenant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant: Option<TenantRef>,
    /// External account.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub external_account: Option<ExternalAccountRef>,
    /// External user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub external_user: Option<ExternalUserRef>,
    /// Human actor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub human_actor: Option<Principal>,
    /// Service account.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service_account: Option<Principal>,
    /// Acted on behalf of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub acted_on_behalf_of: Option<Principal>,
    /// Credential ref.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credential_ref: Option<CredentialRef>,
    /// Oauth.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub oauth: Option<OAuthCredentialState>,
}

/// Tenant ref.
///
/// Source: AIP 1.0 §8.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TenantRef {
    /// Id.
    pub id: String,
    /// System.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system: Option<String>,
}

impl TenantRef {
    /// A value with its required members; the optional ones are absent.
    #[must_use]
    pub fn new(id: String) -> Self {
        Self { id, system: None }
    }
}

/// External account ref.
///
/// Source: AIP 1.0 §8.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExternalAccountRef {
    /// Id.
    pub id: String,
    /// System.
    pub system: String,
}

/// External user ref.
///
/// Source: AIP 1.0 §8.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExternalUserRef {
    /// Id.
    pub id: String,
    /// System.
    pub system: String,
}

/// Credential ref.
///
/// Source: AIP 1.0 §8.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CredentialRef {
    /// Id.
    pub id: String,
    /// Issuer.
    pub issuer: String,
    /// Scopes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub scopes: Vec<String>,
}

/// O auth credential state.
///
/// Source: AIP 1.0 §8.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OAuthCredentialState {
    /// Issuer.
    pub issuer: String,
    /// Client id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_id: Option<String>,
    /// Scopes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub scopes: Vec<String>,
    /// Expires at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
    /// Refresh available.
    pub refresh_available: bool,
}

impl OAuthCredentialState {
    /// A value with its required members; the optional ones are absent.
    #[must_use]
    pub fn new(issuer: String, refresh_available: bool) -> Self {
        Self { issuer, client_id: None, scopes: Vec::new(), expires_at: None, refresh_available }
    }
}
