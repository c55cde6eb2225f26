//! Checksums: SHA-256 of canonical JSON (RFC 8785), which is written directly into the hash.
//!
//! The checksum of a call identifies the request. Equal calls have equal checksums, on every machine and after every retry.
//!
//! ```
//! use turnwright_artifact::checksum::checksum;
//!
//! assert_eq!(checksum("find", r#"{"b": 1, "a": 2}"#), checksum("find", r#"{"a":2,"b":1}"#));
//! ```

#[cfg(test)]
mod tests;

use std::cmp::Ordering;

use serde_json::{Number, Value};
use sha2::{Digest as _, Sha256};

use crate::ascii::Ascii;
use crate::schema::{Raw, RawArgs, as_integer};

/// Returns the checksum of a call: lower-case hex SHA-256 of the canonical JSON (RFC 8785) of `{"args": raw, "tool": name}`.
///
/// If a key is repeated, the last value is used. Text that is not JSON or is nested more than 128 levels deep is treated as a
/// JSON string. On the call path, so is text beyond the tool's size limit, which is not parsed. 64-bit integers keep their exact
/// digits, however they are spelled.
///
/// ```
/// use turnwright_artifact::checksum::checksum;
///
/// let sum = checksum("get_weather", r#"{"units": "celsius", "city": "Paris"}"#);
/// assert_eq!(sum, "242a9bd4bbdc2d41271fa8487cbb3e292cefadc0348cdb2e06933fb957a1c719");
/// // The order of keys and white space make no difference.
/// assert_eq!(sum, checksum("get_weather", r#"{"city":"Paris","units":"celsius"}"#));
/// ```
#[must_use]
pub fn checksum(tool: &str, args: impl Into<RawArgs>) -> String {
    of_raw(tool, &args.into()).as_str().to_owned()
}

#[doc(hidden)]
pub fn of_raw(tool: &str, raw: &RawArgs) -> Hex {
    match raw.raw() {
        Raw::Value(raw) => of_value(tool, &raw.value),
        Raw::Text(_) => of_value(tool, &raw.to_value()),
    }
}

/// Returns the checksum of a call whose arguments were not parsed: the text is treated as a JSON string.
#[doc(hidden)]
pub fn of_unread(tool: &str, raw: &RawArgs) -> Hex {
    match raw.raw() {
        Raw::Value(raw) => of_value(tool, &raw.value),
        Raw::Text(text) => digest(tool, |sink| write_string(text, sink)),
    }
}

#[doc(hidden)]
pub fn of_value(tool: &str, args: &Value) -> Hex {
    digest(tool, |sink| write(args, sink))
}

/// Returns the digest of a value: lower-case hex SHA-256 of its canonical JSON (RFC 8785).
///
/// ```
/// use serde_json::json;
/// use turnwright_artifact::checksum::digest_of;
///
/// assert_eq!(digest_of(&json!({ "a": 1, "b": 2.0 })), digest_of(&json!({ "b": 2, "a": 1 })));
/// ```
#[must_use]
pub fn digest_of(value: &Value) -> String {
    let mut sink = HashSink::new();
    write(value, &mut sink);
    sink.finish().as_str().to_owned()
}

fn digest(tool: &str, write_args: impl FnOnce(&mut HashSink)) -> Hex {
    let mut sink = HashSink::new();
    sink.put(b"{\"args\":");
    write_args(&mut sink);
    sink.put(b",\"tool\":");
    write_string(tool, &mut sink);
    sink.put(b"}");
    sink.finish()
}

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
#[doc(hidden)]
pub type Hex = Ascii<64>;

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

fn write(value: &Value, sink: &mut impl Sink) {
    match value {
        Value::Null => sink.put(b"null"),
        Value::Bool(true) => sink.put(b"true"),
        Value::Bool(false) => sink.put(b"false"),
        Value::Number(number) => write_number(number, sink),
        Value::String(text) => write_string(text, sink),
        Value::Array(items) => {
            sink.put(b"[");
            for (index, item) in items.iter().enumerate() {
                sink.put(if index == 0 { b"" } else { b"," });
                write(item, sink);
            }
            sink.put(b"]");
        }
        Value::Object(map) => {
            sink.put(b"{");
            // The keys are often in order already.
            if map.keys().is_sorted_by(|a, b| by_utf16(a, b).is_le()) {
                write_entries(map, sink);
            } else {
                let mut entries: Vec<_> = map.iter().collect();
                entries.sort_unstable_by(|(a, _), (b, _)| by_utf16(a, b));
                write_entries(entries, sink);
            }
            sink.put(b"}");
        }
    }
}

fn write_entries<'v>(
    entries: impl IntoIterator<Item = (&'v String, &'v Value)>,
    sink: &mut impl Sink,
) {
    for (index, (key, value)) in entries.into_iter().enumerate() {
        sink.put(if index == 0 { b"" } else { b"," });
        write_string(key, sink);
        sink.put(b":");
        write(value, sink);
    }
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

fn write_string(text: &str, sink: &mut impl Sink) {
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
