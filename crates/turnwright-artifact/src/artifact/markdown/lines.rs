//! Maps bytes to lines and lines to bytes.

use std::ops::{Range, RangeBounds};

use crate::artifact::half_open;

/// The lines of a text, numbered from 0. Each line includes its `\n`. A final newline does not start another line.
pub(super) struct Lines {
    /// The offset of each line, and the offset after a final newline.
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

    /// Returns the number of lines.
    pub(super) fn count(&self) -> u64 {
        self.count
    }

    /// Returns the line that contains a byte.
    pub(super) fn at(&self, byte: usize) -> u64 {
        let begun = self.starts.partition_point(|start| *start <= byte);
        begun.saturating_sub(1) as u64
    }

    /// Returns the offset of a line. After the last line, returns the end of the text.
    pub(super) fn start(&self, line: u64) -> usize {
        let line = usize::try_from(line).unwrap_or(usize::MAX);
        self.starts.get(line).copied().unwrap_or(self.end)
    }

    /// Converts to a half-open range, clamped to the existing lines.
    pub(super) fn clamp(&self, lines: &impl RangeBounds<u64>) -> Range<u64> {
        let (start, end) = half_open(lines);
        let start = start.min(self.count);
        start..end.unwrap_or(u64::MAX).clamp(start, self.count)
    }
}
