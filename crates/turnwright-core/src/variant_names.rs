//! Names of the variants of enums.

/// Gives an enum without fields its names: `ALL`, `as_str` and `Display`.
macro_rules! names {
    ($enum:ident { $($variant:ident = $name:literal,)+ }) => {
        impl $enum {
            /// Every value, in the order of the table.
            pub const ALL: &[$enum] = &[$($enum::$variant,)+];

            /// The name under which it is stored and shown.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $($enum::$variant => $name,)+ }
            }
        }

        impl std::fmt::Display for $enum {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }
    };
}
