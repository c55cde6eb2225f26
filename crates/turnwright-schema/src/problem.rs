//! Problems with schema documents, and what of a foreign document is not enforced.

use std::fmt;

use serde::Serialize;

/// One reason why a document cannot be enforced.
///
/// ```
/// use turnwright_schema::SchemaProblem;
///
/// let problem = SchemaProblem::new("/properties/city", "has no description: add one");
/// assert_eq!(problem.to_string(), "/properties/city: has no description: add one");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct SchemaProblem {
    /// The JSON pointer of the location in the document.
    pub pointer: String,
    /// What is wrong and what to do.
    pub message: String,
}

impl SchemaProblem {
    /// Creates a problem at this location of the document.
    pub fn new(pointer: impl Into<String>, message: impl Into<String>) -> Self {
        SchemaProblem {
            pointer: pointer.into(),
            message: message.into(),
        }
    }
}

/// A document that cannot be enforced, with all its problems.
///
/// ```
/// use turnwright_schema::Schema;
/// use serde_json::json;
///
/// let error = Schema::from_document(json!({
///     "type": "object",
///     "properties": { "days": { "type": "intger" } },
/// }))
/// .unwrap_err();
/// assert_eq!(error.problems()[0].pointer, "/properties/days/type");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchemaError {
    problems: Vec<SchemaProblem>,
}

impl SchemaError {
    /// Creates an error from these problems.
    #[must_use]
    pub fn new(problems: Vec<SchemaProblem>) -> Self {
        SchemaError { problems }
    }

    /// Returns the problems, each with its JSON pointer.
    #[must_use]
    pub fn problems(&self) -> &[SchemaProblem] {
        &self.problems
    }

    /// Consumes the error and returns the problems.
    #[must_use]
    pub fn into_problems(self) -> Vec<SchemaProblem> {
        self.problems
    }
}

impl From<SchemaProblem> for SchemaError {
    fn from(problem: SchemaProblem) -> Self {
        SchemaError::new(vec![problem])
    }
}

impl fmt::Display for SchemaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let problems: Vec<_> = self.problems.iter().map(ToString::to_string).collect();
        f.write_str(&problems.join("; "))
    }
}

impl std::error::Error for SchemaError {}

impl fmt::Display for SchemaProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = if self.pointer.is_empty() {
            "(root)"
        } else {
            &self.pointer
        };
        write!(f, "{place}: {}", self.message)
    }
}

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
