//! Markdown, asked by its structure.
//!
//! ```
//! use turnwright_core::artifact::{ArtifactKind, SpooledArtifact};
//! use turnwright_core::artifact::markdown::SpooledMarkdownArtifact;
//!
//! # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
//! let text = "# Guide\n\n## Install\n\n```sh\nmake install\n```\n\n## Use\n\nSee [the book](https://example.org).\n";
//! let guide = SpooledMarkdownArtifact::new(SpooledArtifact::in_memory(text, ArtifactKind::MARKDOWN));
//!
//! let install = guide.section("install").await?;
//! assert_eq!(install.lines, 2..8);
//! let code = guide.code_blocks(install.lines).await?;
//! assert_eq!(code[0].content, "make install\n");
//! assert_eq!(guide.links(..).await?[0].url, "https://example.org");
//! # Ok::<(), turnwright_core::Error>(()) }).unwrap();
//! ```
//!
//! The dialect is GitHub's: tables, task lists, strikethrough and footnotes. Lines are numbered from 0, ranges of lines are
//! half-open and clamped, and an item belongs to the line on which it begins. Of addresses without any mark, those that
//! begin with `http://` or `https://` count as links; `www.` and e-mail addresses do not.

mod answers;
mod ast;
mod blocks;
mod document;
mod frontmatter;
mod inline_text;
mod lines;
mod links;
mod listing;
mod nesting;
mod outline;
mod plain;
mod queries;
mod section;

#[cfg(test)]
mod tests;

use std::ops::{Deref, Range, RangeBounds};

pub use ast::AstNode;
pub use blocks::CodeBlock;
pub use frontmatter::{Frontmatter, FrontmatterFormat};
pub use links::Link;
pub use outline::Heading;
pub(super) use queries::queries;
pub use section::{Section, SectionName};

use self::document::Document;
use super::SpooledArtifact;
use crate::error::Error;

/// An artifact that is Markdown. Every question reads and parses it whole, up to
/// [`ArtifactLimits::parse`](super::ArtifactLimits::parse), on a thread for such work.
///
/// Every method fails with `E_ARTIFACT_TOO_LARGE` above that limit, and with `E_ARTIFACT_UNREADABLE` where the bytes cannot
/// be read. What is no UTF-8 is replaced.
#[derive(Clone, Debug)]
pub struct SpooledMarkdownArtifact(SpooledArtifact);

impl Deref for SpooledMarkdownArtifact {
    type Target = SpooledArtifact;

    fn deref(&self) -> &SpooledArtifact {
        &self.0
    }
}

impl SpooledMarkdownArtifact {
    /// The artifact, read as Markdown whatever its kind says.
    #[must_use]
    pub fn new(artifact: SpooledArtifact) -> Self {
        SpooledMarkdownArtifact(artifact)
    }

    /// The metadata block at the very beginning, if there is one.
    ///
    /// # Errors
    /// Also `E_ARTIFACT_MALFORMED`, with the line: it is there, and is not what it should be.
    pub async fn frontmatter(&self) -> Result<Option<Frontmatter>, Error> {
        self.with(frontmatter::frontmatter).await
    }

    /// The headings that begin on these lines, with the lines of their sections.
    ///
    /// # Errors
    /// It cannot be read, or is too large.
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

    /// The document cut at its headings: for every heading that begins on these lines what follows it, up to the next
    /// heading of any level. Headings in quotes and lists cut nothing.
    ///
    /// # Errors
    /// It cannot be read, or is too large.
    pub async fn sections(
        &self,
        lines: impl RangeBounds<u64> + Send + 'static,
    ) -> Result<Vec<Section>, Error> {
        self.with(move |document| Ok(section::sections(document, &document.lines().clamp(&lines))))
            .await
    }

    /// One section with all sections below it, by the text of its heading or by a line of it.
    ///
    /// # Errors
    /// Also `E_ARTIFACT_QUERY`: there is no such heading, or there are several, which are named with their lines.
    pub async fn section(&self, name: impl Into<SectionName>) -> Result<Section, Error> {
        let name = name.into();
        self.with(move |document| section::section(document, &name, &document.lines().clamp(&..)))
            .await
    }

    /// The blocks of code that begin on these lines.
    ///
    /// # Errors
    /// It cannot be read, or is too large.
    pub async fn code_blocks(
        &self,
        lines: impl RangeBounds<u64> + Send + 'static,
    ) -> Result<Vec<CodeBlock>, Error> {
        self.find(lines, blocks::code_blocks).await
    }

    /// The links that begin on these lines.
    ///
    /// # Errors
    /// It cannot be read, or is too large.
    pub async fn links(
        &self,
        lines: impl RangeBounds<u64> + Send + 'static,
    ) -> Result<Vec<Link>, Error> {
        self.find(lines, links::links).await
    }

    /// The images that begin on these lines.
    ///
    /// # Errors
    /// It cannot be read, or is too large.
    pub async fn images(
        &self,
        lines: impl RangeBounds<u64> + Send + 'static,
    ) -> Result<Vec<Link>, Error> {
        self.find(lines, links::images).await
    }

    /// The text of these lines, without marks and without HTML. Lists keep their bullets and numbers, tables a ` | `
    /// between cells.
    ///
    /// # Errors
    /// It cannot be read, or is too large.
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

    /// The nodes that begin on these lines, in the order in which they begin. Nodes that stand in `depth` others or more are
    /// left out, and so is what stands inside paragraphs, headings and cells unless `inline` is set.
    ///
    /// # Errors
    /// It cannot be read, or is too large.
    pub async fn ast(
        &self,
        lines: impl RangeBounds<u64> + Send + 'static,
        depth: u32,
        inline: bool,
    ) -> Result<Vec<AstNode>, Error> {
        self.with(move |document| {
            let within = document.bytes_of(&document.lines().clamp(&lines));
            let mut found = Vec::new();
            ast::nodes(document, &within, depth, inline, |node| found.push(node));
            Ok(found)
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

    /// Reads the document and asks it, away from the async threads.
    async fn with<T: Send + 'static>(
        &self,
        ask: impl FnOnce(&Document) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        let limits = self.limits();
        self.read_with(move |read| ask(&Document::read(&read, limits)?))
            .await
    }
}
