//! The shapes that derive macros cannot say well: closed string enums, ids and unions with an inner tag.
//!
//! All of them deserialize without serde's buffering, which would change numbers under `arbitrary_precision`.
//! No error text repeats a received value.

/// Default of the optional members that are true when absent.
pub(crate) const fn yes() -> bool {
    true
}

/// Default of the optional counts that are one when absent.
pub(crate) const fn one() -> u32 {
    1
}

/// Whether a count has the value that its absence stands for.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature that `skip_serializing_if` asks for")]
pub(crate) const fn is_one(count: &u32) -> bool {
    *count == 1
}

/// A closed string enum: the wire knows these values and no other.
macro_rules! wire_enum {
    (
        $(#[$meta:meta])*
        pub enum $name:ident { $( $(#[$doc:meta])* $variant:ident => $wire:literal, )+ }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name { $( $(#[$doc])* $variant, )+ }

        impl $name {
            /// All values, in the order of the registry.
            pub const ALL: &[Self] = &[$(Self::$variant),+];

            /// The value as it stands on the wire.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $wire,)+ }
            }

            /// The value of a wire string, or `None` if the registry has no such value.
            #[must_use]
            pub fn from_wire(text: &str) -> Option<Self> {
                match text { $($wire => Some(Self::$variant),)+ _ => None }
            }
        }

        impl core::fmt::Display for $name {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct OneOf;
                impl serde::de::Visitor<'_> for OneOf {
                    type Value = $name;
                    fn expecting(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                        f.write_str(concat!("a registered value of ", stringify!($name)))
                    }
                    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<$name, E> {
                        $name::from_wire(text)
                            .ok_or_else(|| E::custom(concat!("not a registered value of ", stringify!($name))))
                    }
                }
                deserializer.deserialize_str(OneOf)
            }
        }
    };
}

/// An identifier: a string with a type of its own.
macro_rules! wire_id {
    ( $(#[$meta:meta])* pub struct $name:ident with $prefix:literal; ) => {
        wire_id! { $(#[$meta])* pub struct $name; }

        impl $name {
            /// What a generated id of this kind begins with (AIP 1.0 §5.3).
            pub const PREFIX: &'static str = $prefix;

            /// A new id: prefix, 12 hex digits of `at` (milliseconds), 32 hex digits of `random`.
            ///
            /// `random` must come from a cryptographic source: the id must not be guessable.
            #[must_use]
            pub fn generate(at: crate::time::Millis, random: [u8; 16]) -> Self {
                Self(crate::ids::id($prefix, at, random))
            }
        }
    };
    ( $(#[$meta:meta])* pub struct $name:ident; ) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
        #[serde(transparent)]
        pub struct $name(String);

        impl $name {
            /// The id with this text. Any text is admitted: ids are opaque to a receiver.
            #[must_use]
            pub fn new(text: impl Into<String>) -> Self {
                Self(text.into())
            }

            /// The text of the id.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }

            /// The text of the id, owned.
            #[must_use]
            pub fn into_string(self) -> String {
                self.0
            }

            /// Whether the text is empty, which no id may be.
            #[must_use]
            pub fn is_empty(&self) -> bool {
                self.0.is_empty()
            }
        }

        impl core::fmt::Display for $name {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl AsRef<str> for $name {
            fn as_ref(&self) -> &str {
                &self.0
            }
        }
    };
}

/// A union whose variant is named by one of its own members.
macro_rules! tagged_union {
    (
        $(#[$meta:meta])*
        pub enum $name:ident by $tag:literal { $( $(#[$doc:meta])* $variant:ident($inner:ident) => $wire:literal, )+ }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq, serde::Serialize)]
        #[serde(tag = $tag)]
        pub enum $name { $( $(#[$doc])* #[serde(rename = $wire)] $variant($inner), )+ }

        impl $name {
            /// The member that names the variant.
            pub const TAG: &'static str = $tag;

            /// The name of the variant, as it stands on the wire.
            #[must_use]
            pub const fn tag(&self) -> &'static str {
                match self { $(Self::$variant(_) => $wire,)+ }
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                use serde::de::Error as _;
                let mut members = crate::exact::members(deserializer)?;
                let tag = members.remove($tag).ok_or_else(|| D::Error::missing_field($tag))?;
                let rest = serde_json::Value::Object(members);
                match tag.as_str() {
                    $(Some($wire) => crate::exact::typed(&rest).map(Self::$variant).map_err(D::Error::custom),)+
                    _ => Err(D::Error::custom(concat!("`", $tag, "` names no variant of ", stringify!($name)))),
                }
            }
        }
    };
}

pub(crate) use {tagged_union, wire_enum, wire_id};
