//! Time: instants on the wire, milliseconds inside.
//!
//! Source: AIP 1.0 §5.2.

use core::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// Milliseconds since the Unix epoch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Millis(pub u64);

impl Millis {
    /// The Unix epoch itself.
    pub const ZERO: Self = Self(0);

    /// This instant and `ms` milliseconds more; stops at the end of the range.
    #[must_use]
    pub const fn plus(self, ms: u64) -> Self {
        Self(self.0.saturating_add(ms))
    }

    /// This instant and `ms` milliseconds less; stops at the epoch.
    #[must_use]
    pub const fn minus(self, ms: u64) -> Self {
        Self(self.0.saturating_sub(ms))
    }

    /// Milliseconds from `earlier` to this instant; 0 if `earlier` is the later one.
    #[must_use]
    pub const fn since(self, earlier: Self) -> u64 {
        self.0.saturating_sub(earlier.0)
    }
}

impl fmt::Display for Millis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

/// An instant as RFC 3339 text.
///
/// Keeps the text as received, so that what is stored and sent on hashes as it came. Ordered by instant first; use
/// [`Timestamp::millis`] to compare instants (AIP 1.0 §5.2: receivers compare instants, not texts).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp {
    instant: jiff::Timestamp,
    text: Box<str>,
}

/// A text that is no RFC 3339 instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not an RFC 3339 instant with an offset")]
pub struct TimestampFault;

impl Timestamp {
    /// The instant `at`, in UTC with three digits of a second. What lies after the year 9999 becomes its end.
    #[must_use]
    pub fn from_millis(at: Millis) -> Self {
        let instant = i64::try_from(at.0)
            .ok()
            .and_then(|ms| jiff::Timestamp::from_millisecond(ms).ok())
            .unwrap_or(jiff::Timestamp::MAX);
        Self { text: format!("{instant:.3}").into_boxed_str(), instant }
    }

    /// Reads an RFC 3339 instant.
    ///
    /// # Errors
    /// [`TimestampFault`]: the text is not a date and time with an offset, or names no instant.
    pub fn parse(text: &str) -> Result<Self, TimestampFault> {
        if !has_shape(text.as_bytes()) {
            return Err(TimestampFault);
        }
        let instant = text.parse().map_err(|_| TimestampFault)?;
        Ok(Self { instant, text: text.into() })
    }

    /// Milliseconds since the Unix epoch, fractions cut off; 0 for instants before it.
    #[must_use]
    pub fn millis(&self) -> Millis {
        Millis(u64::try_from(self.instant.as_millisecond()).unwrap_or(0))
    }

    /// The text as received, or as made.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

/// `date "T" time [fraction] offset` of RFC 3339, without the ranges of its numbers.
fn has_shape(text: &[u8]) -> bool {
    let Some((head, mut rest)) = text.split_at_checked(19) else { return false };
    let fixed = head.iter().zip(b"dddd-dd-ddTdd:dd:dd").all(|(&byte, &form)| match form {
        b'd' => byte.is_ascii_digit(),
        b'T' => byte.eq_ignore_ascii_case(&b'T'),
        other => byte == other,
    });
    if let Some((b'.', fraction)) = rest.split_first() {
        let digits = fraction.iter().take_while(|byte| byte.is_ascii_digit()).count();
        if digits == 0 || digits > 9 {
            return false;
        }
        rest = fraction.get(digits..).unwrap_or_default();
    }
    fixed
        && match rest {
            [b'Z' | b'z'] => true,
            [b'+' | b'-', h1, h2, b':', m1, m2] => [h1, h2, m1, m2].iter().all(|byte| byte.is_ascii_digit()),
            _ => false,
        }
}

impl From<Millis> for Timestamp {
    fn from(at: Millis) -> Self {
        Self::from_millis(at)
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Instant;
        impl de::Visitor<'_> for Instant {
            type Value = Timestamp;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an RFC 3339 instant")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Timestamp, E> {
                Timestamp::parse(text).map_err(E::custom)
            }
        }
        deserializer.deserialize_str(Instant)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instants_are_compared_whatever_their_offset() {
        let utc = Timestamp::parse("2026-11-29T12:00:00Z").unwrap();
        let gulf = Timestamp::parse("2026-11-29T16:00:00+04:00").unwrap();
        assert_eq!(utc.millis(), gulf.millis());
        assert_eq!(gulf.as_str(), "2026-11-29T16:00:00+04:00");
    }

    #[test]
    fn milliseconds_survive_the_text() {
        for ms in [0, 1, 999, 1_795_953_600_123, 253_402_207_200_999] {
            let made = Timestamp::from_millis(Millis(ms));
            assert_eq!(Timestamp::parse(made.as_str()).unwrap().millis(), Millis(ms), "{made}");
        }
        assert!(Timestamp::from_millis(Millis(u64::MAX)).as_str().starts_with("9999-"));
    }

    #[test]
    fn what_is_no_rfc_3339_instant_is_refused() {
        for text in [
            "",
            "yesterday",
            "2026-11-29",
            "2026-11-29T12:00:00",
            "2026-11-29 12:00:00Z",
            "2026-11-29T12:00Z",
            "2026-11-29T12:00:00.Z",
            "2026-11-29T12:00:00.1234567890Z",
            "2026-13-29T12:00:00Z",
            "2026-11-31T12:00:00Z",
            "2026-11-29T25:00:00Z",
            "2026-11-29T12:00:00+0400",
            "2026-11-29T12:00:00Z[UTC]",
            "+002026-11-29T12:00:00Z",
        ] {
            assert_eq!(Timestamp::parse(text), Err(TimestampFault), "{text}");
        }
    }
}
