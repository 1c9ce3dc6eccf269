//! Bodies, read up to a bound in size and time, and never past it.

use std::time::Duration;

use aip_service::since_start;
use aip_types::{ErrorCode, ProtocolError, limits};
use axum::{
    body::{Body, BodyDataStream},
    http::{HeaderMap, header},
};
use bytes::{Bytes, BytesMut};
use futures::StreamExt;
use tokio::{
    sync::Semaphore,
    time::{Instant, timeout_at},
};

/// Time for a whole body.
const BODY_WITHIN: Duration = Duration::from_secs(20);
/// Bytes that are set aside on the word of a header alone.
const FIRST_BYTES_MAX: usize = 65_536;
/// Bytes that are read and forgotten, so that a refused sender sees its answer and the connection goes on.
const DISCARD_BYTES_MAX: usize = 8 * 1_024 * 1_024;
/// Time for them.
const DISCARD_WITHIN: Duration = Duration::from_secs(5);

/// Reads a body of at most `bytes_max` bytes.
///
/// # Errors
/// - `aip.envelope.too_large`: it is larger. What came was read on and forgotten, within a bound.
/// - `aip.envelope.not_json`: it ended early or was framed wrongly.
/// - `aip.transport.timeout`: it came too slowly.
/// - `aip.capacity.rate_limited`: this process holds too many bodies already.
pub async fn read(headers: &HeaderMap, body: Body, bytes_max: usize) -> Result<Bytes, ProtocolError> {
    if declared(headers).is_some_and(|bytes| bytes > bytes_max) {
        discard(headers, body).await;
        return Err(ErrorCode::TooLarge.into());
    }
    // The word of a header, or the most that may come: what is in memory at once is bounded by bytes, not by requests.
    let kib = declared(headers).unwrap_or(bytes_max).div_ceil(1_024).max(1);
    let room = u32::try_from(kib).ok().and_then(|kib| budget().try_acquire_many(kib).ok());
    let Some(_room) = room else {
        return Err(ProtocolError::from(ErrorCode::RateLimited).with_retry_after_ms(limits::RETRY_AFTER_MS));
    };
    let deadline = since_start() + BODY_WITHIN;
    let mut stream = body.into_data_stream();
    let mut whole = BytesMut::with_capacity(declared(headers).unwrap_or_default().min(FIRST_BYTES_MAX));
    loop {
        match timeout_at(deadline, stream.next()).await {
            Ok(None) => return Ok(whole.freeze()),
            Ok(Some(Ok(piece))) if whole.len().saturating_add(piece.len()) <= bytes_max => {
                whole.extend_from_slice(&piece)
            }
            Ok(Some(Ok(_))) => {
                forget(stream, since_start() + DISCARD_WITHIN).await;
                return Err(ErrorCode::TooLarge.into());
            }
            Ok(Some(Err(fault))) => {
                tracing::debug!(%fault, "a body broke off");
                return Err(ErrorCode::NotJson.into());
            }
            Err(_) => return Err(ErrorCode::TransportTimeout.into()),
        }
    }
}

/// Takes a body that nobody wants off the connection, within a bound. A sender that waits for leave to send gets none.
pub async fn discard(headers: &HeaderMap, body: Body) {
    let hopeless = declared(headers).is_some_and(|bytes| bytes > DISCARD_BYTES_MAX);
    if !hopeless && !headers.contains_key(header::EXPECT) {
        forget(body.into_data_stream(), since_start() + DISCARD_WITHIN).await;
    }
}

async fn forget(mut stream: BodyDataStream, deadline: Instant) {
    let mut left = DISCARD_BYTES_MAX;
    while let Ok(Some(Ok(piece))) = timeout_at(deadline, stream.next()).await {
        match left.checked_sub(piece.len()) {
            Some(rest) => left = rest,
            None => return,
        }
    }
}

/// Kibibytes of bodies that are being read in this process.
fn budget() -> &'static Semaphore {
    static BUDGET: Semaphore = Semaphore::const_new(limits::BODIES_KIB_MAX);
    &BUDGET
}

fn declared(headers: &HeaderMap) -> Option<usize> {
    headers.get(header::CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}
