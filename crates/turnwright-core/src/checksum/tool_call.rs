//! Checksums of calls: what was asked for, as a digest. Equal calls have equal ids, on every machine and after every retry.

use serde_json::Value;

use super::canonical::{self, HashSink, Hex, Sink};
use crate::schema::{Raw, RawArgs};

/// The id of a call: lower-case hex SHA-256 of the canonical JSON (RFC 8785) of `{"args": raw, "tool": name}`.
///
/// Of a repeated key the last counts; text that is not JSON, or deeper than 128 levels, counts as a JSON string. So does,
/// on the call path, text beyond the limit of its tool, which is never read. Integers of 64 bits keep their exact digits,
/// however they are spelled.
///
/// ```
/// use turnwright_core::call::checksum;
///
/// let id = checksum("get_weather", r#"{"units": "celsius", "city": "Paris"}"#);
/// assert_eq!(id, "242a9bd4bbdc2d41271fa8487cbb3e292cefadc0348cdb2e06933fb957a1c719");
/// // The order of keys and white space make no difference.
/// assert_eq!(id, checksum("get_weather", r#"{"city":"Paris","units":"celsius"}"#));
/// ```
#[must_use]
pub fn checksum(tool: &str, args: impl Into<RawArgs>) -> String {
    of_raw(tool, &args.into()).as_str().to_owned()
}

pub(crate) fn of_raw(tool: &str, raw: &RawArgs) -> Hex {
    match raw.raw() {
        // Hashed where it stands: a value may be too deep to be copied.
        Raw::Value(raw) => of_value(tool, &raw.value),
        Raw::Text(_) | Raw::NotUtf8 { .. } => of_value(tool, &raw.to_value()),
    }
}

/// The id of a call whose arguments could not be read at all: their text counts as a JSON string.
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

/// The digest of a value alone.
pub(crate) fn digest_of(value: &Value) -> String {
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
