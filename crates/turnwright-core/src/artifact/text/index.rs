//! Where lines begin, roughly: enough not to read from the beginning again.

use parking_lot::Mutex;

/// How far apart places are remembered, to begin with.
pub(super) const STRIDE: u64 = 64 * 1024;

/// The most places that are remembered: 64 KiB of memory, however large the artifact is.
const MOST: usize = 4096;

/// A place and how many lines ended before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) at: u64,
    pub(super) lines: u64,
}

/// A sparse index of lines, learnt by whoever reads forward, and shared by all who ask the same artifact.
#[derive(Debug, Default)]
pub(in crate::artifact) struct LineIndex(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    /// How often every second place was dropped, and the distance between places doubled.
    halved: u32,
    /// In order, at least a stride apart.
    places: Vec<Place>,
    line_count: Option<u64>,
}

impl LineIndex {
    /// The last known place before the beginning of a line.
    pub(super) fn before(&self, line: u64) -> Place {
        let known = self.0.lock();
        let after = known.places.partition_point(|place| place.lines < line);
        let nearest = after.checked_sub(1).and_then(|last| known.places.get(last));
        nearest.copied().unwrap_or_default()
    }

    /// The last place up to `to` that is known to lie inside `line`.
    pub(super) fn inside(&self, line: u64, to: u64) -> Option<u64> {
        let known = self.0.lock();
        let after = known.places.partition_point(|place| place.at <= to);
        let nearest = known.places.get(after.checked_sub(1)?)?;
        (nearest.lines == line).then_some(nearest.at)
    }

    /// Remembers a place, if it lies beyond those that are known.
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

    /// How many lines there are, if somebody has found out.
    pub(super) fn line_count(&self) -> Option<u64> {
        self.0.lock().line_count
    }

    /// Remembers how many lines there are.
    pub(super) fn learn_line_count(&self, lines: u64) {
        self.0.lock().line_count = Some(lines);
    }

    #[cfg(test)]
    pub(super) fn places(&self) -> Vec<Place> {
        self.0.lock().places.clone()
    }
}
