//! Canonical JSON (RFC 8785), written directly into a hash.

use std::cmp::Ordering;

use serde_json::{Map, Number, Value};
use sha2::{Digest as _, Sha256};

use crate::ascii::Ascii;
use crate::schema::as_integer;

/// Receives bytes in order.
pub(crate) trait Sink {
    fn put(&mut self, bytes: &[u8]);
}

/// Computes SHA-256 of what is written. Buffers, because hashing is faster with long inputs.
pub(crate) struct HashSink {
    hash: Sha256,
    buffer: [u8; 256],
    filled: usize,
}

impl HashSink {
    pub(crate) fn new() -> Self {
        HashSink {
            hash: Sha256::new(),
            buffer: [0; 256],
            filled: 0,
        }
    }

    /// Returns the digest in lower-case hex.
    pub(crate) fn finish(mut self) -> Hex {
        self.flush();
        let mut hex = [0_u8; 64];
        for (pair, byte) in hex.chunks_exact_mut(2).zip(self.hash.finalize()) {
            pair.copy_from_slice(&[digit(byte >> 4), digit(byte & 0xf)]);
        }
        Hex::new(hex)
    }

    fn flush(&mut self) {
        if let Some(filled) = self.buffer.get(..self.filled) {
            self.hash.update(filled);
        }
        self.filled = 0;
    }
}

fn digit(value: u8) -> u8 {
    if value < 10 {
        b'0' + value
    } else {
        b'a' + (value - 10)
    }
}

/// A digest in hex.
pub(crate) type Hex = Ascii<64>;

impl Sink for HashSink {
    #[inline]
    fn put(&mut self, bytes: &[u8]) {
        if self.filled + bytes.len() > self.buffer.len() {
            self.flush();
        }
        match self.buffer.get_mut(self.filled..self.filled + bytes.len()) {
            Some(room) => {
                room.copy_from_slice(bytes);
                self.filled += bytes.len();
            }
            None => self.hash.update(bytes),
        }
    }
}

impl Sink for Vec<u8> {
    fn put(&mut self, bytes: &[u8]) {
        self.extend_from_slice(bytes);
    }
}

/// What remains to be written of a container.
enum Rest<'v> {
    Items(std::slice::Iter<'v, Value>),
    /// An object whose keys are already in order, as they often are.
    InOrder(serde_json::map::Iter<'v>),
    Entries(std::vec::IntoIter<(&'v str, &'v Value)>),
}

/// Writes `value`. Not recursive, because a value may be nested to any depth.
pub(crate) fn write(value: &Value, sink: &mut impl Sink) {
    let mut stack: Vec<(Rest<'_>, bool)> = Vec::new();
    let mut next = Some(value);
    loop {
        if let Some(value) = next.take() {
            match value {
                Value::Null => sink.put(b"null"),
                Value::Bool(true) => sink.put(b"true"),
                Value::Bool(false) => sink.put(b"false"),
                Value::Number(number) => write_number(number, sink),
                Value::String(text) => write_string(text, sink),
                Value::Array(items) => {
                    sink.put(b"[");
                    stack.push((Rest::Items(items.iter()), true));
                }
                Value::Object(map) => {
                    sink.put(b"{");
                    stack.push((entries(map), true));
                }
            }
        }
        let Some((rest, first)) = stack.last_mut() else {
            return;
        };
        let comma = !std::mem::replace(first, false);
        let (key, value, end): (Option<&str>, Option<&Value>, &[u8]) = match rest {
            Rest::Items(items) => (None, items.next(), b"]"),
            Rest::InOrder(entries) => {
                let (key, value) = entries.next().unzip();
                (key.map(String::as_str), value, b"}")
            }
            Rest::Entries(entries) => {
                let (key, value) = entries.next().unzip();
                (key, value, b"}")
            }
        };
        if value.is_none() {
            sink.put(end);
            stack.pop();
            continue;
        }
        if comma {
            sink.put(b",");
        }
        if let Some(key) = key {
            write_string(key, sink);
            sink.put(b":");
        }
        next = value;
    }
}

fn entries(map: &Map<String, Value>) -> Rest<'_> {
    if map.keys().is_sorted_by(|a, b| by_utf16(a, b).is_le()) {
        return Rest::InOrder(map.iter());
    }
    let entries = map.iter().map(|(key, value)| (key.as_str(), value));
    let mut entries: Vec<(&str, &Value)> = entries.collect();
    entries.sort_unstable_by(|(a, _), (b, _)| by_utf16(a, b));
    Rest::Entries(entries.into_iter())
}

/// Compares by UTF-16 code units, without converting to UTF-16.
///
/// The order of UTF-8 bytes is the same with one exception: characters beyond the basic plane (first byte `F0` and above) are
/// surrogates in UTF-16 and sort before U+E000 to U+FFFF (first bytes `EE` and `EF`).
fn by_utf16(a: &str, b: &str) -> Ordering {
    let rank = |byte: u8| {
        if byte == 0xee || byte == 0xef {
            byte + 0x10
        } else {
            byte
        }
    };
    match a.bytes().zip(b.bytes()).find(|(a, b)| a != b) {
        Some((a, b)) => rank(a).cmp(&rank(b)),
        None => a.len().cmp(&b.len()),
    }
}

/// Writes 64-bit integers with their exact digits, however they were spelled, so that different numbers are never written the
/// same way. Writes every other number like ECMAScript.
fn write_number(number: &Number, sink: &mut impl Sink) {
    let spelled_otherwise = as_integer(number);
    let number = spelled_otherwise.as_ref().unwrap_or(number);
    if let Some(integer) = number.as_i64() {
        sink.put(itoa::Buffer::new().format(integer).as_bytes());
    } else if let Some(integer) = number.as_u64() {
        sink.put(itoa::Buffer::new().format(integer).as_bytes());
    } else if let Some(float) = number.as_f64() {
        sink.put(ryu_js::Buffer::new().format_finite(float).as_bytes());
    }
}

pub(crate) fn write_string(text: &str, sink: &mut impl Sink) {
    sink.put(b"\"");
    let bytes = text.as_bytes();
    let mut written = 0;
    for (at, byte) in bytes.iter().enumerate() {
        let escaped: &[u8] = match byte {
            b'"' => b"\\\"",
            b'\\' => b"\\\\",
            0x08 => b"\\b",
            b'\t' => b"\\t",
            b'\n' => b"\\n",
            0x0c => b"\\f",
            b'\r' => b"\\r",
            0..0x20 => b"",
            _ => continue,
        };
        sink.put(bytes.get(written..at).unwrap_or_default());
        if escaped.is_empty() {
            sink.put(format!("\\u{byte:04x}").as_bytes());
        } else {
            sink.put(escaped);
        }
        written = at + 1;
    }
    sink.put(bytes.get(written..).unwrap_or_default());
    sink.put(b"\"");
}
