//! The questions that a model can ask of every artifact.

use std::sync::LazyLock;

use schemars::JsonSchema;
use serde::Deserialize;

use super::Grep;
use crate::artifact::query::Query;
use crate::artifact::{SpooledArtifact, counted};
use crate::error::Error;

/// What can be asked of every artifact.
pub(crate) fn queries() -> &'static [Query] {
    &QUERIES
}

static QUERIES: LazyLock<Vec<Query>> = LazyLock::new(|| {
    vec![
        Query::new(
            "artifact_head",
            "Shows the first lines of a stored result. Use it first, to see what the result looks like.",
            |artifact: SpooledArtifact, asked: Lines| async move {
                Ok::<_, Error>(artifact.head(asked.n).await?.to_answer())
            },
        ),
        Query::new(
            "artifact_tail",
            "Shows the last lines of a stored result. Use it for what came last: the end of a log, a summary, a final error.",
            |artifact: SpooledArtifact, asked: Lines| async move {
                Ok::<_, Error>(artifact.tail(asked.n).await?.to_answer())
            },
        ),
        Query::new(
            "artifact_grep",
            "Finds the lines of a stored result that match a pattern: use it whenever you know what you are looking for, however \
             large the result is. Answers with 12:text for a matching line and 11-text for a line of context; 12 is the line's \
             number, counted from 0, for artifact_cat. Lines are searched one by one: a match never spans two lines. No \
             look-around and no back-references.",
            |artifact: SpooledArtifact, asked: Search| async move {
                let grep = Grep::new(asked.pattern)
                    .flags(&asked.flags)?
                    .literal(asked.literal)
                    .context(asked.context)
                    .max(asked.max)
                    .start(asked.start);
                Ok::<_, Error>(artifact.grep(&grep).await?.to_answer())
            },
        ),
        Query::new(
            "artifact_cat",
            "Shows a range of lines of a stored result, without their numbers. Use it to read around a line that artifact_grep \
             found, or to go on where an answer was cut.",
            |artifact: SpooledArtifact, asked: Range| async move {
                let from = asked.start;
                let excerpt = match asked.end {
                    Some(end) => artifact.cat_from(from..end, asked.offset).await?,
                    None => artifact.cat_from(from.., asked.offset).await?,
                };
                Ok::<_, Error>(excerpt.to_answer())
            },
        ),
        Query::new(
            "artifact_byte_length",
            "Says how many bytes a stored result has.",
            |artifact: SpooledArtifact, _: Nothing| async move {
                Ok::<_, Error>(counted(artifact.byte_length(), "byte"))
            },
        ),
        Query::new(
            "artifact_line_count",
            "Says how many lines a stored result has. They are numbered from 0, so the last one is one less than that.",
            |artifact: SpooledArtifact, _: Nothing| async move {
                Ok::<_, Error>(counted(artifact.line_count().await?, "line"))
            },
        ),
        Query::new(
            "artifact_estimate_tokens",
            "Says about how many tokens a stored result would take. Use it before you decide to read all of it.",
            |artifact: SpooledArtifact, asked: Tokens| async move {
                let count = artifact.estimate_tokens(asked.encoding.as_deref()).await?;
                Ok::<_, Error>(count.to_string())
            },
        ),
    ]
});

fn ten() -> u64 {
    10
}

fn hundred() -> u64 {
    100
}

#[derive(Deserialize, JsonSchema)]
pub(super) struct Lines {
    /// How many lines to show.
    #[serde(default = "ten")]
    #[schemars(range(min = 1, max = 10000))]
    n: u64,
}

#[derive(Deserialize, JsonSchema)]
pub(super) struct Search {
    /// A regular expression, or plain text with literal=true. ^ and $ are the ends of a line.
    #[schemars(length(max = 1000))]
    pattern: String,
    /// "i" ignores case. "m", "s" and "u" are taken and change nothing.
    #[serde(default)]
    #[schemars(regex(pattern = r"^[imsu]*$"))]
    flags: String,
    /// How many lines to show before and after each match.
    #[serde(default)]
    #[schemars(range(max = 100))]
    context: u64,
    /// The most matching lines to show.
    #[serde(default = "hundred")]
    #[schemars(range(min = 1, max = 10000))]
    max: u64,
    /// Takes the pattern as plain text, in which . * ( [ and the like mean nothing special.
    #[serde(default)]
    literal: bool,
    /// The first line to search, counted from 0: for going on where an answer ended.
    #[serde(default)]
    #[schemars(range(max = 9007199254740991_u64))]
    start: u64,
}

#[derive(Deserialize, JsonSchema)]
pub(super) struct Range {
    /// The first line to show, counted from 0.
    #[serde(default)]
    #[schemars(range(max = 9007199254740991_u64))]
    start: u64,
    /// The line before which to stop: start=5 end=8 shows lines 5, 6 and 7. To the end if left out.
    #[serde(default)]
    #[schemars(range(max = 9007199254740991_u64))]
    end: Option<u64>,
    /// How many bytes of the first line to skip: for going on inside a long line.
    #[serde(default)]
    #[schemars(range(max = 9007199254740991_u64))]
    offset: u64,
}

#[derive(Deserialize, JsonSchema)]
pub(super) struct Nothing {}

#[derive(Deserialize, JsonSchema)]
pub(super) struct Tokens {
    #[cfg_attr(
        feature = "tokens",
        doc = "The model's encoding, such as o200k_base or cl100k_base. An estimate for any model if left out."
    )]
    #[cfg_attr(
        not(feature = "tokens"),
        doc = "Leave it out: no encodings are here, and the answer is an estimate for any model."
    )]
    #[serde(default)]
    encoding: Option<String>,
}
