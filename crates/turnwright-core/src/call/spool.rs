//! Where results are kept until they are read.

use std::fmt;
use std::io;
use std::ops::Range;
use std::sync::Arc;

use async_trait::async_trait;
use bytes::{Bytes, BytesMut};

use crate::tool::Body;

/// Bytes that can be read by range.
#[async_trait]
pub trait ByteReader: Send + Sync + fmt::Debug {
    /// How many bytes there are.
    fn len(&self) -> u64;

    /// Whether there are none.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The bytes of a range, clamped to what is there.
    ///
    /// # Errors
    /// They cannot be read.
    async fn read(&self, range: Range<u64>) -> io::Result<Bytes>;
}

/// Keeps the content of results. Nothing half: a stream that fails leaves nothing behind.
#[async_trait]
pub trait Spool: Send + Sync {
    /// Keeps `content` under the id of its call and gives a reader of it.
    ///
    /// # Errors
    /// It could not be kept, or the stream failed.
    async fn put(&self, id: &str, content: Body) -> io::Result<Arc<dyn ByteReader>>;
}

/// Keeps results in memory, for as long as somebody holds their reader.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct MemorySpool;

#[async_trait]
impl Spool for MemorySpool {
    async fn put(&self, _id: &str, content: Body) -> io::Result<Arc<dyn ByteReader>> {
        let bytes = match content {
            Body::Text(text) => Bytes::from(text),
            Body::Bytes(bytes) => bytes,
            Body::Stream(mut stream) => {
                let mut all = BytesMut::new();
                while let Some(piece) = stream.next().await {
                    all.extend_from_slice(&piece?);
                }
                all.freeze()
            }
        };
        Ok(Arc::new(InMemory(bytes)))
    }
}

struct InMemory(Bytes);

#[async_trait]
impl ByteReader for InMemory {
    fn len(&self) -> u64 {
        self.0.len() as u64
    }

    async fn read(&self, range: Range<u64>) -> io::Result<Bytes> {
        let clamp = |at: u64| usize::try_from(at).unwrap_or(usize::MAX).min(self.0.len());
        let (start, end) = (clamp(range.start), clamp(range.end));
        Ok(self.0.slice(start..end.max(start)))
    }
}

impl fmt::Debug for InMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "InMemory({} bytes)", self.0.len())
    }
}
