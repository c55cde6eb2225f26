//! Reads through escapes: entities of HTML, `%74`, `\u0074` and their kin, one inside the other as deep as they go.
//!
//! Every character is read once. An escape that was begun waits on a stack; when it is complete, what it stands for is
//! read in its place and may complete the one below. What turns out to be none is read again, as plain text. Each
//! reduction makes the text shorter and each escape fails once, so the time is linear in the text.
//!
//! Where readers may differ — `&#116` and then a digit that is itself escaped, or that stands behind a character that
//! some drop beforehand — the result is a riddle, which passes for whatever completes a name.

use super::entity;
use super::lookalike::{Looks, for_each_part, looks};
use super::names::Search;

/// Escapes begun within each other and not yet ended. Repeated encoding (`&amp;amp;…`) takes one, however deep; this
/// bounds the memory that a text made to waste it can take.
const MOST_OPEN: usize = 1024;

#[derive(Clone, Copy, Debug)]
enum Symbol {
    Char(char),
    /// A byte of UTF-8 that is not ASCII.
    Byte(u8),
    /// Half of a pair of UTF-16.
    Half(u32),
    /// Ends whatever is open, and is nothing.
    Break,
}

#[derive(Clone, Copy, Debug)]
struct Item {
    symbol: Symbol,
    end: usize,
    /// It stands in the text as it is, in ASCII.
    raw: bool,
    /// It begins no escape, since it was tried.
    inert: bool,
    /// Others may read one or two characters, or none, in its place.
    riddle: bool,
}

impl Item {
    fn decoded(symbol: Symbol, end: usize) -> Self {
        Item {
            symbol,
            end,
            raw: false,
            inert: false,
            riddle: false,
        }
    }

    fn char(self) -> Option<char> {
        match self.symbol {
            Symbol::Char(c) => Some(c),
            Symbol::Byte(_) | Symbol::Half(_) | Symbol::Break => None,
        }
    }

    fn begins(self) -> Option<State> {
        match self.symbol {
            _ if self.inert => None,
            Symbol::Char('&') => Some(State::Ampersand),
            Symbol::Char('%') => Some(State::Percent),
            Symbol::Char('\\') => Some(State::Backslash),
            Symbol::Byte(lead @ 0xC0..=0xDF) => Some(State::Bytes {
                missing: 1,
                value: u32::from(lead & 0x1F),
            }),
            Symbol::Byte(lead @ 0xE0..=0xEF) => Some(State::Bytes {
                missing: 2,
                value: u32::from(lead & 0x0F),
            }),
            Symbol::Byte(lead @ 0xF0..=0xF7) => Some(State::Bytes {
                missing: 3,
                value: u32::from(lead & 0x07),
            }),
            Symbol::Half(high @ 0xD800..=0xDBFF) => Some(State::Pair { high }),
            Symbol::Char(_) | Symbol::Byte(_) | Symbol::Half(_) | Symbol::Break => None,
        }
    }
}

/// How much of an escape was read.
#[derive(Clone, Copy, Debug)]
enum State {
    /// `&`
    Ampersand,
    /// `&#`
    Hash,
    /// `&#x`
    HexHash,
    /// `&#11`, `&#x7`
    Number {
        radix: u32,
        value: u32,
        riddle: bool,
    },
    /// `&am`; the letters are held.
    Name { letters: usize },
    /// `%`
    Percent,
    /// `\`, or more of them: strings within strings.
    Backslash,
    /// So many digits more, after `%`, `%u`, `\x`, `\u`, `\U` or in `\164`.
    Digits {
        radix: u32,
        missing: u8,
        value: u32,
        byte: bool,
    },
    /// `\u{7`, `\x{7`
    Braced { digits: u8, value: u32 },
    /// Bytes of one character in UTF-8.
    Bytes { missing: u8, value: u32 },
    /// The first half of a pair.
    Pair { high: u32 },
}

impl State {
    fn is_riddle(self) -> bool {
        matches!(self, State::Number { riddle: true, .. })
    }
}

