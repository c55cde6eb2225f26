//! JSON, JSON lines and JSON5, asked by JSONPath (RFC 9535).
//!
//! ```
//! use turnwright_core::artifact::json::{JsonPath, SpooledJsonArtifact};
//! use turnwright_core::artifact::{ArtifactKind, SpooledArtifact};
//!
//! # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
//! let log = "{\"ms\": 3}\n{\"ms\": 250, \"url\": \"/a\"}\n";
//! let log = SpooledJsonArtifact::new(SpooledArtifact::in_memory(log, ArtifactKind::JSON));
//! let slow = log.json_filter(&JsonPath::root(), "@.ms > 100", 0).await?;
//! assert_eq!(slow, "$[1]: {\"ms\":250,\"url\":\"/a\"}\n[1 node]");
//! # Ok::<(), turnwright_core::Error>(()) }).unwrap();
//! ```
//!
//! - **Which form it is** is said by the kind of the artifact. [`ArtifactKind::JSON`] finds out: if the first line that is
//!   not blank is a whole JSON value and another line begins like one, these are JSON lines; else it is JSON; and if it
//!   turns out not to be, JSON5 is tried, and then JSON lines once more if most of the first lines are whole objects or
//!   arrays. A byte-order mark is passed over.
//! - **JSON lines** are read one by one: memory does not grow with the artifact. `$` is the array of the records. Blank
//!   lines do not count; lines that are no JSON, or longer than 1 MiB, are left out, and the answer says so. Only a filter
//!   that looks at `$` needs all records at once, and is refused beyond 1 MiB.
//! - **JSON and JSON5** are parsed whole, up to [`ArtifactLimits::parse`](super::ArtifactLimits::parse) bytes and 128
//!   levels. Of a repeated key the last value counts. Whole numbers of 64 bits are exact, all others are doubles. `NaN`
//!   and `Infinity`, which JSON5 has and JSON has not, are refused.

mod answer;
mod content;
mod document;
mod field_queries;
mod format;
mod json5;
mod line_stats;
mod lines;
mod path;
mod path_queries;
mod queries;
mod records;
mod shape_queries;

#[cfg(test)]
mod tests;

use std::ops::Deref;

pub use path::{JsonPath, LocatedNode};
pub(super) use queries::queries;

#[cfg(doc)]
use super::ArtifactKind;
use super::{ArtifactLimits, SpooledArtifact};
use crate::error::Error;
use content::Content;

/// The longest line that is taken as a record.
const MAX_RECORD: usize = 1 << 20;

/// An artifact whose bytes are JSON, JSON lines or JSON5. What can be asked of any text can still be asked. The answers are
/// text for a model, within [`ArtifactLimits::answer`]: one item a line, then notes that say how to continue.
#[derive(Clone, Debug)]
pub struct SpooledJsonArtifact(SpooledArtifact);

impl SpooledJsonArtifact {
    /// A view of the artifact as JSON, whatever its kind says.
    #[must_use]
    pub fn new(artifact: SpooledArtifact) -> Self {
        SpooledJsonArtifact(artifact)
    }

    /// Does the work over the content, on a thread where it may take long.
    async fn ask<T, F>(&self, work: F) -> Result<T, Error>
    where
        T: Send + 'static,
        F: FnOnce(&mut Content<'_>, ArtifactLimits) -> Result<T, Error> + Send + 'static,
    {
        let (kind, limits) = (self.kind(), self.limits());
        self.read_with(move |read| {
            let mut content = Content::open(&read, kind, limits)?;
            work(&mut content, limits)
        })
        .await
    }
}

impl Deref for SpooledJsonArtifact {
    type Target = SpooledArtifact;

    fn deref(&self) -> &SpooledArtifact {
        &self.0
    }
}
