//! How records are stored: each is described once, by `stored!`, with the helpers for its fields. Knows no kind of record;
//! [`json`](super::json) reads and writes them. `shape.md` describes the result.
//!
//! If reading fails, the text is read again with path tracking, so that the error names the field and shows no content.
//! `flatten` and untagged enums are avoided, because they buffer unknown fields of any depth.

mod bytes;
mod field;
mod invalid;

pub(super) use field::{AsText, Stored, part};
pub(crate) use field::{rfc3339, time_text};
pub(super) use invalid::Invalid;

/// Declares a struct together with its stored form: the attributes `#[serde(…)]` of the fields belong to the stored form. The struct
/// itself does not derive them, because `Serialize` of a record is its public form, and reading one needs a check.
macro_rules! stored {
    (
        $stored:ident as $remote:tt;
        $(#[$meta:meta])*
        $vis:vis struct $name:ident {
            $(
                $(#[doc = $doc:literal])*
                $(#[serde $serde:tt])*
                $field_vis:vis $field:ident: $type:ty,
            )+
        }
    ) => {
        $(#[$meta])*
        $vis struct $name {
            $($(#[doc = $doc])* $field_vis $field: $type,)+
        }

        #[derive(serde::Serialize, serde::Deserialize)]
        #[serde(remote = $remote, rename_all = "camelCase")]
        struct $stored {
            $($(#[serde $serde])* $field: $type,)+
        }

        impl crate::record::stored::Stored for $name {
            fn write<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                $stored::serialize(self, to)
            }

            fn read<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                $stored::deserialize(from)
            }
        }
    };
}

pub(super) use stored;

/// For fields that are left out if they are not set.
pub(super) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
