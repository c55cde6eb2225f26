//! A sparse line index, so that queries need not read from the beginning again.

use parking_lot::Mutex;

/// Initial distance between indexed places in bytes.
pub(super) const STRIDE: u64 = 64 * 1024;

/// Maximum number of indexed places: 64 KiB of memory, whatever the size of the artifact.
const MOST: usize = 4096;

/// An offset and the number of lines that end before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) at: u64,
    pub(super) lines: u64,
}

/// A sparse line index. Forward reads extend it. All clones of an artifact share it.
#[derive(Debug, Default)]
pub(in crate::artifact) struct LineIndex(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    /// How many times every second place was dropped and the distance doubled.
    halved: u32,
    /// In order, at least one stride apart.
    places: Vec<Place>,
    line_count: Option<u64>,
}

impl LineIndex {
    /// Returns the last known place before the start of a line.
    pub(super) fn before(&self, line: u64) -> Place {
        let known = self.0.lock();
        let after = known.places.partition_point(|place| place.lines < line);
        let nearest = after.checked_sub(1).and_then(|last| known.places.get(last));
        nearest.copied().unwrap_or_default()
    }

    /// Returns the last offset up to `to` that is known to be inside `line`.
    pub(super) fn inside(&self, line: u64, to: u64) -> Option<u64> {
        let known = self.0.lock();
        let after = known.places.partition_point(|place| place.at <= to);
        let nearest = known.places.get(after.checked_sub(1)?)?;
        (nearest.lines == line).then_some(nearest.at)
    }

    /// Adds a place if it is beyond the known ones.
    pub(super) fn learn(&self, place: Place) {
        let mut known = self.0.lock();
        let last = known.places.last().map_or(0, |last| last.at);
        if place.at < last.saturating_add(STRIDE << known.halved.min(32)) {
            return;
        }
        known.places.push(place);
        if known.places.len() > MOST {
            let mut odd = false;
            known.places.retain(|_| {
                odd = !odd;
                !odd
            });
            known.halved += 1;
        }
    }

    /// Returns the number of lines, if known.
    pub(super) fn line_count(&self) -> Option<u64> {
        self.0.lock().line_count
    }

    /// Stores the number of lines.
    pub(super) fn learn_line_count(&self, lines: u64) {
        self.0.lock().line_count = Some(lines);
    }

    #[cfg(test)]
    pub(super) fn places(&self) -> Vec<Place> {
        self.0.lock().places.clone()
    }
}
