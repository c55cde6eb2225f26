//! What the bytes of a result are.

use std::fmt;
use std::hash::{Hash, Hasher};

use serde::{Serialize, Serializer};

use super::query::Query;

/// What the bytes of a result are, and so what can be asked of them beyond what can be asked of any text. Kinds are open:
/// a name and a list of queries make one. Two kinds of one name are the same.
///
/// ```
/// use std::sync::LazyLock;
/// use turnwright_core::artifact::{ArtifactKind, Query, SpooledArtifact};
/// use turnwright_core::Error;
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
    /// Lines of text.
    pub const TEXT: ArtifactKind = ArtifactKind::new("text", || &[]);
    /// JSON, JSON lines or JSON5, whichever the content turns out to be.
    pub const JSON: ArtifactKind = ArtifactKind::new("json", json_queries);
    /// A JSON document on each line.
    pub const JSON_LINES: ArtifactKind = ArtifactKind::new("jsonl", json_queries);
    /// JSON as people write it: comments, trailing commas, keys without quotes.
    pub const JSON5: ArtifactKind = ArtifactKind::new("json5", json_queries);
    /// Markdown.
    pub const MARKDOWN: ArtifactKind = ArtifactKind::new("markdown", markdown_queries);

    /// A kind of your own, with the queries that it answers beyond those of text.
    #[must_use]
    pub const fn new(name: &'static str, queries: fn() -> &'static [Query]) -> Self {
        ArtifactKind { name, queries }
    }

    /// Its name.
    #[must_use]
    pub const fn as_str(&self) -> &'static str {
        self.name
    }

    /// What it answers beyond what every kind does.
    #[must_use]
    pub fn queries(&self) -> &'static [Query] {
        (self.queries)()
    }
}

fn json_queries() -> &'static [Query] {
    #[cfg(feature = "artifact-json")]
    return super::json::queries();
    #[cfg(not(feature = "artifact-json"))]
    &[]
}

fn markdown_queries() -> &'static [Query] {
    #[cfg(feature = "artifact-markdown")]
    return super::markdown::queries();
    #[cfg(not(feature = "artifact-markdown"))]
    &[]
}

impl PartialEq for ArtifactKind {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for ArtifactKind {}

impl Hash for ArtifactKind {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name.hash(state);
    }
}

impl Default for ArtifactKind {
    fn default() -> Self {
        ArtifactKind::TEXT
    }
}

impl fmt::Debug for ArtifactKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ArtifactKind({})", self.name)
    }
}

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
