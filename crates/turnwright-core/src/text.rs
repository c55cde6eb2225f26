//! Text for people: names of variants, `Debug` without secrets, messages of panics, shortened text.

use std::any::Any;

/// Generates the names of an enum without fields: `ALL`, `as_str` and `Display`. If it gets the enum itself, it also serialises by these
/// names.
macro_rules! names {
    ($(#[$attribute:meta])* pub enum $enum:ident { $($(#[$of:meta])* $variant:ident = $name:literal,)+ }) => {
        $(#[$attribute])*
        pub enum $enum {
            $($(#[$of])* #[serde(rename = $name)] $variant,)+
        }

        names!($enum { $($variant = $name,)+ });
    };
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
