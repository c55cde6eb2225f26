//! A spool in memory.

use std::collections::HashMap;
use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use async_trait::async_trait;
use bytes::Bytes;
use parking_lot::RwLock;

use super::{ByteReader, Spool};
use crate::spool::Body;

/// A reader of bytes in memory.
///
/// ```
/// use turnwright_artifact::spool::{ByteReader as _, MemoryReader};
///
/// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
/// let reader = MemoryReader::new("one\ntwo\n");
/// assert_eq!(reader.len(), 8);
/// assert_eq!(reader.read(4..7).await?, "two");
/// # Ok::<(), std::io::Error>(()) }).unwrap();
/// ```
#[derive(Clone, Default)]
pub struct MemoryReader(Bytes);

impl MemoryReader {
    /// Creates a reader of these bytes.
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

debug_fields!(MemoryReader { len() });

/// A spool that stores results in memory until they are deleted or the spool is dropped. Clones share the content.
///
/// The capacity is 1 GiB, or the value passed to [`MemorySpool::with_capacity`]. Bytes count
/// until the spool and the last reader have released them.
///
/// ```
/// use turnwright_artifact::spool::{MemorySpool, Spool as _};
///
/// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
/// let spool = MemorySpool::default();
/// spool.put("call-1", "one\ntwo\n".into()).await?;
/// assert_eq!(spool.list().await?, ["call-1"]);
/// assert!(spool.delete("call-1").await?);
/// # Ok::<(), std::io::Error>(()) }).unwrap();
/// ```
#[derive(Clone)]
pub struct MemorySpool(Arc<Results>);

struct Results {
    /// `None` if results cannot be opened by id.
    by_id: Option<RwLock<HashMap<String, Bytes>>>,
    capacity: Arc<Capacity>,
}

impl MemorySpool {
    /// The capacity of [`MemorySpool::default`]: 1 GiB.
    pub(crate) const DEFAULT_CAPACITY: u64 = 1024 * 1024 * 1024;

    /// Creates a spool with this capacity in bytes. If a result does not fit, [`Spool::put`] fails with
    /// [`io::ErrorKind::StorageFull`] and stores nothing. A stream is read only as far as it fits.
    ///
    /// ```
    /// use turnwright_artifact::spool::Body;
    /// use turnwright_artifact::spool::{MemorySpool, Spool};
    ///
    /// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
    /// let spool = MemorySpool::with_capacity(10);
    /// spool.put("a", Body::Text("12345678".to_owned())).await?;
    /// let full = spool.put("b", Body::Text("123".to_owned())).await.unwrap_err();
    /// assert_eq!(full.kind(), std::io::ErrorKind::StorageFull);
    ///
    /// spool.delete("a").await?;
    /// spool.put("b", Body::Text("123".to_owned())).await?;
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    #[must_use]
    pub fn with_capacity(bytes: u64) -> Self {
        const ADVICE: &str = "use a `DiskSpool`, give `MemorySpool::with_capacity` more bytes, or delete results that are no longer needed";
        MemorySpool(Arc::new(Results {
            by_id: Some(RwLock::default()),
            capacity: Capacity::new(bytes, ADVICE),
        }))
    }

    /// Creates a spool that keeps each result as long as a record or reader refers to it. Results cannot be opened by id. Used by
    /// `Storage::memory` and by turns without a conversation.
    #[must_use]
    pub fn transient() -> Self {
        const ADVICE: &str = "give the runner a persistent storage (`.storage(…)`) and the turn a conversation, or drop outcomes and delete conversations that are no longer needed";
        MemorySpool(Arc::new(Results {
            by_id: None,
            capacity: Capacity::new(MemorySpool::DEFAULT_CAPACITY, ADVICE),
        }))
    }

