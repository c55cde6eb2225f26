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
///
/// For documents whose author you cannot ask, see [`SchemaOptions::foreign`].
#[derive(Clone, Debug)]
#[must_use]
pub struct SchemaOptions {
    pub(crate) annotations: BTreeSet<String>,
    pub(crate) annotation_formats: BTreeSet<String>,
    pub(crate) limits: Limits,
    /// Rejects keywords that do not apply to the allowed types. Used for documents that we generate.
    pub(crate) strict: bool,
    pub(crate) foreign: bool,
    pub(crate) any_root: bool,
    pub(crate) fill_defaults: bool,
}

impl Default for SchemaOptions {
    fn default() -> Self {
        SchemaOptions {
            annotations: BTreeSet::new(),
            annotation_formats: BTreeSet::new(),
            limits: Limits::default(),
            strict: false,
            foreign: false,
            any_root: false,
            fill_defaults: true,
        }
    }
}

impl SchemaOptions {
    /// Creates options for documents of other authors, such as the tools of an MCP server.
    ///
    /// What can be enforced is enforced. What cannot is left out of [`Schema::document`](crate::Schema::document), so
    /// that the published document is still the enforced one: unknown keywords and formats, patterns with
    /// look-around, defaults that their own schema rejects, keywords of OpenAPI, malformed keywords. Assertions
    /// among them are added to the description of their location.
    /// [`Schema::unenforced`](crate::Schema::unenforced) lists everything that was left out, and
    /// [`Schema::original`](crate::Schema::original) returns the document as it was received.
    ///
    /// - The result accepts every object that the original accepts. Where leaving a keyword out would make the
    ///   document stricter, the keyword around it is left out too: `not`, `if`, `contains`, `dependentSchemas`, and
    ///   `unevaluatedProperties` or `additionalProperties` if a neighbour is missing. `oneOf` becomes `anyOf`.
    /// - A root without `type` is an object, unless [`any_root`](Self::any_root) is set.
    /// - `int32`, `uint8`, `float` and other numeric formats become bounds.
    /// - Drafts 4 and 6 are published as draft 7, draft 2019-09 as draft 2020-12.
    ///
    /// References out of the document, cycles that do not descend into the value, another root than an object and
    /// documents beyond 1 MiB are rejected.
    ///
    /// ```
    /// use turnwright_schema::SchemaOptions;
    /// use serde_json::json;
    ///
    /// let original = json!({
    ///     "properties": {
    ///         "id": { "type": "integer", "format": "uint8" },
    ///         "name": { "type": "string", "default": null, "pattern": "^(?!_)", "description": "A name." },
    ///     },
    /// });
    /// let schema = SchemaOptions::foreign().fill_defaults(false).document(original.clone())?;
    /// assert_eq!(schema.document(), &json!({
    ///     "type": "object",
    ///     "properties": {
    ///         "id": { "type": "integer", "minimum": 0, "maximum": 255 },
    ///         "name": { "type": "string", "description": "A name.\nPattern: `^(?!_)`." },
    ///     },
    /// }));
    /// let pointers: Vec<_> = schema.unenforced().iter().map(|entry| entry.pointer.as_str()).collect();
    /// assert_eq!(pointers, ["/properties/name/pattern", "/properties/name/default"]);
    /// assert_eq!(schema.original(), &original);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn foreign() -> Self {
        SchemaOptions {
            foreign: true,
            ..SchemaOptions::default()
        }
    }

    /// Sets whether defaults are filled in for absent properties. Turn it off if the receiver of the arguments does
    /// that, as MCP servers do: the defaults are published, but the arguments are passed on without them.
    ///
    /// Default: `true`.
    ///
    /// ```
    /// use turnwright_schema::Schema;
    /// use serde_json::json;
    ///
    /// let document = json!({ "type": "object", "properties": { "unit": { "type": "string", "default": "cm" } } });
    /// let schema = Schema::options().fill_defaults(false).document(document)?;
    /// assert_eq!(schema.check("{}")?.value(), &json!({}));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn fill_defaults(mut self, fill: bool) -> Self {
        self.fill_defaults = fill;
        self
    }

    /// Accepts a document whose root describes any JSON value, and not only an object. Use it for results: arguments of tools
    /// are always objects. A root without `type` stays without one.
    ///
    /// ```
    /// use turnwright_schema::SchemaOptions;
    /// use serde_json::json;
    ///
    /// let document = json!({ "type": "array", "items": { "type": "integer" } });
    /// let schema = SchemaOptions::foreign().any_root().document(document)?;
    /// assert!(schema.accepts(&json!([1, 2])) && !schema.accepts(&json!({})));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn any_root(mut self) -> Self {
        self.any_root = true;
        self
    }

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
