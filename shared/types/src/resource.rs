//! Readable resources.
//!
//! Source: AIP 1.0 §9.7.
use serde::{Deserialize, Serialize};

use crate::content::MessagePart;
use crate::ids::{CapabilityId, PrincipalId};
use crate::time::Timestamp;

/// Resource.
///
/// Source: AIP 1.0 §9.7.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Resource {
    /// Id.
    pub id: String,
    /// Name.
    pub name: String,
    /// Free label.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// Capability id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capability_id: Option<CapabilityId>,
    /// Description.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Mime type.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
    /// Tenant id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant_id: Option<String>,
    /// Access.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub access: Option<ResourceAccessPolicy>,
    /// Expires at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
}

/// Resource access policy.
///
/// Source: AIP 1.0 §9.7.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ResourceAccessPolicy {
    /// Any authenticated principal.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub public: bool,
    /// Allowed principals.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub allowed_principals: Vec<PrincipalId>,
    /// Holding any one is enough.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub required_scopes: Vec<String>,
    /// Applies when the resource has a tenant_id.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub tenant_required: bool,
}

/// Resource list request.
///
/// Source: AIP 1.0 §9.7.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ResourceListRequest {
    /// Capability id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capability_id: Option<CapabilityId>,
    /// Kind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// Tenant id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant_id: Option<String>,
    /// Cursor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    /// Limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
}

/// Resource list.
///
/// Source: AIP 1.0 §9.7.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ResourceList {
    /// Resources.
    pub resources: Vec<Resource>,
    /// Cursor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
}

impl ResourceList {
    /// A value with its required members; the optional ones are absent.
    #[must_use]
    pub fn new(resources: Vec<Resource>) -> Self {
        Self { resources, cursor: None }
    }
}

/// Resource read request.
///
/// Source: AIP 1.0 §9.7.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ResourceReadRequest {
    /// Resource id.
    pub resource_id: String,
    /// Tenant id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant_id: Option<String>,
    /// Version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// MIME types or profile labels.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub accept: Vec<String>,
}

impl ResourceReadRequest {
    /// A value with its required members; the optional ones are absent.
    #[must_use]
    pub fn new(resource_id: String) -> Self {
        Self { resource_id, tenant_id: None, version: None, accept: Vec::new() }
    }
}

/// Resource read result.
///
/// Source: AIP 1.0 §9.7.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ResourceReadResult {
    /// Resource.
    pub resource: Resource,
    /// Content.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub content: Vec<MessagePart>,
    /// Etag.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub etag: Option<String>,
    /// Expires at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
}

impl ResourceReadResult {
    /// A value with its required members; the optional ones are absent.
    #[must_use]
    pub fn new(resource: Resource) -> Self {
        Self { resource, content: Vec::new(), etag: None, expires_at: None }
    }
}
