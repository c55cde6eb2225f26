//! Estimates tokens without an encoding.

use super::TokenCount;
use crate::artifact::text::source::{PIECE, Source};
use crate::error::Error;

pub(super) fn estimate_text(text: &str) -> TokenCount {
    estimated(quarters_of(text.as_bytes()))
}

pub(super) fn estimate(source: &mut Source) -> Result<TokenCount, Error> {
    let (mut at, mut quarters) = (0, 0);
    loop {
        let bytes = source.bytes(at, PIECE)?;
        if bytes.is_empty() {
            return Ok(estimated(quarters));
        }
        quarters += quarters_of(bytes);
        at += bytes.len() as u64;
    }
}

/// Converts quarters of a token to an estimate.
fn estimated(quarters: u64) -> TokenCount {
    TokenCount {
        tokens: quarters.div_ceil(4),
        encoding: None,
        exact: false,
    }
}

/// Counts byte by byte: the first byte of a character determines its length, the others count nothing.
fn quarters_of(bytes: &[u8]) -> u64 {
    let count = |is: fn(u8) -> bool| bytes.iter().filter(|byte| is(**byte)).count() as u64;
    let ascii = count(|byte| byte < 0x80);
    let two = count(|byte| (0xC2..0xE0).contains(&byte));
    let three = count(|byte| (0xE0..0xF0).contains(&byte));
    let four = count(|byte| (0xF0..0xF5).contains(&byte));
    // Bytes that do not belong to any character are not text.
    let all = bytes.len() as u64;
    let stray = all.saturating_sub(ascii + 2 * two + 3 * three + 4 * four);
    ascii + 2 * two + 4 * three + 8 * four + 2 * stray
}
