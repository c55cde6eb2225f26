//! Which line a byte stands on, and where a line begins.

use std::ops::{Range, RangeBounds};

use crate::artifact::half_open;

/// Lines from 0, each up to and with its `\n`; a final newline begins no further line.
pub(super) struct Lines {
    /// Where each line begins; behind a final newline too.
    starts: Vec<usize>,
    count: u64,
    /// The length of the text.
    end: usize,
}

impl Lines {
    pub(super) fn of(text: &str) -> Self {
        let newlines = text.match_indices('\n').map(|(at, _)| at + 1);
        let starts: Vec<usize> = std::iter::once(0).chain(newlines).collect();
        let open = !text.is_empty() && !text.ends_with('\n');
        Lines {
            count: (starts.len() - usize::from(!open)) as u64,
            starts,
            end: text.len(),
        }
    }

    /// How many lines there are.
    pub(super) fn count(&self) -> u64 {
        self.count
    }

    /// The line that a byte stands on.
    pub(super) fn at(&self, byte: usize) -> u64 {
        let begun = self.starts.partition_point(|start| *start <= byte);
        begun.saturating_sub(1) as u64
    }

    /// Where a line begins; behind the last line that is the end of the text.
    pub(super) fn start(&self, line: u64) -> usize {
        let line = usize::try_from(line).unwrap_or(usize::MAX);
        self.starts.get(line).copied().unwrap_or(self.end)
    }

    /// Half-open lines, as they were asked for, within those that there are.
    pub(super) fn clamp(&self, lines: &impl RangeBounds<u64>) -> Range<u64> {
        let (start, end) = half_open(lines);
        let start = start.min(self.count);
        start..end.unwrap_or(u64::MAX).clamp(start, self.count)
    }
}
