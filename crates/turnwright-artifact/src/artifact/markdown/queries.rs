//! The Markdown query tools.

use std::sync::LazyLock;

use schemars::JsonSchema;
use serde::Deserialize;

use super::document::Document;
use super::{SpooledMarkdownArtifact, pages};
use crate::artifact::{Page, Query, SpooledArtifact};
use crate::error::Error;
use crate::schema::Typed;

#[derive(Deserialize, JsonSchema)]
pub(super) struct Nothing {}

#[derive(Deserialize, JsonSchema)]
pub(super) struct OnLines {
    /// First line to read. Lines start at 0.
    #[serde(default)]
    pub(super) start: u64,
    /// Line to stop before. Default: the end.
    pub(super) end: Option<u64>,
}

#[derive(Deserialize, JsonSchema)]
pub(super) struct Listed {
    /// First line to search. Lines start at 0.
    #[serde(default)]
    pub(super) start: u64,
    /// Line to stop before. Default: the end.
    pub(super) end: Option<u64>,
    /// Number of items to skip.
    #[serde(default)]
    pub(super) skip: u64,
}

#[derive(Deserialize, JsonSchema)]
pub(super) struct Headings {
    /// First line to search. Lines start at 0.
    #[serde(default)]
    pub(super) start: u64,
    /// Line to stop before. Default: the end.
    pub(super) end: Option<u64>,
    /// Maximum heading level: 2 returns `#` and `##`.
    #[serde(default = "six")]
    #[schemars(range(min = 1, max = 6))]
    pub(super) level: u8,
    /// Number of headings to skip.
    #[serde(default)]
    pub(super) skip: u64,
}

#[derive(Deserialize, JsonSchema)]
pub(super) struct CodeBlocks {
    /// Only blocks in this language, as written after the opening fence.
    pub(super) lang: Option<String>,
    /// First line to search. Lines start at 0.
    #[serde(default)]
    pub(super) start: u64,
    /// Line to stop before. Default: the end.
    pub(super) end: Option<u64>,
    /// Number of blocks to skip.
    #[serde(default)]
    pub(super) skip: u64,
}

#[derive(Deserialize, JsonSchema)]
pub(super) struct SectionOf {
    /// Text of the section's heading, or a part of it.
    pub(super) heading: Option<String>,
    /// Line of the section's heading, instead of its text.
    pub(super) line: Option<u64>,
    /// First line to search for the heading. Lines start at 0.
    #[serde(default)]
    pub(super) start: u64,
    /// Line to stop before. Default: the end.
    pub(super) end: Option<u64>,
}

fn six() -> u8 {
    6
}

static QUERIES: LazyLock<Vec<Query>> = LazyLock::new(|| {
    vec![
        query(
            "artifact_md_frontmatter",
            "Returns the frontmatter of a Markdown document as JSON.",
            pages::frontmatter,
        ),
        query(
            "artifact_md_headings",
            "Lists the headings of a Markdown document, each with its lines and the lines of its section.",
            pages::headings,
        ),
        query(
            "artifact_md_section",
            "Returns the source of one section of a Markdown document: its heading and everything below it.",
            pages::section,
        ),
        query(
            "artifact_md_code_blocks",
            "Lists the code blocks of a Markdown document, each with its lines, its language and the code.",
            pages::code_blocks,
        ),
        query(
            "artifact_md_links",
            "Lists the links of a Markdown document, including bare URLs, each with its lines, text and URL.",
            pages::links,
        ),
        query(
            "artifact_md_images",
            "Lists the images of a Markdown document, each with its lines, alternative text and URL.",
            pages::images,
        ),
        query(
            "artifact_md_text",
            "Returns the text of a Markdown document, or of some of its lines, without markup and HTML.",
            pages::text,
        ),
    ]
});

/// Returns the queries that Markdown artifacts support in addition to the text queries.
pub(in crate::artifact) fn queries() -> &'static [Query] {
    &QUERIES
}

/// Creates a query that parses the complete document on a thread for blocking work.
fn query<A>(
    name: &str,
    description: &str,
    answer: fn(&Document, Page, &A) -> Result<String, Error>,
) -> Query
where
    A: Typed + Send + 'static,
{
    Query::new(
        name,
        description,
        move |artifact: SpooledArtifact, args: A| async move {
            let page = artifact.page();
            let markdown = SpooledMarkdownArtifact::new(artifact);
            markdown
                .with(move |document| answer(document, page, &args))
                .await
        },
    )
}
