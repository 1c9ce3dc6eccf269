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

/// Asks for the manifest.
///
/// Source: AIP 1.0 §9.8.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ManifestRequest {
    /// Only what supports one of these profiles.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub profiles: Vec<ProfileId>,
    /// Narrows the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filter: Option<ManifestFilter>,
}

/// Narrows a manifest. All given members must match.
///
/// Source: AIP 1.0 §9.8.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ManifestFilter {
    /// Only these capabilities.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub capability_ids: Vec<CapabilityId>,
    /// Only resources of these kinds.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub resource_kinds: Vec<String>,
    /// Only what supports one of these profiles.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub profiles: Vec<ProfileId>,
    /// Only these risks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub risk: Vec<RiskLevel>,
    /// Only capabilities with one of these effects.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub side_effects: Vec<SideEffect>,
    /// Only what needs an approval, or only what does not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requires_approval: Option<bool>,
    /// Only what can stream, or only what cannot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub supports_streaming: Option<bool>,
    /// Only what takes part in transactions, or only what does not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub supports_transactions: Option<bool>,
}

/// What a provider offers.
///
/// Source: AIP 1.0 §9.1.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// `aip-manifest/v1`.
    pub manifest_version: String,
    /// The provider.
    pub agent: Principal,
    /// The capabilities; ids are unique.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub capabilities: Vec<Capability>,
    /// Supported profiles; at least one.
    pub profiles: Vec<ProfileId>,
    /// The resources.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub resources: Vec<Resource>,
    /// The channels.
    #[serde(default, deserialize_with = "crate::exact::list", skip_serializing_if = "Vec::is_empty")]
    pub channels: Vec<Value>,
    /// Signature or authentication metadata.
    #[serde(default, deserialize_with = "crate::exact::option", skip_serializing_if = "Option::is_none")]
    pub security: Option<Value>,
    /// Audit and compliance metadata.
    #[serde(default, deserialize_with = "crate::exact::option", skip_serializing_if = "Option::is_none")]
    pub governance: Option<Value>,
    /// Limits of the provider.
    #[serde(default, deserialize_with = "crate::exact::option", skip_serializing_if = "Option::is_none")]
    pub limits: Option<Value>,
    /// Metadata of compatibility profiles.
    #[serde(default, deserialize_with = "crate::exact::option", skip_serializing_if = "Option::is_none")]
    pub compatibility: Option<Value>,
    /// Open extension point; member names are namespaced.
    #[serde(default, deserialize_with = "crate::exact::option", skip_serializing_if = "Option::is_none")]
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

/// One operation that can be called or discovered.
///
/// Source: AIP 1.0 §9.3.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Capability {
    /// The id; never empty.
    pub id: CapabilityId,
    /// A name.
    pub name: String,
    /// What kind it is.
    pub kind: CapabilityKind,
    /// The JSON Schema of the input: an object schema.
    #[serde(deserialize_with = "crate::exact::value")]
    pub input_schema: Value,
    /// The JSON Schema of the output.
    #[serde(default, deserialize_with = "crate::exact::option", skip_serializing_if = "Option::is_none")]
    pub output_schema: Option<Value>,
    /// A text for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// How risky it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub risk: Option<RiskLevel>,
    /// How settled it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stability: Option<Stability>,
    /// What it costs.
    #[serde(default, deserialize_with = "crate::exact::option", skip_serializing_if = "Option::is_none")]
    pub cost: Option<Value>,
    /// Terms of authentication.
    #[serde(default, deserialize_with = "crate::exact::option", skip_serializing_if = "Option::is_none")]
    pub auth: Option<Value>,
    /// How it is reached, by profile.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bindings: Vec<Binding>,
    /// A flag for older clients: whether a person must approve.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requires_human_approval: Option<bool>,
    /// What it promises and demands.
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
    /// What kind of operation a capability is.
    ///
    /// Source: AIP 1.0 §9.3.
    pub enum CapabilityKind {
        /// Talks to an agent.
        Agent => "agent",
        /// Runs a function.
        Tool => "tool",
        /// Runs several steps.
        Workflow => "workflow",
        /// Talks to people through a channel.
        Channel => "channel",
        /// Reads a resource.
        Resource => "resource",
        /// Is done by a person.
        HumanTask => "human_task",
    }
}

wire_enum! {
    /// How settled a capability is.
    ///
    /// Source: AIP 1.0 §9.3.
    pub enum Stability {
        /// It does not change incompatibly.
        Stable => "stable",
        /// It may change.
        Experimental => "experimental",
        /// It will go.
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
        let mut members = crate::exact::members(deserializer)?;
        match members.remove("profile") {
            Some(Value::String(profile)) => Ok(Self { profile: ProfileId::new(profile), members }),
            Some(_) => Err(D::Error::custom("`profile` is not a string")),
            None => Err(D::Error::missing_field("profile")),
        }
    }
}
