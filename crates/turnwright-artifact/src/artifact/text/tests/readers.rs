//! Readers that count reads, return little at once, fail, or are slow.

use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use async_trait::async_trait;
use bytes::Bytes;
use tokio::sync::Semaphore;

use crate::artifact::{ArtifactKind, SpooledArtifact};
use crate::spool::ByteReader;

/// An instrumented reader over memory.
#[derive(Debug)]
pub(super) struct Watched {
    bytes: Bytes,
    /// Maximum bytes per read.
    pub(super) most: usize,
    /// The offset at which it fails.
    pub(super) fails_at: u64,
    /// Whether it supports synchronous reads.
    pub(super) near: bool,
    /// Each asynchronous read takes one of these.
    pub(super) permits: Option<Semaphore>,
    read: AtomicU64,
    calls: AtomicU64,
}

impl Watched {
    pub(super) fn new(bytes: impl Into<Bytes>) -> Self {
        Watched {
            bytes: bytes.into(),
            most: usize::MAX,
            fails_at: u64::MAX,
            near: true,
            permits: None,
            read: AtomicU64::new(0),
            calls: AtomicU64::new(0),
        }
    }

    pub(super) fn artifact(self) -> (SpooledArtifact, Arc<Watched>) {
        let reader = Arc::new(self);
        let artifact = SpooledArtifact::new(Arc::clone(&reader) as _, ArtifactKind::TEXT);
        (artifact, reader)
    }

    /// Returns how many bytes were read since the last call.
    pub(super) fn read_since(&self) -> u64 {
        self.read.swap(0, Ordering::SeqCst)
    }

    pub(super) fn calls(&self) -> u64 {
        self.calls.load(Ordering::SeqCst)
    }

    fn give(&self, range: Range<u64>) -> io::Result<Bytes> {
        self.calls.fetch_add(1, Ordering::SeqCst);
        if range.end > self.fails_at {
            return Err(io::Error::other("disk failure"));
        }
        let start = usize::try_from(range.start).unwrap().min(self.bytes.len());
        let end = usize::try_from(range.end).unwrap().min(self.bytes.len());
        let end = end.min(start.saturating_add(self.most));
        self.read.fetch_add((end - start) as u64, Ordering::SeqCst);
        Ok(self.bytes.slice(start..end))
    }
}

#[async_trait]
impl ByteReader for Watched {
    fn len(&self) -> u64 {
        self.bytes.len() as u64
    }

    async fn read(&self, range: Range<u64>) -> io::Result<Bytes> {
        if let Some(permits) = &self.permits {
            permits.acquire().await.unwrap().forget();
        }
        self.give(range)
    }

    fn read_now(&self, at: u64, into: &mut [u8]) -> Option<io::Result<usize>> {
        self.near.then(|| {
            let bytes = self.give(at..at + into.len() as u64)?;
            into[..bytes.len()].copy_from_slice(&bytes);
            Ok(bytes.len())
        })
    }
}
