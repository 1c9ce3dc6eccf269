//! The schema files of the wire, for everyone: what they say is no secret (AIP 1.0 §1.2, Appendix A; `docs/schemas.md`).

use aip_edge::Refusal;
use aip_types::ErrorCode;
use axum::{
    body::Body,
    extract::{Path, rejection::PathRejection},
    http::{HeaderMap, HeaderValue, Response, StatusCode, header},
    response::IntoResponse,
};
use serde_json::{Value, json};

/// A day: a new release may bring new bytes, and the tag tells them apart.
const CACHED: &str = "public, max-age=86400";
const SCHEMA: &str = "application/schema+json";

/// `GET /schemas/aip/`: every file with its digest, and the digest of them all.
pub(crate) async fn list(headers: HeaderMap) -> Result<Response<Body>, Refusal> {
    let digests = aip_schema::digests();
    let files: serde_json::Map<_, _> =
        digests.files.iter().map(|(name, digest)| ((*name).to_owned(), Value::from(digest.as_str()))).collect();
    let document = json!({ "sha256": digests.total, "files": files });
    tagged(&headers, &digests.total, "application/json", document.to_string())
}

/// `GET /schemas/aip/{file}`: the bytes of one file.
pub(crate) async fn file(
    name: Result<Path<String>, PathRejection>,
    headers: HeaderMap,
) -> Result<Response<Body>, Refusal> {
    let found = name.ok().and_then(|Path(name)| aip_schema::file(&name));
    let (text, digest) = found.ok_or(ErrorCode::HttpNotFound)?;
    tagged(&headers, digest, SCHEMA, text)
}

/// The document under its digest; nothing but the tag to whoever has it.
fn tagged(
    headers: &HeaderMap,
    digest: &str,
    media: &'static str,
    text: impl Into<Body>,
) -> Result<Response<Body>, Refusal> {
    let tag = format!("\"{digest}\"");
    let known = headers.get_all(header::IF_NONE_MATCH).iter().filter_map(|value| value.to_str().ok());
    let held = known
        .flat_map(|value| value.split(','))
        .map(str::trim)
        .any(|one| one == "*" || one.strip_prefix("W/").unwrap_or(one) == tag);
    let tag = HeaderValue::from_str(&tag).map_err(|_| ErrorCode::Internal)?;
    let common = [(header::ETAG, tag), (header::CACHE_CONTROL, HeaderValue::from_static(CACHED))];
    if held {
        return Ok((StatusCode::NOT_MODIFIED, common).into_response());
    }
    Ok((common, [(header::CONTENT_TYPE, HeaderValue::from_static(media))], text.into()).into_response())
}
