//! Gathering matching lines until there are enough, and counting the rest.

use std::ops::Range;

use memchr::{memchr, memchr_iter};

use super::Grep;
use super::answer::FoundLine;
use super::blocks::Found;
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
    /// How far lines of the text at hand were counted.
    counted: Counted,
    left: usize,
    /// The most that one line takes.
    share: usize,
    max: u64,
    pub(super) found: Vec<FoundLine>,
    pub(super) total: u64,
    /// The first matching line that had no room.
    pub(super) next: Option<u64>,
    pub(super) windowed: bool,
}

#[derive(Default)]
struct Counted {
    to: usize,
    lines: u64,
}

impl<'a> Collector<'a> {
    pub(super) fn new(
        read: &'a ArtifactRead,
        pattern: &'a Pattern,
        index: &'a LineIndex,
        number: u64,
        room: usize,
        grep: &Grep,
    ) -> Self {
        Collector {
            read,
            pattern,
            index,
            number,
            counted: Counted::default(),
            left: room,
            share: share_of_line(room),
            max: grep.max,
            found: Vec::new(),
            total: 0,
            next: None,
            windowed: false,
        }
    }

    fn add(
        &mut self,
        number: u64,
        line: impl FnOnce(&Self) -> Result<Line, Error>,
    ) -> Result<(), Error> {
        if self.found.len() as u64 >= self.max {
            self.next = Some(number);
            return Ok(());
        }
        let line = FoundLine::matching(number, line(self)?);
        match self.left.checked_sub(line.cost()) {
            Some(left) => {
                self.left = left;
                self.found.push(line);
            }
            None => self.next = Some(number),
        }
        Ok(())
    }

    /// The line, or what fits of it around the match.
    fn around_match(&self, line: &[u8]) -> Line {
        let whole = || Line::whole(None, line.to_vec());
        if line.len() <= self.share && show::cost(line) <= self.share {
            return whole();
        }
        let Some(hit) = self.pattern.find_in_line(line) else {
            return whole();
        };
        let begin = self.begin_of_part(hit.start as u64, hit.end as u64);
        let begin = usize::try_from(begin).unwrap_or(line.len());
        let begin = show::character_start(line, begin);
        part(
            line.get(begin..).unwrap_or_default(),
            begin as u64,
            self.share,
            false,
        )
    }

    /// The same of a line that is not at hand.
    fn read_around_match(&self, long: &LongLine, hit: &Range<u64>) -> Result<Line, Error> {
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
}

impl Found for Collector<'_> {
    fn line(&mut self, text: &[u8], line: Range<usize>) -> Result<(), Error> {
        self.total += 1;
        if self.next.is_some() {
            return Ok(());
        }
        let before = text.get(self.counted.to..line.start).unwrap_or_default();
        self.counted.lines += memchr_iter(b'\n', before).count() as u64;
        self.counted.to = line.start;
        let number = self.number + self.counted.lines;
        let bytes = text.get(line).unwrap_or_default();
        self.add(number, |this| Ok(this.around_match(bytes)))
    }

    fn block(&mut self, bytes: &[u8], at: u64) {
        self.counted = Counted::default();
        if self.next.is_some() {
            // Nobody asks for numbers any more.
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

    fn long_line(&mut self, long: &LongLine) -> Result<(), Error> {
        self.windowed = true;
        let number = self.number;
        if let Some(hit) = &long.found {
            self.total += 1;
            if self.next.is_none() {
                self.add(number, |this| this.read_around_match(long, hit))?;
            }
        }
        if self.next.is_none() {
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
    let bytes = rest.get(..fitting).unwrap_or_default().to_vec();
    Line::part(None, Some(offset), bytes, more || fitting < rest.len())
}
