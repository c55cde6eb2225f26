//! Adds context to matching lines.

use std::collections::VecDeque;

use super::collect::{part, share_of_line};
use super::matches::{FoundLine, GAP, Matches};
use crate::artifact::text::forward::{Forward, Source};
use crate::artifact::text::index::LineIndex;
use crate::error::Error;

/// Bytes per read. Context is short.
const PIECE: usize = 32 * 1024;

/// Adds up to `context` lines before and after each matching line, in one forward pass. Matching lines that no longer fit are
/// left to the next page.
pub(super) fn add(
    matches: &mut Matches,
    source: &mut Source,
    index: &LineIndex,
    context: u64,
    room: usize,
) -> Result<(), Error> {
    let found = std::mem::take(&mut matches.lines);
    let mut next = matches.next;
    let mut writing = Writing {
        forward: Forward::new(source, index, PIECE),
        lines: Vec::new(),
        left: room,
        share: share_of_line(room),
        cut: false,
    };
    let numbers: Vec<u64> = found.iter().map(|line| line.number).collect();
    for (at, line) in found.into_iter().enumerate() {
        let number = line.number;
        if !writing.up_to_match(line, context)? {
            next = Some(number);
            break;
        }
        // A matching line must not be shown as context.
        let following = numbers.get(at + 1).copied().or(next).unwrap_or(u64::MAX);
        let end = number
            .saturating_add(context)
            .saturating_add(1)
            .min(following);
        if !writing.after_match(end)? {
            next = numbers.get(at + 1).copied().or(next);
            break;
        }
    }
    matches.context_cut = writing.cut;
    matches.lines = writing.lines;
    matches.next = next;
    Ok(())
}

struct Writing<'a> {
    forward: Forward<'a>,
    lines: Vec<FoundLine>,
    left: usize,
    share: usize,
    cut: bool,
}

impl Writing<'_> {
    /// Adds the lines before a match and the match itself: all of them or, if there are lines already, none.
    fn up_to_match(&mut self, line: FoundLine, context: u64) -> Result<bool, Error> {
        let first = self.first_free().max(line.number.saturating_sub(context));
        let gap = if self.lines.is_empty() || first == self.first_free() {
            0
        } else {
            GAP.len() + 1
        };
        let mut cost = gap + line.cost();
        let mut before = VecDeque::new();
        if first < line.number && self.forward.go_to(first)? {
            while let Some(near) = self.read_before(line.number)? {
                cost += near.cost();
                before.push_back(near);
                // The first match may use the entire page. Of the lines before it, keep the nearest ones.
                while cost > self.left
                    && self.lines.is_empty()
                    && let Some(far) = before.pop_front()
                {
                    cost -= far.cost();
                    self.cut = true;
                }
                if cost > self.left {
                    return Ok(false);
                }
            }
        }
        let Some(left) = self.left.checked_sub(cost) else {
            return Ok(false);
        };
        self.left = left;
        self.lines.extend(before);
        self.lines.push(line);
        Ok(true)
    }

    /// Adds the lines after a match up to `end`, as many as fit. Returns whether all of them fit.
    fn after_match(&mut self, end: u64) -> Result<bool, Error> {
        let first = self.first_free();
        if first >= end || !self.forward.go_to(first)? {
            return Ok(true);
        }
        while let Some(line) = self.read_before(end)? {
            let Some(left) = self.left.checked_sub(line.cost()) else {
                self.cut = true;
                return Ok(false);
            };
            self.left = left;
            self.lines.push(line);
        }
        Ok(true)
    }

    /// Returns the first line that has not been added.
    fn first_free(&self) -> u64 {
        self.lines.last().map_or(0, |last| last.number + 1)
    }

    /// Reads the next line, if it comes before `end`.
    fn read_before(&mut self, end: u64) -> Result<Option<FoundLine>, Error> {
        let number = self.forward.number();
        if number >= end {
            return Ok(None);
        }
        let Some(taken) = self.forward.take(self.share + 4)? else {
            return Ok(None);
        };
        if !taken.is_complete {
            self.forward.skip_line()?;
        }
        let line = part(&taken.bytes, 0, self.share, !taken.is_complete);
        Ok(Some(FoundLine::new(number, line, false)))
    }
}
