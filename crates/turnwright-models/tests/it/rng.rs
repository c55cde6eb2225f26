//! A deterministic pseudorandom number generator.

pub(crate) struct Rng(u64);

impl Rng {
    pub(crate) fn of_case(seed: u64, case: u64) -> Self {
        let mut rng = Rng(seed ^ case.wrapping_mul(0xA076_1D64_78BD_642F));
        rng.next();
        rng
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// Returns a number below `end`, which must not be 0.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
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
