//! Which line a byte stands on, and where a line begins.

use std::ops::{Bound, Range, RangeBounds};

/// One mark for so many bytes: what is kept stays far below the text itself, and a look-up reads no more than this.
const STEP: usize = 256;

/// Lines from 0, each up to and with its `\n`; a final newline begins no further line.
pub(super) struct Lines {
    /// How many newlines stand before each step.
    marks: Vec<usize>,
    count: u64,
}

impl Lines {
    pub(super) fn of(text: &str) -> Self {
        let mut newlines = 0;
        let mut marks = Vec::with_capacity(text.len() / STEP + 1);
        for step in text.as_bytes().chunks(STEP) {
            marks.push(newlines);
            newlines += newlines_in(step);
        }
        let open = !text.is_empty() && !text.ends_with('\n');
        Lines {
            marks,
            count: (newlines + usize::from(open)) as u64,
        }
    }

    /// How many lines there are.
    pub(super) fn count(&self) -> u64 {
        self.count
    }

    /// The line that a byte stands on.
    pub(super) fn at(&self, text: &str, byte: usize) -> u64 {
        let byte = byte.min(text.len());
        let step = (byte / STEP).min(self.marks.len().saturating_sub(1));
        let before = self.marks.get(step).copied().unwrap_or(0);
        let near = text.as_bytes().get(step * STEP..byte).unwrap_or(&[]);
        (before + newlines_in(near)) as u64
    }

    /// Where a line begins; behind the last line that is the end of the text.
    pub(super) fn start(&self, text: &str, line: u64) -> usize {
        let Ok(line) = usize::try_from(line) else {
            return text.len();
        };
        if line == 0 {
            return 0;
        }
        // The newline that ends the line before stands in the last step that has fewer newlines before it.
        let step = self.marks.partition_point(|before| *before < line);
        let step = step.saturating_sub(1);
        let mut newlines = self.marks.get(step).copied().unwrap_or(0);
        let near = text.as_bytes().get(step * STEP..).unwrap_or(&[]);
        for (at, byte) in near.iter().enumerate() {
            newlines += usize::from(*byte == b'\n');
            if newlines == line {
                return step * STEP + at + 1;
            }
        }
        text.len()
    }

    /// Half-open lines, as they were asked for, within those that there are.
    pub(super) fn clamp(&self, lines: &impl RangeBounds<u64>) -> Range<u64> {
        let start = match lines.start_bound() {
            Bound::Included(line) => *line,
            Bound::Excluded(line) => line.saturating_add(1),
            Bound::Unbounded => 0,
        };
        let end = match lines.end_bound() {
            Bound::Included(line) => line.saturating_add(1),
            Bound::Excluded(line) => *line,
            Bound::Unbounded => u64::MAX,
        };
        let start = start.min(self.count);
        start..end.min(self.count).max(start)
    }
}

fn newlines_in(bytes: &[u8]) -> usize {
    bytes.iter().filter(|byte| **byte == b'\n').count()
}
