//! Bearer tokens (RFC 6750) of configured principals.

use aip_service::{Directory, receive::EdgeContext};
use aip_types::{ErrorCode, ProtocolError};
use axum::http::{HeaderMap, header};

/// Bytes of a token.
const TOKEN_BYTES_MAX: usize = 4_096;

/// Who sends a request, as far as its headers tell. Without a token nobody is named: a signature may tell the owner.
///
/// # Errors
/// - `aip.auth.required`: another scheme than `Bearer`.
/// - `aip.auth.token_invalid`: an unknown or malformed token, or more than one.
pub fn identify(headers: &HeaderMap, directory: &Directory) -> Result<EdgeContext, ProtocolError> {
    let mut given = headers.get_all(header::AUTHORIZATION).iter();
    let credential = match (given.next(), given.next()) {
        (None, _) => return Ok(EdgeContext { principal: None, method: "none".to_owned() }),
        (Some(one), None) => one.to_str().map_err(|_| ErrorCode::TokenInvalid)?,
        (Some(_), Some(_)) => return Err(ErrorCode::TokenInvalid.into()),
    };
    let (scheme, token) = credential.trim().split_once(' ').unwrap_or((credential, ""));
    if !scheme.trim().eq_ignore_ascii_case("bearer") {
        return Err(ErrorCode::AuthRequired.into());
    }
    let token = token.trim_start();
    let known = if is_token(token) { directory.by_token(token) } else { None };
    let known = known.ok_or(ErrorCode::TokenInvalid)?;
    Ok(EdgeContext { principal: Some(known.principal.id.to_string()), method: "token".to_owned() })
}

/// As [`identify`], where only a token can tell who asks.
///
/// # Errors
/// Those of [`identify`], and `aip.auth.required` without a token.
pub fn require(headers: &HeaderMap, directory: &Directory) -> Result<EdgeContext, ProtocolError> {
    let context = identify(headers, directory)?;
    if context.principal.is_some() { Ok(context) } else { Err(ErrorCode::AuthRequired.into()) }
}

/// The `b64token` of RFC 6750 §2.1, bounded.
fn is_token(text: &str) -> bool {
    let admitted = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~+/=".contains(&byte);
    !text.is_empty() && text.len() <= TOKEN_BYTES_MAX && text.bytes().all(admitted)
}

#[cfg(test)]
mod tests {
    use super::*;
    use aip_service::Settings;

    /// SHA-256 of `secret`.
    const SETTINGS: &str = r#"
        trust_domain = "example"
        service = "fleet"
        version = "v1"
        [[tenants]]
        id = "acme"
        [[principals]]
        id = "service:billing"
        kind = "service"
        tenant = "acme"
        token_sha256 = ["2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b"]
    "#;

    fn identified(values: &[&str]) -> Result<Option<String>, String> {
        let directory = Directory::new(&Settings::parse(SETTINGS).unwrap()).unwrap();
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(header::AUTHORIZATION, value.parse().unwrap());
        }
        identify(&headers, &directory).map(|context| context.principal).map_err(|error| error.code)
    }

    #[test]
    fn a_known_token_names_its_principal_whatever_the_case_of_the_scheme() {
        for value in ["Bearer secret", "bearer secret", "BEARER  secret"] {
            assert_eq!(identified(&[value]), Ok(Some("service:billing".to_owned())), "{value}");
        }
    }

    #[test]
    fn no_token_names_nobody() {
        assert_eq!(identified(&[]), Ok(None));
    }

    #[test]
    fn wrong_tokens_and_schemes_are_told_apart() {
        let long = format!("Bearer {}", "x".repeat(TOKEN_BYTES_MAX + 1));
        for value in ["Bearer other", "Bearer", "Bearer ", "Bearer sec ret", "Bearer secret,", long.as_str()] {
            assert_eq!(identified(&[value]), Err("aip.auth.token_invalid".to_owned()), "{value}");
        }
        assert_eq!(identified(&["Bearer secret", "Bearer secret"]), Err("aip.auth.token_invalid".to_owned()));
        for value in ["Basic c2VjcmV0", "secret"] {
            assert_eq!(identified(&[value]), Err("aip.auth.required".to_owned()), "{value}");
        }
    }
}
