//! Markdown, queried by structure.
//!
//! ```
//! use turnwright_artifact::artifact::{ArtifactKind, SpooledArtifact};
//! use turnwright_artifact::artifact::markdown::SpooledMarkdownArtifact;
//!
//! # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
//! let text = "# Guide\n\n## Install\n\n```sh\nmake install\n```\n\n## Use\n\nSee [the book](https://example.org).\n";
//! let guide = SpooledMarkdownArtifact::new(SpooledArtifact::in_memory(text, ArtifactKind::MARKDOWN));
//!
//! let install = guide.section("install").await?;
//! assert_eq!(install.lines, 2..8);
//! let code = guide.code_blocks(install.lines).await?;
//! assert_eq!(code[0].content, "make install\n");
//! assert_eq!(guide.links(..).await?[0].url, "https://example.org");
//! # Ok::<(), turnwright_artifact::Error>(()) }).unwrap();
//! ```
//!
//! Supports GitHub Flavored Markdown: tables, task lists, strikethrough and footnotes. Lines are numbered from 0. Ranges of lines
//! are half-open and clamped. An item belongs to the line on which it starts. Bare URLs count as links if they start with
//! `http://` or `https://`; `www.` and e-mail addresses do not.

mod blocks;
mod document;
mod frontmatter;
mod links;
mod listing;
mod outline;
mod pages;
mod plain;
mod queries;
mod section;

#[cfg(test)]
mod tests;

use std::ops::{Range, RangeBounds};

pub use blocks::CodeBlock;
pub use frontmatter::Frontmatter;
pub use links::Link;
pub use outline::Heading;
pub(super) use queries::queries;
pub use section::{Section, SectionName};

use self::document::Document;
use super::SpooledArtifact;
use crate::error::Error;

/// An artifact that contains Markdown.
///
/// Every method reads and parses the complete document on a thread for blocking work. Invalid UTF-8 is replaced.
///
/// ```
/// use turnwright_artifact::artifact::markdown::SpooledMarkdownArtifact;
/// use turnwright_artifact::artifact::{ArtifactKind, SpooledArtifact};
///
/// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
/// let guide = SpooledArtifact::in_memory("# Guide\n\n## Install\n\nRun make.\n", ArtifactKind::MARKDOWN);
/// let guide = SpooledMarkdownArtifact::new(guide);
/// assert_eq!(guide.headings(..).await?.len(), 2);
/// assert_eq!(guide.section("Install").await?.text, "## Install\n\nRun make.\n");
/// # Ok::<(), turnwright_artifact::Error>(()) }).unwrap();
/// ```
///
/// # Errors
/// Every method returns `E_ARTIFACT_TOO_LARGE` if the content exceeds [`ArtifactLimits::parse`](super::ArtifactLimits::parse),
/// and `E_ARTIFACT_UNREADABLE` if the bytes cannot be read.
#[derive(Clone, Debug)]
pub struct SpooledMarkdownArtifact(SpooledArtifact);

impl SpooledMarkdownArtifact {
    /// Treats the artifact as Markdown, whatever its kind is.
    #[must_use]
    pub fn new(artifact: SpooledArtifact) -> Self {
        SpooledMarkdownArtifact(artifact)
    }

    /// Returns the frontmatter, if there is any.
    ///
    /// # Errors
    /// Returns an error if the document cannot be read or is too large, and `E_ARTIFACT_MALFORMED` with the line if the
    /// frontmatter is invalid.
    pub async fn frontmatter(&self) -> Result<Option<Frontmatter>, Error> {
        self.with(frontmatter::frontmatter).await
    }

    /// Returns the headings that start on these lines, with the lines of their sections.
    ///
    /// # Errors
    /// Returns an error if the document cannot be read or is too large.
    pub async fn headings(
        &self,
        lines: impl RangeBounds<u64> + Send + 'static,
    ) -> Result<Vec<Heading>, Error> {
        self.with(move |document| {
            let within = document.lines().clamp(&lines);
            let mut headings = outline::headings(document);
            headings.retain(|heading| within.contains(&heading.lines.start));
            Ok(headings)
        })
        .await
    }

    /// Splits the document at its headings. Returns each heading that starts on these lines with the text up to the next heading
    /// of any level. Headings in quotes and lists do not split.
    ///
    /// # Errors
    /// Returns an error if the document cannot be read or is too large.
    pub async fn sections(
        &self,
        lines: impl RangeBounds<u64> + Send + 'static,
    ) -> Result<Vec<Section>, Error> {
        self.with(move |document| Ok(section::sections(document, &document.lines().clamp(&lines))))
            .await
    }

    /// Returns one section including its subsections, selected by the text of its heading or by a line of it.
    ///
    /// # Errors
    /// Returns an error if the document cannot be read or is too large. Returns `E_ARTIFACT_QUERY` if no heading matches, or if
    /// several do; the message lists them with their lines.
    pub async fn section(&self, name: impl Into<SectionName>) -> Result<Section, Error> {
        let name = name.into();
        self.with(move |document| section::section(document, &name, &document.lines().clamp(&..)))
            .await
    }

    /// Returns the code blocks that start on these lines.
    ///
    /// # Errors
    /// Returns an error if the document cannot be read or is too large.
    pub async fn code_blocks(
        &self,
        lines: impl RangeBounds<u64> + Send + 'static,
    ) -> Result<Vec<CodeBlock>, Error> {
        self.find(lines, blocks::code_blocks).await
    }

    /// Returns the links that start on these lines.
    ///
    /// # Errors
    /// Returns an error if the document cannot be read or is too large.
    pub async fn links(
        &self,
        lines: impl RangeBounds<u64> + Send + 'static,
    ) -> Result<Vec<Link>, Error> {
        self.find(lines, links::links).await
    }

    /// Returns the images that start on these lines.
    ///
    /// # Errors
    /// Returns an error if the document cannot be read or is too large.
    pub async fn images(
        &self,
        lines: impl RangeBounds<u64> + Send + 'static,
    ) -> Result<Vec<Link>, Error> {
        self.find(lines, links::images).await
    }

    /// Returns the text of these lines without markup and HTML. Lists keep their bullets and numbers, and table cells are
    /// separated by ` | `.
    ///
    /// # Errors
    /// Returns an error if the document cannot be read or is too large.
    pub async fn plain_text(
        &self,
        lines: impl RangeBounds<u64> + Send + 'static,
    ) -> Result<String, Error> {
        self.with(move |document| {
            let mut text = String::new();
            plain::plain_text(document, &document.lines().clamp(&lines), |_, words| {
                text.push_str(words);
                text.push('\n');
            });
            Ok(text)
        })
        .await
    }

    async fn find<T: Send + 'static>(
        &self,
        lines: impl RangeBounds<u64> + Send + 'static,
        find: fn(&Document, &Range<usize>, &mut dyn FnMut(T)),
    ) -> Result<Vec<T>, Error> {
        self.with(move |document| {
            let within = document.bytes_of(&document.lines().clamp(&lines));
            let mut found = Vec::new();
            find(document, &within, &mut |item| found.push(item));
            Ok(found)
        })
        .await
    }

    /// Reads the document and runs a query on it, on a thread for blocking work.
    async fn with<T: Send + 'static>(
        &self,
        ask: impl FnOnce(&Document) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        let limits = self.0.limits();
        self.0
            .read_with(move |read| ask(&Document::read(&read, limits)?))
            .await
    }
}
