//! Results in memory.

use std::collections::HashMap;
use std::fmt;
use std::io;
use std::ops::Range;
use std::sync::Arc;

use async_trait::async_trait;
use bytes::{Bytes, BytesMut};
use parking_lot::RwLock;

use super::{ByteReader, Spool};
use crate::tool::Body;

/// Bytes in memory.
#[derive(Clone, Default)]
pub struct MemoryReader(Bytes);

impl MemoryReader {
    /// A reader of these bytes.
    pub fn new(bytes: impl Into<Bytes>) -> Self {
        MemoryReader(bytes.into())
    }

    fn part(&self, range: Range<u64>) -> Bytes {
        let clamp = |at: u64| usize::try_from(at).unwrap_or(usize::MAX).min(self.0.len());
        let (start, end) = (clamp(range.start), clamp(range.end));
        self.0.slice(start..end.max(start))
    }
}

#[async_trait]
impl ByteReader for MemoryReader {
    fn len(&self) -> u64 {
        self.0.len() as u64
    }

    async fn read(&self, range: Range<u64>) -> io::Result<Bytes> {
        Ok(self.part(range))
    }

    fn read_now(&self, at: u64, into: &mut [u8]) -> Option<io::Result<usize>> {
        let part = self.part(at..at.saturating_add(into.len() as u64));
        if let Some(into) = into.get_mut(..part.len()) {
            into.copy_from_slice(&part);
        }
        Some(Ok(part.len()))
    }
}

impl fmt::Debug for MemoryReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MemoryReader({} bytes)", self.0.len())
    }
}

/// Keeps results in memory, for as long as it lives. Clones share it.
#[derive(Clone, Default)]
pub struct MemorySpool(Arc<RwLock<HashMap<String, Bytes>>>);

#[async_trait]
impl Spool for MemorySpool {
    async fn put(&self, id: &str, content: Body) -> io::Result<Arc<dyn ByteReader>> {
        let bytes = whole(content).await?;
        self.0.write().insert(id.to_owned(), bytes.clone());
        Ok(Arc::new(MemoryReader(bytes)))
    }

    async fn open(&self, id: &str) -> io::Result<Option<Arc<dyn ByteReader>>> {
        let kept = self.0.read().get(id).cloned();
        Ok(kept.map(|bytes| Arc::new(MemoryReader(bytes)) as Arc<dyn ByteReader>))
    }

    async fn delete(&self, id: &str) -> io::Result<bool> {
        Ok(self.0.write().remove(id).is_some())
    }

    async fn list(&self) -> io::Result<Vec<String>> {
        Ok(self.0.read().keys().cloned().collect())
    }
}

async fn whole(content: Body) -> io::Result<Bytes> {
    match content {
        Body::Text(text) => Ok(Bytes::from(text)),
        Body::Bytes(bytes) => Ok(bytes),
        Body::Stream(mut stream) => {
            let mut all = BytesMut::new();
            while let Some(piece) = stream.next().await {
                all.extend_from_slice(&piece?);
            }
            Ok(all.freeze())
        }
    }
}

/// Keeps results in memory for as long as somebody holds their reader, and knows none by its id: what a dispatch uses
/// that was given no spool.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Unkept;

#[async_trait]
impl Spool for Unkept {
    async fn put(&self, _id: &str, content: Body) -> io::Result<Arc<dyn ByteReader>> {
        Ok(Arc::new(MemoryReader(whole(content).await?)))
    }

    async fn open(&self, _id: &str) -> io::Result<Option<Arc<dyn ByteReader>>> {
        Ok(None)
    }

    async fn delete(&self, _id: &str) -> io::Result<bool> {
        Ok(false)
    }

    async fn list(&self) -> io::Result<Vec<String>> {
        Ok(Vec::new())
    }

    fn reopens(&self) -> bool {
        false
    }
}

impl fmt::Debug for MemorySpool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MemorySpool({} results)", self.0.read().len())
    }
}
