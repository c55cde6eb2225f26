//! How a record that was stored gets at its bytes again.

use std::collections::HashMap;
use std::fmt;
use std::io;
use std::ops::Range;
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use tokio::sync::OnceCell;

use crate::artifact::ArtifactKind;
use crate::media::{MediaDescriptor, MediaReader};
use crate::spool::{ByteReader, Spool, Spooled, digest_of};
use crate::tool::{ByteStream, Hex};

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
    verified: Arc<Verified>,
}

impl Reopen {
    /// Artifacts are in this spool and of one of the kinds that [`ArtifactKind`] names. Media are in it too if a turn stored them;
    /// nobody knows the bytes of the others.
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
            verified: Arc::default(),
        }
    }

    /// The spool: what [`Store::spool`](crate::store::Store::spool) of a store returns that loads records with this.
    #[must_use]
    pub fn spool(&self) -> &Arc<dyn Spool> {
        &self.spool
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

    /// Where the bytes of a media are that no spool stores. Asked each time when they are read, not when a record is; `None` says that they are
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
    spooled: Spooled,
    length: u64,
    verified: Arc<Verified>,
    opened: OnceCell<Arc<dyn ByteReader>>,
}

/// Readers whose bytes have the digest that their record names. A conversation is loaded again for each of its turns: what was
/// read once is not hashed again, because readers notice if another file takes the place of theirs.
#[derive(Default)]
struct Verified(Mutex<HashMap<Box<str>, VerifiedReader>>);

type VerifiedReader = (Hex, Arc<dyn ByteReader>);

impl Verified {
    /// More are forgotten, and hashed again.
    const MOST: usize = 1024;

    fn get(&self, id: &str, digest: Hex) -> Option<Arc<dyn ByteReader>> {
        let readers = self.0.lock();
        let (verified, reader) = readers.get(id)?;
        (*verified == digest).then(|| Arc::clone(reader))
    }

    fn put(&self, id: &str, digest: Hex, reader: &Arc<dyn ByteReader>) {
        let mut readers = self.0.lock();
        // What went ends after the lock: that may be foreign code.
        let _gone = match readers.len() >= Verified::MOST {
            true => std::mem::take(&mut *readers),
            false => HashMap::new(),
        };
        let _replaced = readers.insert(id.into(), (digest, Arc::clone(reader)));
        drop(readers);
    }
}

impl FromSpool {
    pub(super) fn reader(reopen: &Reopen, spooled: &Spooled, length: u64) -> Arc<dyn ByteReader> {
        Arc::new(FromSpool {
            spool: Arc::clone(&reopen.spool),
            spooled: spooled.clone(),
            length,
            verified: Arc::clone(&reopen.verified),
            opened: OnceCell::new(),
        })
    }

    async fn open(&self) -> io::Result<Arc<dyn ByteReader>> {
        let Spooled { id, digest } = &self.spooled;
        if let Some(digest) = digest
            && let Some(reader) = self.verified.get(id, *digest)
            && reader.read(0..1).await.is_ok()
        {
            return Ok(reader);
        }
        let Some(reader) = self.spool.open(id).await? else {
            let gone = format!("the spool keeps nothing under {id:?} any more");
            return Err(io::Error::new(io::ErrorKind::NotFound, gone));
        };
        let (found, told) = (reader.len(), self.length);
        if found != told {
            let other = format!(
                "the spool keeps {found} bytes under {id:?}, where the record speaks of {told}"
            );
            return Err(io::Error::new(io::ErrorKind::InvalidData, other));
        }
        if let Some(digest) = digest {
            let found = digest_of(&reader).await?;
            if found != *digest {
                let (found, digest) = (found.as_str(), digest.as_str());
                let other = format!(
                    "the bytes under {id:?} in the spool are not those that were stored: their SHA-256 is {found}, \
                     the record says {digest}"
                );
                return Err(io::Error::new(io::ErrorKind::InvalidData, other));
            }
            self.verified.put(id, *digest, &reader);
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
        write!(f, "FromSpool({:?}, {} bytes)", self.spooled.id, self.length)
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
