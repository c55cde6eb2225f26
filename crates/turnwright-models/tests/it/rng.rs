//! Random values that depend only on a seed.

pub(crate) struct Rng(fastrand::Rng);

impl Rng {
    pub(crate) fn of_case(seed: u64, case: u64) -> Self {
        Rng(fastrand::Rng::with_seed(seed.wrapping_add(case)))
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0.u64(..)
    }

    /// Returns a number below `end`, which must not be 0.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        self.0.usize(..end)
    }

    pub(crate) fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    pub(crate) fn pick<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.below(of.len())]
    }

    /// Splits bytes into pieces.
    pub(crate) fn cut<'a>(&mut self, mut bytes: &'a [u8]) -> Vec<&'a [u8]> {
        let longest = *self.pick(&[1, 2, 7, 40, 300, 5_000]);
        let mut pieces = Vec::new();
        while !bytes.is_empty() {
            let (piece, rest) = bytes.split_at(bytes.len().min(1 + self.below(longest)));
            pieces.push(piece);
            bytes = rest;
        }
        pieces
    }
}
