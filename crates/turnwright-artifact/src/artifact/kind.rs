//! The content types of artifacts.
//!
//! A kind is a constant: a name and a static list of queries. It travels with the tool that declares it.

use std::fmt;

use serde::{Serialize, Serializer};

use super::query::Query;

/// The content type of an artifact. It determines which queries are available in addition to the text queries.
///
/// The set of kinds is open: a name and a list of queries define one. Two kinds with the same name are equal.
///
/// ```
/// use std::sync::LazyLock;
/// use turnwright_artifact::artifact::{ArtifactKind, Query, SpooledArtifact};
/// use turnwright_artifact::Error;
///
/// #[derive(serde::Deserialize, schemars::JsonSchema)]
/// struct Nothing {}
///
/// static QUERIES: LazyLock<Vec<Query>> = LazyLock::new(|| {
///     vec![Query::new("artifact_ini_size", "How many bytes the file has.", |ini: SpooledArtifact, _: Nothing| async move {
///         Ok::<_, Error>(ini.byte_length().to_string())
///     })]
/// });
/// const INI: ArtifactKind = ArtifactKind::new("ini", || &QUERIES);
/// assert_eq!(INI.as_str(), "ini");
/// ```
#[derive(Clone, Copy)]
pub struct ArtifactKind {
    name: &'static str,
    queries: fn() -> &'static [Query],
}

impl ArtifactKind {
    /// Plain text.
    pub const TEXT: ArtifactKind = ArtifactKind::new("text", || &[]);
    /// JSON or JSON Lines. The format is detected from the content.
    pub const JSON: ArtifactKind = ArtifactKind::new("json", json_queries);
    /// JSON Lines: one JSON document per line.
    pub const JSON_LINES: ArtifactKind = ArtifactKind::new("jsonl", json_queries);
    /// Markdown.
    pub const MARKDOWN: ArtifactKind = ArtifactKind::new("markdown", markdown_queries);

    /// The kinds above.
    #[doc(hidden)]
    pub const BUILT_IN: [ArtifactKind; 4] = [
        ArtifactKind::TEXT,
        ArtifactKind::JSON,
        ArtifactKind::JSON_LINES,
        ArtifactKind::MARKDOWN,
    ];

    /// Creates a custom kind with the queries that it supports in addition to the text queries.
    #[must_use]
    pub const fn new(name: &'static str, queries: fn() -> &'static [Query]) -> Self {
        ArtifactKind { name, queries }
    }

    /// Returns the name.
    #[must_use]
    pub const fn as_str(&self) -> &'static str {
        self.name
    }

    /// Returns the queries of this kind, without the text queries that every kind has.
    #[must_use]
    pub fn queries(&self) -> &'static [Query] {
        (self.queries)()
    }
}

fn json_queries() -> &'static [Query] {
    #[cfg(feature = "artifact-formats")]
    return super::json::queries();
    #[cfg(not(feature = "artifact-formats"))]
    &[]
}

fn markdown_queries() -> &'static [Query] {
    #[cfg(feature = "artifact-formats")]
    return super::markdown::queries();
    #[cfg(not(feature = "artifact-formats"))]
    &[]
}

impl PartialEq for ArtifactKind {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for ArtifactKind {}

debug_fields!(ArtifactKind { name });

impl fmt::Display for ArtifactKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl Serialize for ArtifactKind {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name)
    }
}
