//! Message parts: the content of results and channel messages.
//!
//! Source: AIP 1.0 §15.2.
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::wire::tagged_union;

tagged_union! {
    /// Message part.
    ///
    /// Source: AIP 1.0 §15.2.
    pub enum MessagePart by "type" {
        /// `text`.
        Text(TextPart) => "text",
        /// `image`.
        Image(ImagePart) => "image",
        /// `file`.
        File(FilePart) => "file",
        /// `audio`.
        Audio(AudioPart) => "audio",
        /// `form`.
        Form(FormPart) => "form",
        /// `card`.
        Card(CardPart) => "card",
        /// `json`.
        Json(JsonPart) => "json",
        /// `tool_result`.
        ToolResult(ToolResultPart) => "tool_result",
    }
}

/// `text`.
///
/// Source: AIP 1.0 §15.2.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TextPart {
    /// Text.
    pub text: String,
    /// E.g. plain, markdown.
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

/// `image`.
///
/// Source: AIP 1.0 §15.2.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ImagePart {
    /// Url.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Inline content.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<String>,
    /// Mime type.
    pub mime_type: String,
    /// Alt.
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

/// `file`.
///
/// Source: AIP 1.0 §15.2.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FilePart {
    /// Url.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Inline content.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<String>,
    /// Mime type.
    pub mime_type: String,
    /// Filename.
    pub filename: String,
    /// Size bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size_bytes: Option<u64>,
}

/// `audio`.
///
/// Source: AIP 1.0 §15.2.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AudioPart {
    /// Url.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Inline content.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<String>,
    /// Mime type.
    pub mime_type: String,
    /// Transcript.
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

/// `form`.
///
/// Source: AIP 1.0 §15.2.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FormPart {
    /// Fields.
    pub fields: Vec<Value>,
    /// Actions.
    pub actions: Vec<Value>,
}

/// `card`.
///
/// Source: AIP 1.0 §15.2.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CardPart {
    /// Title.
    pub title: String,
    /// Body.
    pub body: String,
    /// Actions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub actions: Vec<Value>,
    /// Media.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub media: Option<Value>,
}

/// `json`.
///
/// Source: AIP 1.0 §15.2.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JsonPart {
    /// Data.
    pub data: Value,
    /// Schema.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema: Option<Value>,
}

impl JsonPart {
    /// A value with its required members; the optional ones are absent.
    #[must_use]
    pub fn new(data: Value) -> Self {
        Self { data, schema: None }
    }
}

/// `tool_result`.
///
/// Source: AIP 1.0 §15.2.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ToolResultPart {
    /// Tool call id.
    pub tool_call_id: String,
    /// Data.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Value>,
    /// Error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<Value>,
}

impl ToolResultPart {
    /// A value with its required members; the optional ones are absent.
    #[must_use]
    pub fn new(tool_call_id: String) -> Self {
        Self { tool_call_id, data: None, error: None }
    }
}
