//! Query strings, taken apart strictly: every parameter once, nothing left over.

use std::{collections::BTreeMap, str::FromStr};

use aip_types::{CapabilityId, ErrorCode, ProfileId, ProtocolError};
use axum::{extract::Query as Pairs, http::Uri};

/// The parameters that nobody has asked for yet.
#[derive(Debug)]
pub(crate) struct Query {
    left: BTreeMap<String, String>,
}

/// The refusal of one parameter.
pub(crate) fn invalid(name: &str, rule: &str) -> ProtocolError {
    let pointer = format!("/{}", name.replace('~', "~0").replace('/', "~1"));
    ProtocolError::from(ErrorCode::QueryInvalid).with_finding(&pointer, rule)
}

impl Query {
    /// The parameters of an address.
    pub(crate) fn of(uri: &Uri) -> Result<Self, ProtocolError> {
        let Pairs(pairs) = Pairs::<Vec<(String, String)>>::try_from_uri(uri).map_err(|_| invalid("", "form"))?;
        let mut left = BTreeMap::new();
        for (name, value) in pairs {
            if left.contains_key(&name) {
                return Err(invalid(&name, "once"));
            }
            left.insert(name, value);
        }
        Ok(Self { left })
    }

    /// Refuses what nobody has asked for.
    pub(crate) fn end(self) -> Result<(), ProtocolError> {
        self.left.keys().next().map_or(Ok(()), |name| Err(invalid(name, "unknown")))
    }

    pub(crate) fn text(&mut self, name: &str) -> Option<String> {
        self.left.remove(name)
    }

    /// `true` or `false`.
    pub(crate) fn flag(&mut self, name: &str) -> Result<Option<bool>, ProtocolError> {
        self.text(name).map(|text| text.parse().map_err(|_| invalid(name, "boolean"))).transpose()
    }

    /// A flag that is false when absent.
    pub(crate) fn is_set(&mut self, name: &str) -> Result<bool, ProtocolError> {
        self.flag(name).map(Option::unwrap_or_default)
    }

    /// Decimal digits, and nothing else. Whether the number is admitted is the owner's to say.
    pub(crate) fn number<N: FromStr>(&mut self, name: &str) -> Result<Option<N>, ProtocolError> {
        let number = |text: String| text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok()).flatten();
        self.text(name).map(|text| number(text).ok_or_else(|| invalid(name, "number"))).transpose()
    }

    /// A comma list of words that `known` knows.
    pub(crate) fn words<W>(&mut self, name: &str, known: impl Fn(&str) -> Option<W>) -> Result<Vec<W>, ProtocolError> {
        let text = self.text(name);
        let words = text.iter().flat_map(|text| text.split(','));
        words.map(|word| known(word).ok_or_else(|| invalid(name, "enum"))).collect()
    }

    /// A comma list of texts, none empty.
    pub(crate) fn list<T: ListItem>(&mut self, name: &str) -> Result<Vec<T>, ProtocolError> {
        let text = self.text(name);
        let items = text.iter().flat_map(|text| text.split(','));
        items.map(|item| if item.is_empty() { Err(invalid(name, "empty")) } else { Ok(T::of(item)) }).collect()
    }
}

/// What a list may be of.
pub(crate) trait ListItem {
    fn of(text: &str) -> Self;
}

impl ListItem for String {
    fn of(text: &str) -> Self {
        text.to_owned()
    }
}

impl ListItem for CapabilityId {
    fn of(text: &str) -> Self {
        Self::new(text)
    }
}

impl ListItem for ProfileId {
    fn of(text: &str) -> Self {
        Self::new(text)
    }
}
