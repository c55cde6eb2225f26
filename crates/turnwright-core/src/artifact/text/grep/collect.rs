//! Gathering matching lines until there are enough, and counting the rest.

use std::ops::Range;

use memchr::{memchr, memchr_iter};

use super::answer::{FoundLine, Matches};
use super::long_line::LongLine;
use super::pattern::Pattern;
use crate::artifact::ArtifactRead;
use crate::artifact::text::index::{LineIndex, Place, STRIDE};
use crate::artifact::text::line::Line;
use crate::artifact::text::show;
use crate::error::Error;

/// Gathers matching lines. When no more fit, it only counts.
pub(super) struct Collector<'a> {
    read: &'a ArtifactRead,
    pattern: &'a Pattern,
    index: &'a LineIndex,
    /// The number of the first line of the block that is being searched.
    number: u64,
    /// How far lines of the text at hand were counted, and how many there were.
    counted: (usize, u64),
    left: usize,
    /// The most that one line takes.
    share: usize,
    pub(super) matches: Matches,
}

impl<'a> Collector<'a> {
    pub(super) fn new(
        read: &'a ArtifactRead,
        pattern: &'a Pattern,
        index: &'a LineIndex,
        number: u64,
        room: usize,
        matches: Matches,
    ) -> Self {
        Collector {
            read,
            pattern,
            index,
            number,
            counted: (0, 0),
            left: room,
            share: share_of_line(room),
            matches,
        }
    }

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

    /// The line, or what fits of it around the match.
    fn excerpt(&self, line: &[u8]) -> Line {
        let short = line.len() <= self.share && show::cost(line) <= self.share;
        let Some(hit) = (!short).then(|| self.pattern.find_in_line(line)).flatten() else {
            return part(line, 0, usize::MAX, false);
        };
        let begin = self.begin_of_part(hit.start as u64, hit.end as u64);
        let begin = usize::try_from(begin).unwrap_or(line.len());
        let begin = show::character_start(line, begin);
        let rest = line.get(begin..).unwrap_or_default();
        part(rest, begin as u64, self.share, false)
    }

    /// The same of a line that is not at hand.
    fn read_excerpt(&self, long: &LongLine, hit: &Range<u64>) -> Result<Line, Error> {
        let begin = self.begin_of_part(hit.start, hit.end);
        // A few bytes more on both sides, so as not to begin or end inside a character.
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
        let goes_on = newline.is_none() && long.at + from + (came as u64) < long.end;
        Ok(part(line, from + start as u64, self.share, goes_on))
    }

    /// From where to show a line: its beginning if the match is near, else somewhat before the match.
    fn begin_of_part(&self, start: u64, end: u64) -> u64 {
        if end <= self.share as u64 / 2 {
            0
        } else {
            start.saturating_sub(self.share as u64 / 4)
        }
    }

    /// A matching line in a text of whole lines, in which `\r\n` stands as `\n`.
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

    /// All lines of a block were searched: its bytes as they stand in the artifact, and where they begin.
    pub(super) fn block(&mut self, bytes: &[u8], at: u64) {
        self.counted = (0, 0);
        if self.matches.next.is_some() {
            // No more numbers are needed.
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

    /// A line was searched in windows.
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

/// How much of the room one line may take: a long one must not push all others out.
pub(super) fn share_of_line(room: usize) -> usize {
    room / 4
}

/// As much of the rest of a line as fits. `more` of it may follow the bytes at hand.
pub(super) fn part(rest: &[u8], offset: u64, share: usize, more: bool) -> Line {
    let fitting = show::fitting(rest, share);
    Line {
        number: None,
        offset: Some(offset),
        bytes: rest.get(..fitting).unwrap_or_default().to_vec(),
        goes_on: more || fitting < rest.len(),
    }
}
