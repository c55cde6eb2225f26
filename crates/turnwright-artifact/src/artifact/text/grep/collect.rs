//! Collects matching lines until the page is full, then only counts.

use std::ops::Range;

use memchr::{memchr, memchr_iter};

use super::blocks::LongLine;
use super::matches::{FoundLine, Matches};
use super::pattern::Pattern;
use crate::artifact::ArtifactRead;
use crate::artifact::text::index::{LineIndex, Place, STRIDE};
use crate::artifact::text::show::{self, Line};
use crate::error::Error;

/// Collects matching lines. When no more fit, only counts.
pub(super) struct Collector<'a> {
    pub(super) read: &'a ArtifactRead,
    pub(super) pattern: &'a Pattern,
    pub(super) index: &'a LineIndex,
    /// The number of the first line of the current block.
    pub(super) number: u64,
    /// How far the lines of the current text were counted, and their number.
    pub(super) counted: (usize, u64),
    pub(super) left: usize,
    /// Maximum space for one line.
    pub(super) share: usize,
    pub(super) matches: Matches,
}

impl Collector<'_> {
    fn add(
        &mut self,
        number: u64,
        line: impl FnOnce(&Self) -> Result<Line, Error>,
    ) -> Result<(), Error> {
        if self.matches.is_full() {
            self.matches.next = Some(number);
            return Ok(());
        }
        let line = FoundLine::new(number, line(self)?, true);
        match self.left.checked_sub(line.cost()) {
            Some(left) => {
                self.left = left;
                self.matches.lines.push(line);
            }
            None => self.matches.next = Some(number),
        }
        Ok(())
    }

    /// Returns the line, or the part around the match that fits.
    fn excerpt(&self, line: &[u8]) -> Line {
        let short = line.len() <= self.share && show::cost(line) <= self.share;
        let Some(hit) = (!short)
            .then(|| self.pattern.find_in_part(line, 0..line.len()))
            .flatten()
        else {
            return part(line, 0, usize::MAX, false);
        };
        let begin = self.begin_of_part(hit.start as u64, hit.end as u64);
        let begin = usize::try_from(begin).unwrap_or(line.len());
        let begin = show::character_start(line, begin);
        let rest = line.get(begin..).unwrap_or_default();
        part(rest, begin as u64, self.share, false)
    }

    /// Like [`Self::excerpt`], for a line that is not in memory.
    fn read_excerpt(&self, long: &LongLine, hit: &Range<u64>) -> Result<Line, Error> {
        let begin = self.begin_of_part(hit.start, hit.end);
        // Read a few more bytes on both sides, to avoid splitting a character.
        let from = begin.saturating_sub(4);
        let mut bytes = vec![0; self.share + 8];
        let came = self.read.read_at(long.at + from, &mut bytes)?;
        bytes.truncate(came);
        let newline = memchr(b'\n', &bytes);
        let mut line = bytes
            .get(..newline.unwrap_or(bytes.len()))
            .unwrap_or_default();
        if newline.is_some() {
            line = line.strip_suffix(b"\r").unwrap_or(line);
        }
        let skipped = usize::try_from(begin - from).unwrap_or_default();
        let start = show::character_start(line, skipped);
        let line = line.get(start..).unwrap_or_default();
        let continues = newline.is_none() && long.at + from + (came as u64) < long.end;
        Ok(part(line, from + start as u64, self.share, continues))
    }

    /// Returns the offset at which to start showing a line: 0 if the match is near the start, else slightly before the match.
    fn begin_of_part(&self, start: u64, end: u64) -> u64 {
        if end <= self.share as u64 / 2 {
            0
        } else {
            start.saturating_sub(self.share as u64 / 4)
        }
    }

    /// Handles a matching line in a text of complete lines, where `\r\n` was replaced with `\n`.
    pub(super) fn line(&mut self, text: &[u8], line: Range<usize>) -> Result<(), Error> {
        self.matches.total += 1;
        if self.matches.next.is_some() {
            return Ok(());
        }
        let (counted, lines) = self.counted;
        let before = text.get(counted..line.start).unwrap_or_default();
        let lines = lines + memchr_iter(b'\n', before).count() as u64;
        self.counted = (line.start, lines);
        let bytes = text.get(line).unwrap_or_default();
        self.add(self.number + lines, |this| Ok(this.excerpt(bytes)))
    }

    /// Ends a block. Takes its bytes in the artifact and its offset.
    pub(super) fn block(&mut self, bytes: &[u8], at: u64) {
        self.counted = (0, 0);
        if self.matches.next.is_some() {
            // No more line numbers are needed.
            return;
        }
        let mut at = at;
        for part in bytes.chunks(STRIDE as usize) {
            self.number += memchr_iter(b'\n', part).count() as u64;
            at += part.len() as u64;
            let lines = self.number;
            self.index.learn(Place { at, lines });
        }
    }

    /// Handles a line that was searched in windows.
    pub(super) fn long_line(&mut self, long: &LongLine) -> Result<(), Error> {
        self.matches.windowed = true;
        let number = self.number;
        if let Some(hit) = &long.found {
            self.matches.total += 1;
            if self.matches.next.is_none() {
                self.add(number, |this| this.read_excerpt(long, hit))?;
            }
        }
        if self.matches.next.is_none() {
            self.number += u64::from(long.closed);
            let (at, lines) = (long.end, self.number);
            self.index.learn(Place { at, lines });
        }
        Ok(())
    }
}

/// Returns how much of the room one line may take, so that a long line does not displace all others.
pub(super) fn share_of_line(room: usize) -> usize {
    room / 4
}

/// Returns as much of the rest of a line as fits. `more`: whether the line continues after these bytes.
pub(super) fn part(rest: &[u8], offset: u64, share: usize, more: bool) -> Line {
    let fitting = show::fitting(rest, share);
    Line {
        number: None,
        offset: Some(offset),
        bytes: rest.get(..fitting).unwrap_or_default().to_vec(),
        continues: more || fitting < rest.len(),
    }
}
