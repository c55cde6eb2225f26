//! Finds the bytes that stored records refer to.

use std::collections::HashMap;
use std::io;
use std::ops::Range;
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use tokio::sync::OnceCell;

use crate::artifact::{ArtifactKind, Place, SpooledArtifact};
use crate::checksum::Hex;
use crate::media::{Media, MediaDescriptor, MediaReader};
use crate::spool::{ByteReader, ByteStream, Spool, Spooled, digest_of};

type FindMedia = dyn Fn(MediaDescriptor) -> BoxFuture<'static, io::Result<Option<Arc<dyn MediaReader>>>>
    + Send
    + Sync;

/// Finds the bytes that stored records refer to: artifacts in a spool, and media with your function. Cheap to clone.
///
/// ```
/// use std::sync::Arc;
/// use turnwright_core::media::{MediaDescriptor, MediaReader};
/// use turnwright_core::record::ByteResolver;
/// use turnwright_core::spool::{MemorySpool, Spool};
///
/// let spool: Arc<dyn Spool> = Arc::new(MemorySpool::default());
/// let uploads = Arc::clone(&spool);
/// let resolver = ByteResolver::new(spool).media(move |media: MediaDescriptor| {
///     let uploads = Arc::clone(&uploads);
///     async move {
///         let reader = uploads.open(&media.id).await?;
///         Ok(reader.map(|reader| Arc::new(reader) as Arc<dyn MediaReader>))
///     }
/// });
/// ```
#[derive(Clone)]
pub struct ByteResolver {
    spool: Arc<dyn Spool>,
    kinds: Vec<ArtifactKind>,
    media: Option<Arc<FindMedia>>,
    verified: Arc<Verified>,
}

impl ByteResolver {
    /// Creates a resolver that finds artifacts, and media stored by a turn, in this spool. Supports the kinds defined in
    /// [`ArtifactKind`].
    #[must_use]
    pub fn new(spool: Arc<dyn Spool>) -> Self {
        ByteResolver {
            spool,
            kinds: ArtifactKind::BUILT_IN.to_vec(),
            media: None,
            verified: Arc::default(),
        }
    }

    /// Returns the spool. A store that loads records with this resolver returns it from
    /// [`Store::spool`](crate::store::Store::spool).
    #[must_use]
    pub fn spool(&self) -> &Arc<dyn Spool> {
        &self.spool
    }

    /// Adds a custom artifact kind. A turn knows the kinds of its runner's tools without this.
    ///
    /// Artifacts of other kinds are loaded as text and keep the name of their kind: see
    /// [`SpooledArtifact::unknown_kind`](crate::artifact::SpooledArtifact::unknown_kind).
    #[must_use]
    pub fn kind(mut self, kind: ArtifactKind) -> Self {
        self.kinds.retain(|known| *known != kind);
        self.kinds.push(kind);
        self
    }

    /// Sets the function that finds the bytes of media that are not in a spool. It runs each time the bytes are read, not when a
    /// record is loaded. Return `None` if the bytes are gone.
    #[must_use]
    pub fn media<F, Found>(mut self, find: F) -> Self
    where
        F: Fn(MediaDescriptor) -> Found + Send + Sync + 'static,
        Found: Future<Output = io::Result<Option<Arc<dyn MediaReader>>>> + Send + 'static,
    {
        self.media = Some(Arc::new(move |described| find(described).boxed()));
        self
    }

    /// Sets the kind of an artifact that was read, and where its bytes are read.
    pub(super) fn attach_artifact(&self, artifact: &mut SpooledArtifact) {
        let name = artifact.kind_name();
        let kind = self.kinds.iter().find(|kind| kind.as_str() == name);
        let place = artifact.place().clone();
        let reader = match &place {
            Place::Spool(spooled) => self.open_later(spooled, artifact.byte_length()),
            Place::Memory(_) | Place::Reader => Arc::clone(artifact.reader()),
        };
        let attached = SpooledArtifact::loaded(place, reader, kind.copied().ok_or(name));
        *artifact = attached.with_limits(artifact.limits());
    }

    /// Sets where the bytes of media that were read are read.
    pub(super) fn attach_media(&self, media: &mut Media) {
        let bytes = media.byte_length();
        match (media.spooled(), &self.media) {
            (Some(spooled), _) => {
                let reader = self.open_later(spooled, bytes.unwrap_or_default());
                *media = media.clone().moved(spooled.clone(), reader);
            }
            (None, Some(find)) => {
                let reader = MediaElsewhere {
                    descriptor: media.descriptor().clone(),
                    bytes,
                    find: Some(Arc::clone(find)),
                };
                *media = media.clone().with_reader(Arc::new(reader));
            }
            (None, None) => {}
        }
    }

