//! Evaluates a path on JSON Lines. `$` is the array of records, which is never in memory as a whole.

use serde_json::Value;

use super::layout::{Part, Slice};
use super::{JsonPath, Take};
use crate::error::Error;

/// A path relative to a record.
pub(in crate::artifact::json) struct FromRecord {
    path: JsonPath,
    /// Whether to wrap the record in an array, because a filter tests the children of a node.
    in_array: bool,
}

impl JsonPath {
    /// Splits the path into passes over the records. Each pass has the records that it selects and the path relative to each
    /// record. The path must not be `$`, and its filters must not refer to `$`.
    pub(in crate::artifact::json) fn for_records(&self) -> Result<Vec<(Slice, FromRecord)>, Error> {
        let Some(first) = self.layout.segments.first() else {
            return Ok(Vec::new());
        };
        let rest = self.text.get(first.end..).unwrap_or_default();
        let way = |before: &str, in_array: bool| {
            let path = JsonPath::within_bounds(&format!("${before}{rest}"));
            // A part of a valid path is valid.
            let invalid = || Error::bad_artifact_query(format!("`{self}` cannot be evaluated"));
            let path = path.map_err(|_| invalid())?;
            Ok::<_, Error>(FromRecord { path, in_array })
        };
        let mut passes = Vec::new();
        for part in &first.parts {
            passes.push(match part {
                // An array has no members with names.
                Part::Name => continue,
                Part::Index(index) => (Slice::at(*index), way("", false)?),
                Part::Slice(slice) => (*slice, way("", false)?),
                Part::Filter(condition) => {
                    (Slice::default(), way(&format!("[?{condition}]"), true)?)
                }
            });
        }
        if first.deep {
            let segment = self.text.get(first.start..first.end).unwrap_or_default();
            passes.push((Slice::default(), way(segment, false)?));
        }
        Ok(passes)
    }

    /// Returns whether the path starts with names only. An array has no names.
    pub(in crate::artifact::json) fn begins_with_names(&self) -> bool {
        self.layout
            .segments
            .first()
            .is_some_and(|first| !first.deep && first.parts.iter().all(|part| *part == Part::Name))
    }
}

impl FromRecord {
    /// Calls `take` for the matched nodes of one record.
    pub(in crate::artifact::json) fn select(
        &self,
        index: u64,
        record: Value,
        take: &mut Take<'_>,
    ) -> Result<(), Error> {
        let (document, root) = if self.in_array {
            (Value::Array(vec![record]), "$[0]")
        } else {
            (record, "$")
        };
        self.path.select_in(&document, Some((index, root)), take)
    }
}
