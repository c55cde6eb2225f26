//! A reader that counts, and fails on request.

use std::fmt;
use std::io;
use std::ops::Range;
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use parking_lot::Mutex;
use turnwright_core::spool::ByteReader;

/// A replacement for an object store or a server in tests. It can only be read by range and asynchronously, records
/// every range that is read, and fails or returns short reads on request. Clones share the recorded ranges.
///
/// ```
/// use turnwright_core::artifact::{ArtifactKind, SpooledArtifact};
/// use turnwright_testkit::reader::TestReader;
/// use std::sync::Arc;
///
/// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
/// let reader = TestReader::new(vec![b'x'; 1_000_000]).fail_from(500_000);
/// let artifact = SpooledArtifact::new(Arc::new(reader.clone()), ArtifactKind::TEXT);
/// let error = artifact.as_bytes().await.unwrap_err();
/// assert_eq!(error.code().as_str(), "E_ARTIFACT_UNREADABLE");
/// assert_eq!(reader.bytes_read(), 0);
/// # });
/// ```
#[derive(Clone)]
pub struct TestReader {
    bytes: Bytes,
    fail_from: u64,
    at_most: usize,
    reads: Arc<Mutex<Vec<Range<u64>>>>,
}

impl TestReader {
    /// Creates a reader of these bytes.
    pub fn new(bytes: impl Into<Bytes>) -> Self {
        TestReader {
            bytes: bytes.into(),
            fail_from: u64::MAX,
            at_most: usize::MAX,
            reads: Arc::default(),
        }
    }

    /// Makes every read that reaches this byte fail.
    #[must_use]
    pub fn fail_from(mut self, byte: u64) -> Self {
        self.fail_from = byte;
        self
    }

    /// Limits each read to this many bytes.
    #[must_use]
    pub fn at_most(mut self, bytes: usize) -> Self {
        self.at_most = bytes.max(1);
        self
    }

    /// Returns the ranges that were read, in order.
    #[must_use]
    pub fn reads(&self) -> Vec<Range<u64>> {
        self.reads.lock().clone()
    }

    /// Returns the total number of bytes that were read.
    #[must_use]
    pub fn bytes_read(&self) -> u64 {
        let reads = self.reads.lock();
        reads.iter().map(|range| range.end - range.start).sum()
    }
}

#[async_trait]
impl ByteReader for TestReader {
    fn len(&self) -> u64 {
        self.bytes.len() as u64
    }

    async fn read(&self, range: Range<u64>) -> io::Result<Bytes> {
        let end = range.end.min(self.len());
        let start = range.start.min(end);
        if end > self.fail_from {
            return Err(io::Error::other("the test reader fails from here on"));
        }
        // Both are within the bytes, whose length is a `usize`.
        let (from, to) = (start as usize, end as usize);
        let to = to.min(from.saturating_add(self.at_most));
        self.reads.lock().push(start..to as u64);
        Ok(self.bytes.slice(from..to))
    }

    fn read_now(&self, _at: u64, _into: &mut [u8]) -> Option<io::Result<usize>> {
        None
    }
}

impl fmt::Debug for TestReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TestReader({} bytes)", self.bytes.len())
    }
}
