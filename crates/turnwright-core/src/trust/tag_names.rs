//! The search for tag names, letter by letter.

use super::lookalike::Looks;

/// The names, one after the other: bit `n` of a mask says that the name that character `n` belongs to was read up to
/// and with it.
const NAMES: &[u8] = b"tw-trustedtw-untrustedtw-agent";

/// The last character of each name.
const LAST: u32 = (1 << 9) | (1 << 21) | (1 << 29);

/// The first character of each.
const FIRST: u32 = 1 | (1 << 10) | (1 << 22);

/// The hyphens.
const DASHES: u32 = where_is(b'-');

/// The most characters for which something that can be read in several ways passes: fewer than a hyphen and what follows
/// it, so that no name has its hyphen and its end in one.
pub(super) const LONGEST_RIDDLE: u8 = 5;

/// Where a character stands in the names.
const fn where_is(wanted: u8) -> u32 {
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

/// The places of every letter.
const LETTERS: [u32; 26] = {
    let mut masks = [0; 26];
    let mut rest: &mut [u32] = &mut masks;
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
    read: u32,
    dash_end: usize,
    found: Vec<usize>,
}

impl Search {
    /// What was read next; it ends at byte `end` of the text.
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

    /// Something that may be nothing, or up to so many of any characters.
    pub(super) fn read_riddle(&mut self, most: u8, end: usize) {
        let before = self.read;
        let any = (0..most.min(LONGEST_RIDDLE)).fold(0, |any, _| {
            self.read = self.next();
            any | self.read
        });
        self.read = before | any;
        // A name that may end in it has its hyphen before it, even if another's may be in it.
        self.note(false, end);
        if any & DASHES != 0 {
            self.dash_end = end;
        }
    }

    fn next(&self) -> u32 {
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

    /// For every name, where its hyphen ends: in rising order, each place once.
    pub(super) fn found(self) -> Vec<usize> {
        self.found
    }
}
