//! Checksums of calls. Equal calls have equal checksums, on every machine and after every retry.

use serde_json::Value;

use super::canonical::{self, HashSink, Hex, Sink};
use crate::schema::{Raw, RawArgs};

/// Returns the checksum of a call: lower-case hex SHA-256 of the canonical JSON (RFC 8785) of `{"args": raw, "tool": name}`.
///
/// If a key is repeated, the last value is used. Text that is not JSON or is nested more than 128 levels deep is treated as a
/// JSON string. On the call path, so is text beyond the tool's size limit, which is not parsed. 64-bit integers keep their exact
/// digits, however they are spelled.
///
/// ```
/// use turnwright_core::call::checksum;
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

pub(crate) fn of_raw(tool: &str, raw: &RawArgs) -> Hex {
    match raw.raw() {
        // Hashed in place: a value may be too deep to clone.
        Raw::Value(raw) => of_value(tool, &raw.value),
        Raw::Text(_) | Raw::NotUtf8 { .. } => of_value(tool, &raw.to_value()),
    }
}

/// Returns the checksum of a call whose arguments were not parsed: the text is treated as a JSON string.
pub(crate) fn of_unread(tool: &str, raw: &RawArgs) -> Hex {
    match raw.raw() {
        Raw::Value(raw) => of_value(tool, &raw.value),
        Raw::Text(text) => digest(tool, |sink| canonical::write_string(text, sink)),
        Raw::NotUtf8 { lossy, .. } => digest(tool, |sink| canonical::write_string(lossy, sink)),
    }
}

pub(crate) fn of_value(tool: &str, args: &Value) -> Hex {
    digest(tool, |sink| canonical::write(args, sink))
}

/// Returns the digest of a value: lower-case hex SHA-256 of its canonical JSON (RFC 8785).
///
/// ```
/// use serde_json::json;
/// use turnwright_core::call::digest_of;
///
/// assert_eq!(digest_of(&json!({ "a": 1, "b": 2.0 })), digest_of(&json!({ "b": 2, "a": 1 })));
/// ```
#[must_use]
pub fn digest_of(value: &Value) -> String {
    let mut sink = HashSink::new();
    canonical::write(value, &mut sink);
    sink.finish().as_str().to_owned()
}

fn digest(tool: &str, write_args: impl FnOnce(&mut HashSink)) -> Hex {
    let mut sink = HashSink::new();
    sink.put(b"{\"args\":");
    write_args(&mut sink);
    sink.put(b",\"tool\":");
    canonical::write_string(tool, &mut sink);
    sink.put(b"}");
    sink.finish()
}
