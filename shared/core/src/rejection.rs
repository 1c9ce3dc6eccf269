//! Why a machine says no.

/// Declares the rejections of a machine: each has a public row, a short name and a sentence.
macro_rules! rejections {
    ( $(#[$meta:meta])* $( $variant:ident => $code:ident, $name:literal, $sentence:literal; )+ ) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
        pub enum Rejection {
            $( #[doc = $sentence] #[error($sentence)] $variant, )+
        }

        impl Rejection {
            /// Its public row.
            #[must_use]
            pub const fn code(self) -> aip_types::ErrorCode {
                match self { $( Self::$variant => aip_types::ErrorCode::$code, )+ }
            }

            /// Its short name in the matrix of `docs/states/`.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $( Self::$variant => $name, )+ }
            }
        }

        impl $crate::step::Refusal for Rejection {
            fn code(self) -> aip_types::ErrorCode {
                self.code()
            }

            fn name(self) -> &'static str {
                self.name()
            }
        }
    };
}

pub(crate) use rejections;
