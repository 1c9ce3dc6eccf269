//! Who acts, for whom, and with which credentials.
//!
//! Source: AIP 1.0 §8.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::ids::PrincipalId;
use crate::time::Timestamp;
use crate::wire::wire_enum;

/// Somebody or something that acts. A received one is a claim until it is bound to an authenticated identity.
///
/// Source: AIP 1.0 §8.1.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Principal {
    /// The id; never empty.
    pub id: PrincipalId,
    /// What kind it is.
    pub kind: PrincipalKind,
    /// A name for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub display_name: Option<String>,
    /// The trust domain.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trust_domain: Option<String>,
    /// The decentralised identifier.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub did: Option<String>,
    /// Names of the same thing in other systems.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub external_refs: Vec<ExternalRef>,
    /// Authority that others lent.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub delegated_authority: Vec<DelegatedAuthorityGrant>,
    /// How it was authenticated.
    #[serde(default, deserialize_with = "crate::exact::option", skip_serializing_if = "Option::is_none")]
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
    /// What kind of actor a principal is.
    ///
    /// Source: AIP 1.0 §8.1.
    pub enum PrincipalKind {
        /// A person.
        Human => "human",
        /// An autonomous program.
        Agent => "agent",
        /// A service without a will of its own.
        Service => "service",
        /// A tenant as a whole.
        Tenant => "tenant",
        /// A customer.
        Customer => "customer",
        /// A contact of a channel.
        Contact => "contact",
        /// The system itself.
        System => "system",
    }
}

/// A name for the same thing in another system.
///
/// Source: AIP 1.0 §8.2.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExternalRef {
    /// The system that knows it.
    pub system: String,
    /// What kind of thing it is there.
    pub r#type: String,
    /// The name there.
    pub id: String,
}

/// Authority that one principal lent to another.
///
/// Source: AIP 1.0 §8.4.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DelegatedAuthorityGrant {
    /// Whose work the grant covers.
    pub principal_id: PrincipalId,
    /// The scopes that are lent; `*` stands for all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub scopes: Vec<String>,
    /// The instant after which it no longer holds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
    /// Why, for people.
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

/// The tenant, accounts and people on whose account an action runs.
///
/// Source: AIP 1.0 §8.3.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IdentityContext {
    /// The tenant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant: Option<TenantRef>,
    /// The account in another system.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub external_account: Option<ExternalAccountRef>,
    /// The user of another system.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub external_user: Option<ExternalUserRef>,
    /// The person who acts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub human_actor: Option<Principal>,
    /// The service account that acts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service_account: Option<Principal>,
    /// For whom it is done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub acted_on_behalf_of: Option<Principal>,
    /// The credential to use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credential_ref: Option<CredentialRef>,
    /// The state of an OAuth credential.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub oauth: Option<OAuthCredentialState>,
}

/// A reference to a tenant.
///
/// Source: AIP 1.0 §8.3.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TenantRef {
    /// The id.
    pub id: String,
    /// The system that knows the tenant.
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

/// A reference to an account in another system.
///
/// Source: AIP 1.0 §8.3.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExternalAccountRef {
    /// The id.
    pub id: String,
    /// The system that knows it.
    pub system: String,
}

/// A reference to a user of another system.
///
/// Source: AIP 1.0 §8.3.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExternalUserRef {
    /// The id.
    pub id: String,
    /// The system that knows it.
    pub system: String,
}

/// A reference to a credential; never the secret itself.
///
/// Source: AIP 1.0 §8.3.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CredentialRef {
    /// Names the credential, not its secret.
    pub id: String,
    /// Who issued it.
    pub issuer: String,
    /// The authority, as labels.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub scopes: Vec<String>,
}

/// What is known about an OAuth credential, without its tokens.
///
/// Source: AIP 1.0 §8.3.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OAuthCredentialState {
    /// Who issued it.
    pub issuer: String,
    /// The OAuth client.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_id: Option<String>,
    /// The authority, as labels.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub scopes: Vec<String>,
    /// The instant after which it no longer holds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
    /// Whether it can be refreshed.
    pub refresh_available: bool,
}

impl OAuthCredentialState {
    /// A value with its required members; the optional ones are absent.
    #[must_use]
    pub fn new(issuer: String, refresh_available: bool) -> Self {
        Self { issuer, client_id: None, scopes: Vec::new(), expires_at: None, refresh_available }
    }
}
