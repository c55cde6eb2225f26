//! Which of the three forms the content has.

use serde_json::Value;

use super::MAX_RECORD;
use super::path::shorten;
use crate::artifact::{ArtifactKind, ArtifactRead};
use crate::error::Error;

/// How much is looked at to find out.
const SAMPLE: usize = 64 * 1024;
const BOM: &[u8] = b"\xef\xbb\xbf";

/// The form of the content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum JsonFormat {
    /// One JSON document; if it turns out to be none, JSON5 is tried.
    Json,
    /// A JSON document on each line. The whole is the array of these.
    Lines,
    /// JSON as people write it.
    Json5,
}

impl JsonFormat {
    /// What the kind says, or else what the first bytes say.
    pub(super) fn of(kind: ArtifactKind, read: &ArtifactRead) -> Result<Self, Error> {
        if kind == ArtifactKind::JSON_LINES {
            Ok(JsonFormat::Lines)
        } else if kind == ArtifactKind::JSON5 {
            Ok(JsonFormat::Json5)
        } else if looks_like_lines(read)? {
            Ok(JsonFormat::Lines)
        } else {
            Ok(JsonFormat::Json)
        }
    }
}

/// Whether the first line that is not blank is a whole JSON value and is followed by another line that begins like one:
/// such a text is no JSON document.
pub(super) fn looks_like_lines(read: &ArtifactRead) -> Result<bool, Error> {
    let mut sample = beginning(read, SAMPLE)?;
    if sample.len() == SAMPLE && !sample.contains(&b'\n') {
        // The first record may be long, but not longer than records may be.
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

/// Whether at least two of the first lines are whole objects or arrays, and at least half of them. This is asked of what
/// is no document: a log that begins with a line of something else.
pub(super) fn mostly_lines(read: &ArtifactRead) -> Result<bool, Error> {
    let sample = beginning(read, SAMPLE)?;
    let (mut records, mut others) = (0, 0);
    // The last one may be cut off.
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

/// The first bytes: as many as there are, or `most`.
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

/// What is wrong, and where, as a model may look it up: lines counted from 0 as the text tools do.
pub(super) fn fault(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let place = format!(" at line {} column {}", error.line(), error.column());
    let message = text.strip_suffix(&place).unwrap_or(&text);
    let line = error.line().saturating_sub(1);
    let column = error.column();
    format!("{} in line {line}, column {column}", shorten(message, 120))
}