/// What a character does to the escape on top.
enum Effect {
    /// It goes on.
    On(State),
    /// It is complete with it.
    Whole(Symbol),
    /// It was complete before it.
    Before(Symbol),
    /// It is no escape.
    Broken,
}

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
                    symbol: Symbol::Char(c),
                    end,
                    raw: true,
                    inert: false,
                    riddle: false,
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
        let begins = item.begins();
        match self.effect(top, item) {
            Effect::On(state) => self.go_on(state, item),
            Effect::Whole(symbol) => {
                self.held.truncate(top.held_from);
                self.open.pop();
                let end = self.end_with_semicolon(top, item);
                self.put_off(symbol, end, top.state.is_riddle());
            }
            Effect::Before(_) | Effect::Broken if begins.is_some() => self.begin_or_find(item),
            Effect::Before(symbol) => {
                self.due.push(item);
                self.due.extend(self.held.drain(top.held_from..).rev());
                self.open.pop();
                self.put_off(symbol, top.end, top.state.is_riddle());
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
        let Some(c) = item.char().filter(|c| *c != '\\' && !item.riddle) else {
            return false;
        };
        let seen = looks(c);
        if seen != Looks::Nothing && seen != Looks::SoftDash {
            return false;
        }
        self.spy(c, item.end);
        if let Some(top) = self.open.last_mut() {
            top.gap = true;
        }
        if seen == Looks::SoftDash {
            // Held, since it may be the hyphen of a name; of several, the last is enough.
            match self.held.last_mut() {
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
    fn put_off(&mut self, symbol: Symbol, end: usize, riddle: bool) {
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
            _ if item.riddle => self.search.read_riddle(item.end),
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

    fn effect(&self, top: Open, item: Item) -> Effect {
        match top.state {
            State::Bytes { missing, value } => next_byte(missing, value, item.symbol),
            State::Pair { high } => second_half(high, item.symbol),
            _ => match item.char() {
                Some(c) => self.effect_of_char(top, item, c),
                None => incomplete(top.state),
            },
        }
    }

    fn effect_of_char(&self, top: Open, item: Item, c: char) -> Effect {
        match (top.state, c) {
            (State::Ampersand, '#') => Effect::On(State::Hash),
            (State::Ampersand, 'a'..='z' | 'A'..='Z') => Effect::On(State::Name { letters: 1 }),
            (State::Hash, 'x' | 'X') => Effect::On(State::HexHash),
            (State::Hash, '0'..='9') => number(10, 0, c, false),
            (State::HexHash, '0'..='9' | 'a'..='f' | 'A'..='F') => number(16, 0, c, false),
            (
                State::Number {
                    radix,
                    value,
                    riddle,
                },
                _,
            ) if c.is_digit(radix) => number(radix, value, c, riddle || top.gap || !item.raw),
            (State::Number { .. }, ';') => match incomplete(top.state) {
                Effect::Before(symbol) => Effect::Whole(symbol),
                other => other,
            },
            (State::Name { letters }, _) => self.effect_on_name(top, letters, c),
            (State::Percent, 'u' | 'U') => digits(16, 4, false),
            (State::Percent, _) => match c.to_digit(16) {
                Some(value) => Effect::On(State::Digits {
                    radix: 16,
                    missing: 1,
                    value,
                    byte: true,
                }),
                None => Effect::Broken,
            },
            (State::Backslash, '\\') if !item.inert => Effect::On(State::Backslash),
            (State::Backslash, 'u') => digits(16, 4, false),
            (State::Backslash, 'U') => digits(16, 8, false),
            (State::Backslash, 'x' | 'X') => digits(16, 2, true),
            (State::Backslash, '0'..='3') => Effect::On(State::Digits {
                radix: 8,
                missing: 2,
                value: c.to_digit(8).unwrap_or(0),
                byte: true,
            }),
            (
                State::Digits {
                    radix: 16,
                    missing: 2 | 4,
                    value: 0,
                    ..
                },
                '{',
            ) => Effect::On(State::Braced {
                digits: 0,
                value: 0,
            }),
            (
                State::Digits {
                    radix,
                    missing,
                    value,
                    byte,
                },
                _,
            ) => digit(radix, missing, value, byte, c),
            (State::Braced { digits: 1.., value }, '}') => Effect::Whole(unit(value, false)),
            (State::Braced { digits, value }, _) => match c.to_digit(16) {
                Some(digit) if digits < 8 => Effect::On(State::Braced {
                    digits: digits + 1,
                    value: push_digit(value, 16, digit),
                }),
                _ => Effect::Broken,
            },
            (state, _) => incomplete(state),
        }
    }

    fn effect_on_name(&self, top: Open, letters: usize, c: char) -> Effect {
        let whole = |c: Option<char>| c.map(|c| Effect::Whole(Symbol::Char(c)));
        if c == ';' {
            return whole(entity::named(&self.name(top, None))).unwrap_or(Effect::Broken);
        }
        if !c.is_ascii_alphabetic() || letters >= entity::LONGEST {
            return Effect::Broken;
        }
        let legacy = if letters < entity::LONGEST_LEGACY {
            whole(entity::legacy(&self.name(top, Some(c))))
        } else {
            None
        };
        legacy.unwrap_or(Effect::On(State::Name {
            letters: letters + 1,
        }))
    }

    fn name(&self, top: Open, next: Option<char>) -> String {
        let held = self.held.get(top.held_from..).unwrap_or_default();
        held.iter()
            .filter_map(|item| item.char())
            .filter(char::is_ascii_alphabetic)
            .chain(next)
            .collect()
    }
}

/// What an escape is that goes no further.
fn incomplete(state: State) -> Effect {
    match state {
        State::Number { value, .. } => Effect::Before(Symbol::Char(entity::numbered(value))),
        _ => Effect::Broken,
    }
}

fn number(radix: u32, value: u32, c: char, riddle: bool) -> Effect {
    Effect::On(State::Number {
        radix,
        value: push_digit(value, radix, c.to_digit(radix).unwrap_or(0)),
        riddle,
    })
}

fn digits(radix: u32, missing: u8, byte: bool) -> Effect {
    Effect::On(State::Digits {
        radix,
        missing,
        value: 0,
        byte,
    })
}

fn digit(radix: u32, missing: u8, value: u32, byte: bool, c: char) -> Effect {
    let Some(digit) = c.to_digit(radix) else {
        return Effect::Broken;
    };
    let value = push_digit(value, radix, digit);
    if missing > 1 {
        Effect::On(State::Digits {
            radix,
            missing: missing - 1,
            value,
            byte,
        })
    } else {
        Effect::Whole(unit(value, byte))
    }
}

/// Stays beyond all characters once it is.
fn push_digit(value: u32, radix: u32, digit: u32) -> u32 {
    (value.saturating_mul(radix).saturating_add(digit)).min(0x11_0000)
}

fn unit(value: u32, byte: bool) -> Symbol {
    match u8::try_from(value) {
        Ok(value @ 0x80..) if byte => Symbol::Byte(value),
        _ if matches!(value, 0xD800..=0xDFFF) => Symbol::Half(value),
        _ => Symbol::Char(char::from_u32(value).unwrap_or('\0')),
    }
}

fn next_byte(missing: u8, value: u32, symbol: Symbol) -> Effect {
    let Symbol::Byte(byte @ 0x80..=0xBF) = symbol else {
        return Effect::Broken;
    };
    let value = (value << 6) | u32::from(byte & 0x3F);
    if missing > 1 {
        Effect::On(State::Bytes {
            missing: missing - 1,
            value,
        })
    } else {
        Effect::Whole(unit(value, false))
    }
}

fn second_half(high: u32, symbol: Symbol) -> Effect {
    let Symbol::Half(low @ 0xDC00..=0xDFFF) = symbol else {
        return Effect::Broken;
    };
    let value = 0x1_0000 + ((high & 0x3FF) << 10) + (low & 0x3FF);
    Effect::Whole(unit(value, false))
}
