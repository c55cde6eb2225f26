//! Reads through escapes: entities of HTML, `%74`, `\u0074` and their kin, one inside the other as deep as they go.
//!
//! Every character is read once. An escape that was begun waits on a stack; when it is complete, what it stands for is
//! read in its place and may complete the one below. What turns out to be none is read again, as plain text. Each
//! reduction makes the text shorter and each escape fails once, so the time is linear in the text.
//!
//! Where readers may differ — `&#116` and then a digit that is itself escaped, or that stands behind a character that
//! some drop beforehand — the result is a riddle, which passes for whatever completes a name.

use super::escape::{Effect, Item, State, Symbol, effect};
use super::lookalike::{Looks, for_each_part, looks};
use super::tag_names::{LONGEST_RIDDLE, Search};

/// Escapes begun within each other and not yet ended. Repeated encoding (`&amp;amp;…`) takes one, however deep; this
/// bounds the memory that a text made to waste it can take.
const MOST_OPEN: usize = 1024;

#[derive(Clone, Copy, Debug)]
struct Open {
    state: State,
    end: usize,
    /// Something unseen came last.
    gap: bool,
    /// Where its characters begin among those held.
    held_from: usize,
}

/// One reading of a text.
#[derive(Debug)]
pub(super) struct Reading<'t> {
    text: &'t str,
    open: Vec<Open>,
    /// The characters of the open escapes, for the case that they are none.
    held: Vec<Item>,
    /// What is to be read before the text goes on, the next one last.
    due: Vec<Item>,
    read_to: usize,
    search: Search,
    /// Tag characters alone, which spell ASCII that nobody sees.
    hidden: Search,
}

impl<'t> Reading<'t> {
    /// Where the hyphens of all tag names end, in rising order.
    pub(super) fn of(text: &'t str) -> Vec<usize> {
        let mut reading = Reading {
            text,
            open: Vec::new(),
            held: Vec::new(),
            due: Vec::new(),
            read_to: 0,
            search: Search::default(),
            hidden: Search::default(),
        };
        for (start, c) in text.char_indices() {
            if start >= reading.read_to {
                reading.read(c, start + c.len_utf8());
            }
        }
        reading.settle_all(Item::decoded(Symbol::Break, text.len()));
        let mut found = reading.search.found();
        found.extend(reading.hidden.found());
        found.sort_unstable();
        found.dedup();
        found
    }

    fn read(&mut self, c: char, end: usize) {
        if c.is_ascii() {
            if self.open.is_empty() && !matches!(c, '&' | '%' | '\\') {
                self.search.read(looks(c), end);
            } else {
                self.settle_all(Item {
                    raw: true,
                    ..Item::decoded(Symbol::Char(c), end)
                });
            }
        } else {
            for_each_part(c, |part| {
                self.settle_all(Item::decoded(Symbol::Char(part), end));
            });
        }
    }

    fn settle_all(&mut self, item: Item) {
        self.due.push(item);
        while let Some(item) = self.due.pop() {
            self.settle(item);
        }
    }

    fn settle(&mut self, item: Item) {
        if self.open.is_empty() {
            self.begin_or_find(item);
            return;
        }
        if self.passes_unseen(item) {
            return;
        }
        let Some(top) = self.open.last().copied() else {
            return;
        };
        let begun = self.held.len().saturating_sub(top.held_from).max(1);
        let together = usize::from(item.riddle) + begun.max(usize::from(top.state.riddle()));
        if item.riddle > 0 && together <= usize::from(LONGEST_RIDDLE) {
            // What was begun and a riddle are one: nobody knows what they are together.
            self.held.truncate(top.held_from);
            self.open.pop();
            self.due.push(Item {
                riddle: u8::try_from(together).unwrap_or(LONGEST_RIDDLE),
                ..item
            });
            return;
        }
        let begins = item.begins().filter(|_| item.riddle == 0);
        let held = self.held.get(top.held_from..).unwrap_or_default();
        // A riddle is no digit of what was begun, whatever else it may be.
        let taken = match item.riddle {
            0 => item,
            _ => Item::decoded(Symbol::Break, item.end),
        };
        match effect(top.state, held, top.gap, taken) {
            Effect::On(state) => self.go_on(state, item),
            Effect::Complete(symbol) => {
                self.held.truncate(top.held_from);
                self.open.pop();
                let end = self.end_with_semicolon(top, item);
                self.put_off(symbol, end, top.state.riddle());
            }
            Effect::Before(_) | Effect::Broken if begins.is_some() => self.begin_or_find(item),
            Effect::Before(symbol) => {
                self.due.push(item);
                self.due.extend(self.held.drain(top.held_from..).rev());
                self.open.pop();
                self.put_off(symbol, top.end, top.state.riddle());
            }
            Effect::Broken => {
                self.due.push(item);
                if let Some(first) = self.held.get_mut(top.held_from) {
                    first.inert = true;
                }
                self.due.extend(self.held.drain(top.held_from..).rev());
                self.open.pop();
            }
        }
    }

