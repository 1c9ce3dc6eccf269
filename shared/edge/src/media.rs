//! Media types of messages (`design.md` §8).

use aip_types::{ErrorCode, ProtocolError};
use axum::http::{HeaderMap, HeaderValue, header};

/// Bytes of a media type's essence.
const ESSENCE_BYTES_MAX: usize = 127;
/// What an answer has when nothing else came.
const AIP: HeaderValue = HeaderValue::from_static("application/aip+json");

/// The media type of a message: `application/aip+json`, `application/json`, or another `application/*+json`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MediaType(HeaderValue);

impl Default for MediaType {
    fn default() -> Self {
        Self(AIP)
    }
}

impl MediaType {
    /// The type of a request's body, without its parameters.
    ///
    /// # Errors
    /// `aip.media.unsupported`: none, more than one, no JSON, another charset than UTF-8, or a content encoding.
    pub fn of(headers: &HeaderMap) -> Result<Self, ProtocolError> {
        let encoded = headers.get_all(header::CONTENT_ENCODING).iter().any(|encoding| encoding != "identity");
        let mut named = headers.get_all(header::CONTENT_TYPE).iter();
        let essence = match (named.next(), named.next(), encoded) {
            (Some(one), None, false) => one.to_str().ok().and_then(json_essence),
            (None | Some(_), _, _) => None,
        };
        let value = essence.and_then(|essence| HeaderValue::from_str(&essence).ok());
        value.map(Self).ok_or_else(|| ErrorCode::MediaUnsupported.into())
    }

    /// The value of a `Content-Type` header.
    #[must_use]
    pub fn into_header(self) -> HeaderValue {
        self.0
    }
}

/// The lower-case essence of a JSON media type in UTF-8.
fn json_essence(text: &str) -> Option<String> {
    let (essence, parameters) = text.split_once(';').unwrap_or((text, ""));
    let essence = essence.trim().to_ascii_lowercase();
    let subtype = essence.strip_prefix("application/")?;
    let is_json = subtype == "json" || subtype.strip_suffix("+json").is_some_and(|name| !name.is_empty());
    let is_token = subtype.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"!#$&-^_.+".contains(&byte));
    let charsets_fit = parameters.split(';').all(|parameter| match parameter.split_once('=') {
        Some((name, value)) if name.trim().eq_ignore_ascii_case("charset") => {
            let value = value.trim().trim_matches('"');
            value.eq_ignore_ascii_case("utf-8") || value.eq_ignore_ascii_case("utf8")
        }
        Some(_) | None => true,
    });
    (is_json && is_token && charsets_fit && essence.len() <= ESSENCE_BYTES_MAX).then_some(essence)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(pairs: &[(header::HeaderName, &str)]) -> Option<String> {
        let headers = pairs.iter().map(|(name, value)| (name.clone(), value.parse().unwrap()));
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(name, value);
        }
        MediaType::of(&map).ok().map(|media| media.into_header().to_str().unwrap().to_owned())
    }

    #[test]
    fn json_types_are_answered_in_the_type_that_came() {
        for (sent, answered) in [
            ("application/aip+json", "application/aip+json"),
            ("application/json", "application/json"),
            ("Application/JSON; charset=UTF-8", "application/json"),
            ("application/json;charset=\"utf-8\"; x=y", "application/json"),
            (" application/vnd.example.v1+json ;profile=p", "application/vnd.example.v1+json"),
        ] {
            assert_eq!(of(&[(header::CONTENT_TYPE, sent)]).as_deref(), Some(answered), "{sent}");
        }
    }

    #[test]
    fn everything_else_is_refused() {
        for sent in [
            "text/plain",
            "text/json",
            "application/xml",
            "application/+json",
            "application/jsonp",
            "application/json; charset=latin1",
            "application/a b+json",
            "application/json, text/plain",
            "",
        ] {
            assert_eq!(of(&[(header::CONTENT_TYPE, sent)]), None, "{sent}");
        }
        assert_eq!(of(&[]), None);
        assert_eq!(of(&[(header::CONTENT_TYPE, "application/json"), (header::CONTENT_TYPE, "application/json")]), None);
        assert_eq!(of(&[(header::CONTENT_TYPE, "application/json"), (header::CONTENT_ENCODING, "gzip")]), None);
    }
}
