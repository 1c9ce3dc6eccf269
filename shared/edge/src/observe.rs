//! Around every request: its id, its place in logs and metrics, the bound on requests in work.

use std::sync::Arc;

use aip_bus::nonce;
use aip_service::since_start;
use aip_types::{ErrorCode, ProtocolError, limits};
use axum::body::Body;
use axum::{
    Router,
    extract::{MatchedPath, Request, State},
    http::{HeaderMap, HeaderName, HeaderValue, Response, header},
    middleware::{Next, from_fn, from_fn_with_state},
    response::IntoResponse,
};
use tokio::sync::Semaphore;
use tracing::{Instrument, field};

use crate::respond::Refusal;

/// Header with the id of a request, for logs on both sides.
const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
/// Bytes of a request id from outside.
const REQUEST_ID_BYTES_MAX: usize = 128;

/// Gives every request an id, a span and its metrics, and every answer the headers that keep it out of caches.
pub fn observed(router: Router) -> Router {
    router.layer(from_fn(observe))
}

/// Refuses what comes while `in_work_max` requests are in work.
pub fn bounded(router: Router, in_work_max: usize) -> Router {
    router.layer(from_fn_with_state(Arc::new(Semaphore::new(in_work_max)), bound))
}

async fn observe(request: Request, next: Next) -> Response<Body> {
    let id = request_id(request.headers());
    let route =
        request.extensions().get::<MatchedPath>().map_or_else(|| "none".to_owned(), |path| path.as_str().to_owned());
    let span = tracing::info_span!(
        "http_request",
        request_id = id.to_str().unwrap_or_default(),
        method = %request.method(),
        route,
        action_id = field::Empty,
        correlation_id = field::Empty
    );
    let since = since_start();
    let mut response = next.run(request).instrument(span.clone()).await;
    let seconds = since.elapsed().as_secs_f64();
    let status = response.status().as_str().to_owned();
    span.in_scope(|| tracing::debug!(status, seconds, "answered"));
    metrics::counter!("aip_http_requests_total", "route" => route.clone(), "status" => status).increment(1);
    metrics::histogram!("aip_http_request_seconds", "route" => route).record(seconds);
    let headers = response.headers_mut();
    headers.insert(REQUEST_ID, id);
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}

async fn bound(State(room): State<Arc<Semaphore>>, request: Request, next: Next) -> Response<Body> {
    let Ok(_permit) = room.try_acquire() else {
        return Refusal::from(ProtocolError::from(ErrorCode::RateLimited).with_retry_after_ms(limits::RETRY_AFTER_MS))
            .into_response();
    };
    next.run(request).await
}

/// The sender's id where it can stand in a log, else one of ours.
fn request_id(headers: &HeaderMap) -> HeaderValue {
    let admitted = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_.:".contains(byte);
    let fits = |value: &&HeaderValue| {
        (1..=REQUEST_ID_BYTES_MAX).contains(&value.len()) && value.as_bytes().iter().all(admitted)
    };
    let own = || HeaderValue::from_str(&nonce()).unwrap_or(HeaderValue::from_static("none"));
    headers.get(REQUEST_ID).filter(fits).cloned().unwrap_or_else(own)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_id_from_outside_is_bounded_and_harmless() {
        let given = |text: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(REQUEST_ID, text.parse().unwrap());
            request_id(&headers) == text
        };
        assert!(given("req-1_a.b:c"));
        assert!(given(&"x".repeat(REQUEST_ID_BYTES_MAX)));
        for bad in ["", "a b", "a\"b", "{}", &"x".repeat(REQUEST_ID_BYTES_MAX + 1)] {
            assert!(!given(bad), "{bad}");
        }
        assert_eq!(request_id(&HeaderMap::new()).len(), 32);
    }
}
