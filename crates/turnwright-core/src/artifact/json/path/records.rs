//! A path that goes through JSON lines: `$` is the array of the records, which is never in memory.

use serde_json::Value;

use super::layout::Part;
use super::slice::Slice;
use super::{Flow, JsonPath, Take};
use crate::error::Error;

/// What a path asks of records: for each of its selectors which records, and the way from each; and where it goes to all
/// descendants, the way from every record on.
pub(in crate::artifact::json) struct ForRecords {
    pub(in crate::artifact::json) selectors: Vec<(Selector, FromRecord)>,
    pub(in crate::artifact::json) descent: Option<FromRecord>,
}

/// Which records are meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::artifact::json) enum Selector {
    All,
    Index(i64),
    Slice(Slice),
}

/// A path from a record on.
pub(in crate::artifact::json) struct FromRecord {
    path: JsonPath,
    /// A filter asks the children of a node: so a record is looked at in an array of its own.
    in_array: bool,
}

impl JsonPath {
    /// The path as it goes through records; `None` for `$` alone. It looks at no `$` in its filters.
    pub(in crate::artifact::json) fn for_records(&self) -> Result<Option<ForRecords>, Error> {
        let Some(first) = self.layout.segments.first() else {
            return Ok(None);
        };
        let rest = self.text.get(first.end..).unwrap_or_default();
        let way = |before: &str, in_array: bool| {
            let text = format!("${before}{rest}");
            match JsonPath::within_bounds(&text) {
                Ok(path) => Ok(FromRecord { path, in_array }),
                // A part of a valid path is one.
                Err(_) => Err(Error::bad_artifact_query(format!(
                    "`{self}` cannot be followed"
                ))),
            }
        };
        let mut selectors = Vec::new();
        for part in &first.parts {
            selectors.push(match part {
                // An array has no names.
                Part::Name => continue,
                Part::Wildcard => (Selector::All, way("", false)?),
                Part::Index(index) => (Selector::Index(*index), way("", false)?),
                Part::Slice(slice) => (Selector::Slice(*slice), way("", false)?),
                Part::Filter(condition) => (Selector::All, way(&format!("[?{condition}]"), true)?),
            });
        }
        let written = self.text.get(first.start..first.end).unwrap_or_default();
        let descent = match first.deep {
            true => Some(way(written, false)?),
            false => None,
        };
        Ok(Some(ForRecords { selectors, descent }))
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
    ) -> Result<Flow, Error> {
        let in_array = self.in_array;
        let document = match in_array {
            true => Value::Array(vec![record]),
            false => record,
        };
        self.path.select(&document, &mut |place, node| {
            take(&place.in_record(index, in_array), node)
        })
    }
}
