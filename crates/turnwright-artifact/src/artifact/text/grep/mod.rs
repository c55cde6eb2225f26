//! Regular expression search.

mod blocks;
mod collect;
mod context;
mod matches;
mod pattern;

use blocks::Blocks;
use collect::Collector;
pub use matches::{FoundLine, Matches};
use pattern::Pattern;

use super::forward::{Forward, PIECE, Source};
use crate::artifact::SpooledArtifact;
use crate::error::Error;

/// A search: the pattern and how much to show.
///
/// ```
/// use turnwright_artifact::artifact::text::Grep;
///
/// let grep = Grep::new("^error").flags("i")?.context(2).max(20);
/// # Ok::<(), turnwright_artifact::Error>(())
/// ```
#[derive(Clone)]
pub struct Grep {
    pattern: String,
    literal: bool,
    ignore_case: bool,
    context: u64,
    max: u64,
    start: u64,
    sizes: Sizes,
}

/// Buffer sizes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sizes {
    /// Bytes that are read and searched at once, as long as lines are shorter.
    pub(super) block: usize,
    /// The longest line that is searched as a whole.
    pub(super) line: usize,
    /// The overlap of two windows of a longer line.
    pub(super) overlap: usize,
}

const USUAL: Sizes = Sizes {
    block: 256 * 1024,
    line: 1024 * 1024,
    overlap: 64 * 1024,
};

impl Grep {
    /// Searches for a regular expression in the syntax of the `regex` crate. Look-around and back-references are not supported.
    /// Search time is linear in the length of the text.
    pub fn new(pattern: impl Into<String>) -> Self {
        Grep {
            pattern: pattern.into(),
            literal: false,
            ignore_case: false,
            context: 0,
            max: 100,
            start: 0,
            sizes: USUAL,
        }
    }

    /// Sets whether the pattern is plain text.
    #[must_use]
    pub fn literal(mut self, literal: bool) -> Self {
        self.literal = literal;
        self
    }

    /// Sets flags. `i` ignores case. `m`, `s` and `u` are accepted and have no effect: lines are searched separately, so `^` and
    /// `$` always match at the ends of a line, `.` never matches a newline, and matching is always Unicode-aware.
    ///
    /// # Errors
    /// Returns `E_ARTIFACT_QUERY` for any other letter.
    pub fn flags(mut self, flags: &str) -> Result<Self, Error> {
        self.ignore_case = false;
        for flag in flags.chars() {
            match flag {
                'i' => self.ignore_case = true,
                'm' | 's' | 'u' => {}
                other => {
                    return Err(Error::bad_artifact_query(format!(
                        "unknown flag {other:?}: supported flags are i (ignore case), m, s and u"
                    )));
                }
            }
        }
        Ok(self)
    }

    /// Sets the number of lines to show before and after each match.
    #[must_use]
    pub fn context(mut self, lines: u64) -> Self {
        self.context = lines;
        self
    }

    /// Sets the maximum number of matching lines to show.
    ///
    /// Default: 100.
    #[must_use]
    pub fn max(mut self, lines: u64) -> Self {
        self.max = lines;
        self
    }

    /// Sets the first line to search.
    #[must_use]
    pub fn start(mut self, line: u64) -> Self {
        self.start = line;
        self
    }

    #[cfg(test)]
    pub(super) fn sizes(mut self, sizes: Sizes) -> Self {
        self.sizes = sizes;
        self
    }
}

impl SpooledArtifact {
    /// Returns the matching lines that fit on a page, and the total number of matches.
    ///
    /// # Errors
    /// Returns `E_ARTIFACT_QUERY` if the pattern is invalid, and `E_ARTIFACT_UNREADABLE` if the bytes cannot be read.
    pub async fn grep(&self, grep: &Grep) -> Result<Matches, Error> {
        let (artifact, grep) = (self.clone(), grep.clone());
        self.read_with(move |read| artifact.search(&mut Source::new(read), &grep))
            .await
    }

    fn search(&self, source: &mut Source, grep: &Grep) -> Result<Matches, Error> {
        let pattern = Pattern::new(&grep.pattern, grep.literal, grep.ignore_case)?;
        let index = &self.shared.lines;
        let matches = Matches::new(grep, self.limits.page);
        let Some((at, line)) = self.first_line(source, grep.start)? else {
            return Ok(matches);
        };
        let room = self.page().remaining();
        let mut collector = Collector {
            read: source.read(),
            pattern: &pattern,
            index,
            number: line,
            counted: (0, 0),
            left: room,
            share: collect::share_of_line(room),
            matches,
        };
        Blocks::new(source.read(), &pattern, grep.sizes).search(at, &mut collector)?;
        let mut matches = collector.matches;
        if grep.context > 0 {
            context::add(&mut matches, source, index, grep.context, room)?;
        }
        Ok(matches)
    }

    /// Returns the offset of a line, and its number.
    fn first_line(&self, source: &mut Source, line: u64) -> Result<Option<(u64, u64)>, Error> {
        let mut forward = Forward::new(source, &self.shared.lines, PIECE);
        let there = forward.go_to(line)?;
        Ok(there.then(|| (forward.at(), forward.number())))
    }
}

// The pattern may contain a secret.
debug_fields!(Grep {});
