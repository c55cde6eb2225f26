//! Statistics of the lines of a JSON Lines artifact, and the notes about them.

use super::MAX_RECORD;
use super::document::{AS_TEXT, empty, is_too_deep};
use super::format::fault;
use crate::error::Error;

/// Counts of records, and of lines that were left out.
#[derive(Debug, Default)]
pub(super) struct LineStats {
    /// Lines that are records.
    pub(super) records: u64,
    /// Lines that are no JSON, and the first of them.
    pub(super) broken: u64,
    pub(super) first_broken: Option<(u64, String)>,
    /// Lines that are too long to be parsed, and the first of them.
    pub(super) too_long: u64,
    pub(super) first_too_long: Option<u64>,
    /// Whether all lines were seen.
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
                "nested deeper than 128 levels".to_owned()
            } else {
                let message = fault(error);
                message.split(" in line ").next().unwrap_or("").to_owned()
            };
            (line, message)
        });
    }

    /// There is a record, or not all was seen yet.
    pub(super) fn check(&self) -> Result<(), Error> {
        if !self.complete || self.records > 0 {
            return Ok(());
        }
        match (&self.first_broken, self.first_too_long) {
            (Some((line, message)), _) => Err(Error::malformed_artifact(format!(
                "No line of the artifact is JSON; line {line} (counted from 0): {message}. {AS_TEXT}"
            ))),
            (None, Some(_)) => Err(Error::malformed_artifact(format!(
                "Every line of the artifact is longer than {MAX_RECORD} bytes, too long for a record. {AS_TEXT}"
            ))),
            (None, None) => Err(empty()),
        }
    }

    /// What to say about the lines that were left out.
    pub(super) fn note(&self) -> Option<String> {
        let mut parts = Vec::new();
        if let Some((line, message)) = &self.first_broken {
            let broken = self.broken;
            parts.push(format!(
                "{broken} that are no JSON (the first: line {line}, {message})"
            ));
        }
        if let Some(line) = self.first_too_long {
            let too_long = self.too_long;
            parts.push(format!(
                "{too_long} longer than 1 MiB (the first: line {line})"
            ));
        }
        let skipped = parts.join(" and ");
        (!parts.is_empty()).then(|| format!("lines left out: {skipped}"))
    }
}
