//! A scope: the authority of a hop as a set of tokens (AIP 1.0 §14.3).
//!
//! On the wire it is one text, tokens with single spaces between them. A token is parts with `:` between them; `*` may
//! stand as the last part and covers every token that begins with the parts before it. So `a:*` covers `a:b`, `a:b:c` and
//! `a:b:*`, but not `a`; and `*` covers all. A scope covers another if each token of the other is covered by one of its.
//! Covering is the whole order: a hop may keep a token, drop it, or replace it by tokens that it covers.

use aip_types::limits;
use alloc::{collections::BTreeSet, string::String, vec::Vec};

use super::Rejection;

/// A set of tokens, never empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scope(BTreeSet<String>);

impl Scope {
    /// Reads a scope.
    ///
    /// # Errors
    /// [`Rejection::ScopeInvalid`]: a token is malformed, there is none, or a bound is passed.
    pub fn read(text: &str) -> Result<Self, Rejection> {
        if text.len() > limits::DELEGATION_SCOPE_BYTES_MAX {
            return Err(Rejection::ScopeInvalid);
        }
        let tokens: BTreeSet<String> = text.split(' ').map(String::from).collect();
        if tokens.len() > limits::DELEGATION_SCOPE_LEN_MAX || !tokens.iter().all(|token| is_token(token)) {
            return Err(Rejection::ScopeInvalid);
        }
        Ok(Self(tokens))
    }

    /// Whether everything in `other` is in this scope too.
    #[must_use]
    pub fn covers(&self, other: &Self) -> bool {
        other.0.iter().all(|token| self.0.iter().any(|held| covers(held, token)))
    }

    /// The scope as it stands on the wire, tokens in order.
    #[must_use]
    pub fn text(&self) -> String {
        self.0.iter().map(String::as_str).collect::<Vec<_>>().join(" ")
    }
}

fn is_token(token: &str) -> bool {
    let (before, last) = token.rsplit_once(':').map_or((None, token), |(before, last)| (Some(before), last));
    let is_plain =
        |part: &str| !part.is_empty() && !part.contains('*') && part.bytes().all(|byte| byte.is_ascii_graphic());
    before.is_none_or(|before| before.split(':').all(is_plain)) && (last == "*" || is_plain(last))
}

fn covers(held: &str, token: &str) -> bool {
    held == token || held.strip_suffix('*').is_some_and(|parts| token.len() > parts.len() && token.starts_with(parts))
}
