//! JSON, JSON Lines and JSON5, queried with JSONPath (RFC 9535).
//!
//! ```
//! use turnwright_core::artifact::json::{JsonPath, SpooledJsonArtifact};
//! use turnwright_core::artifact::{ArtifactKind, SpooledArtifact};
//!
//! # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
//! let log = "{\"ms\": 3}\n{\"ms\": 250, \"url\": \"/a\"}\n";
//! let log = SpooledJsonArtifact::new(SpooledArtifact::in_memory(log, ArtifactKind::JSON));
//! let slow = log.json_filter(&JsonPath::root(), "@.ms > 100", 0).await?;
//! assert_eq!(slow, "$[1]: {\"ms\":250,\"url\":\"/a\"}\n[1 node]");
//! # Ok::<(), turnwright_core::Error>(()) }).unwrap();
//! ```
//!
//! - **Format.** The artifact's kind determines the format. [`ArtifactKind::JSON`] detects it: if the first non-blank line is a
//!   complete JSON value and another line starts like one, the content is JSON Lines. Otherwise it is parsed as JSON, then as
//!   JSON5. If both fail and most of the first lines are complete objects or arrays, it is read as JSON Lines. A byte order mark
//!   is skipped.
//! - **JSON Lines** are streamed: memory use does not grow with the artifact. `$` is the array of records. Blank lines are
//!   ignored. Lines that are not JSON or are longer than 1 MiB are skipped, and the answer says so. Only a filter that refers to
//!   `$` needs all records at once; it is limited to 1 MiB.
//! - **JSON and JSON5** are parsed completely, up to [`ArtifactLimits::parse`](super::ArtifactLimits::parse) bytes and 128
//!   levels. If a key is repeated, the last value is used. 64-bit integers are exact; other numbers are doubles. The JSON5 values
//!   `NaN` and `Infinity` are rejected because JSON cannot represent them.

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

/// Maximum length of a line that is parsed as a record.
const MAX_RECORD: usize = 1 << 20;

/// An artifact that contains JSON, JSON Lines or JSON5. Text queries work on it too. Answers are text for a model, limited by
/// [`ArtifactLimits::answer`]: one item per line, then notes that say how to continue.
///
/// ```
/// use turnwright_core::artifact::json::SpooledJsonArtifact;
/// use turnwright_core::artifact::{ArtifactKind, SpooledArtifact};
///
/// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
/// let order = SpooledArtifact::in_memory(r#"{"items": [{"name": "cup"}]}"#, ArtifactKind::JSON);
/// let order = SpooledJsonArtifact::new(order);
/// let answer = order.json_get(&"$.items[0].name".parse()?, 0).await?;
/// assert!(answer.contains("\"cup\""), "{answer}");
/// # Ok::<(), turnwright_core::Error>(()) }).unwrap();
/// ```
#[derive(Clone, Debug)]
pub struct SpooledJsonArtifact(SpooledArtifact);

impl SpooledJsonArtifact {
    /// Treats the artifact as JSON, whatever its kind is.
    #[must_use]
    pub fn new(artifact: SpooledArtifact) -> Self {
        SpooledJsonArtifact(artifact)
    }

    /// Runs `work` on the content in a thread for blocking work.
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
