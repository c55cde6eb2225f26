//! JSON lines: records are read one by one, and only what is asked for is kept.

use serde_json::Value;

use super::format::without_bom;
use super::lines::{Line, Lines, LinesBack};
use super::path::{Flow, FromRecord, JsonPath, Selector, Take, shorten};
use super::sound::ValidJson;
use super::tally::LineStats;
use crate::artifact::{ArtifactLimits, ArtifactRead};
use crate::error::Error;

/// Takes a record.
type Visit<'t> = dyn FnMut(u64, Value) -> Result<Flow, Error> + 't;

/// How often the lines are gone through for one question, and what a short file adds to it.
const PASSES: u64 = 32;
const FREE_BYTES: u64 = 64 << 20;
/// What is held at once where a filter looks at all records: many times as much once it is parsed.
const MOST_TOGETHER: u64 = 1 << 20;

/// Whether a record is wanted, before it is parsed.
enum Wanted {
    Yes,
    No,
    NoMore,
}

/// The records of an artifact. The root is the array of them: blank lines, lines that are no JSON and lines that are too
/// long are not in it.
pub(super) struct Records<'r> {
    read: &'r ArtifactRead,
    /// Bytes that may still be read: a path of many selectors goes through the lines many times.
    left: u64,
    pub(super) tally: LineStats,
}

impl<'r> Records<'r> {
    pub(super) fn new(read: &'r ArtifactRead) -> Self {
        Records {
            read,
            left: FREE_BYTES.saturating_add(read.len().saturating_mul(PASSES)),
            tally: LineStats::default(),
        }
    }

    /// How many records there are.
    pub(super) fn count(&mut self) -> Result<u64, Error> {
        if !self.tally.complete {
            let _ = self.forward(|_| Wanted::No, &mut |_, _| Ok(Flow::Continue(())))?;
        }
        Ok(self.tally.records)
    }

    /// Every record, in order.
    pub(super) fn each(
        &mut self,
        visit: &mut dyn FnMut(u64, Value) -> Flow,
    ) -> Result<Flow, Error> {
        self.forward(|_| Wanted::Yes, &mut |index, record| {
            Ok(visit(index, record))
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
        let _ = self.each(&mut |_, record| {
            records.push(record);
            Flow::Continue(())
        })?;
        Ok(Value::Array(records))
    }

    /// Hands over the nodes that a path leads to, in order. The path is not `$`, and looks at no `$`.
    pub(super) fn select(&mut self, path: &JsonPath, take: &mut Take<'_>) -> Result<Flow, Error> {
        let Some(asked) = path.for_records()? else {
            return Ok(Flow::Continue(()));
        };
        if asked.selectors.len() as u64 > PASSES {
            return Err(path.takes_too_long());
        }
        // What the array of records itself answers: a pass for each selector, in their order.
        for (selector, way) in &asked.selectors {
            if self.select_records(*selector, way, path, take)?.is_break() {
                return Ok(Flow::Break(()));
            }
        }
        // And then what its records and all below them answer.
        match &asked.descent {
            Some(way) => self.select_records(Selector::All, way, path, take),
            None => Ok(Flow::Continue(())),
        }
    }

    fn select_records(
        &mut self,
        selector: Selector,
        way: &FromRecord,
        path: &JsonPath,
        take: &mut Take<'_>,
    ) -> Result<Flow, Error> {
        let mut follow = |index: u64, record: Value| way.select(index, record, take);
        let flow = match selector {
            Selector::All => self.forward(|_| Wanted::Yes, &mut follow)?,
            Selector::Index(index) => {
                let place = index.unsigned_abs();
                let place = if index < 0 {
                    self.count()?.checked_sub(place)
                } else {
                    Some(place)
                };
                match place {
                    Some(place) => self.forward(among(std::iter::once(place)), &mut follow)?,
                    None => Flow::Continue(()),
                }
            }
            Selector::Slice(slice) if slice.is_forward() => {
                self.forward(among(slice.over(u64::MAX)), &mut follow)?
            }
            Selector::Slice(slice) => {
                let count = self.count()?;
                let indices = slice.over(count);
                if slice.step.is_some_and(|step| step < 0) {
                    self.backward(count, indices, &mut follow)?
                } else {
                    self.forward(among(indices), &mut follow)?
                }
            }
        };
        if self.left == 0 {
            return Err(path.takes_too_long());
        }
        Ok(flow)
    }

    fn forward(
        &mut self,
        mut wanted: impl FnMut(u64) -> Wanted,
        visit: &mut Visit<'_>,
    ) -> Result<Flow, Error> {
        let mut lines = Lines::new(self.read);
        let mut tally = LineStats::default();
        let mut number = 0;
        let mut flow = Flow::Continue(());
        while flow.is_continue() {
            let Some(line) = lines.next()? else {
                tally.complete = true;
                break;
            };
            match line {
                Line::TooLong => tally.too_long(number),
                Line::Text(text) => {
                    let text = if number == 0 { without_bom(text) } else { text };
                    if !text.trim_ascii().is_empty() {
                        let index = tally.records;
                        let parsed = match wanted(index) {
                            Wanted::NoMore => break,
                            Wanted::No => serde_json::from_slice(text).map(|ValidJson| None),
                            Wanted::Yes => serde_json::from_slice(text).map(Some),
                        };
                        match parsed {
                            Ok(record) => {
                                tally.records += 1;
                                if let Some(record) = record {
                                    flow = visit(index, record)?;
                                }
                            }
                            Err(error) => tally.broken(number, &error),
                        }
                    }
                }
            }
            number += 1;
        }
        self.left = self.left.saturating_sub(lines.bytes_read());
        tally.check()?;
        if !self.tally.complete {
            self.tally = tally;
        }
        Ok(flow)
    }

    /// From the last record to the first, of which there are `count`.
    fn backward(
        &mut self,
        count: u64,
        indices: impl Iterator<Item = u64>,
        visit: &mut Visit<'_>,
    ) -> Result<Flow, Error> {
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
            if text.trim_ascii().is_empty() {
                continue;
            }
            let index = above.saturating_sub(1);
            if index != wanted {
                above -= u64::from(serde_json::from_slice::<ValidJson>(text).is_ok());
                continue;
            }
            let Ok(record) = serde_json::from_slice::<Value>(text) else {
                continue;
            };
            above = index;
            indices.next();
            if visit(index, record)?.is_break() {
                return Ok(Flow::Break(()));
            }
        }
        Ok(Flow::Continue(()))
    }
}

/// Only the records at these places, which ascend.
fn among(indices: impl Iterator<Item = u64>) -> impl FnMut(u64) -> Wanted {
    let mut indices = indices.peekable();
    move |index| {
        while indices.next_if(|wanted| *wanted < index).is_some() {}
        match indices.peek() {
            Some(wanted) if *wanted == index => Wanted::Yes,
            Some(_) => Wanted::No,
            None => Wanted::NoMore,
        }
    }
}
