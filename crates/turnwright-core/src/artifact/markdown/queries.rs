//! What a model can ask of Markdown.

use std::sync::LazyLock;

use schemars::JsonSchema;
use serde::Deserialize;

use super::document::Document;
use super::{SpooledMarkdownArtifact, answers};
use crate::artifact::{Page, Query, SpooledArtifact};
use crate::error::Error;

#[derive(Deserialize, JsonSchema)]
pub(super) struct Nothing {}

#[derive(Deserialize, JsonSchema)]
pub(super) struct OnLines {
    /// First line to look at, from 0.
    #[serde(default)]
    pub(super) start: u64,
    /// Line before which to stop. To the end unless given.
    pub(super) end: Option<u64>,
}

#[derive(Deserialize, JsonSchema)]
pub(super) struct Listed {
    /// First line on which an item may begin, from 0.
    #[serde(default)]
    pub(super) start: u64,
    /// Line before which to stop. To the end unless given.
    pub(super) end: Option<u64>,
    /// How many items to leave out at the beginning.
    #[serde(default)]
    pub(super) skip: u64,
}

#[derive(Deserialize, JsonSchema)]
pub(super) struct Headings {
    /// First line on which a heading may begin, from 0.
    #[serde(default)]
    pub(super) start: u64,
    /// Line before which to stop. To the end unless given.
    pub(super) end: Option<u64>,
    /// Only headings up to this level: 2 gives `#` and `##`.
    #[serde(default = "six")]
    #[schemars(range(min = 1, max = 6))]
    pub(super) level: u8,
    /// How many headings to leave out at the beginning.
    #[serde(default)]
    pub(super) skip: u64,
}

#[derive(Deserialize, JsonSchema)]
pub(super) struct CodeBlocks {
    /// Only blocks in this language, as it stands after the opening fence.
    pub(super) lang: Option<String>,
    /// First line on which a block may begin, from 0.
    #[serde(default)]
    pub(super) start: u64,
    /// Line before which to stop. To the end unless given.
    pub(super) end: Option<u64>,
    /// How many blocks to leave out at the beginning.
    #[serde(default)]
    pub(super) skip: u64,
}

#[derive(Deserialize, JsonSchema)]
pub(super) struct SectionOf {
    /// Text of the section's heading, or a part of it.
    pub(super) heading: Option<String>,
    /// Line of the section's heading, in place of its text.
    pub(super) line: Option<u64>,
    /// First line on which the heading may stand, from 0.
    #[serde(default)]
    pub(super) start: u64,
    /// Line before which the heading stands. To the end unless given.
    pub(super) end: Option<u64>,
}

#[derive(Deserialize, JsonSchema)]
pub(super) struct Ast {
    /// First line on which a node may begin, from 0.
    #[serde(default)]
    pub(super) start: u64,
    /// Line before which to stop. To the end unless given.
    pub(super) end: Option<u64>,
    /// How many nodes to leave out at the beginning.
    #[serde(default)]
    pub(super) skip: u64,
    /// How many levels to show.
    #[serde(default = "sixteen")]
    #[schemars(range(min = 1, max = 64))]
    pub(super) depth: u32,
    /// Also show what stands inside paragraphs: text, links, emphasis.
    #[serde(default)]
    pub(super) inline: bool,
}

fn six() -> u8 {
    6
}

fn sixteen() -> u32 {
    16
}

static QUERIES: LazyLock<Vec<Query>> = LazyLock::new(|| {
    vec![
        query(
            "artifact_md_frontmatter",
            "The metadata block at the beginning of a Markdown document, as JSON.",
            answers::frontmatter,
        ),
        query(
            "artifact_md_headings",
            "The headings of a Markdown document, each with its lines and those of its section.",
            answers::headings,
        ),
        query(
            "artifact_md_section",
            "One section of a Markdown document as it is written: its heading and all that is below it.",
            answers::section,
        ),
        query(
            "artifact_md_code_blocks",
            "The code blocks of a Markdown document, each with its lines, its language and the code.",
            answers::code_blocks,
        ),
        query(
            "artifact_md_links",
            "The links of a Markdown document, each with its lines, text and URL; bare URLs too.",
            answers::links,
        ),
        query(
            "artifact_md_images",
            "The images of a Markdown document, each with its lines, text and URL.",
            answers::images,
        ),
        query(
            "artifact_md_text",
            "The text of a Markdown document, or of some of its lines, without marks and without HTML.",
            answers::text,
        ),
        query(
            "artifact_md_ast",
            "The structure of a Markdown document: one node a line, indented, with its lines and how its text begins.",
            answers::ast,
        ),
    ]
});

/// What can be asked of Markdown beyond what can be asked of text.
pub(in crate::artifact) fn queries() -> &'static [Query] {
    &QUERIES
}

/// A query that is answered from the whole document, on a thread of its own.
fn query<A>(
    name: &str,
    description: &str,
    answer: fn(&Document, Page, &A) -> Result<String, Error>,
) -> Query
where
    A: for<'de> Deserialize<'de> + JsonSchema + Send + 'static,
{
    Query::new(
        name,
        description,
        move |artifact: SpooledArtifact, asked: A| async move {
            let page = artifact.page();
            let markdown = SpooledMarkdownArtifact::new(artifact);
            markdown
                .with(move |document| answer(document, page, &asked))
                .await
        },
    )
}
