//! Parses a complete document.

use serde_json::Value;

use super::format::{JsonFormat, beginning, fault, looks_like_lines, without_bom};
use super::json5;
use crate::artifact::{ArtifactLimits, ArtifactRead};
use crate::error::Error;

pub(super) const AS_TEXT: &str = "Read it as text with artifact_grep or artifact_cat.";

/// Parses the complete document.
pub(super) fn parse(
    read: &ArtifactRead,
    format: JsonFormat,
    limits: ArtifactLimits,
) -> Result<Value, Error> {
    within_limit(read, limits)?;
    let bytes = beginning(read, usize::MAX)?;
    let text = without_bom(&bytes);
    if text.trim_ascii().is_empty() {
        return Err(empty());
    }
    match serde_json::from_slice(text) {
        Ok(value) => Ok(value),
        Err(error) if is_too_deep(&error) => Err(too_deep()),
        Err(error) => as_json5(text, format, &error),
    }
}

fn within_limit(read: &ArtifactRead, limits: ArtifactLimits) -> Result<(), Error> {
    let (len, limit) = (read.len(), limits.parse);
    if len <= limit {
        return Ok(());
    }
    let lines = if looks_like_lines(read)? {
        " It looks like JSON Lines (one value per line), but its kind is not `jsonl`, so JSON queries do not work on it."
    } else {
        ""
    };
    Err(Error::artifact_too_large(format!(
        "The artifact is too large for JSON queries: {len} bytes, limit {limit} bytes. {AS_TEXT}{lines}"
    )))
}

fn as_json5(text: &[u8], format: JsonFormat, strict: &serde_json::Error) -> Result<Value, Error> {
    parse_json5(text).map_err(|json5| {
        let json = fault(strict);
        Error::malformed_artifact(match format {
            JsonFormat::Json5 => {
                format!("The artifact is not valid JSON5: {json5} (line numbers start at 0). {AS_TEXT}")
            }
            JsonFormat::Json | JsonFormat::Lines => format!(
                "The artifact is neither valid JSON ({json}) nor valid JSON5 ({json5}); line numbers start at 0. {AS_TEXT}"
            ),
        })
    })
}

fn parse_json5(text: &[u8]) -> Result<Value, String> {
    let text = std::str::from_utf8(text)
        .map_err(|error| format!("invalid UTF-8 at byte {}", error.valid_up_to()))?;
    let json = json5::to_json(text)?;
    serde_json::from_str(&json).map_err(|error| {
        // The conversion to JSON changes columns, so only the line is reported.
        let line = error.line().saturating_sub(1);
        let message = fault(&error);
        let message = message
            .rsplit_once(" at line ")
            .map_or("", |(message, _)| message);
        format!("{message} at line {line}")
    })
}

pub(super) fn is_too_deep(error: &serde_json::Error) -> bool {
    error.to_string().starts_with("recursion limit")
}

fn too_deep() -> Error {
    Error::malformed_artifact(format!(
        "The artifact is nested more than 128 levels deep and cannot be parsed. {AS_TEXT}"
    ))
}

pub(super) fn empty() -> Error {
    Error::malformed_artifact("The artifact is empty.")
}
