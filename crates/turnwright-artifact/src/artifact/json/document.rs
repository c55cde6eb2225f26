//! Parses a complete document.

use serde_json::Value;

use super::format::{beginning, fault, without_bom};
use crate::artifact::{ArtifactLimits, ArtifactRead};
use crate::error::Error;

pub(super) const AS_TEXT: &str = "Read it as text with artifact_grep or artifact_cat.";

/// Parses the complete document.
pub(super) fn parse(read: &ArtifactRead, limits: ArtifactLimits) -> Result<Value, Error> {
    let (len, limit) = (read.len(), limits.parse);
    if len > limit {
        return Err(Error::artifact_too_large(format!(
            "The artifact is too large for JSON queries: {len} bytes, limit {limit} bytes. {AS_TEXT}"
        )));
    }
    let bytes = beginning(read, usize::MAX)?;
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
