//! Slices of arrays whose length may be unknown.

use std::fmt;

/// `start:end:step`. The default selects the whole array.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::artifact::json) struct Slice {
    pub(super) start: Option<i64>,
    pub(super) end: Option<i64>,
    pub(super) step: Option<i64>,
}

impl Slice {
    /// A slice of one element.
    pub(super) fn at(index: i64) -> Self {
        Slice {
            start: Some(index),
            end: index.checked_add(1).filter(|end| *end != 0),
            step: None,
        }
    }

    /// Returns the selected indices of an array with `len` elements, in order. The step must not be negative.
    pub(in crate::artifact::json) fn over(&self, len: u64) -> impl Iterator<Item = u64> {
        let len = i64::try_from(len).unwrap_or(i64::MAX);
        let from_start = |at: i64| if at < 0 { len + at } else { at }.clamp(0, len);
        let first = from_start(self.start.unwrap_or(0));
        let end = from_start(self.end.unwrap_or(len));
        // A step of 0 selects nothing.
        let step = usize::try_from(self.step.unwrap_or(1)).unwrap_or(0);
        let end = if step == 0 { first } else { end };
        let indices = (first..end).step_by(step.max(1));
        indices.filter_map(|at| u64::try_from(at).ok())
    }

    /// Returns whether the indices do not depend on the length.
    pub(in crate::artifact::json) fn counts_from_start(&self) -> bool {
        self.start.is_none_or(|start| start >= 0) && self.end.is_none_or(|end| end >= 0)
    }
}

impl fmt::Display for Slice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let part = |number: Option<i64>| number.map_or_else(String::new, |n| n.to_string());
        write!(f, "{}:{}", part(self.start), part(self.end))?;
        self.step.map_or(Ok(()), |step| write!(f, ":{step}"))
    }
}
