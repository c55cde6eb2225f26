//! Random values that depend only on a seed.

pub(super) struct Rng(fastrand::Rng);

impl Rng {
    /// Creates the generator of one document, so that any document of a run can be recreated without those before it.
    pub(super) fn of_document(seed: u64, index: u64) -> Self {
        Self(fastrand::Rng::with_seed(seed.wrapping_add(index)))
    }

    pub(super) fn next(&mut self) -> u64 {
        self.0.u64(..)
    }

    /// Returns a number from 0 to `n - 1`.
    pub(super) fn below(&mut self, n: usize) -> usize {
        self.0.usize(..n.max(1))
    }

    /// Returns a number from `low` to `high`, inclusive.
    pub(super) fn between(&mut self, low: i64, high: i64) -> i64 {
        self.0.i64(low..=high.max(low))
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
