//! A path that goes through JSON lines: `$` is the array of the records, which is never in memory.

use serde_json::Value;

use super::layout::Part;
use super::slice::Slice;
use super::{JsonPath, Take};
use crate::error::Error;

/// A path from a record on.
pub(in crate::artifact::json) struct FromRecord {
    path: JsonPath,
    /// A filter tests the children of a node: then a record is searched in an array of its own.
    in_array: bool,
}

impl JsonPath {
    /// The passes through the records that the path takes, each with the records that it selects and the path from each on. The
    /// path is not `$`, and its filters do not refer to `$`.
    pub(in crate::artifact::json) fn for_records(&self) -> Result<Vec<(Slice, FromRecord)>, Error> {
        let Some(first) = self.layout.segments.first() else {
            return Ok(Vec::new());
        };
        let rest = self.text.get(first.end..).unwrap_or_default();
        let way = |before: &str, in_array: bool| {
            let path = JsonPath::within_bounds(&format!("${before}{rest}"));
            // A part of a valid path is one.
            let invalid = || Error::bad_artifact_query(format!("`{self}` cannot be followed"));
            let path = path.map_err(|_| invalid())?;
            Ok::<_, Error>(FromRecord { path, in_array })
        };
        let mut passes = Vec::new();
        for part in &first.parts {
            passes.push(match part {
                // An array has no names.
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

    /// Whether it begins with names alone, which an array has not.
    pub(in crate::artifact::json) fn begins_with_names(&self) -> bool {
        self.layout
            .segments
            .first()
            .is_some_and(|first| !first.deep && first.parts.iter().all(|part| *part == Part::Name))
    }
}

impl FromRecord {
    /// Hands over the nodes of one record.
    pub(in crate::artifact::json) fn select(
        &self,
        index: u64,
        record: Value,
        take: &mut Take<'_>,
    ) -> Result<(), Error> {
        let (document, root) = match self.in_array {
            true => (Value::Array(vec![record]), "$[0]"),
            false => (record, "$"),
        };
        self.path.select_in(&document, Some((index, root)), take)
    }
}
