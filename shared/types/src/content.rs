//! Message parts: the content of results and channel messages.
//!
//! Source: AIP 1.0 §15.2.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::wire::tagged_union;

tagged_union! {
    /// One piece of content. The member `type` names the variant.
    ///
    /// Source: AIP 1.0 §15.2.
    pub enum MessagePart by "type" {
        /// Text.
        Text(TextPart) => "text",
        /// A picture.
        Image(ImagePart) => "image",
        /// A file.
        File(FilePart) => "file",
        /// A sound.
        Audio(AudioPart) => "audio",
        /// A form.
        Form(FormPart) => "form",
        /// A card.
        Card(CardPart) => "card",
        /// A structured value.
        Json(JsonPart) => "json",
        /// The answer of a tool.
        ToolResult(ToolResultPart) => "tool_result",
    }
}

/// Text.
///
/// Source: AIP 1.0 §15.2.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TextPart {
    /// The text.
    pub text: String,
    /// Such as `plain` or `markdown`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub format: Option<String>,
}

impl TextPart {
    /// A value with its required members; the optional ones are absent.
    #[must_use]
    pub fn new(text: String) -> Self {
        Self { text, format: None }
    }
}

/// A picture.
///
/// Source: AIP 1.0 §15.2.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ImagePart {
    /// Where the content lies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Inline content.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<String>,
    /// The media type.
    pub mime_type: String,
    /// A text in place of the image.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alt: Option<String>,
}

impl ImagePart {
    /// A value with its required members; the optional ones are absent.
    #[must_use]
    pub fn new(mime_type: String) -> Self {
        Self { url: None, data: None, mime_type, alt: None }
    }
}

/// A file.
///
/// Source: AIP 1.0 §15.2.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FilePart {
    /// Where the content lies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Inline content.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<String>,
    /// The media type.
    pub mime_type: String,
    /// The name of the file.
    pub filename: String,
    /// Bytes of the file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size_bytes: Option<u64>,
}

/// A sound.
///
/// Source: AIP 1.0 §15.2.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AudioPart {
    /// Where the content lies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Inline content.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<String>,
    /// The media type.
    pub mime_type: String,
    /// What is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transcript: Option<String>,
}

impl AudioPart {
    /// A value with its required members; the optional ones are absent.
    #[must_use]
    pub fn new(mime_type: String) -> Self {
        Self { url: None, data: None, mime_type, transcript: None }
    }
}

/// A form.
///
/// Source: AIP 1.0 §15.2.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FormPart {
    /// The fields of the form.
    #[serde(deserialize_with = "crate::exact::list")]
    pub fields: Vec<Value>,
    /// Actions that are offered.
    #[serde(deserialize_with = "crate::exact::list")]
    pub actions: Vec<Value>,
}

/// A card.
///
/// Source: AIP 1.0 §15.2.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CardPart {
    /// The title.
    pub title: String,
    /// The text.
    pub body: String,
    /// Actions that are offered.
    #[serde(default, deserialize_with = "crate::exact::list", skip_serializing_if = "Vec::is_empty")]
    pub actions: Vec<Value>,
    /// A picture or the like.
    #[serde(default, deserialize_with = "crate::exact::option", skip_serializing_if = "Option::is_none")]
    pub media: Option<Value>,
}

/// A structured value.
///
/// Source: AIP 1.0 §15.2.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JsonPart {
    /// The value.
    #[serde(deserialize_with = "crate::exact::value")]
    pub data: Value,
    /// The schema of the data.
    #[serde(default, deserialize_with = "crate::exact::option", skip_serializing_if = "Option::is_none")]
    pub schema: Option<Value>,
}

impl JsonPart {
    /// A value with its required members; the optional ones are absent.
    #[must_use]
    pub fn new(data: Value) -> Self {
        Self { data, schema: None }
    }
}

/// The answer of a tool.
///
/// Source: AIP 1.0 §15.2.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ToolResultPart {
    /// The call that this answers.
    pub tool_call_id: String,
    /// What the tool returned.
    #[serde(default, deserialize_with = "crate::exact::option", skip_serializing_if = "Option::is_none")]
    pub data: Option<Value>,
    /// Why the tool failed.
    #[serde(default, deserialize_with = "crate::exact::option", skip_serializing_if = "Option::is_none")]
    pub error: Option<Value>,
}

impl ToolResultPart {
    /// A value with its required members; the optional ones are absent.
    #[must_use]
    pub fn new(tool_call_id: String) -> Self {
        Self { tool_call_id, data: None, error: None }
    }
}
