//! Names of enum variants.

/// Generates the names of an enum without fields: `ALL`, `as_str` and `Display`.
macro_rules! names {
    ($enum:ident { $($variant:ident = $name:literal,)+ }) => {
        impl $enum {
            /// All values, in declaration order.
            pub const ALL: &[$enum] = &[$($enum::$variant,)+];

            /// Returns the name that is stored and displayed.
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
