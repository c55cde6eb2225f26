//! JSON artifacts: answers, errors and their limits.

mod bad_content;
mod bad_paths;
mod generate;
mod paging;
mod paths;
mod queries;
mod streaming;

use std::future::Future;
use std::io;
use std::ops::Range;
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use parking_lot::Mutex;

use super::{JsonPath, SpooledJsonArtifact};
use crate::artifact::{ArtifactKind, SpooledArtifact};
use crate::error::{Error, ErrorCode};
use crate::spool::ByteReader;

/// Blocks on a future.
fn wait<T>(answer: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build();
    runtime.unwrap().block_on(answer)
}

fn json(text: impl Into<Bytes>) -> SpooledJsonArtifact {
    of_kind(text, ArtifactKind::JSON)
}

fn of_kind(text: impl Into<Bytes>, kind: ArtifactKind) -> SpooledJsonArtifact {
    SpooledJsonArtifact::new(SpooledArtifact::in_memory(text, kind))
}

fn path(text: &str) -> JsonPath {
    text.parse().unwrap()
}

/// The answer for a model.
fn get(artifact: &SpooledJsonArtifact, text: &str) -> String {
    wait(artifact.json_get(&path(text), 0)).unwrap()
}

/// The lines of an answer without its notes.
fn items(answer: &str) -> Vec<&str> {
    let note = |line: &&str| line.starts_with('[') && line.ends_with(']');
    answer.lines().filter(|line| !note(line)).collect()
}

/// The paths of the nodes in an answer.
fn paths(answer: &str) -> Vec<&str> {
    items(answer)
        .into_iter()
        .map(|line| line.split_once(": ").unwrap().0)
        .collect()
}

/// The number after a key in the notes of an answer.
fn noted(answer: &str, key: &str) -> Option<u64> {
    let note = answer.lines().find(|line| line.starts_with('['))?;
    let digits = note.split_once(key)?.1;
    let digits = digits.split(|c: char| !c.is_ascii_digit()).next()?;
    digits.parse().ok()
}

fn refused<T: std::fmt::Debug>(answer: Result<T, Error>, code: ErrorCode) -> String {
    let error = answer.unwrap_err();
    assert_eq!(error.code(), code, "{error}");
    error.model_text().to_owned()
}

/// A remote reader that optionally fails after some bytes.
#[derive(Debug)]
struct FarReader {
    bytes: Bytes,
    good: u64,
    asked: Mutex<Vec<Range<u64>>>,
}

impl FarReader {
    fn new(text: impl Into<Bytes>) -> Self {
        FarReader {
            bytes: text.into(),
            good: u64::MAX,
            asked: Mutex::default(),
        }
    }

    fn failing_at(mut self, good: u64) -> Self {
        self.good = good;
        self
    }
}

#[async_trait]
impl ByteReader for FarReader {
    fn len(&self) -> u64 {
        self.bytes.len() as u64
    }

    async fn read(&self, range: Range<u64>) -> io::Result<Bytes> {
        self.asked.lock().push(range.clone());
        if range.end.min(self.len()) > self.good {
            return Err(io::Error::other("connection lost"));
        }
        let end = range.end.min(self.len());
        Ok(self.bytes.slice(range.start as usize..end as usize))
    }

    fn read_now(&self, _at: u64, _into: &mut [u8]) -> Option<io::Result<usize>> {
        None
    }
}

fn far(reader: &Arc<FarReader>, kind: ArtifactKind) -> SpooledJsonArtifact {
    let reader: Arc<dyn ByteReader> = reader.clone();
    SpooledJsonArtifact::new(SpooledArtifact::new(reader, kind))
}

/// Returns whether a query was rejected because of its cost.
fn costs_too_much<T>(answer: &Result<T, Error>) -> bool {
    matches!(answer, Err(error) if error.message().contains("too many steps"))
}
