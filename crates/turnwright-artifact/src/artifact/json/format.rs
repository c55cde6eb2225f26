//! Detects JSON Lines.

use serde::de::IgnoredAny;

use super::MAX_RECORD;
use super::path::shorten;
use crate::artifact::ArtifactRead;
use crate::error::Error;

/// How many bytes to inspect.
const SAMPLE: usize = 64 * 1024;
const BOM: &[u8] = b"\xef\xbb\xbf";

/// Returns whether the content is JSON Lines: the first non-blank line is a complete JSON value and another line follows, or
/// most of the first lines are complete values, as in a log whose first line is not JSON. Neither can be a single document.
pub(super) fn is_lines(read: &ArtifactRead) -> Result<bool, Error> {
    let mut sample = beginning(read, SAMPLE)?;
    if sample.len() == SAMPLE && !sample.contains(&b'\n') {
        // The first record may be longer than the sample, up to the maximum length of a record.
        sample = beginning(read, MAX_RECORD + SAMPLE)?;
    }
    let lines = without_bom(&sample).split_inclusive(|byte| *byte == b'\n');
    let mut lines = lines.filter(|line| !line.trim_ascii().is_empty());
    let is_record = |line: &&[u8]| serde_json::from_slice::<IgnoredAny>(line).is_ok();
    let starts_with_record = lines.next().as_ref().is_some_and(is_record);
    let (records, others): (Vec<_>, Vec<_>) = lines.partition(is_record);
    Ok(if starts_with_record {
        records.len() + others.len() > 0
    } else {
        // The last line may be incomplete.
        let others = 1 + others.iter().filter(|line| line.ends_with(b"\n")).count();
        records.len() > others
    })
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
