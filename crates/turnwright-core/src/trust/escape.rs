//! The state machine for escapes, character by character.

use super::entity;

#[derive(Clone, Copy, Debug)]
pub(super) enum Symbol {
    Char(char),
    /// A byte of UTF-8 that is not ASCII.
    Byte(u8),
    /// One half of a UTF-16 surrogate pair.
    Half(u32),
    /// Ends all open escapes, without a value.
    Break,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Item {
    pub(super) symbol: Symbol,
    pub(super) end: usize,
    /// Whether it appears literally in the text, as ASCII.
    pub(super) raw: bool,
    /// Whether it cannot start an escape, because that was tried before.
    pub(super) inert: bool,
    /// Other readers may see up to this many characters here, or none. 0 if it is unambiguous.
    pub(super) ambiguity: u8,
}

impl Item {
    pub(super) fn decoded(symbol: Symbol, end: usize) -> Self {
        Item {
            symbol,
            end,
            raw: false,
            inert: false,
            ambiguity: 0,
        }
    }

    pub(super) fn char(self) -> Option<char> {
        match self.symbol {
            Symbol::Char(c) => Some(c),
            Symbol::Byte(_) | Symbol::Half(_) | Symbol::Break => None,
        }
    }

    pub(super) fn begins(self) -> Option<State> {
        match self.symbol {
            _ if self.inert => None,
            Symbol::Char('&') => Some(State::Ampersand),
            Symbol::Char('%') => Some(State::Percent),
            Symbol::Char('\\') => Some(State::Backslash),
            Symbol::Byte(lead @ 0xC0..=0xF7) => {
                // Two to four leading ones give the number of bytes of the character.
                let missing = lead.leading_ones().saturating_sub(1);
                Some(State::Bytes {
                    missing,
                    value: u32::from(lead) & (0x3F >> missing),
                })
            }
            Symbol::Half(high @ 0xD800..=0xDBFF) => Some(State::Pair { high }),
            Symbol::Char(_) | Symbol::Byte(_) | Symbol::Half(_) | Symbol::Break => None,
        }
    }
}

/// How much of an escape was read.
#[derive(Clone, Copy, Debug)]
pub(super) enum State {
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
        /// See [`Item::ambiguity`].
        ambiguity: u8,
    },
    /// `&am`; the letters are in `held`.
    Name { letters: usize },
    /// `%`
    Percent,
    /// One or more `\`: nested string literals double them.
    Backslash,
    /// The digits after `%`, `%u`, `\x`, `\u`, `\U` or in `\164`.
    Digits(Digits),
    /// `\u{7`, `\x{7`
    Braced { digits: u8, value: u32 },
    /// The bytes of one UTF-8 character.
    Bytes { missing: u32, value: u32 },
    /// The first half of a surrogate pair.
    Pair { high: u32 },
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Digits {
    radix: u32,
    missing: u8,
    value: u32,
    /// Whether the digits encode a byte. Otherwise they encode a character.
    byte: bool,
}

impl State {
    pub(super) fn ambiguity(self) -> u8 {
        match self {
            State::Number { ambiguity, .. } => ambiguity,
            _ => 0,
        }
    }
}

/// The effect of a character on the escape on top.
pub(super) enum Effect {
    /// The escape continues.
    On(State),
    /// The escape is complete with this character.
    Complete(Symbol),
    /// The escape was complete before this character.
    Before(Symbol),
    /// It is not an escape.
    Broken,
}

/// Returns the effect of an item on an escape whose characters are in `held`. `gap`: whether something invisible precedes the
/// item.
pub(super) fn effect(state: State, held: &[Item], gap: bool, item: Item) -> Effect {
    match state {
        State::Bytes { missing, value } => next_byte(missing, value, item.symbol),
        State::Pair { high } => second_half(high, item.symbol),
        _ => match item.char() {
            Some(c) => effect_of_char(state, held, gap, item, c),
            None => incomplete(state),
        },
    }
}

fn effect_of_char(state: State, held: &[Item], gap: bool, item: Item, c: char) -> Effect {
    match (state, c) {
        (State::Ampersand, '#') => Effect::On(State::Hash),
        // The end of the `&amp;` that the ampersand was written as, if that is escaped itself.
        (State::Ampersand, ';') if !item.raw => Effect::On(State::Ampersand),
        (State::Ampersand, 'a'..='z' | 'A'..='Z') => Effect::On(State::Name { letters: 1 }),
        (State::Hash, 'x' | 'X') => Effect::On(State::HexHash),
        (State::Hash, '0'..='9') => number(10, 0, c, 0),
        (State::HexHash, '0'..='9' | 'a'..='f' | 'A'..='F') => number(16, 0, c, 0),
        (
            State::Number {
                radix,
                value,
                ambiguity,
            },
            _,
        ) if c.is_digit(radix) => number(radix, value, c, doubt(ambiguity, gap || !item.raw)),
        (State::Number { .. }, ';') => match incomplete(state) {
            Effect::Before(symbol) => Effect::Complete(symbol),
            other => other,
        },
        (State::Name { letters }, _) => effect_on_name(held, letters, c),
        (State::Percent, 'u' | 'U') => digits(4, false),
        (State::Percent, _) => digit(Digits::new(16, 2, true), c),
        (State::Backslash, '\\') if is_run(held, item) => Effect::On(State::Backslash),
        (State::Backslash, 'u') => digits(4, false),
        (State::Backslash, 'U') => digits(8, false),
        (State::Backslash, 'x' | 'X') => digits(2, true),
        (State::Backslash, '0'..='3') => digit(Digits::new(8, 3, true), c),
        (State::Digits(digits), '{') if digits.may_be_braced() => Effect::On(State::Braced {
            digits: 0,
            value: 0,
        }),
        (State::Digits(digits), _) => digit(digits, c),
        (State::Braced { digits: 1.., value }, '}') => Effect::Complete(unit(value, false)),
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

/// Returns whether a backslash belongs to the previous one, as in nested string literals, where there are two for one. If only
/// the previous one was escaped, this one starts the next escape.
fn is_run(held: &[Item], backslash: Item) -> bool {
    let before = held.first();
    !backslash.inert && (!backslash.raw || before.is_some_and(|before| before.raw))
}

fn effect_on_name(held: &[Item], letters: usize, c: char) -> Effect {
    let complete = |c: Option<char>| c.map(|c| Effect::Complete(Symbol::Char(c)));
    if c == ';' {
        return complete(entity::named(&name(held, None))).unwrap_or(Effect::Broken);
    }
    if !c.is_ascii_alphabetic() || letters >= entity::MAX_LEN {
        return Effect::Broken;
    }
    let legacy = if letters < entity::MAX_LEGACY_LEN {
        complete(entity::legacy(&name(held, Some(c))))
    } else {
        None
    };
    legacy.unwrap_or(Effect::On(State::Name {
        letters: letters + 1,
    }))
}

fn name(held: &[Item], next: Option<char>) -> String {
    held.iter()
        .filter_map(|item| item.char())
        .filter(char::is_ascii_alphabetic)
        .chain(next)
        .collect()
}

/// Returns the effect on an escape that does not continue.
fn incomplete(state: State) -> Effect {
    match state {
        State::Number { value, .. } => Effect::Before(Symbol::Char(entity::numbered(value))),
        _ => Effect::Broken,
    }
}

/// Returns the ambiguity of a number with one more digit. If other readers see the number end before a digit, that digit and each
/// that follows is a separate character.
fn doubt(ambiguity: u8, doubtful: bool) -> u8 {
    match ambiguity {
        0 if doubtful => 2,
        0 => 0,
        more => more.saturating_add(1),
    }
}

fn number(radix: u32, value: u32, c: char, ambiguity: u8) -> Effect {
    Effect::On(State::Number {
        radix,
        value: push_digit(value, radix, c.to_digit(radix).unwrap_or(0)),
        ambiguity,
    })
}

impl Digits {
    fn new(radix: u32, missing: u8, byte: bool) -> Self {
        Digits {
            radix,
            missing,
            value: 0,
            byte,
        }
    }

    fn may_be_braced(self) -> bool {
        self.radix == 16 && matches!(self.missing, 2 | 4) && self.value == 0
    }
}

fn digits(missing: u8, byte: bool) -> Effect {
    Effect::On(State::Digits(Digits::new(16, missing, byte)))
}

fn digit(digits: Digits, c: char) -> Effect {
    let Some(digit) = c.to_digit(digits.radix) else {
        return Effect::Broken;
    };
    let value = push_digit(digits.value, digits.radix, digit);
    let missing = digits.missing.saturating_sub(1);
    match missing {
        0 => Effect::Complete(unit(value, digits.byte)),
        _ => Effect::On(State::Digits(Digits {
            missing,
            value,
            ..digits
        })),
    }
}

/// Saturates: stays beyond all characters once it is.
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

fn next_byte(missing: u32, value: u32, symbol: Symbol) -> Effect {
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
        Effect::Complete(unit(value, false))
    }
}

fn second_half(high: u32, symbol: Symbol) -> Effect {
    let Symbol::Half(low @ 0xDC00..=0xDFFF) = symbol else {
        return Effect::Broken;
    };
    let value = 0x1_0000 + ((high & 0x3FF) << 10) + (low & 0x3FF);
    Effect::Complete(unit(value, false))
}
