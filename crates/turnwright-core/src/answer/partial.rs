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
    /// The bytes that close the open containers.
    open: Vec<u8>,
    /// Whether the next string is a key.
    is_key: bool,
    /// `text[..cut]` is valid JSON once closed, if the text is. `None` while there is nothing to show.
    cut: Option<usize>,
    /// Whether the cut is inside a string.
    in_string: bool,
    /// The cut and the length of the text when a value was last produced.
    shown: (Option<usize>, usize),
    max_bytes: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// Only white space so far.
    Start,
    /// Text that is not JSON. JSON may follow in a code block. Counts backticks.
    Words(u8),
    /// The first line of a code block.
    FenceLine,
    /// Between strings, numbers and literals.
    Between,
    /// In a number or a literal that starts at this position.
    Word(usize),
    /// In a string, with the number of missing digits of `\uXXXX`, or [`BACKSLASH`].
    String(u8),
    /// The value is complete, or the text is not JSON. What follows is ignored.
    Done,
}

/// After the backslash of an escape.
const BACKSLASH: u8 = 5;

impl PartialJson {
    /// Parses at most this many bytes.
    pub(crate) fn new(max_bytes: usize) -> Self {
        PartialJson {
            text: String::new(),
            state: State::Start,
            open: Vec::new(),
            is_key: false,
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
        if self.state == State::Done || piece.is_empty() {
            return;
        }
        if self.text.len() + piece.len() > self.max_bytes {
            self.state = State::Done;
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
        text.extend(self.open.iter().rev().copied().map(char::from));
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
                self.state = State::Between;
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

    /// Reads the byte at a position of the text. Does not check what a parser of the value finds out.
    fn step(&mut self, byte: u8, at: usize) {
        match self.state {
            State::String(missing) => self.in_text(missing, byte, at),
            State::Word(_) if matches!(byte, b',' | b']' | b'}' | b' ' | b'\t' | b'\n' | b'\r') => {
                self.ended(at);
                self.step(byte, at);
            }
            State::Word(start) => {
                if let Some("true" | "false" | "null") = self.text.get(start..=at) {
                    self.ended(at + 1);
                }
            }
            State::Between => self.between(byte, at),
            State::Start | State::Words(_) | State::FenceLine | State::Done => {}
        }
    }

    fn between(&mut self, byte: u8, at: usize) {
        match byte {
            b'"' => {
                self.state = State::String(0);
                if !self.is_key {
                    (self.cut, self.in_string) = (Some(at + 1), true);
                }
            }
            b'{' | b'[' if self.open.len() < MAX_DEPTH => {
                self.is_key = byte == b'{';
                self.open.push(if self.is_key { b'}' } else { b']' });
                self.cut = Some(at + 1);
            }
            b'}' | b']' if self.open.pop_if(|close| *close == byte).is_some() => {
                self.ended(at + 1);
            }
            b',' => self.is_key = self.open.last() == Some(&b'}'),
            b':' => self.is_key = false,
            b' ' | b'\t' | b'\n' | b'\r' => {}
            b'-' | b'0'..=b'9' | b't' | b'f' | b'n' => self.state = State::Word(at),
            _ => self.state = State::Done,
        }
    }

    fn in_text(&mut self, missing: u8, byte: u8, at: usize) {
        let left = match (missing, byte) {
            (0, b'"') if self.is_key => return self.state = State::Between,
            (0, b'"') => return self.ended(at + 1),
            (0, b'\\') => BACKSLASH,
            (BACKSLASH, b'u') => 4,
            (0 | BACKSLASH, _) => 0,
            (digits, _) => digits - 1,
        };
        self.state = State::String(left);
        let unit = || u16::from_str_radix(self.text.get(at - 3..=at)?, 16).ok();
        // One half of a surrogate pair alone is not a character.
        let is_half = missing == 1 && matches!(unit(), Some(0xD800..=0xDBFF));
        if left == 0 && !self.is_key && !is_half {
            self.cut = Some(at + 1);
        }
    }

    /// Handles the end of a value before a position.
    fn ended(&mut self, at: usize) {
        (self.cut, self.in_string) = (Some(at), false);
        self.state = if self.open.is_empty() {
            State::Done
        } else {
            State::Between
        };
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
