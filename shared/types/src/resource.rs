//! Readable resources.
//!
//! Source: AIP 1.0 §9.7.

use serde::{Deserialize, Serialize};

use crate::content::MessagePart;
use crate::ids::{CapabilityId, PrincipalId};
use crate::time::Timestamp;

/// Something that can be read.
///
/// Source: AIP 1.0 §9.7.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Resource {
    /// The id.
    pub id: String,
    /// A name.
    pub name: String,
    /// A free label.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// The capability that owns it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capability_id: Option<CapabilityId>,
    /// A text for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The media type.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
    /// The tenant; must be one that the caller may ask about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant_id: Option<String>,
    /// Who may read it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub access: Option<ResourceAccessPolicy>,
    /// The instant after which it no longer holds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
}

/// Who may read a resource.
///
/// Source: AIP 1.0 §9.7.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ResourceAccessPolicy {
    /// Whether any authenticated principal may read it.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub public: bool,
    /// Principals that may read it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub allowed_principals: Vec<PrincipalId>,
    /// Scopes of which one is enough.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub required_scopes: Vec<String>,
    /// Whether the reader must be of the tenant of the resource.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub tenant_required: bool,
}

/// Asks for the resources that the filters select.
///
/// Source: AIP 1.0 §9.7.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ResourceListRequest {
    /// Only resources of this capability.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capability_id: Option<CapabilityId>,
    /// Only resources of this kind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// The tenant; must be one that the caller may ask about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant_id: Option<String>,
    /// Opaque place in the sequence: in a request where to go on, in an answer where the next page begins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    /// Records in one page, 1 to 1000.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
}

/// One page of resources.
///
/// Source: AIP 1.0 §9.7.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ResourceList {
    /// The resources.
    pub resources: Vec<Resource>,
    /// Opaque place in the sequence: in a request where to go on, in an answer where the next page begins.
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

/// Asks for the content of a resource.
///
/// Source: AIP 1.0 §9.7.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ResourceReadRequest {
    /// The resource.
    pub resource_id: String,
    /// The tenant; must be one that the caller may ask about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant_id: Option<String>,
    /// The version to read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Media types that the reader takes.
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

/// The content of a resource.
///
/// Source: AIP 1.0 §9.7.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ResourceReadResult {
    /// The resource.
    pub resource: Resource,
    /// The content.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub content: Vec<MessagePart>,
    /// Tag of this version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub etag: Option<String>,
    /// The instant after which it no longer holds.
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
