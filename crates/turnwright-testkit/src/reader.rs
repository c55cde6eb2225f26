//! A reader that counts, and fails when it is told to.

use std::fmt;
use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use bytes::Bytes;
use parking_lot::Mutex;
use turnwright_core::spool::ByteReader;

/// Stands in for an object store or a server in tests: it is read by range and asynchronously only, notes every range
/// that is read, and fails, or gives less than was asked for, when it is told to. Clones share what was noted.
///
/// ```
/// use turnwright_core::artifact::{ArtifactKind, SpooledArtifact};
/// use turnwright_testkit::reader::TestReader;
/// use std::sync::Arc;
///
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// let reader = TestReader::new(vec![b'x'; 1_000_000]).fail_from(500_000);
/// let artifact = SpooledArtifact::new(Arc::new(reader.clone()), ArtifactKind::TEXT);
/// let error = artifact.as_bytes().await.unwrap_err();
/// assert_eq!(error.code().as_str(), "E_ARTIFACT_UNREADABLE");
/// assert_eq!(reader.bytes_read(), 0);
/// # });
/// ```
#[derive(Clone)]
pub struct TestReader(Arc<Inner>);

struct Inner {
    bytes: Bytes,
    fail_from: Option<u64>,
    at_most: usize,
    broken: AtomicBool,
    reads: Mutex<Vec<Range<u64>>>,
}

impl TestReader {
    /// A reader of these bytes.
    pub fn new(bytes: impl Into<Bytes>) -> Self {
        TestReader::of(Inner {
            bytes: bytes.into(),
            fail_from: None,
            at_most: usize::MAX,
            broken: AtomicBool::new(false),
            reads: Mutex::default(),
        })
    }

    fn of(inner: Inner) -> Self {
        TestReader(Arc::new(inner))
    }

    fn again(&self) -> Inner {
        Inner {
            bytes: self.0.bytes.clone(),
            fail_from: self.0.fail_from,
            at_most: self.0.at_most,
            broken: AtomicBool::new(self.0.broken.load(Ordering::Relaxed)),
            reads: Mutex::default(),
        }
    }

    /// The same bytes, where every read that reaches this byte fails.
    #[must_use]
    pub fn fail_from(self, byte: u64) -> Self {
        TestReader::of(Inner {
            fail_from: Some(byte),
            ..self.again()
        })
    }

    /// The same bytes, of which no read gives more than so many at once.
    #[must_use]
    pub fn at_most(self, bytes: usize) -> Self {
        TestReader::of(Inner {
            at_most: bytes.max(1),
            ..self.again()
        })
    }

    /// From now on every read fails, or none does.
    pub fn set_broken(&self, broken: bool) {
        self.0.broken.store(broken, Ordering::Relaxed);
    }

    /// The ranges that were read, in order.
    #[must_use]
    pub fn reads(&self) -> Vec<Range<u64>> {
        self.0.reads.lock().clone()
    }

    /// How many bytes were read in all.
    #[must_use]
    pub fn bytes_read(&self) -> u64 {
        self.0.reads.lock().iter().map(|it| it.end - it.start).sum()
    }
}

#[async_trait]
impl ByteReader for TestReader {
    fn len(&self) -> u64 {
        self.0.bytes.len() as u64
    }

    async fn read(&self, range: Range<u64>) -> io::Result<Bytes> {
        let inner = &self.0;
        let end = range.end.min(self.len());
        let start = range.start.min(end);
        if inner.broken.load(Ordering::Relaxed) || inner.fail_from.is_some_and(|from| end > from) {
            return Err(io::Error::other("the test reader was told to fail"));
        }
        // Both lie within the bytes, whose number is a `usize`.
        let (from, to) = (start as usize, end as usize);
        let to = to.min(from.saturating_add(inner.at_most));
        inner.reads.lock().push(start..to as u64);
        Ok(inner.bytes.slice(from..to))
    }

    fn read_now(&self, _at: u64, _into: &mut [u8]) -> Option<io::Result<usize>> {
        None
    }
}

impl fmt::Debug for TestReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TestReader({} bytes)", self.0.bytes.len())
    }
}
