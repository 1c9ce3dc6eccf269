//! Outbound HTTP to a configured base URL: every answer has a cap and every call a deadline.
//!
//! It follows no redirect, uses no proxy and never prints the token that it sends. It judges no answer: a status is a number
//! here. Address policy and signing for calls to strangers come with the first service that makes them. Start at [`Client`].

use std::{error::Error as StdError, time::Duration};

use bytes::{Bytes, BytesMut};
use reqwest::{
    Method, Url,
    header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue},
    redirect,
};

/// Bytes of the largest answer that is read.
pub const ANSWER_BYTES_MAX: usize = 4 * aip_types::limits::ENVELOPE_BYTES_MAX;
/// Time to open a connection.
const CONNECT_WITHIN: Duration = Duration::from_secs(5);

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum EgressError {
    /// The base URL is not one that can be called.
    #[error("the base URL must be http://host[:port][/path]")]
    BadBase,
    /// The token cannot stand in a header.
    #[error("the token holds characters that cannot be sent")]
    BadToken,
    /// Nobody listens there, or the name is unknown. Nothing was sent.
    #[error("no connection to {address}")]
    Unreachable {
        /// Host and port.
        address: String,
        /// Why not.
        #[source]
        source: Box<dyn StdError + Send + Sync>,
    },
    /// The deadline passed. The request may have been served.
    #[error("no answer in time")]
    TimedOut,
    /// The connection broke. The request may have been served.
    #[error("the connection broke before the answer was read")]
    Cut(#[source] Box<dyn StdError + Send + Sync>),
    /// The answer is longer than [`ANSWER_BYTES_MAX`].
    #[error("the answer is too long")]
    TooLarge,
}

/// What a peer answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The HTTP status.
    pub status: u16,
    /// The content type, where there is one that is text.
    pub media_type: Option<String>,
    /// The body.
    pub body: Bytes,
}

impl Answer {
    /// Whether the status is 200 to 299.
    #[must_use]
    pub fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }
}

/// One request, relative to the base URL.
#[derive(Clone, Debug)]
pub struct Call<'a> {
    /// Segments of the path, each escaped as it needs.
    pub path: &'a [&'a str],
    /// The query, escaped as it needs.
    pub query: &'a [(&'a str, &'a str)],
    /// From the start to the last byte of the answer.
    pub within: Duration,
}

/// A base URL and who calls it. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Client {
    http: reqwest::Client,
    base: Url,
    bearer: Option<HeaderValue>,
}

impl Client {
    /// A client without credentials.
    ///
    /// # Errors
    /// [`EgressError::BadBase`].
    pub fn new(base: &str) -> Result<Self, EgressError> {
        let base = Url::parse(base).map_err(|_| EgressError::BadBase)?;
        if base.scheme() != "http" || base.host_str().is_none() || base.cannot_be_a_base() {
            return Err(EgressError::BadBase);
        }
        let built =
            reqwest::Client::builder().no_proxy().redirect(redirect::Policy::none()).connect_timeout(CONNECT_WITHIN);
        let http = built.build().map_err(|_| EgressError::BadBase)?;
        Ok(Self { http, base, bearer: None })
    }

    /// The same with a bearer token, which is sent and never shown.
    ///
    /// # Errors
    /// [`EgressError::BadToken`].
    pub fn with_bearer(mut self, token: &str) -> Result<Self, EgressError> {
        let mut value = HeaderValue::from_str(&format!("Bearer {token}")).map_err(|_| EgressError::BadToken)?;
        value.set_sensitive(true);
        self.bearer = Some(value);
        Ok(self)
    }

    /// Reads a resource.
    ///
    /// # Errors
    /// Any of [`EgressError`] but the first two. A refusal is an [`Answer`].
    pub async fn get(&self, call: Call<'_>) -> Result<Answer, EgressError> {
        self.send(Method::GET, call, None).await
    }

    /// Posts a document.
    ///
    /// # Errors
    /// As [`Client::get`].
    pub async fn post(&self, call: Call<'_>, media_type: &'static str, body: Bytes) -> Result<Answer, EgressError> {
        self.send(Method::POST, call, Some((media_type, body))).await
    }

    fn url(&self, call: &Call<'_>) -> Result<Url, EgressError> {
        let mut url = self.base.clone();
        url.path_segments_mut().map_err(|()| EgressError::BadBase)?.pop_if_empty().extend(call.path);
        if !call.query.is_empty() {
            url.query_pairs_mut().extend_pairs(call.query);
        }
        Ok(url)
    }

    async fn send(
        &self,
        method: Method,
        call: Call<'_>,
        body: Option<(&'static str, Bytes)>,
    ) -> Result<Answer, EgressError> {
        let mut request = self.http.request(method, self.url(&call)?).timeout(call.within);
        if let Some(bearer) = &self.bearer {
            request = request.header(AUTHORIZATION, bearer.clone());
        }
        if let Some((media_type, body)) = body {
            request = request.header(CONTENT_TYPE, media_type).body(body);
        }
        let mut response = request.send().await.map_err(|fault| self.failed(fault))?;
        let status = response.status().as_u16();
        let media_type =
            response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).map(ToOwned::to_owned);
        let mut body = BytesMut::new();
        while let Some(chunk) = response.chunk().await.map_err(|fault| self.failed(fault))? {
            if body.len().saturating_add(chunk.len()) > ANSWER_BYTES_MAX {
                return Err(EgressError::TooLarge);
            }
            body.extend_from_slice(&chunk);
        }
        Ok(Answer { status, media_type, body: body.freeze() })
    }

    fn failed(&self, fault: reqwest::Error) -> EgressError {
        let fault = fault.without_url();
        if fault.is_connect() {
            let host = self.base.host_str().unwrap_or_default();
            let address = format!("{host}:{}", self.base.port_or_known_default().unwrap_or_default());
            return EgressError::Unreachable { address, source: Box::new(fault) };
        }
        if fault.is_timeout() { EgressError::TimedOut } else { EgressError::Cut(Box::new(fault)) }
    }
}
