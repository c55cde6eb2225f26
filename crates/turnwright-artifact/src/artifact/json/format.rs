//! Detects JSON Lines.

use serde_json::Value;

use super::MAX_RECORD;
use super::path::shorten;
use crate::artifact::ArtifactRead;
use crate::error::Error;

/// How many bytes to inspect.
const SAMPLE: usize = 64 * 1024;
const BOM: &[u8] = b"\xef\xbb\xbf";

/// Returns whether the first non-blank line is a complete JSON value and another line starts like one. Such content is not a
/// single JSON document.
pub(super) fn looks_like_lines(read: &ArtifactRead) -> Result<bool, Error> {
    let mut sample = beginning(read, SAMPLE)?;
    if sample.len() == SAMPLE && !sample.contains(&b'\n') {
        // The first record may be longer than the sample, up to the maximum length of a record.
        sample = beginning(read, MAX_RECORD + SAMPLE)?;
    }
    let text = without_bom(&sample).trim_ascii_start();
    let Some(end) = text.iter().position(|byte| *byte == b'\n') else {
        return Ok(false);
    };
    let (first, rest) = text.split_at(end);
    let next = rest.trim_ascii_start().first();
    let begins = matches!(
        next,
        Some(b'{' | b'[' | b'"' | b'-' | b'0'..=b'9' | b't' | b'f' | b'n')
    );
    Ok(begins && serde_json::from_slice::<Value>(first).is_ok())
}

/// Returns whether at least two of the first lines, and at least half of them, are complete objects or arrays. Used for content
/// that is not a single document, such as a log whose first line is not JSON.
pub(super) fn mostly_lines(read: &ArtifactRead) -> Result<bool, Error> {
    let sample = beginning(read, SAMPLE)?;
    let (mut records, mut others) = (0, 0);
    // The last line may be incomplete.
    for line in sample.split_inclusive(|byte| *byte == b'\n') {
        let text = line.trim_ascii();
        let opens = text.starts_with(b"{") || text.starts_with(b"[");
        if opens && serde_json::from_slice::<Value>(text).is_ok() {
            records += 1;
        } else if !text.is_empty() && line.ends_with(b"\n") {
            others += 1;
        }
    }
    Ok(records >= 2 && records >= others)
}

/// Reads the first `most` bytes, or all bytes if there are fewer.
pub(super) fn beginning(read: &ArtifactRead, most: usize) -> Result<Vec<u8>, Error> {
    let length = usize::try_from(read.len()).unwrap_or(usize::MAX);
    let mut bytes = vec![0; length.min(most)];
    let length = read.read_at(0, &mut bytes)?;
    bytes.truncate(length);
    Ok(bytes)
}

pub(super) fn without_bom(bytes: &[u8]) -> &[u8] {
    bytes.strip_prefix(BOM).unwrap_or(bytes)
}

/// Formats a parse error with its position. Lines start at 0, as in the text tools.
pub(super) fn fault(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let place = format!(" at line {} column {}", error.line(), error.column());
    let message = text.strip_suffix(&place).unwrap_or(&text);
    let line = error.line().saturating_sub(1);
    let column = error.column();
    format!("{} at line {line}, column {column}", shorten(message, 120))
}
