//! Statistics of the lines of a JSON Lines artifact, and the notes about them.

use super::MAX_RECORD;
use super::document::{AS_TEXT, empty, is_too_deep};
use super::format::fault;
use crate::error::Error;

/// The number of records and of skipped lines.
#[derive(Debug, Default)]
pub(super) struct LineStats {
    /// Number of records.
    pub(super) records: u64,
    /// Number of lines that are not JSON, and the first of them.
    pub(super) broken: u64,
    pub(super) first_broken: Option<(u64, String)>,
    /// Number of lines that are too long to parse, and the first of them.
    pub(super) too_long: u64,
    pub(super) first_too_long: Option<u64>,
    /// Whether all lines were read.
    pub(super) complete: bool,
}

impl LineStats {
    pub(super) fn too_long(&mut self, line: u64) {
        self.too_long += 1;
        self.first_too_long.get_or_insert(line);
    }

    pub(super) fn broken(&mut self, line: u64, error: &serde_json::Error) {
        self.broken += 1;
        self.first_broken.get_or_insert_with(|| {
            let message = if is_too_deep(error) {
                "nested more than 128 levels deep".to_owned()
            } else {
                let message = fault(error);
                message.split(" at line ").next().unwrap_or("").to_owned()
            };
            (line, message)
        });
    }

    /// Fails if all lines were read and none is a record.
    pub(super) fn check(&self) -> Result<(), Error> {
        if !self.complete || self.records > 0 {
            return Ok(());
        }
        match (&self.first_broken, self.first_too_long) {
            (Some((line, message)), _) => Err(Error::malformed_artifact(format!(
                "The artifact contains no JSON records. First error: {message} in line {line} (line numbers start at 0). {AS_TEXT}"
            ))),
            (None, Some(_)) => Err(Error::malformed_artifact(format!(
                "Every line of the artifact exceeds the record limit of {MAX_RECORD} bytes. {AS_TEXT}"
            ))),
            (None, None) => Err(empty()),
        }
    }

    /// Returns a note about the skipped lines.
    pub(super) fn note(&self) -> Option<String> {
        let mut parts = Vec::new();
        if let Some((line, message)) = &self.first_broken {
            let broken = self.broken;
            parts.push(format!(
                "{broken} not valid JSON (first: line {line}, {message})"
            ));
        }
        if let Some(line) = self.first_too_long {
            let too_long = self.too_long;
            parts.push(format!("{too_long} longer than 1 MiB (first: line {line})"));
        }
        let skipped = parts.join(" and ");
        (!parts.is_empty()).then(|| format!("skipped lines: {skipped}"))
    }
}
