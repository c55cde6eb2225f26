//! The frontmatter of a document.

mod value;

use std::ops::Range;

use serde::Serialize;
use serde_json::Value;

use super::document::Document;
use crate::error::Error;

/// Maximum size of the frontmatter in bytes. A longer block is not frontmatter.
const LARGEST: usize = 64 * 1024;

/// The frontmatter: a metadata block at the very start of a document.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Frontmatter {
    /// The format.
    pub format: FrontmatterFormat,
    /// The lines of the block, including the two delimiters.
    pub lines: Range<u64>,
    /// The source between the delimiters.
    pub raw: String,
    /// The parsed content. Dates, and numbers that JSON cannot represent, are strings.
    pub value: Value,
}

/// The format of frontmatter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum FrontmatterFormat {
    /// YAML between lines of `---`. A line of `...` also ends it.
    Yaml,
    /// TOML between lines of `+++`.
    Toml,
}

impl FrontmatterFormat {
    /// Returns the name.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            FrontmatterFormat::Yaml => "YAML",
            FrontmatterFormat::Toml => "TOML",
        }
    }
}

/// The position of a block.
pub(super) struct Block {
    format: FrontmatterFormat,
    pub(super) bytes: Range<usize>,
    inner: Range<usize>,
}

/// Finds the block that starts at `start`. If a blank line follows the first delimiter, or the block is not closed, the delimiter
/// is a thematic break.
pub(super) fn find(text: &str, start: usize) -> Option<Block> {
    let mut lines = text.get(start..)?.split_inclusive('\n');
    let first = lines.next()?;
    let (format, ends): (_, &[&str]) = match first.trim_end() {
        "---" => (FrontmatterFormat::Yaml, &["---", "..."]),
        "+++" => (FrontmatterFormat::Toml, &["+++"]),
        _ => return None,
    };
    let inner = start + first.len();
    let mut at = inner;
    for line in lines {
        let bare = line.trim_end();
        if ends.contains(&bare) {
            return Some(Block {
                format,
                bytes: start..at + line.len(),
                inner: inner..at,
            });
        }
        at += line.len();
        if at - inner > LARGEST || (at == inner + line.len() && bare.is_empty()) {
            return None;
        }
    }
    None
}

/// Returns the frontmatter of the document, if any.
pub(super) fn frontmatter(document: &Document) -> Result<Option<Frontmatter>, Error> {
    let Some(block) = document.frontmatter() else {
        return Ok(None);
    };
    let raw = document.slice(&block.inner);
    let lines = document.exact_lines_of(&block.bytes);
    let value =
        value::parsed(block.format, raw).map_err(|fault| fault.into_error(block.format, &lines))?;
    Ok(Some(Frontmatter {
        format: block.format,
        lines,
        raw: raw.to_owned(),
        value,
    }))
}
