//! Decodes escapes: HTML entities, `%74`, `\u0074` and similar, nested to any depth.
//!
//! Every character is read once. An open escape waits on a stack. When it is complete, its value is read in its place and may
//! complete the escape below. Text that turns out not to be an escape is read again as plain text. Each reduction shortens the
//! text and each escape fails once, so the time is linear.
//!
//! Readers may disagree about some input: `&#116` followed by a digit that is itself escaped, or that follows a character that
//! some readers drop. The result is then ambiguous, and matches whatever completes a name.

use super::escape::{Effect, Item, State, Symbol, effect};
use super::lookalike::{Looks, for_each_part, looks};
use super::tag_names::{MAX_AMBIGUITY, Search};

/// Maximum number of open escapes. Repeated encoding (`&amp;amp;…`) needs only one, whatever its depth. The limit bounds the
/// memory that hostile text can use.
const MAX_OPEN: usize = 1024;

#[derive(Clone, Copy, Debug)]
struct Open {
    state: State,
    end: usize,
    /// Whether an invisible character came last.
    gap: bool,
    /// The index of its first character in `held`.
    held_from: usize,
}

/// The state while reading a text.
#[derive(Debug)]
pub(super) struct Reading<'t> {
    text: &'t str,
    open: Vec<Open>,
    /// The characters of the open escapes, in case they are not escapes.
    held: Vec<Item>,
    /// Items to read before the rest of the text, next one last.
    due: Vec<Item>,
    read_to: usize,
    search: Search,
    /// Searches tag characters only, which spell invisible ASCII.
    hidden: Search,
}

impl<'t> Reading<'t> {
    /// Returns the positions after the hyphens of all tag names, in ascending order.
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
        let together = usize::from(item.ambiguity) + begun.max(usize::from(top.state.ambiguity()));
        if item.ambiguity > 0 && together <= usize::from(MAX_AMBIGUITY) {
            // An open escape together with an ambiguous item is ambiguous as well.
            self.held.truncate(top.held_from);
            self.open.pop();
            self.due.push(Item {
                ambiguity: u8::try_from(together).unwrap_or(MAX_AMBIGUITY),
                ..item
            });
            return;
        }
        let begins = item.begins().filter(|_| item.ambiguity == 0);
        let held = self.held.get(top.held_from..).unwrap_or_default();
        // An ambiguous item is not a digit of the open escape.
        let taken = match item.ambiguity {
            0 => item,
            _ => Item::decoded(Symbol::Break, item.end),
        };
        match effect(top.state, held, top.gap, taken) {
            Effect::On(state) => self.go_on(state, item),
            Effect::Complete(symbol) => {
                self.held.truncate(top.held_from);
                self.open.pop();
                let end = self.end_with_semicolon(top, item);
                self.put_off(symbol, end, top.state.ambiguity());
            }
            Effect::Before(_) | Effect::Broken if begins.is_some() => self.begin_or_find(item),
            Effect::Before(symbol) => {
                self.due.push(item);
                self.due.extend(self.held.drain(top.held_from..).rev());
                self.open.pop();
                self.put_off(symbol, top.end, top.state.ambiguity());
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

    /// Returns whether the escape on top continues as if the item were not there.
    fn passes_unseen(&mut self, item: Item) -> bool {
        let Some(c) = item.char().filter(|c| *c != '\\' && item.ambiguity == 0) else {
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
            // Hold it, because it may be the hyphen of a name. Of several, the last one is enough.
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
        if self.open.len() >= MAX_OPEN {
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
            // It is complete whatever follows, so its characters are not read again.
            State::Number { .. } => self.held.truncate(top.held_from),
            State::Backslash => {}
            _ => self.held.push(item),
        }
    }

    /// Queues the value of an escape to be read next.
    fn put_off(&mut self, symbol: Symbol, end: usize, ambiguity: u8) {
        let item = Item {
            ambiguity,
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

    /// Returns where an escape ends. A name that needs no semicolon may have one.
    fn end_with_semicolon(&mut self, top: Open, last: Item) -> usize {
        let by_letter = matches!(top.state, State::Name { .. }) && last.char() != Some(';');
        if by_letter && last.raw && self.text.as_bytes().get(last.end) == Some(&b';') {
            self.read_to = last.end + 1;
            return self.read_to;
        }
        last.end
    }

    /// Handles an item that is not part of an escape.
    fn find(&mut self, item: Item) {
        match item.symbol {
            _ if item.ambiguity > 0 => self.search.read_ambiguous(item.ambiguity, item.end),
            // Possibly the end of an entity that needs no semicolon and was read before.
            Symbol::Char(';') if !item.raw => {}
            Symbol::Char(c) => {
                self.spy(c, item.end);
                self.search.read(looks(c), item.end);
            }
            // Not UTF-8, so possibly Latin-1.
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
