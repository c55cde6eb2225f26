//! How a record that was stored gets at its bytes again.

use std::fmt;
use std::io;
use std::ops::Range;
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use tokio::sync::OnceCell;

use crate::artifact::ArtifactKind;
use crate::media::{MediaDescriptor, MediaReader};
use crate::spool::{ByteReader, Spool};
use crate::tool::ByteStream;

type FindMedia = dyn Fn(MediaDescriptor) -> BoxFuture<'static, io::Result<Option<Arc<dyn MediaReader>>>>
    + Send
    + Sync;

/// How records that were stored get at the bytes that they name: artifacts by the spool, media as you say. Cheap to clone.
///
/// ```
/// use std::sync::Arc;
/// use turnwright_core::media::{MediaDescriptor, MediaReader};
/// use turnwright_core::record::Reopen;
/// use turnwright_core::spool::{MemorySpool, Spool};
///
/// let spool: Arc<dyn Spool> = Arc::new(MemorySpool::default());
/// let uploads = Arc::clone(&spool);
/// let reopen = Reopen::new(spool).media(move |media: MediaDescriptor| {
///     let uploads = Arc::clone(&uploads);
///     async move {
///         let reader = uploads.open(media.id()).await?;
///         Ok(reader.map(|reader| Arc::new(reader) as Arc<dyn MediaReader>))
///     }
/// });
/// ```
#[derive(Clone)]
pub struct Reopen {
    spool: Arc<dyn Spool>,
    kinds: Vec<ArtifactKind>,
    unknown_as_text: bool,
    media: Option<Arc<FindMedia>>,
}

impl Reopen {
    /// Artifacts are in this spool and of one of the kinds that [`ArtifactKind`] names; nobody knows the bytes of media.
    #[must_use]
    pub fn new(spool: Arc<dyn Spool>) -> Self {
        Reopen {
            spool,
            kinds: vec![
                ArtifactKind::TEXT,
                ArtifactKind::JSON,
                ArtifactKind::JSON_LINES,
                ArtifactKind::JSON5,
                ArtifactKind::MARKDOWN,
            ],
            unknown_as_text: false,
            media: None,
        }
    }

    /// And of this kind, which is your own.
    ///
    /// A record with an artifact of a kind that nobody named does not load. Loaded as text, it would be stored as text the
    /// next time, and what it was would be lost without a word.
    #[must_use]
    pub fn kind(mut self, kind: ArtifactKind) -> Self {
        self.kinds.retain(|known| *known != kind);
        self.kinds.push(kind);
        self
    }

    /// Artifacts of a kind that nobody named are read as text: for kinds that you gave up.
    #[must_use]
    pub fn unknown_kinds_as_text(mut self) -> Self {
        self.unknown_as_text = true;
        self
    }

    /// Where the bytes of a media are. Asked each time when they are read, not when a record is; `None` says that they are
    /// gone. A media whose bytes nobody knows loads all the same.
    #[must_use]
    pub fn media<F, Found>(mut self, find: F) -> Self
    where
        F: Fn(MediaDescriptor) -> Found + Send + Sync + 'static,
        Found: Future<Output = io::Result<Option<Arc<dyn MediaReader>>>> + Send + 'static,
    {
        self.media = Some(Arc::new(move |described| find(described).boxed()));
        self
    }

    pub(super) fn kind_named(&self, name: &str) -> Option<ArtifactKind> {
        let known = self.kinds.iter().find(|kind| kind.as_str() == name);
        let known = known.copied();
        known.or(self.unknown_as_text.then_some(ArtifactKind::TEXT))
    }
}

impl fmt::Debug for Reopen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reopen")
            .field("kinds", &self.kinds)
            .field("media", &self.media.is_some())
            .finish_non_exhaustive()
    }
}

/// What a spool keeps, opened when it is first read: a conversation with ten thousand results loads without opening one.
pub(super) struct FromSpool {
    spool: Arc<dyn Spool>,
    id: Box<str>,
    length: u64,
    opened: OnceCell<Arc<dyn ByteReader>>,
}

impl FromSpool {
    pub(super) fn reader(reopen: &Reopen, id: &str, length: u64) -> Arc<dyn ByteReader> {
        Arc::new(FromSpool {
            spool: Arc::clone(&reopen.spool),
            id: id.into(),
            length,
            opened: OnceCell::new(),
        })
    }

    async fn open(&self) -> io::Result<Arc<dyn ByteReader>> {
        let Some(reader) = self.spool.open(&self.id).await? else {
            let gone = format!("the spool keeps nothing under {:?} any more", self.id);
            return Err(io::Error::new(io::ErrorKind::NotFound, gone));
        };
        let (found, told) = (reader.len(), self.length);
        if found != told {
            let other = format!(
                "the spool keeps {found} bytes under {:?}, where the record speaks of {told}",
                self.id
            );
            return Err(io::Error::new(io::ErrorKind::InvalidData, other));
        }
        Ok(reader)
    }
}

#[async_trait]
impl ByteReader for FromSpool {
    fn len(&self) -> u64 {
        self.length
    }

    async fn read(&self, range: Range<u64>) -> io::Result<Bytes> {
        let reader = self.opened.get_or_try_init(|| self.open()).await?;
        reader.read(range).await
    }

    fn read_now(&self, at: u64, into: &mut [u8]) -> Option<io::Result<usize>> {
        self.opened.get()?.read_now(at, into)
    }
}

impl fmt::Debug for FromSpool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "FromSpool({:?}, {} bytes)", self.id, self.length)
    }
}

/// The bytes of a media, looked for when they are read.
pub(super) struct MediaElsewhere {
    described: MediaDescriptor,
    bytes: Option<u64>,
    find: Option<Arc<FindMedia>>,
}

impl MediaElsewhere {
    pub(super) fn new(described: MediaDescriptor, bytes: Option<u64>, reopen: &Reopen) -> Self {
        MediaElsewhere {
            described,
            bytes,
            find: reopen.media.clone(),
        }
    }
}

#[async_trait]
impl MediaReader for MediaElsewhere {
    fn len_hint(&self) -> Option<u64> {
        self.bytes
    }

    async fn open(&self) -> io::Result<ByteStream> {
        let id = self.described.id();
        let gone = |why: &str| {
            let message = format!("the bytes of the media {id:?} are not in its record: {why}");
            io::Error::new(io::ErrorKind::NotFound, message)
        };
        let Some(find) = &self.find else {
            return Err(gone("say with `Reopen::media` where they are"));
        };
        match find(self.described.clone()).await? {
            Some(reader) => reader.open().await,
            None => Err(gone("and they are no longer where they were")),
        }
    }
}

impl fmt::Debug for MediaElsewhere {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MediaElsewhere({:?})", self.described.id())
    }
}
