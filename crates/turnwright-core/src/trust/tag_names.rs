//! Searches for tag names, character by character.

use super::lookalike::Looks;

/// The concatenated names. Bit `n` of a mask means that a name was read up to and including character `n`.
const NAMES: &[u8] = b"tw-trustedtw-untrustedtw-agenttw-sender";

/// The last character of each name.
const LAST: u64 = (1 << 9) | (1 << 21) | (1 << 29) | (1 << 38);

/// The first character of each name.
const FIRST: u64 = 1 | (1 << 10) | (1 << 22) | (1 << 30);

/// The hyphens.
const DASHES: u64 = where_is(b'-');

/// The most characters that an ambiguous item can match. Less than a hyphen and the rest of a name, so that no name has both its
/// hyphen and its end in one item.
pub(super) const MAX_AMBIGUITY: u8 = 5;

/// Returns the positions of a character in the names.
const fn where_is(wanted: u8) -> u64 {
    let mut mask = 0;
    let mut rest = NAMES;
    let mut bit = 1;
    while let [first, tail @ ..] = rest {
        if *first == wanted {
            mask |= bit;
        }
        bit <<= 1;
        rest = tail;
    }
    mask
}

/// The positions of every letter.
const LETTERS: [u64; 26] = {
    let mut masks = [0; 26];
    let mut rest: &mut [u64] = &mut masks;
    let mut letter = b'a';
    while let [first, tail @ ..] = rest {
        *first = where_is(letter);
        letter += 1;
        rest = tail;
    }
    masks
};

/// How much of each name was read, and where names were found.
#[derive(Debug, Default)]
pub(super) struct Search {
    read: u64,
    dash_end: usize,
    found: Vec<usize>,
}

impl Search {
    /// Reads an item that ends at byte `end` of the text.
    pub(super) fn read(&mut self, looks: Looks, end: usize) {
        self.read = match looks {
            Looks::Nothing => return,
            Looks::Other => 0,
            Looks::Letter(letter) => {
                let index = usize::from(letter.wrapping_sub(b'a'));
                self.next() & LETTERS.get(index).copied().unwrap_or(0)
            }
            Looks::Dash => self.next() & DASHES,
            Looks::SoftDash => self.read | (self.next() & DASHES),
        };
        self.note(looks == Looks::Dash || looks == Looks::SoftDash, end);
    }

    /// Reads an ambiguous item: nothing, or up to `most` arbitrary characters.
    pub(super) fn read_ambiguous(&mut self, most: u8, end: usize) {
        let before = self.read;
        let any = (0..most.min(MAX_AMBIGUITY)).fold(0, |any, _| {
            self.read = self.next();
            any | self.read
        });
        self.read = before | any;
        // A name that may end in this item has its hyphen before it, even if the item may contain the hyphen of another name.
        self.note(false, end);
        if any & DASHES != 0 {
            self.dash_end = end;
        }
    }

    fn next(&self) -> u64 {
        (self.read << 1) | FIRST
    }

    fn note(&mut self, may_be_dash: bool, end: usize) {
        if may_be_dash && self.read & DASHES != 0 {
            self.dash_end = end;
        }
        if self.read & LAST != 0 && self.found.last() != Some(&self.dash_end) {
            self.found.push(self.dash_end);
        }
    }

    /// Returns the positions after the hyphens of all names found, in ascending order without duplicates.
    pub(super) fn found(self) -> Vec<usize> {
        self.found
    }
}
