//! Manifests, capabilities and discovery.
//!
//! Source: AIP 1.0 §9.
use serde::de::Error as _;
use serde::ser::SerializeMap as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

use crate::contract::{CapabilityContract, SideEffect};
use crate::ids::{CapabilityId, ProfileId};
use crate::policy::RiskLevel;
use crate::principal::Principal;
use crate::resource::Resource;
use crate::wire::wire_enum;

/// Manifest request.
///
/// Source: AIP 1.0 §9.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ManifestRequest {
    /// Profiles.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub profiles: Vec<ProfileId>,
    /// Filter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filter: Option<ManifestFilter>,
}

/// Manifest filter.
///
/// Source: AIP 1.0 §9.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ManifestFilter {
    /// Capability ids.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub capability_ids: Vec<CapabilityId>,
    /// Resource kinds.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub resource_kinds: Vec<String>,
    /// Profiles.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub profiles: Vec<ProfileId>,
    /// Risk.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub risk: Vec<RiskLevel>,
    /// Side effects.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub side_effects: Vec<SideEffect>,
    /// Requires approval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requires_approval: Option<bool>,
    /// Supports streaming.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub supports_streaming: Option<bool>,
    /// Supports transactions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub supports_transactions: Option<bool>,
}

/// Manifest.
///
/// Source: AIP 1.0 §9.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// Spec value is aip-manifest/v1; no const in schema.
    pub manifest_version: String,
    /// Agent.
    pub agent: Principal,
    /// Capabilities.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub capabilities: Vec<Capability>,
    /// Profiles.
    pub profiles: Vec<ProfileId>,
    /// Resources.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub resources: Vec<Resource>,
    /// Channels.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub channels: Vec<Value>,
    /// Security.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub security: Option<Value>,
    /// Governance.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub governance: Option<Value>,
    /// Limits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limits: Option<Value>,
    /// Compatibility.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compatibility: Option<Value>,
    /// Open extension point.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extensions: Option<Value>,
}

impl Manifest {
    /// A value with its required members; the optional ones are absent.
    #[must_use]
    pub fn new(manifest_version: String, agent: Principal, profiles: Vec<ProfileId>) -> Self {
        Self {
            manifest_version,
            agent,
            capabilities: Vec::new(),
            profiles,
            resources: Vec::new(),
            channels: Vec::new(),
            security: None,
            governance: None,
            limits: None,
            compatibility: None,
            extensions: None,
        }
    }
}

/// Capability.
///
/// Source: AIP 1.0 §9.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Capability {
    /// Id.
    pub id: CapabilityId,
    /// Name.
    pub name: String,
    /// Kind.
    pub kind: CapabilityKind,
    /// Spec wants a JSON object schema.
    pub input_schema: Value,
    /// Output schema.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_schema: Option<Value>,
    /// Description.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Risk.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub risk: Option<RiskLevel>,
    /// Stability.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stability: Option<Stability>,
    /// Cost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<Value>,
    /// Auth.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub auth: Option<Value>,
    /// Bindings.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bindings: Vec<Binding>,
    /// Requires human approval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requires_human_approval: Option<bool>,
    /// Contract.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contract: Option<CapabilityContract>,
}

impl Capability {
    /// A value with its required members; the optional ones are absent.
    #[must_use]
    pub fn new(id: CapabilityId, name: String, kind: CapabilityKind, input_schema: Value) -> Self {
        Self {
            id,
            name,
            kind,
            input_schema,
            output_schema: None,
            description: None,
            risk: None,
            stability: None,
            cost: None,
            auth: None,
            bindings: Vec::new(),
            requires_human_approval: None,
            contract: None,
        }
    }
}

wire_enum! {
    /// Capability kind.
    ///
    /// Source: AIP 1.0 §9.
    pub enum CapabilityKind {
        /// `agent`.
        Agent => "agent",
        /// `tool`.
        Tool => "tool",
        /// `workflow`.
        Workflow => "workflow",
        /// `channel`.
        Channel => "channel",
        /// `resource`.
        Resource => "resource",
        /// `human_task`.
        HumanTask => "human_task",
    }
}

wire_enum! {
    /// Stability.
    ///
    /// Source: AIP 1.0 §9.
    pub enum Stability {
        /// `stable`.
        Stable => "stable",
        /// `experimental`.
        Experimental => "experimental",
        /// `deprecated`.
        Deprecated => "deprecated",
    }
}

/// How a capability is reached through one profile. The one open object of the wire: any further member is kept.
///
/// Source: AIP 1.0 §9.3, §23.3.
#[derive(Clone, Debug, PartialEq)]
pub struct Binding {
    /// The profile that this binding belongs to.
    pub profile: ProfileId,
    /// All other members, as received.
    pub members: Map<String, Value>,
}

impl Serialize for Binding {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.members.len().saturating_add(1)))?;
        map.serialize_entry("profile", &self.profile)?;
        for (name, value) in self.members.iter().filter(|(name, _)| name.as_str() != "profile") {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for Binding {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut members = Map::<String, Value>::deserialize(deserializer)?;
        match members.remove("profile") {
            Some(Value::String(profile)) => Ok(Self { profile: ProfileId::new(profile), members }),
            Some(_) => Err(D::Error::custom("`profile` is not a string")),
            None => Err(D::Error::missing_field("profile")),
        }
    }
}
