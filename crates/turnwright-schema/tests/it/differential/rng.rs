//! A small seeded generator: the same seed gives the same documents on every machine and with every version of every
//! dependency.

/// SplitMix64.
pub(super) struct Rng(u64);

impl Rng {
    /// Creates the generator of one document, so that any document of a run can be recreated without those before it.
    pub(super) fn of_document(seed: u64, index: u64) -> Self {
        let mut mixer = Self(seed ^ index.wrapping_mul(0xA076_1D64_78BD_642F));
        Self(mixer.next())
    }

    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// Returns a number from 0 to `n - 1`.
    pub(super) fn below(&mut self, n: usize) -> usize {
        (self.next() % n.max(1) as u64) as usize
    }

    /// Returns a number from `low` to `high`, inclusive.
    pub(super) fn between(&mut self, low: i64, high: i64) -> i64 {
        let width = high.saturating_sub(low).max(0) as u64 + 1;
        low + (self.next() % width) as i64
    }

    pub(super) fn chance(&mut self, percent: u64) -> bool {
        self.next() % 100 < percent
    }

    pub(super) fn pick<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[self.below(items.len())]
    }

    /// Returns the index of one weight, with a probability proportional to the weight.
    pub(super) fn weighted(&mut self, weights: &[u64]) -> usize {
        let mut left = self.next() % weights.iter().sum::<u64>().max(1);
        for (index, weight) in weights.iter().enumerate() {
            if left < *weight {
                return index;
            }
            left -= weight;
        }
        0
    }
}
