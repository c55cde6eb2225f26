//! Reads a recording.

use std::path::Path;

use serde_json::Value;
use turnwright_testkit::cassette::Exchange;

use crate::exit::misuse;
use crate::text;

/// The exchanges of a recording in order, or why one is invalid.
pub(super) type Recording = Vec<Result<Exchange, String>>;

pub(super) fn read(path: &Path) -> anyhow::Result<Recording> {
    let text = text::file(path, text::RECORDING)?;
    parse(&text).map_err(|error| {
        let name = text::name_of(path);
        misuse(format!(
            "{name} is not a recording: {error}. A recording is a JSON array of \
             {{\"request\": {{method, path, body}}, \"response\": {{status, headers, body}}}}, as `chat --record` writes it"
        ))
    })
}

pub(super) fn parse(text: &str) -> serde_json::Result<Recording> {
    let entries: Vec<Value> = serde_json::from_str(text)?;
    // One by one, so that an invalid entry does not affect the others.
    let entries = entries.into_iter().map(|entry| {
        serde_json::from_value(entry).map_err(|error| format!("not a recorded exchange: {error}"))
    });
    Ok(entries.collect())
}
