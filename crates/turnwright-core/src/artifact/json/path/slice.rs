//! Slices of arrays whose length may not be known yet.

use std::fmt;

/// `start:end:step`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::artifact::json) struct Slice {
    pub(in crate::artifact::json) start: Option<i64>,
    pub(in crate::artifact::json) end: Option<i64>,
    pub(in crate::artifact::json) step: Option<i64>,
}

impl Slice {
    /// The indices of an array of `len` elements, in order: the first, how many, and the step.
    pub(in crate::artifact::json) fn over(&self, len: u64) -> Indices {
        let len = i64::try_from(len).unwrap_or(i64::MAX);
        let step = self.step.unwrap_or(1);
        // A path's numbers have 53 bits at most, so nothing here overflows; saturating all the same.
        let from_start = |at: i64| if at < 0 { len.saturating_add(at) } else { at };
        let (first, count) = if step > 0 {
            let lower = from_start(self.start.unwrap_or(0)).clamp(0, len);
            let upper = from_start(self.end.unwrap_or(len)).clamp(0, len);
            (lower, steps_between(lower, upper, step))
        } else if step < 0 {
            let last = len.saturating_sub(1);
            let upper = self.start.map_or(last, from_start).clamp(-1, last);
            let lower = self.end.map_or(-1, from_start).clamp(-1, last);
            (upper, steps_between(lower, upper, step.saturating_neg()))
        } else {
            (0, 0)
        };
        Indices {
            next: first,
            left: count,
            step,
        }
    }

    /// Whether it can be followed from the front without knowing how many elements there are.
    pub(in crate::artifact::json) fn is_forward(&self) -> bool {
        self.step.is_none_or(|step| step > 0)
            && self.start.is_none_or(|start| start >= 0)
            && self.end.is_none_or(|end| end >= 0)
    }
}

fn steps_between(lower: i64, upper: i64, step: i64) -> u64 {
    let span = u64::try_from(upper.saturating_sub(lower)).unwrap_or(0);
    span.div_ceil(u64::try_from(step).unwrap_or(1).max(1))
}

/// The indices that a slice takes.
#[derive(Clone, Copy, Debug)]
pub(in crate::artifact::json) struct Indices {
    next: i64,
    left: u64,
    step: i64,
}

impl Iterator for Indices {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        self.left = self.left.checked_sub(1)?;
        let index = self.next;
        self.next = self.next.saturating_add(self.step);
        u64::try_from(index).ok()
    }
}

impl fmt::Display for Slice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let part = |number: Option<i64>| number.map_or_else(String::new, |it| it.to_string());
        write!(f, "{}:{}", part(self.start), part(self.end))?;
        self.step.map_or(Ok(()), |step| write!(f, ":{step}"))
    }
}