    /// Whether the escape on top goes on as if the item were not there.
    fn passes_unseen(&mut self, item: Item) -> bool {
        let Some(c) = item.char().filter(|c| *c != '\\' && item.riddle == 0) else {
            return false;
        };
        let seen = looks(c);
        if seen != Looks::Nothing && seen != Looks::SoftDash {
            return false;
        }
        self.spy(c, item.end);
        let Some(top) = self.open.last_mut() else {
            return false;
        };
        top.gap = true;
        if seen == Looks::SoftDash {
            // Held, since it may be the hyphen of a name; of several, the last is enough.
            let held = self.held.get_mut(top.held_from..).unwrap_or_default();
            match held.last_mut() {
                Some(last) if matches!(last.symbol, Symbol::Char('\u{AD}')) => *last = item,
                _ => self.held.push(item),
            }
        }
        true
    }

    fn begin_or_find(&mut self, item: Item) {
        let Some(state) = item.begins() else {
            self.find(item);
            return;
        };
        if self.open.len() >= MOST_OPEN {
            self.due.push(item);
            self.due.push(Item::decoded(Symbol::Break, item.end));
            return;
        }
        self.open.push(Open {
            state,
            end: item.end,
            gap: false,
            held_from: self.held.len(),
        });
        self.held.push(item);
    }

    fn go_on(&mut self, state: State, item: Item) {
        let Some(top) = self.open.last_mut() else {
            return;
        };
        top.state = state;
        top.end = item.end;
        top.gap = false;
        match state {
            // It will stand for something whatever follows: what it was made of is not read again.
            State::Number { .. } => self.held.truncate(top.held_from),
            State::Backslash => {}
            _ => self.held.push(item),
        }
    }

    /// Has what an escape stands for read next.
    fn put_off(&mut self, symbol: Symbol, end: usize, riddle: u8) {
        let item = Item {
            riddle,
            ..Item::decoded(symbol, end)
        };
        let Symbol::Char(c) = symbol else {
            self.due.push(item);
            return;
        };
        let from = self.due.len();
        for_each_part(c, |part| {
            self.due.push(Item {
                symbol: Symbol::Char(part),
                ..item
            });
        });
        if let Some(parts) = self.due.get_mut(from..) {
            parts.reverse();
        }
    }

    /// Where an escape ends: a name that needs no semicolon may have one.
    fn end_with_semicolon(&mut self, top: Open, last: Item) -> usize {
        let by_letter = matches!(top.state, State::Name { .. }) && last.char() != Some(';');
        if by_letter && last.raw && self.text.as_bytes().get(last.end) == Some(&b';') {
            self.read_to = last.end + 1;
            return self.read_to;
        }
        last.end
    }

    /// The item is part of no escape.
    fn find(&mut self, item: Item) {
        match item.symbol {
            _ if item.riddle > 0 => self.search.read_riddle(item.riddle, item.end),
            // Perhaps the end of an entity that needs none, and was read before.
            Symbol::Char(';') if !item.raw => {}
            Symbol::Char(c) => {
                self.spy(c, item.end);
                self.search.read(looks(c), item.end);
            }
            // Not UTF-8, so perhaps Latin-1.
            Symbol::Byte(byte) => for_each_part(char::from(byte), |part| {
                self.search.read(looks(part), item.end);
            }),
            Symbol::Half(_) | Symbol::Break => {}
        }
    }

    fn spy(&mut self, c: char, end: usize) {
        if let '\u{E0020}'..='\u{E007E}' = c {
            // In range, the low byte is the ASCII character.
            self.hidden.read(looks(char::from(c as u8)), end);
        }
    }
}
