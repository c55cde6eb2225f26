//! Slices of arrays whose length may be unknown.

use std::fmt;

/// `start:end:step`. The default selects the whole array.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::artifact::json) struct Slice {
    pub(super) start: Option<i64>,
    pub(super) end: Option<i64>,
    pub(in crate::artifact::json) step: Option<i64>,
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

    /// Returns the selected indices of an array with `len` elements, in order.
    pub(in crate::artifact::json) fn over(&self, len: u64) -> Box<dyn Iterator<Item = u64>> {
        let len = i64::try_from(len).unwrap_or(i64::MAX);
        // The numbers in a path have at most 53 bits, so this cannot overflow. Saturate anyway.
        let from_start = |at: i64| if at < 0 { len.saturating_add(at) } else { at };
        let step = self.step.unwrap_or(1);
        let stride = usize::try_from(step.unsigned_abs()).unwrap_or(usize::MAX);
        let index = |at: i64| u64::try_from(at).ok();
        if step > 0 {
            let first = from_start(self.start.unwrap_or(0)).clamp(0, len);
            let end = from_start(self.end.unwrap_or(len)).clamp(0, len);
            Box::new((first..end).step_by(stride).filter_map(index))
        } else if step < 0 {
            let last = len.saturating_sub(1);
            let first = self.start.map_or(last, from_start).clamp(-1, last);
            let end = self.end.map_or(-1, from_start).clamp(-1, last);
            let indices = (end + 1..first + 1).rev();
            Box::new(indices.step_by(stride).filter_map(index))
        } else {
            Box::new(std::iter::empty())
        }
    }

    /// Returns whether the slice can be evaluated front to back without knowing the length.
    pub(in crate::artifact::json) fn is_forward(&self) -> bool {
        self.step.is_none_or(|step| step > 0)
            && self.start.is_none_or(|start| start >= 0)
            && self.end.is_none_or(|end| end >= 0)
    }
}

impl fmt::Display for Slice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let part = |number: Option<i64>| number.map_or_else(String::new, |n| n.to_string());
        write!(f, "{}:{}", part(self.start), part(self.end))?;
        self.step.map_or(Ok(()), |step| write!(f, ":{step}"))
    }
}
