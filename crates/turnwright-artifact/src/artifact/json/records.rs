//! Streams the records of JSON Lines content and keeps only what a query needs.

use serde_json::Value;

use super::format::without_bom;
use super::line_stats::LineStats;
use super::lines::{Line, Lines};
use super::path::{FromRecord, JsonPath, Slice, Take, shorten};
use crate::artifact::{ArtifactLimits, ArtifactRead};
use crate::error::Error;

/// Receives a record.
type Visit<'t> = dyn FnMut(u64, Value) -> Result<(), Error> + 't;

/// How many times a query may read all lines, and the extra allowance for short files.
const PASSES: u64 = 32;
const FREE_BYTES: u64 = 64 << 20;
/// Maximum size of content for which a filter may load all records. Parsed values take many times as much memory.
const MAX_TOGETHER: u64 = 1 << 20;

/// The records of an artifact. The root is the array of records; it does not include blank lines, lines that are not JSON and
/// lines that are too long.
pub(super) struct Records<'r> {
    read: &'r ArtifactRead,
    /// Bytes that may still be read. A path with many selectors reads the lines many times.
    left: u64,
    pub(super) stats: LineStats,
}

impl<'r> Records<'r> {
    pub(super) fn new(read: &'r ArtifactRead) -> Self {
        Records {
            read,
            left: FREE_BYTES.saturating_add(read.len().saturating_mul(PASSES)),
            stats: LineStats::default(),
        }
    }

    /// Returns the number of records.
    pub(super) fn count(&mut self) -> Result<u64, Error> {
        if !self.stats.complete {
            self.forward(|_| Some(false), &mut |_, _| Ok(()))?;
        }
        Ok(self.stats.records)
    }

    /// Visits every record in order.
    pub(super) fn each(&mut self, visit: &mut dyn FnMut(u64, Value)) -> Result<(), Error> {
        self.forward(|_| Some(true), &mut |index, record| {
            visit(index, record);
            Ok(())
        })
    }

    /// Loads all records into one array, if the artifact is small enough.
    pub(super) fn assemble(
        &mut self,
        path: &JsonPath,
        limits: ArtifactLimits,
    ) -> Result<Value, Error> {
        let (len, limit) = (self.read.len(), limits.parse.min(MAX_TOGETHER));
        if len > limit {
            let path = shorten(&path.to_string(), 100);
            return Err(Error::artifact_too_large(format!(
                "`{path}` needs all records at once, because a filter refers to `$` or a slice goes backward: {len} bytes, limit \
                 {limit}. First read the value (`$[0].limit`), then write it into the filter: `$[?@.ms > 100]`. `$[-10:]` \
                 selects the last records."
            )));
        }
        let mut records = Vec::new();
        self.each(&mut |_, record| records.push(record))?;
        Ok(Value::Array(records))
    }

    /// Calls `take` for the nodes that a path matches, in order. The path must not need all records at once.
    pub(super) fn select(&mut self, path: &JsonPath, take: &mut Take<'_>) -> Result<(), Error> {
        let passes = path.for_records()?;
        if passes.len() as u64 > PASSES {
            return Err(path.takes_too_long());
        }
        for (slice, way) in &passes {
            self.select_records(slice, way, path, take)?;
        }
        Ok(())
    }

    fn select_records(
        &mut self,
        slice: &Slice,
        way: &FromRecord,
        path: &JsonPath,
        take: &mut Take<'_>,
    ) -> Result<(), Error> {
        let mut follow = |index: u64, record: Value| way.select(index, record, take);
        let count = if slice.counts_from_start() {
            u64::MAX
        } else {
            self.count()?
        };
        self.forward(among(slice.over(count)), &mut follow)?;
        if self.left == 0 {
            return Err(path.takes_too_long());
        }
        Ok(())
    }

    /// Reads the records in order. `wanted` returns whether to visit a record, or `None` to stop.
    fn forward(
        &mut self,
        mut wanted: impl FnMut(u64) -> Option<bool>,
        visit: &mut Visit<'_>,
    ) -> Result<(), Error> {
        let mut lines = Lines::new(self.read);
        let mut stats = LineStats::default();
        for number in 0.. {
            let Some(line) = lines.next()? else {
                stats.complete = true;
                break;
            };
            let Line::Text(text) = line else {
                stats.too_long(number);
                continue;
            };
            let text = if number == 0 { without_bom(text) } else { text };
            if text.trim_ascii().is_empty() {
                continue;
            }
            let index = stats.records;
            let Some(wanted) = wanted(index) else {
                break;
            };
            match serde_json::from_slice(text) {
                Ok(record) => {
                    stats.records += 1;
                    if wanted {
                        visit(index, record)?;
                    }
                }
                Err(error) => stats.broken(number, &error),
            }
        }
        self.left = self.left.saturating_sub(lines.bytes_read);
        stats.check()?;
        if !self.stats.complete {
            self.stats = stats;
        }
        Ok(())
    }
}

/// Selects the records at these ascending indices.
fn among(indices: impl Iterator<Item = u64>) -> impl FnMut(u64) -> Option<bool> {
    let mut indices = indices.peekable();
    move |index| {
        while indices.next_if(|wanted| *wanted < index).is_some() {}
        indices.peek().map(|wanted| *wanted == index)
    }
}
