//! A small random number generator that gives the same values for the same seed on every machine.

/// SplitMix64: fast, good enough to spread test values, and without a dependency.
#[derive(Debug, Clone)]
pub(crate) struct Rng(u64);

impl Rng {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Returns a number below `end`; 0 if `end` is 0.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        let end = u64::try_from(end).unwrap_or(u64::MAX);
        if end == 0 {
            return 0;
        }
        usize::try_from(self.next() % end).unwrap_or(0)
    }

    /// Returns a number from `low` to `high`, inclusive.
    pub(crate) fn between(&mut self, low: usize, high: usize) -> usize {
        low + self.below(high.saturating_sub(low).saturating_add(1))
    }

    /// Returns `true` once in `n` times on average.
    pub(crate) fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    pub(crate) fn pick<'a, T>(&mut self, from: &'a [T]) -> Option<&'a T> {
        let index = self.below(from.len());
        from.get(index)
    }

    pub(crate) fn shuffle<T>(&mut self, items: &mut [T]) {
        for i in (1..items.len()).rev() {
            let j = self.below(i + 1);
            items.swap(i, j);
        }
    }
}