    fn open_later(&self, spooled: &Spooled, length: u64) -> Arc<dyn ByteReader> {
        let mut reader = SpoolReader::new(spooled, length);
        reader.source = Some((Arc::clone(&self.spool), Arc::clone(&self.verified)));
        Arc::new(reader)
    }
}

debug_fields!(ByteResolver { kinds });

/// Bytes in a spool, opened on the first read, so that a conversation with ten thousand results loads without opening any.
pub(super) struct SpoolReader {
    /// `None` until the resolver attaches it.
    source: Option<(Arc<dyn Spool>, Arc<Verified>)>,
    spooled: Spooled,
    length: u64,
    opened: OnceCell<Arc<dyn ByteReader>>,
}

/// Readers whose bytes match the digest in their record. A conversation is loaded for each of its turns. Verified bytes are not
/// hashed again, because readers notice if their file is replaced.
#[derive(Default)]
struct Verified(Mutex<HashMap<Box<str>, VerifiedReader>>);

type VerifiedReader = (Hex, Arc<dyn ByteReader>);

impl Verified {
    /// Maximum number of entries. When it is exceeded, all are hashed again.
    const MAX: usize = 1024;

    fn get(&self, id: &str, digest: Hex) -> Option<Arc<dyn ByteReader>> {
        let readers = self.0.lock();
        let (verified, reader) = readers.get(id)?;
        (*verified == digest).then(|| Arc::clone(reader))
    }

    fn put(&self, id: &str, digest: Hex, reader: &Arc<dyn ByteReader>) {
        let mut readers = self.0.lock();
        // Dropped after the lock is released: readers may be user code.
        let full = readers.len() >= Verified::MAX;
        let _forgotten = full.then(|| std::mem::take(&mut *readers));
        let _replaced = readers.insert(id.into(), (digest, Arc::clone(reader)));
        drop(readers);
    }
}

impl SpoolReader {
    pub(super) fn new(spooled: &Spooled, length: u64) -> Self {
        SpoolReader {
            source: None,
            spooled: spooled.clone(),
            length,
            opened: OnceCell::new(),
        }
    }

    async fn open(&self) -> io::Result<Arc<dyn ByteReader>> {
        let Spooled { id, digest } = &self.spooled;
        let fail = |kind, message: String| Err(io::Error::new(kind, message));
        let Some((spool, verified)) = &self.source else {
            return fail(io::ErrorKind::NotFound, format!("no spool for {id:?}"));
        };
        if let Some(digest) = digest
            && let Some(reader) = verified.get(id, *digest)
            && reader.read(0..1).await.is_ok()
        {
            return Ok(reader);
        }
        let Some(reader) = spool.open(id).await? else {
            let message = format!("the spool has no entry {id:?} any more");
            return fail(io::ErrorKind::NotFound, message);
        };
        let (found, expected) = (reader.len(), self.length);
        if found != expected {
            let message =
                format!("the spool entry {id:?} has {found} bytes, but the record says {expected}");
            return fail(io::ErrorKind::InvalidData, message);
        }
        if let Some(digest) = digest {
            let found = digest_of(&reader).await?;
            if found != *digest {
                let (found, digest) = (found.as_str(), digest.as_str());
                let message = format!(
                    "the bytes under {id:?} in the spool are not those that were stored: their SHA-256 is {found}, \
                     the record says {digest}"
                );
                return fail(io::ErrorKind::InvalidData, message);
            }
            verified.put(id, *digest, &reader);
        }
        Ok(reader)
    }
}

#[async_trait]
impl ByteReader for SpoolReader {
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

debug_fields!(SpoolReader { spooled, length });

/// The bytes of media that are not in a spool, located when they are read.
pub(super) struct MediaElsewhere {
    pub(super) descriptor: MediaDescriptor,
    pub(super) bytes: Option<u64>,
    pub(super) find: Option<Arc<FindMedia>>,
}

#[async_trait]
impl MediaReader for MediaElsewhere {
    fn len_hint(&self) -> Option<u64> {
        self.bytes
    }

    async fn open(&self) -> io::Result<ByteStream> {
        let id = &self.descriptor.id;
        let gone = |why: &str| {
            let message = format!("the bytes of the media {id:?} are not in its record: {why}");
            io::Error::new(io::ErrorKind::NotFound, message)
        };
        let Some(find) = &self.find else {
            return Err(gone("set `ByteResolver::media` to find them"));
        };
        match find(self.descriptor.clone()).await? {
            Some(reader) => reader.open().await,
            None => Err(gone("and they no longer exist")),
        }
    }
}

debug_fields!(MediaElsewhere { descriptor });
