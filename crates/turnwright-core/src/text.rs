//! Text for people: names of variants, `Debug` without secrets, messages of panics, shortened text.

use std::any::Any;
use std::borrow::Cow;

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

/// Returns the message of a panic, for operators only.
pub(crate) fn panic_text(panic: Box<dyn Any + Send>) -> String {
    match panic.downcast::<String>() {
        Ok(text) => *text,
        Err(panic) => panic
            .downcast_ref()
            .copied()
            .unwrap_or("(no message)")
            .to_owned(),
    }
}

/// Returns at most this many bytes of a text, with a note about what was omitted.
pub(crate) fn shortened(text: &str, most: usize) -> Cow<'_, str> {
    match text.split_at(text.floor_char_boundary(most)) {
        (_, "") => Cow::Borrowed(text),
        (shown, omitted) => format!("{shown}… ({} more bytes omitted)", omitted.len()).into(),
    }
}