    fn by_id(&self) -> Option<&RwLock<HashMap<String, Bytes>>> {
        self.0.by_id.as_ref()
    }
}

impl Default for MemorySpool {
    fn default() -> Self {
        MemorySpool::with_capacity(MemorySpool::DEFAULT_CAPACITY)
    }
}

#[async_trait]
impl Spool for MemorySpool {
    async fn put(&self, id: &str, content: Body) -> io::Result<Arc<dyn ByteReader>> {
        let bytes = self.0.capacity.read_all(content).await?;
        // The replaced bytes are dropped after the lock is released.
        let insert = |all: &RwLock<HashMap<_, _>>| all.write().insert(id.to_owned(), bytes.clone());
        let _replaced = self.by_id().and_then(insert);
        Ok(Arc::new(MemoryReader(bytes)))
    }

    async fn open(&self, id: &str) -> io::Result<Option<Arc<dyn ByteReader>>> {
        let bytes = self.by_id().and_then(|all| all.read().get(id).cloned());
        Ok(bytes.map(|bytes| Arc::new(MemoryReader(bytes)) as Arc<dyn ByteReader>))
    }

    async fn delete(&self, id: &str) -> io::Result<bool> {
        let deleted = self.by_id().and_then(|all| all.write().remove(id));
        Ok(deleted.is_some())
    }

    async fn list(&self) -> io::Result<Vec<String>> {
        let all = self.by_id().map(|all| all.read().keys().cloned().collect());
        Ok(all.unwrap_or_default())
    }

    fn is_persistent(&self) -> bool {
        false
    }

    fn can_reopen(&self) -> bool {
        self.by_id().is_some()
    }
}

debug_fields!(MemorySpool {});

/// The capacity of a spool, and how much of it is in use.
#[derive(Debug)]
struct Capacity {
    most: u64,
    used: AtomicU64,
    /// What to do when the spool is full, for the error message.
    advice: &'static str,
}

/// Bytes and the capacity reserved for them. The capacity is released when the last clone or slice of the resulting [`Bytes`] is
/// dropped.
struct Reserved {
    capacity: Arc<Capacity>,
    room: u64,
    bytes: Bytes,
}

impl Capacity {
    fn new(most: u64, advice: &'static str) -> Arc<Self> {
        Arc::new(Capacity {
            most,
            used: AtomicU64::new(0),
            advice,
        })
    }

    /// Reads content into memory. Reserves capacity before each piece of a stream is stored.
    ///
    /// # Errors
    /// Returns an error if the content does not fit or its stream fails.
    async fn read_all(self: &Arc<Self>, content: Body) -> io::Result<Bytes> {
        let mut reserved = Reserved {
            capacity: Arc::clone(self),
            room: 0,
            bytes: Bytes::new(),
        };
        reserved.bytes = match content {
            Body::Text(text) => {
                reserved.grow(text.len())?;
                Bytes::from(text)
            }
            Body::Bytes(bytes) => {
                reserved.grow(bytes.len())?;
                bytes
            }
            Body::Stream(mut stream) => {
                let mut all = Vec::new();
                while let Some(piece) = stream.next().await {
                    let piece = piece?;
                    reserved.grow(piece.len())?;
                    all.extend_from_slice(&piece);
                }
                // A vector that has grown may have up to twice the needed capacity.
                all.shrink_to_fit();
                Bytes::from(all)
            }
        };
        Ok(Bytes::from_owner(reserved))
    }
}

impl Reserved {
    fn grow(&mut self, by: usize) -> io::Result<()> {
        let (most, by) = (self.capacity.most, by as u64);
        let more = |used: u64| used.checked_add(by).filter(|sum| *sum <= most);
        let grown = self
            .capacity
            .used
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, more);
        match grown {
            Ok(_) => {
                self.room += by;
                Ok(())
            }
            Err(used) => {
                let others = used - self.room;
                let advice = self.capacity.advice;
                let message = format!(
                    "the in-memory spool is full: its capacity is {most} bytes, of which other results use {others}. To fix this, {advice}"
                );
                Err(io::Error::new(io::ErrorKind::StorageFull, message))
            }
        }
    }
}

impl Drop for Reserved {
    fn drop(&mut self) {
        self.capacity.used.fetch_sub(self.room, Ordering::Relaxed);
    }
}

impl AsRef<[u8]> for Reserved {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}
