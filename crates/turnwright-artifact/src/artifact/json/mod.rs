//! JSON and JSON Lines, queried with JSONPath (RFC 9535).
//!
//! ```
//! use turnwright_artifact::artifact::json::SpooledJsonArtifact;
//! use turnwright_artifact::artifact::{ArtifactKind, SpooledArtifact};
//!
//! # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
//! let log = "{\"ms\": 3}\n{\"ms\": 250, \"url\": \"/a\"}\n";
//! let log = SpooledJsonArtifact::new(SpooledArtifact::in_memory(log, ArtifactKind::JSON));
//! let slow = log.json_filter(&"$".parse()?, "@.ms > 100", 0).await?;
//! assert_eq!(slow, "$[1]: {\"ms\":250,\"url\":\"/a\"}\n[1 node]");
//! # Ok::<(), turnwright_artifact::Error>(()) }).unwrap();
//! ```
//!
//! - **Format.** The artifact's kind determines the format. [`ArtifactKind::JSON`] detects it: if the first non-blank line is a
//!   complete JSON value and another line follows, or if most of the first lines are complete values, the content is JSON
//!   Lines. Otherwise it is one document. A byte order mark is skipped.
//! - **JSON Lines** are streamed: memory use does not grow with the artifact. `$` is the array of records. Blank lines are
//!   ignored. Lines that are not JSON or are longer than 1 MiB are skipped, and the page says so. Only a filter that refers to
//!   `$` and a slice that goes backward need all records at once; they are limited to 1 MiB.
//! - **JSON** is parsed completely, up to [`ArtifactLimits::parse`](super::ArtifactLimits::parse) bytes and 128
//!   levels. If a key is repeated, the last value is used. 64-bit integers are exact; other numbers are doubles.

mod content;
mod field_queries;
mod format;
mod page;
mod path;
mod path_queries;
mod queries;
mod records;
mod shape_queries;

#[cfg(test)]
mod tests;

pub use path::{JsonPath, LocatedNode};
pub(super) use queries::queries;

#[cfg(doc)]
use super::ArtifactKind;
use super::{ArtifactLimits, SpooledArtifact};
use crate::error::Error;
use content::Content;

/// An artifact that contains JSON or JSON Lines. Text queries work on it too. Pages are text for a model, limited by
/// [`ArtifactLimits::page`]: one item per line, then notes that say how to continue.
///
/// ```
/// use turnwright_artifact::artifact::json::SpooledJsonArtifact;
/// use turnwright_artifact::artifact::{ArtifactKind, SpooledArtifact};
///
/// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
/// let order = SpooledArtifact::in_memory(r#"{"items": [{"name": "cup"}]}"#, ArtifactKind::JSON);
/// let order = SpooledJsonArtifact::new(order);
/// let page = order.json_get(&"$.items[0].name".parse()?, 0).await?;
/// assert!(page.contains("\"cup\""), "{page}");
/// # Ok::<(), turnwright_artifact::Error>(()) }).unwrap();
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
        let (kind, limits) = (self.0.kind(), self.0.limits());
        self.0
            .read_with(move |read| {
                let mut content = Content::open(&read, kind, limits)?;
                work(&mut content, limits)
            })
            .await
    }
}
