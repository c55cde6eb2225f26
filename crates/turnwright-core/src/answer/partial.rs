//! Parses incomplete JSON into the value so far.

use serde_json::Value;

use super::wrapped::VALUE;

/// Maximum nesting depth: that of `serde_json`.
const MAX_DEPTH: usize = 127;
/// Up to this many bytes, every piece may produce a value.
const SMALL: usize = 4 * 1024;
/// Beyond that, a value is produced after the text has grown by this fraction. So the total cost is a multiple of the text length
/// instead of its square.
const GROWTH: usize = 32;

/// Completes JSON as it arrives. Reads each byte once. Producing a value costs time proportional to the text so far.
pub(crate) struct PartialJson {
    /// The JSON so far, without text before it.
    text: String,
    state: State,
    /// The open containers.
    open: Vec<Container>,
    /// `text[..cut]` is valid JSON once closed. `None` while there is nothing to show.
    cut: Option<usize>,
    /// Whether the cut is inside a string.
    in_string: bool,
    /// The cut and the length of the text when a value was last produced.
    shown: (Option<usize>, usize),
    max_bytes: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Container {
    Array,
    Object,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// Only white space so far.
    Start,
    /// Text that is not JSON. JSON may follow in a code block. Counts backticks.
    Words(u8),
    /// The first line of a code block.
    FenceLine,
    /// A value is next. An empty array may also end here.
    Value {
        may_end: bool,
    },
    /// A key is next. An empty object may also end here.
    Key {
        may_end: bool,
    },
    Colon,
    AfterValue,
    String(Text),
    Number,
    /// The remainder of `true`, `false` or `null`.
    Literal(&'static [u8]),
    /// The value is complete. What follows is ignored.
    Done,
    /// The text is not JSON.
    Invalid,
}

/// The state within a string.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Text {
    is_key: bool,
    /// Whether the first half of a surrogate pair was read.
    high: bool,
    escape: Escape,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Escape {
    None,
    Backslash,
    /// The number of digits of `\uXXXX` read so far, and their value.
    Unicode(u8, u16),
}

impl PartialJson {
    /// Parses at most this many bytes.
    pub(crate) fn new(max_bytes: usize) -> Self {
        PartialJson {
            text: String::new(),
            state: State::Start,
            open: Vec::new(),
            cut: None,
            in_string: false,
            shown: (None, 0),
            max_bytes,
        }
    }

    /// Reads the next piece of the text.
    pub(crate) fn push(&mut self, piece: &str) {
        let mut piece = piece;
        if !self.has_begun() {
            let start = piece.bytes().position(|byte| self.begins(byte));
            piece = start.and_then(|at| piece.get(at..)).unwrap_or("");
        }
        if matches!(self.state, State::Done | State::Invalid) || piece.is_empty() {
            return;
        }
        if self.text.len() + piece.len() > self.max_bytes {
            self.state = State::Invalid;
            return;
        }
        let before = self.text.len();
        self.text.push_str(piece);
        for (at, byte) in piece.bytes().enumerate() {
            self.step(byte, before + at);
        }
    }

    /// Returns the value so far if it has grown since the last one. Large texts produce fewer values than pieces.
    pub(crate) fn next_value(&mut self) -> Option<Value> {
        let (cut, length) = (self.cut, self.text.len());
        let grown = length - self.shown.1;
        let is_due = length <= SMALL || grown >= length / GROWTH || self.state == State::Done;
        if cut == self.shown.0 || !is_due {
            return None;
        }
        self.shown = (cut, length);
        self.value()
    }

    /// Returns the value so far.
    pub(crate) fn value(&self) -> Option<Value> {
        let mut text = self.text.get(..self.cut?)?.to_owned();
        if self.in_string {
            text.push('"');
        }
        text.extend(self.open.iter().rev().map(|container| match container {
            Container::Array => ']',
            Container::Object => '}',
        }));
        serde_json::from_str(&text).ok()
    }

    fn has_begun(&self) -> bool {
        !matches!(
            self.state,
            State::Start | State::Words(_) | State::FenceLine
        )
    }

    /// Searches for the first byte of the JSON: at the start of the text, or in a code block.
    fn begins(&mut self, byte: u8) -> bool {
        let opens = matches!(byte, b'{' | b'[' | b'"');
        match self.state {
            State::Start | State::FenceLine if opens => {
                self.state = State::Value { may_end: false };
                return true;
            }
            State::Start if byte.is_ascii_whitespace() => {}
            State::Start | State::Words(_) => {
                let ticks = match (self.state, byte) {
                    (State::Words(ticks), b'`') => ticks + 1,
                    (_, b'`') => 1,
                    _ => 0,
                };
                self.state = match ticks {
                    3 => State::FenceLine,
                    ticks => State::Words(ticks),
                };
            }
            _ => {}
        }
        false
    }

    /// Reads the byte at a position of the text.
    fn step(&mut self, byte: u8, at: usize) {
        let is_space = matches!(byte, b' ' | b'\t' | b'\n' | b'\r');
        match self.state {
            State::String(text) => self.in_text(text, byte, at),
            State::Number => match byte {
                b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E' => {}
                _ => {
                    self.ended(at);
                    self.step(byte, at);
                }
            },
            State::Literal(rest) => match rest.split_first() {
                Some((next, [])) if *next == byte => self.ended(at + 1),
                Some((next, rest)) if *next == byte => self.state = State::Literal(rest),
                _ => self.state = State::Invalid,
            },
            _ if is_space => {}
            State::Value { may_end } => self.begin_value(byte, at, may_end),
            State::Key { may_end } => match byte {
                b'"' => self.state = State::String(Text::new(true)),
                b'}' if may_end => self.close(Container::Object, at),
                _ => self.state = State::Invalid,
            },
            State::Colon if byte == b':' => self.state = State::Value { may_end: false },
            State::AfterValue => match (byte, self.open.last()) {
                (b',', Some(Container::Array)) => self.state = State::Value { may_end: false },
                (b',', Some(Container::Object)) => self.state = State::Key { may_end: false },
                (b']', _) => self.close(Container::Array, at),
                (b'}', _) => self.close(Container::Object, at),
                _ => self.state = State::Invalid,
            },
            State::Done | State::Invalid => {}
            State::Colon | State::Start | State::Words(_) | State::FenceLine => {
                self.state = State::Invalid;
            }
        }
    }

    fn begin_value(&mut self, byte: u8, at: usize, may_end: bool) {
        self.state = match byte {
            b'{' | b'[' if self.open.len() >= MAX_DEPTH => State::Invalid,
            b'{' => {
                self.open.push(Container::Object);
                self.cut = Some(at + 1);
                State::Key { may_end: true }
            }
            b'[' => {
                self.open.push(Container::Array);
                self.cut = Some(at + 1);
                State::Value { may_end: true }
            }
            b']' if may_end => return self.close(Container::Array, at),
            b'"' => {
                (self.cut, self.in_string) = (Some(at + 1), true);
                State::String(Text::new(false))
            }
            b'-' | b'0'..=b'9' => State::Number,
            b't' => State::Literal(b"rue"),
            b'f' => State::Literal(b"alse"),
            b'n' => State::Literal(b"ull"),
            _ => State::Invalid,
        };
    }

    /// Handles the end of a value before a position.
    fn ended(&mut self, at: usize) {
        (self.cut, self.in_string) = (Some(at), false);
        self.state = if self.open.is_empty() {
            State::Done
        } else {
            State::AfterValue
        };
    }

    fn close(&mut self, container: Container, at: usize) {
        match self.open.pop() {
            Some(open) if open == container => self.ended(at + 1),
            // Keep what was shown of it.
            Some(open) => {
                self.open.push(open);
                self.state = State::Invalid;
            }
            None => self.state = State::Invalid,
        }
    }

    fn in_text(&mut self, text: Text, byte: u8, at: usize) {
        let next = match (text.escape, byte) {
            (Escape::None, b'"') if !text.high => {
                if text.is_key {
                    self.state = State::Colon;
                } else {
                    self.ended(at + 1);
                }
                return;
            }
            (Escape::None, b'\\') => Some(text.with(Escape::Backslash)),
            // One half of a surrogate pair alone is not a character.
            (Escape::None, _) if text.high || byte < 0x20 => None,
            (Escape::None, _) => Some(text),
            (Escape::Backslash, b'u') => Some(text.with(Escape::Unicode(0, 0))),
            (Escape::Backslash, b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => {
                (!text.high).then(|| text.with(Escape::None))
            }
            (Escape::Backslash, _) => None,
            (Escape::Unicode(digits, value), _) => text.with_digit(digits, value, byte),
        };
        let Some(next) = next else {
            self.state = State::Invalid;
            return;
        };
        if !next.is_key && next.escape == Escape::None && !next.high {
            self.cut = Some(at + 1);
        }
        self.state = State::String(next);
    }
}

impl Text {
    fn new(is_key: bool) -> Self {
        Text {
            is_key,
            high: false,
            escape: Escape::None,
        }
    }

    fn with(self, escape: Escape) -> Self {
        Text { escape, ..self }
    }

    /// Reads the next digit of `\uXXXX`.
    fn with_digit(self, digits: u8, value: u16, byte: u8) -> Option<Self> {
        let digit = u16::try_from(char::from(byte).to_digit(16)?).ok()?;
        let value = value << 4 | digit;
        if digits < 3 {
            return Some(self.with(Escape::Unicode(digits + 1, value)));
        }
        let high = match (self.high, value) {
            (false, 0xD800..=0xDBFF) => true,
            (true, 0xDC00..=0xDFFF) => false,
            (true, _) | (false, 0xDC00..=0xDFFF) => return None,
            (false, _) => false,
        };
        Some(Text {
            high,
            escape: Escape::None,
            ..self
        })
    }
}

/// Returns the caller's value from a partial value of the wrapper.
pub(super) fn unwrap_partial(value: Value) -> Option<Value> {
    match value {
        Value::Object(map) if map.is_empty() => None,
        Value::Object(mut map) if map.contains_key(VALUE) => map.get_mut(VALUE).map(Value::take),
        // It was not wrapped.
        value => Some(value),
    }
}

#[cfg(test)]
mod tests;
