//! Streams the records of JSON Lines content and keeps only what a query needs.

use std::io::{self, BufRead as _, BufReader};

use serde_json::Value;

use super::format::{AS_TEXT, MAX_RECORD, empty, fault, is_too_deep, without_bom};
use super::path::{FromRecord, JsonPath, Slice, Take};
use crate::artifact::{ArtifactLimits, ArtifactRead};
use crate::error::Error;
use crate::schema::clip;

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
            let path = clip(&path.to_string(), 100);
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
        let mut reader = BufReader::with_capacity(BLOCK, self.read.clone());
        let (mut line, mut stats) = (Vec::new(), LineStats::default());
        for number in 0.. {
            let (bytes, too_long) =
                read_line(&mut reader, &mut line).map_err(Error::from_artifact_read)?;
            self.left = self.left.saturating_sub(bytes as u64);
            if bytes == 0 {
                stats.complete = true;
                break;
            }
            if too_long {
                stats.too_long(number);
                continue;
            }
            let text = if number == 0 {
                without_bom(&line)
            } else {
                &line
            };
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

/// Bytes per read.
const BLOCK: usize = 256 * 1024;

/// Reads the next line without its line break. Returns how many bytes were read, and whether the line is too long to hold in
/// memory.
fn read_line(
    reader: &mut BufReader<ArtifactRead>,
    line: &mut Vec<u8>,
) -> io::Result<(usize, bool)> {
    line.clear();
    let mut within_bound = io::Read::take(&mut *reader, MAX_RECORD as u64 + 1);
    let length = within_bound.read_until(b'\n', line)?;
    let too_long = line.pop_if(|last| *last == b'\n').is_none() && length > MAX_RECORD;
    let rest = if too_long {
        reader.skip_until(b'\n')?
    } else {
        0
    };
    Ok((length + rest, too_long))
}

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
