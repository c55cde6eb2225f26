//! Tells JSON from JSON Lines, and parses a complete document.

use serde::de::IgnoredAny;
use serde_json::Value;

use crate::artifact::{ArtifactLimits, ArtifactRead};
use crate::error::Error;
use crate::schema::clip;

/// Maximum length of a line that is parsed as a record.
pub(super) const MAX_RECORD: usize = 1 << 20;
/// How many bytes to inspect.
const SAMPLE: usize = 64 * 1024;
const BOM: &[u8] = b"\xef\xbb\xbf";
pub(super) const AS_TEXT: &str = "Read it as text with artifact_grep or artifact_cat.";

/// Returns whether the content is JSON Lines: the first non-blank line is a complete JSON value and another line follows, or
/// most of the first lines are complete values, as in a log whose first line is not JSON. Neither can be a single document.
pub(super) fn is_lines(read: &ArtifactRead) -> Result<bool, Error> {
    let mut sample = read.first(SAMPLE)?;
    if sample.len() == SAMPLE && !sample.contains(&b'\n') {
        // The first record may be longer than the sample, up to the maximum length of a record.
        sample = read.first(MAX_RECORD + SAMPLE)?;
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
    format!("{} at line {line}, column {column}", clip(message, 120))
}

/// Parses the complete document.
pub(super) fn parse(read: &ArtifactRead, limits: ArtifactLimits) -> Result<Value, Error> {
    let (len, limit) = (read.len(), limits.parse);
    if len > limit {
        return Err(Error::artifact_too_large(format!(
            "The artifact is too large for JSON queries: {len} bytes, limit {limit} bytes. {AS_TEXT}"
        )));
    }
    let bytes = read.first(usize::MAX)?;
    let text = without_bom(&bytes);
    if text.trim_ascii().is_empty() {
        return Err(empty());
    }
    serde_json::from_slice(text).map_err(|error| {
        Error::malformed_artifact(if is_too_deep(&error) {
            format!(
                "The artifact is nested more than 128 levels deep and cannot be parsed. {AS_TEXT}"
            )
        } else {
            let fault = fault(&error);
            format!("The artifact is not valid JSON: {fault} (line numbers start at 0). {AS_TEXT}")
        })
    })
}

pub(super) fn is_too_deep(error: &serde_json::Error) -> bool {
    error.to_string().starts_with("recursion limit")
}

pub(super) fn empty() -> Error {
    Error::malformed_artifact("The artifact is empty.")
}
