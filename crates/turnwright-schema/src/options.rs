//! Options for documents from other sources.

use std::collections::BTreeSet;

use crate::limits::Limits;

/// Options for parsing a document: see [`Schema::options`](crate::Schema::options).
///
/// ```
/// use turnwright_schema::Schema;
/// use serde_json::json;
///
/// let document = json!({
///     "type": "object",
///     "properties": { "n": { "type": "integer", "format": "int32", "nullable": true } },
/// });
/// // `nullable` and `int32` would be ignored, so the document is rejected …
/// assert!(Schema::from_document(document.clone()).is_err());
/// // … unless you declare them as annotations.
/// let schema = Schema::options().annotation("nullable").annotation_format("int32").document(document)?;
/// assert!(!schema.accepts(&json!({ "n": null })));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct SchemaOptions {
    pub(crate) annotations: BTreeSet<String>,
    pub(crate) annotation_formats: BTreeSet<String>,
    pub(crate) limits: Limits,
    /// Rejects keywords that do not apply to the allowed types. Used for documents that we generate.
    pub(crate) strict: bool,
}

impl SchemaOptions {
    /// Accepts a keyword that is not enforced as an annotation. Has no effect on keywords that are enforced.
    pub fn annotation(mut self, keyword: impl Into<String>) -> Self {
        self.annotations.insert(keyword.into());
        self
    }

    /// Accepts a `format` that is not enforced as an annotation. Has no effect on formats that are enforced.
    pub fn annotation_format(mut self, name: impl Into<String>) -> Self {
        self.annotation_formats.insert(name.into());
        self
    }

    /// Sets the limits on arguments.
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    pub(crate) fn strict() -> Self {
        SchemaOptions {
            strict: true,
            ..SchemaOptions::default()
        }
    }
}
