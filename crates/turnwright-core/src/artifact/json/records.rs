//! JSON lines: records are read one by one, and only what is asked for is kept.

use serde_json::Value;

use super::format::without_bom;
use super::line_stats::LineStats;
use super::lines::{Line, Lines, LinesBack};
use super::path::{FromRecord, JsonPath, Slice, Take, shorten};
use crate::artifact::{ArtifactLimits, ArtifactRead};
use crate::error::Error;

/// Takes a record.
type Visit<'t> = dyn FnMut(u64, Value) -> Result<(), Error> + 't;

/// How often the lines are gone through for one question, and what a short file adds to it.
const PASSES: u64 = 32;
const FREE_BYTES: u64 = 64 << 20;
/// What is held at once where a filter looks at all records: many times as much once it is parsed.
const MOST_TOGETHER: u64 = 1 << 20;

/// The records of an artifact. The root is the array of them: blank lines, lines that are no JSON and lines that are too
/// long are not in it.
pub(super) struct Records<'r> {
    read: &'r ArtifactRead,
    /// Bytes that may still be read: a path of many selectors goes through the lines many times.
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

    /// How many records there are.
    pub(super) fn count(&mut self) -> Result<u64, Error> {
        if !self.stats.complete {
            self.forward(|_| Some(false), &mut |_, _| Ok(()))?;
        }
        Ok(self.stats.records)
    }

    /// Every record, in order.
    pub(super) fn each(&mut self, visit: &mut dyn FnMut(u64, Value)) -> Result<(), Error> {
        self.forward(|_| Some(true), &mut |index, record| {
            visit(index, record);
            Ok(())
        })
    }

    /// All of them in one array, if the artifact is small enough to be parsed whole.
    pub(super) fn assemble(
        &mut self,
        path: &JsonPath,
        limits: ArtifactLimits,
    ) -> Result<Value, Error> {
        let (len, limit) = (self.read.len(), limits.parse.min(MOST_TOGETHER));
        if len > limit {
            let path = shorten(&path.to_string(), 100);
            return Err(Error::artifact_too_large(format!(
                "`{path}` has a filter that looks at `$`, which needs all records at once: {len} bytes, where {limit} are \
                 parsed. Ask for the value first (`$[0].limit`), and write it into the filter: `$[?@.ms > 100]`."
            )));
        }
        let mut records = Vec::new();
        self.each(&mut |_, record| records.push(record))?;
        Ok(Value::Array(records))
    }

    /// Hands over the nodes that a path leads to, in order. The path is not `$`, and looks at no `$`.
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
        if slice.is_forward() {
            self.forward(among(slice.over(u64::MAX)), &mut follow)?;
        } else {
            let count = self.count()?;
            let indices = slice.over(count);
            match slice.step {
                Some(..0) => self.backward(count, indices, &mut follow)?,
                _ => self.forward(among(indices), &mut follow)?,
            }
        }
        match self.left {
            0 => Err(path.takes_too_long()),
            _ => Ok(()),
        }
    }

    /// Reads the records in order. `wanted` returns whether a record is visited, or `None` to end.
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

    /// From the last record to the first, of which there are `count`.
    fn backward(
        &mut self,
        count: u64,
        indices: impl Iterator<Item = u64>,
        visit: &mut Visit<'_>,
    ) -> Result<(), Error> {
        let mut lines = LinesBack::new(self.read);
        let mut above = count;
        let mut indices = indices.peekable();
        while let Some(wanted) = indices.peek().copied() {
            let Some(line) = lines.next()? else {
                break;
            };
            let Line::Text(text) = line else {
                continue;
            };
            let Ok(record) = serde_json::from_slice(text) else {
                continue;
            };
            above = above.saturating_sub(1);
            if above == wanted {
                indices.next();
                visit(above, record)?;
            }
        }
        Ok(())
    }
}

/// Only the records at these places, which ascend.
fn among(indices: impl Iterator<Item = u64>) -> impl FnMut(u64) -> Option<bool> {
    let mut indices = indices.peekable();
    move |index| {
        while indices.next_if(|wanted| *wanted < index).is_some() {}
        indices.peek().map(|wanted| *wanted == index)
    }
}
