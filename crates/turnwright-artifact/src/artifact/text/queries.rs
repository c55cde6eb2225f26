//! The query tools that every artifact has.

use std::sync::LazyLock;

use schemars::JsonSchema;
use serde::Deserialize;

use super::Grep;
use crate::artifact::SpooledArtifact;
use crate::artifact::query::Query;
use crate::error::Error;
use crate::schema::counted;

/// Returns the queries that every artifact supports.
pub fn queries() -> &'static [Query] {
    &QUERIES
}

static QUERIES: LazyLock<Vec<Query>> = LazyLock::new(|| {
    vec![
        Query::new(
            "artifact_head",
            "Shows the first lines of a stored result. Use it first to see what the result looks like.",
            |artifact: SpooledArtifact, args: Lines| async move {
                Ok::<_, Error>(artifact.head(args.n).await?.to_page())
            },
        ),
        Query::new(
            "artifact_tail",
            "Shows the last lines of a stored result. Use it for the end of a log, a summary or a final error.",
            |artifact: SpooledArtifact, args: Lines| async move {
                Ok::<_, Error>(artifact.tail(args.n).await?.to_page())
            },
        ),
        Query::new(
            "artifact_grep",
            "Finds the lines of a stored result that match a pattern. Use it whenever you know what you are looking for, however \
             large the result is. The answer has 12:text for a matching line and 11-text for a line of context. The number is the \
             line number, starting at 0, as used by artifact_cat. A match cannot span lines. Look-around and back-references \
             are not supported.",
            |artifact: SpooledArtifact, args: Search| async move {
                let grep = Grep::new(args.pattern)
                    .flags(&args.flags)?
                    .literal(args.literal)
                    .context(args.context)
                    .max(args.max)
                    .start(args.start);
                Ok::<_, Error>(artifact.grep(&grep).await?.to_page())
            },
        ),
        Query::new(
            "artifact_cat",
            "Shows a range of lines of a stored result, without line numbers. Use it to read around a line that artifact_grep \
             found, or to continue after a truncated answer.",
            |artifact: SpooledArtifact, args: Range| async move {
                let from = args.start;
                let excerpt = match args.end {
                    Some(end) => artifact.cat_from(from..end, args.offset).await?,
                    None => artifact.cat_from(from.., args.offset).await?,
                };
                Ok::<_, Error>(excerpt.to_page())
            },
        ),
        Query::new(
            "artifact_byte_length",
            "Returns the size of a stored result in bytes.",
            |artifact: SpooledArtifact, _: Nothing| async move {
                Ok::<_, Error>(counted(artifact.byte_length(), "byte"))
            },
        ),
        Query::new(
            "artifact_line_count",
            "Returns the number of lines of a stored result. Line numbers start at 0, so the last line is one less than this number.",
            |artifact: SpooledArtifact, _: Nothing| async move {
                Ok::<_, Error>(counted(artifact.line_count().await?, "line"))
            },
        ),
        Query::new(
            "artifact_estimate_tokens",
            "Estimates how many tokens a stored result would take. Use it before you decide to read all of it.",
            |artifact: SpooledArtifact, args: Tokens| async move {
                let count = artifact.estimate_tokens(args.encoding.as_deref()).await?;
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
    /// Number of lines to show.
    #[serde(default = "ten")]
    #[schemars(range(min = 1, max = 10000))]
    n: u64,
}

#[derive(Deserialize, JsonSchema)]
pub(super) struct Search {
    /// A regular expression, or plain text with literal=true. ^ and $ match at the ends of a line.
    #[schemars(length(max = 1000))]
    pattern: String,
    /// "i" ignores case. "m", "s" and "u" are accepted and have no effect.
    #[serde(default)]
    #[schemars(regex(pattern = r"^[imsu]*$"))]
    flags: String,
    /// Number of lines to show before and after each match.
    #[serde(default)]
    #[schemars(range(max = 100))]
    context: u64,
    /// Maximum number of matching lines to show.
    #[serde(default = "hundred")]
    #[schemars(range(min = 1, max = 10000))]
    max: u64,
    /// Treats the pattern as plain text, without special characters.
    #[serde(default)]
    literal: bool,
    /// First line to search, starting at 0. Use it to continue a previous answer.
    #[serde(default)]
    #[schemars(range(max = 9007199254740991_u64))]
    start: u64,
}

#[derive(Deserialize, JsonSchema)]
pub(super) struct Range {
    /// First line to show, starting at 0.
    #[serde(default)]
    #[schemars(range(max = 9007199254740991_u64))]
    start: u64,
    /// Line to stop before: start=5 end=8 shows lines 5, 6 and 7. Default: the end.
    #[serde(default)]
    #[schemars(range(max = 9007199254740991_u64))]
    end: Option<u64>,
    /// Number of bytes of the first line to skip. Use it to continue within a long line.
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
        doc = "The model's encoding, such as o200k_base or cl100k_base. If omitted, the answer is an estimate for any model."
    )]
    #[cfg_attr(
        not(feature = "tokens"),
        doc = "Omit this argument: no encodings are available, and the answer is an estimate for any model."
    )]
    #[serde(default)]
    encoding: Option<String>,
}
