//! Call ids that are short enough for a small model to copy.

use std::sync::atomic::{AtomicU64, Ordering};

use sha2::{Digest as _, Sha256};

use crate::ascii::Ascii;

/// The id of a call.
pub(crate) type Id = Ascii<CALL_ID_LEN>;

/// 32 characters that cannot be confused with each other. Ten of them encode 50 bits.
const ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
const LENGTH: u32 = 10;

/// The length of a call id.
pub(crate) const CALL_ID_LEN: usize = LENGTH as usize;
const BITS: u32 = LENGTH * 5;
const MASK: u64 = (1 << BITS) - 1;

/// Generates the call ids of a turn. Each is unique, and unlikely to occur in another turn.
pub(crate) struct CallIds {
    seed: u64,
    count: AtomicU64,
}

impl CallIds {
    pub(crate) fn new(turn_id: &str) -> Self {
        let digest = Sha256::digest(turn_id.as_bytes());
        let seed = digest
            .iter()
            .take(8)
            .fold(0_u64, |seed, byte| seed << 8 | u64::from(*byte));
        CallIds {
            seed,
            count: AtomicU64::new(0),
        }
    }

    /// Continues after this number, unless the generator is further already.
    pub(crate) fn continue_after(&self, count: u64) {
        self.count.fetch_max(count, Ordering::Relaxed);
    }

    pub(crate) fn next(&self) -> Id {
        let count = self.count.fetch_add(1, Ordering::Relaxed);
        spell(scatter(self.seed.wrapping_add(count) & MASK))
    }
}

/// A permutation of 50-bit numbers: neighbours are scattered, and no two numbers map to the same one.
fn scatter(mut number: u64) -> u64 {
    for factor in [0x2_545f_4914_f6cd_u64, 0x1_9e37_79b9_7f4b] {
        // Multiplication by an odd number and folding the upper half into the lower are both reversible.
        number = number.wrapping_mul(factor | 1) & MASK;
        number ^= number >> (BITS / 2);
    }
    number
}

fn spell(number: u64) -> Id {
    let mut letters = [b'0'; CALL_ID_LEN];
    for (place, letter) in letters.iter_mut().rev().enumerate() {
        // Five bits are always an index into the 32 characters.
        *letter = ALPHABET
            .get((number >> (place * 5)) as usize & 31)
            .copied()
            .unwrap_or(b'0');
    }
    Id::new(letters)
}

#[cfg(test)]
mod tests;
