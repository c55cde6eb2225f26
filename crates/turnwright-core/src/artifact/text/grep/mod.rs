//! Lines that match a pattern.

mod answer;
mod blocks;
mod collect;
mod context;
mod long_line;
mod pattern;

use std::fmt;

pub use answer::{FoundLine, Matches};
use blocks::Blocks;
use collect::Collector;
use pattern::Pattern;

use super::forward::Forward;
use super::source::{PIECE, Source};
use crate::artifact::SpooledArtifact;
use crate::error::Error;

/// What to look for, and how much of it to show.
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

/// How much is held at once.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sizes {
    /// What is read and searched at once, as long as lines are shorter.
    pub(super) block: usize,
    /// The longest line that is searched as a whole.
    pub(super) line: usize,
    /// What two windows of a longer line have in common.
    pub(super) overlap: usize,
}

impl Sizes {
    const USUAL: Sizes = Sizes {
        block: 256 * 1024,
        line: 1024 * 1024,
        overlap: 64 * 1024,
    };
}

impl Grep {
    /// Looks for a regular expression, in the syntax of the `regex` crate: no look-around, no back-references, and time
    /// that grows with the text alone.
    pub fn new(pattern: impl Into<String>) -> Self {
        Grep {
            pattern: pattern.into(),
            literal: false,
            ignore_case: false,
            context: 0,
            max: 100,
            start: 0,
            sizes: Sizes::USUAL,
        }
    }

    /// Takes the pattern as plain text.
    #[must_use]
    pub fn literal(mut self, literal: bool) -> Self {
        self.literal = literal;
        self
    }

    /// Flags as letters: `i` ignores case. `m`, `s` and `u` are taken and change nothing: lines are searched one by one,
    /// so `^` and `$` always mean the ends of a line, `.` never meets a newline, and characters are Unicode's.
    ///
    /// # Errors
    /// `E_ARTIFACT_QUERY`, for any other letter.
    pub fn flags(mut self, flags: &str) -> Result<Self, Error> {
        self.ignore_case = false;
        for flag in flags.chars() {
            match flag {
                'i' => self.ignore_case = true,
                'm' | 's' | 'u' => {}
                other => {
                    return Err(Error::bad_artifact_query(format!(
                        "flags {other:?} is not known: flags may hold i (ignore case), m, s and u"
                    )));
                }
            }
        }
        Ok(self)
    }

    /// Shows so many lines before and after each match.
    #[must_use]
    pub fn context(mut self, lines: u64) -> Self {
        self.context = lines;
        self
    }

    /// Shows at most so many matching lines: 100 unless told.
    #[must_use]
    pub fn max(mut self, lines: u64) -> Self {
        self.max = lines;
        self
    }

    /// Looks at this line and those after it only.
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
    /// The lines that match, as many as there is room for, and how many there are in all.
    ///
    /// # Errors
    /// `E_ARTIFACT_QUERY` if the pattern is wrong, `E_ARTIFACT_UNREADABLE`.
    pub async fn grep(&self, grep: &Grep) -> Result<Matches, Error> {
        let (artifact, grep) = (self.clone(), grep.clone());
        self.read_with(move |read| artifact.search(&mut Source::new(read), &grep))
            .await
    }

    /// How many lines match. Faster than [`SpooledArtifact::grep`] where nothing else is of interest.
    ///
    /// # Errors
    /// `E_ARTIFACT_QUERY` if the pattern is wrong, `E_ARTIFACT_UNREADABLE`.
    pub async fn count(&self, grep: &Grep) -> Result<u64, Error> {
        // When nothing more is to be shown, matching lines are only counted.
        let counting = Grep {
            context: 0,
            ..grep.clone().max(0)
        };
        Ok(self.grep(&counting).await?.total)
    }

    fn search(&self, source: &mut Source, grep: &Grep) -> Result<Matches, Error> {
        let pattern = Pattern::new(&grep.pattern, grep.literal, grep.ignore_case)?;
        let index = &self.shared.lines;
        let matches = Matches::new(grep, self.limits.answer);
        let Some((at, line)) = self.first_line(source, grep.start)? else {
            return Ok(matches);
        };
        let room = super::page(self.limits.answer).room();
        let mut collector = Collector::new(source.read(), &pattern, index, line, room, matches);
        Blocks::new(source.read(), &pattern, grep.sizes).search(at, &mut collector)?;
        let mut matches = collector.matches;
        if grep.context > 0 {
            context::add(&mut matches, source, index, grep.context, room)?;
        }
        Ok(matches)
    }

    /// Where a line begins, and its number.
    fn first_line(&self, source: &mut Source, line: u64) -> Result<Option<(u64, u64)>, Error> {
        let mut forward = Forward::new(source, &self.shared.lines, PIECE);
        let there = forward.go_to(line)?;
        Ok(there.then(|| (forward.at(), forward.number())))
    }
}

impl fmt::Debug for Grep {
    /// A pattern may quote what is secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Grep")
            .field("literal", &self.literal)
            .field("ignore_case", &self.ignore_case)
            .field("context", &self.context)
            .field("max", &self.max)
            .field("start", &self.start)
            .finish_non_exhaustive()
    }
}
