//! The metadata block before a document.

#[cfg(feature = "frontmatter")]
mod value;

use std::ops::Range;

use serde::Serialize;
use serde_json::Value;

use super::document::Document;
use crate::error::Error;

/// A block that does not end within so many bytes is none.
const LARGEST: usize = 64 * 1024;

/// The metadata block at the very beginning of a document.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Frontmatter {
    /// How it is written.
    pub format: FrontmatterFormat,
    /// The lines that it takes, with the two that enclose it.
    pub lines: Range<u64>,
    /// What stands between the two lines, as it is.
    pub raw: String,
    /// What it says. Nothing where the feature `frontmatter` is off. Dates are text, numbers that JSON does not have too.
    pub value: Option<Value>,
}

/// How a metadata block is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum FrontmatterFormat {
    /// Between lines of `---`; `...` ends it too.
    Yaml,
    /// Between lines of `+++`.
    Toml,
}

impl FrontmatterFormat {
    /// Its name.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            FrontmatterFormat::Yaml => "YAML",
            FrontmatterFormat::Toml => "TOML",
        }
    }
}

/// Where a block stands.
pub(super) struct Block {
    format: FrontmatterFormat,
    pub(super) bytes: Range<usize>,
    inner: Range<usize>,
}

/// The block that begins at `start`. A first line that a blank one follows, or that nothing ends, is a rule as in any
/// other place.
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

/// Whether the document begins as if it had a block.
pub(super) fn begins(text: &str) -> bool {
    let first = text.trim_start_matches('\u{feff}').split('\n').next();
    first.is_some_and(|line| matches!(line.trim_end(), "---" | "+++"))
}

/// The document's block, if it has one.
pub(super) fn frontmatter(document: &Document) -> Result<Option<Frontmatter>, Error> {
    let Some(block) = document.frontmatter() else {
        return Ok(None);
    };
    let raw = document.slice(&block.inner);
    let lines = document.exact_lines_of(&block.bytes);
    #[cfg(feature = "frontmatter")]
    let value = Some(
        value::parsed(block.format, raw).map_err(|fault| fault.into_error(block.format, &lines))?,
    );
    #[cfg(not(feature = "frontmatter"))]
    let value = None;
    Ok(Some(Frontmatter {
        format: block.format,
        lines,
        raw: raw.to_owned(),
        value,
    }))
}
