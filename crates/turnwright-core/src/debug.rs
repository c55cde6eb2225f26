//! `Debug` for types with fields that must not or cannot be shown.

/// Implements `Debug` with only these fields or methods.
macro_rules! debug_fields {
    ($type:ident $(<$lifetime:lifetime>)? { $($($field:ident).+),* }) => {
        impl std::fmt::Debug for $type $(<$lifetime>)? {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.debug_struct(stringify!($type))
                    $(.field(stringify!($($field).+), &self.$($field).+))*
                    .finish_non_exhaustive()
            }
        }
    };
    ($type:ident { $($method:ident()),+ }) => {
        impl std::fmt::Debug for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.debug_struct(stringify!($type))
                    $(.field(stringify!($method), &self.$method()))+
                    .finish_non_exhaustive()
            }
        }
    };
}
