//! Documents that are parsed whole.

use serde_json::Value;

use super::format::{JsonFormat, beginning, fault, looks_like_lines, without_bom};
use super::json5;
use crate::artifact::{ArtifactLimits, ArtifactRead};
use crate::error::Error;

pub(super) const AS_TEXT: &str = "Read it as text: artifact_grep, artifact_cat.";

/// The whole document.
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
        " It looks like one JSON value a line; as an artifact of the kind jsonl it could be asked."
    } else {
        ""
    };
    Err(Error::artifact_too_large(format!(
        "The artifact has {len} bytes, and JSON is parsed up to {limit} bytes. {AS_TEXT}{lines}"
    )))
}

fn as_json5(text: &[u8], format: JsonFormat, strict: &serde_json::Error) -> Result<Value, Error> {
    parse_json5(text).map_err(|json5| {
        let json = fault(strict);
        Error::malformed_artifact(match format {
            JsonFormat::Json5 => {
                format!("The artifact is no JSON5: {json5} (lines count from 0). {AS_TEXT}")
            }
            JsonFormat::Json | JsonFormat::Lines => format!(
                "The artifact is no JSON: {json}; nor JSON5: {json5} (lines count from 0). {AS_TEXT}"
            ),
        })
    })
}

fn parse_json5(text: &[u8]) -> Result<Value, String> {
    let text = std::str::from_utf8(text)
        .map_err(|error| format!("it is no UTF-8 from byte {} on", error.valid_up_to()))?;
    let json = json5::to_json(text)?;
    serde_json::from_str(&json).map_err(|error| {
        // Columns have moved.
        let line = error.line().saturating_sub(1);
        let message = fault(&error);
        let message = message
            .rsplit_once(" in line ")
            .map_or("", |(message, _)| message);
        format!("{message} in line {line}")
    })
}

pub(super) fn is_too_deep(error: &serde_json::Error) -> bool {
    error.to_string().starts_with("recursion limit")
}

fn too_deep() -> Error {
    Error::malformed_artifact(format!(
        "The artifact is nested deeper than 128 levels, so it is not parsed. {AS_TEXT}"
    ))
}

pub(super) fn empty() -> Error {
    Error::malformed_artifact("The artifact is empty: there is no JSON in it.")
}
