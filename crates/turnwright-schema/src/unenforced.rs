//! What a foreign document asks for and is not enforced.

use std::fmt;

use serde::Serialize;

/// One keyword of a foreign document that is not enforced, and therefore not published either.
///
/// ```
/// use turnwright_schema::{SchemaOptions, UnenforcedKind};
/// use serde_json::json;
///
/// let schema = SchemaOptions::foreign().document(json!({
///     "type": "object",
///     "properties": { "plan": { "type": "string", "format": "json" } },
/// }))?;
/// let [unenforced] = schema.unenforced() else { panic!("one keyword") };
/// assert_eq!(unenforced.pointer, "/properties/plan/format");
/// assert_eq!(unenforced.kind, UnenforcedKind::Format);
/// assert_eq!(
///     schema.document()["properties"]["plan"],
///     json!({ "type": "string", "description": "Format: `json`." }),
/// );
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Unenforced {
    /// The JSON pointer of the keyword in the original document.
    pub pointer: String,
    /// The keyword. Written by the author of the document: escape it before you show it.
    pub keyword: String,
    /// The category.
    pub kind: UnenforcedKind,
    /// The reason in words.
    pub reason: String,
}

impl fmt::Display for Unenforced {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.pointer, self.reason)
    }
}

/// The categories of [`Unenforced`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum UnenforcedKind {
    /// A keyword that no supported draft has.
    UnknownKeyword,
    /// A keyword of another draft than the one that the document uses.
    OtherDraft,
    /// A keyword of another tool that only describes, such as `example`.
    Annotation,
    /// A `format` that is not enforced, or an encoding in draft 7.
    Format,
    /// A pattern that is invalid or does not run in linear time.
    Pattern,
    /// A default that its own schema rejects.
    Default,
    /// OpenAPI's `nullable`. If there is a `type`, `null` was added to it.
    Nullable,
    /// OpenAPI's `discriminator`.
    Discriminator,
    /// A keyword whose value is not valid JSON Schema.
    Malformed,
    /// A keyword that has no effect where it is, such as `then` without `if`.
    NoEffect,
    /// An assertion next to a `$ref`, which drafts up to 7 ignore.
    NextToRef,
    /// A keyword that could reject what the original accepts, because something that it depends on is not enforced.
    Dependent,
}

impl UnenforcedKind {
    /// Returns the name used when serialised.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            UnenforcedKind::UnknownKeyword => "unknown_keyword",
            UnenforcedKind::OtherDraft => "other_draft",
            UnenforcedKind::Annotation => "annotation",
            UnenforcedKind::Format => "format",
            UnenforcedKind::Pattern => "pattern",
            UnenforcedKind::Default => "default",
            UnenforcedKind::Nullable => "nullable",
            UnenforcedKind::Discriminator => "discriminator",
            UnenforcedKind::Malformed => "malformed",
            UnenforcedKind::NoEffect => "no_effect",
            UnenforcedKind::NextToRef => "next_to_ref",
            UnenforcedKind::Dependent => "dependent",
        }
    }
}
