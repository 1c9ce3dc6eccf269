//! Answers over HTTP: status, headers and which part of an envelope is shown (AIP 1.0 §19.1, `design.md` §8).

use aip_service::{Correlation, envelope, refusal};
use aip_types::{ErrorCode, ProtocolError, error_codes::http_status};
use axum::{
    body::Body,
    http::{HeaderValue, Response, StatusCode, header},
    response::IntoResponse,
};
use bytes::Bytes;

use crate::{
    forward::{Answer, Kind},
    media::MediaType,
};

impl Answer {
    /// The whole envelope. An acknowledgement is 202, an error has the status of its code, anything else is 200.
    #[must_use]
    pub fn into_envelope(self, media: MediaType) -> Response<Body> {
        match self.kind {
            Kind::Error(error) => failure(&error, self.envelope, media),
            Kind::Ack => success(StatusCode::ACCEPTED, self.envelope, media),
            Kind::Other => success(StatusCode::OK, self.envelope, media),
        }
    }

    /// The tagged body alone; of an error the whole envelope all the same.
    #[must_use]
    pub fn into_body(self, media: MediaType) -> Response<Body> {
        match self.kind {
            Kind::Error(error) => failure(&error, self.envelope, media),
            Kind::Ack | Kind::Other => success(StatusCode::OK, self.body, media),
        }
    }
}

/// A refusal by the edge itself; answered as an error envelope.
#[derive(Debug)]
pub struct Refusal(Box<Refused>);

#[derive(Debug)]
struct Refused {
    error: ProtocolError,
    correlation: Correlation,
    media: MediaType,
}

impl<E: Into<ProtocolError>> From<E> for Refusal {
    fn from(error: E) -> Self {
        Self::new(error, Correlation::default(), MediaType::default())
    }
}

impl Refusal {
    /// A refusal, with what it copies from its request and the type to answer in.
    #[must_use]
    pub fn new(error: impl Into<ProtocolError>, correlation: Correlation, media: MediaType) -> Self {
        Self(Box::new(Refused { error: error.into(), correlation, media }))
    }

    /// Why.
    #[must_use]
    pub const fn error(&self) -> &ProtocolError {
        &self.0.error
    }

    /// What the answer copies.
    #[must_use]
    pub const fn correlation(&self) -> &Correlation {
        &self.0.correlation
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response<Body> {
        let Refused { error, correlation, media } = *self.0;
        metrics::counter!("aip_refusals_total", "code" => error.code.clone()).increment(1);
        match serde_json::to_vec(&envelope(&correlation, refusal(error.clone()))) {
            Ok(text) => failure(&error, text.into(), media),
            Err(fault) => {
                tracing::error!(%fault, "writing a refusal");
                StatusCode::INTERNAL_SERVER_ERROR.into_response()
            }
        }
    }
}

fn success(status: StatusCode, text: Bytes, media: MediaType) -> Response<Body> {
    (status, [(header::CONTENT_TYPE, media.into_header())], text).into_response()
}

fn failure(error: &ProtocolError, text: Bytes, media: MediaType) -> Response<Body> {
    let status = status(error);
    let mut response = success(status, text, media);
    if status == StatusCode::UNAUTHORIZED {
        response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    }
    if let Some(ms) = error.retry_after_ms {
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(ms.div_ceil(1_000)));
    }
    response
}

/// The HTTP status of an error: of its code, or of its category where the code is not ours.
#[must_use]
pub fn status(error: &ProtocolError) -> StatusCode {
    let number =
        error.error_code().map_or_else(|| http_status(error.category), |code: ErrorCode| code.row().http_status);
    StatusCode::from_u16(number).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
}

#[cfg(test)]
mod tests {
    use super::*;
    use aip_types::ErrorCategory;

    #[test]
    fn every_code_has_the_status_of_its_row() {
        for &code in ErrorCode::ALL {
            assert_eq!(status(&code.into()).as_u16(), code.row().http_status, "{code}");
        }
    }

    #[test]
    fn a_foreign_code_has_the_status_of_its_category() {
        for (category, number) in [
            (ErrorCategory::Temporary, 503),
            (ErrorCategory::Permanent, 400),
            (ErrorCategory::Auth, 401),
            (ErrorCategory::Policy, 403),
            (ErrorCategory::Economic, 402),
            (ErrorCategory::Connector, 502),
            (ErrorCategory::Transport, 503),
        ] {
            let error = ProtocolError { code: "vendor.odd".to_owned(), category, ..ErrorCode::Internal.into() };
            assert_eq!(status(&error).as_u16(), number, "{category}");
        }
    }

    #[test]
    fn a_passing_refusal_says_in_whole_seconds_when_to_come_again() {
        for (ms, seconds) in [(0, "0"), (1, "1"), (1_000, "1"), (1_001, "2")] {
            let response =
                Refusal::from(ProtocolError::from(ErrorCode::RateLimited).with_retry_after_ms(ms)).into_response();
            assert_eq!(response.status(), StatusCode::TOO_MANY_REQUESTS);
            assert_eq!(response.headers()[header::RETRY_AFTER], seconds);
        }
    }

    #[test]
    fn whoever_is_not_authenticated_is_told_how() {
        let response = Refusal::from(ErrorCode::AuthRequired).into_response();
        assert_eq!(response.headers()[header::WWW_AUTHENTICATE], "Bearer");
        assert_eq!(response.headers()[header::CONTENT_TYPE], "application/aip+json");
    }
}
