//! Tool results that are too large for a prompt.
//!
//! A [`SpooledArtifact`] is a lazy, read-only view of a stored result. The prompt contains a short handle. The model reads parts
//! of the artifact with query tools, and every page has a size limit.
//!
//! ```
//! use turnwright_artifact::artifact::{ArtifactKind, SpooledArtifact};
//!
//! let log = SpooledArtifact::in_memory("started\nfailed: timeout\n", ArtifactKind::TEXT);
//! assert_eq!(log.byte_length(), 24);
//! assert!(log.tool_names().any(|name| name == "artifact_grep"));
//! ```

#[cfg(feature = "artifact-formats")]
pub mod json;
mod kind;
mod limits;
#[cfg(feature = "artifact-formats")]
pub mod markdown;
mod page;
mod query;
mod read;
pub mod text;

use std::io;
use std::ops::{Bound, Range, RangeBounds};
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use serde::Serialize;

pub use kind::ArtifactKind;
pub use limits::{ArtifactLimits, Inline};
pub use page::Page;
pub use query::Query;
pub use read::ArtifactRead;

use crate::error::{Error, ErrorCode};
use crate::spool::{ByteReader, ByteStream, MemoryReader, Spool, Spooled};

/// How many bytes of the content a handle shows.
const OPENING: u64 = 512;
/// The smallest page, which has room for notes and some content.
const MIN_PAGE: usize = 1024;

/// A lazy, read-only view of stored bytes. Cheap to clone: clones share indexes and parsed content.
///
/// ```
/// use turnwright_artifact::artifact::{ArtifactKind, SpooledArtifact};
///
/// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
/// let log = SpooledArtifact::in_memory("started\nfailed: timeout\n", ArtifactKind::TEXT);
/// assert_eq!(log.line_count().await?, 2);
/// let last = log.tail(1).await?.to_page();
/// assert!(last.contains("failed: timeout"), "{last}");
/// # Ok::<(), turnwright_artifact::Error>(()) }).unwrap();
/// ```
#[derive(Clone)]
pub struct SpooledArtifact {
    shared: Arc<Shared>,
    limits: ArtifactLimits,
}

struct Shared {
    reader: Arc<dyn ByteReader>,
    kind: ArtifactKind,
    /// The stored name of a kind that is not registered. `kind` is text then.
    unknown_kind: Option<Box<str>>,
    lines: text::LineIndex,
    place: Place,
}

/// Where the bytes are stored.
#[derive(Clone)]
#[doc(hidden)]
pub enum Place {
    Spool(Spooled),
    Memory(Bytes),
    /// In a custom reader.
    Reader,
}

// The content may be secret.
debug_fields!(Place {});

impl SpooledArtifact {
    /// Creates an artifact from a reader. A record that contains it can be stored only if the bytes are small and in memory. To
    /// store larger content, use [`SpooledArtifact::write`].
    #[must_use]
    pub fn new(reader: Arc<dyn ByteReader>, kind: ArtifactKind) -> Self {
        SpooledArtifact::placed(Place::Reader, reader, kind)
    }

    /// Creates an artifact from the spool entry with this id. A store saves the id, not the bytes.
    #[doc(hidden)]
    pub fn spooled(
        spool_id: impl Into<String>,
        reader: Arc<dyn ByteReader>,
        kind: ArtifactKind,
    ) -> Self {
        let (id, digest) = (spool_id.into().into(), None);
        SpooledArtifact::placed(Place::Spool(Spooled { id, digest }), reader, kind)
    }

    /// Writes content to a spool under `id` and returns an artifact for it.
    ///
    /// ```
    /// use turnwright_artifact::artifact::{ArtifactKind, SpooledArtifact};
    /// use turnwright_artifact::spool::MemorySpool;
    /// use turnwright_artifact::spool::Body;
    ///
    /// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
    /// let spool = MemorySpool::default();
    /// let log = Body::Text("one\ntwo\n".to_owned());
    /// let log = SpooledArtifact::write(&spool, "log-1", log, ArtifactKind::TEXT).await?;
    /// assert_eq!(log.spool_id(), Some("log-1"));
    /// # Ok::<(), turnwright_artifact::Error>(()) }).unwrap();
    /// ```
    ///
    /// # Errors
    /// Returns `E_SPOOL_ERROR` if the spool cannot store the content.
    pub async fn write(
        spool: &dyn Spool,
        spool_id: impl Into<String>,
        content: crate::spool::Body,
        kind: ArtifactKind,
    ) -> Result<Self, Error> {
        let put = Spooled::put(spool, &spool_id.into(), content).await;
        let (spooled, reader) = put.map_err(|error| {
            Error::new(
                ErrorCode::SPOOL_ERROR,
                "could not write the content to the spool",
            )
            .with_source(error)
        })?;
        Ok(SpooledArtifact::placed(Place::Spool(spooled), reader, kind))
    }

    #[doc(hidden)]
    pub fn placed(place: Place, reader: Arc<dyn ByteReader>, kind: ArtifactKind) -> Self {
        SpooledArtifact::loaded(place, reader, Ok(kind))
    }

    /// Creates an artifact of a kind, or of the name of one that is not registered.
    #[doc(hidden)]
    pub fn loaded(
        place: Place,
        reader: Arc<dyn ByteReader>,
        kind: Result<ArtifactKind, &str>,
    ) -> Self {
        SpooledArtifact {
            shared: Arc::new(Shared {
                reader,
                kind: kind.unwrap_or(ArtifactKind::TEXT),
                unknown_kind: kind.err().map(Into::into),
                lines: text::LineIndex::default(),
                place,
            }),
            limits: ArtifactLimits::default(),
        }
    }

    /// Creates an artifact from bytes in memory.
    pub fn in_memory(bytes: impl Into<Bytes>, kind: ArtifactKind) -> Self {
        let bytes = bytes.into();
        let reader = Arc::new(MemoryReader::new(bytes.clone()));
        SpooledArtifact::placed(Place::Memory(bytes), reader, kind)
    }

    /// Returns the same bytes as an artifact of another kind.
    #[must_use]
    pub fn of_kind(&self, kind: ArtifactKind) -> Self {
        let reader = Arc::clone(self.reader());
        SpooledArtifact::placed(self.shared.place.clone(), reader, kind).with_limits(self.limits)
    }

    /// Sets the size limits.
    #[must_use]
    pub fn with_limits(mut self, limits: ArtifactLimits) -> Self {
        self.limits = limits;
        self.limits.page = limits.page.max(MIN_PAGE);
        self
    }

    /// Returns the content type. An artifact of an [unknown kind](Self::unknown_kind) is text.
    #[must_use]
    pub fn kind(&self) -> ArtifactKind {
        self.shared.kind
    }

    /// Returns the stored name of the kind, if it is a custom kind that was not registered when the artifact was loaded. Only the
    /// text queries are available then. It keeps the name when it is stored again; [`of_kind`](Self::of_kind) sets the kind.
    ///
    /// A turn knows the kinds of its runner's tools (`ToolBuilder::artifact_kind`), a store those of its resolver
    /// (`ByteResolver::kind`).
    #[must_use]
    pub fn unknown_kind(&self) -> Option<&str> {
        self.shared.unknown_kind.as_deref()
    }

    /// Returns the name of the kind, known or not.
    #[doc(hidden)]
    pub fn kind_name(&self) -> &str {
        self.unknown_kind().unwrap_or(self.kind().as_str())
    }

    /// Returns the reader of the bytes.
    #[must_use]
    pub fn reader(&self) -> &Arc<dyn ByteReader> {
        &self.shared.reader
    }

    /// Returns the id of the spool entry, if the bytes are in a spool.
    #[must_use]
    pub fn spool_id(&self) -> Option<&str> {
        match &self.shared.place {
            Place::Spool(spooled) => Some(&spooled.id),
            Place::Memory(_) | Place::Reader => None,
        }
    }

    /// Returns whether the bytes are in memory. A record with such an artifact can be encoded without blocking.
    #[must_use]
    pub fn is_in_memory(&self) -> bool {
        matches!(self.shared.place, Place::Memory(_))
    }

    #[doc(hidden)]
    pub fn place(&self) -> &Place {
        &self.shared.place
    }

    /// Returns the size limits.
    #[must_use]
    pub fn limits(&self) -> ArtifactLimits {
        self.limits
    }

    /// Returns the size in bytes.
    #[must_use]
    pub fn byte_length(&self) -> u64 {
        self.shared.reader.len()
    }

    /// Creates an empty [`Page`] with the size limit of this artifact.
    #[must_use]
    pub fn page(&self) -> Page {
        Page::new(self.limits.page)
    }

    /// Reads all bytes into memory. Intended for programs; a query for a model should return a [`Page`].
    ///
    /// # Errors
    /// Returns `E_ARTIFACT_UNREADABLE` if the bytes cannot be read.
    pub async fn as_bytes(&self) -> Result<Bytes, Error> {
        self.bytes_of(0..self.byte_length()).await
    }

    /// Reads all bytes without waiting. `None` if the reader cannot.
    #[doc(hidden)]
    pub fn bytes_now(&self) -> Option<io::Result<Vec<u8>>> {
        let mut bytes = vec![0; usize::try_from(self.byte_length()).ok()?];
        let mut filled = 0;
        while let Some(rest) = bytes.get_mut(filled..).filter(|rest| !rest.is_empty()) {
            match self.reader().read_now(filled as u64, rest)? {
                Ok(0) => return Some(Err(io::ErrorKind::UnexpectedEof.into())),
                Ok(count) => filled += count,
                Err(error) => return Some(Err(error)),
            }
        }
        Some(Ok(bytes))
    }

    /// Reads a range, clamped to the content. Repeats short reads until the range is complete.
    async fn bytes_of(&self, range: Range<u64>) -> Result<Bytes, Error> {
        let (reader, len) = (self.reader(), self.byte_length());
        let unreadable = |at: u64| move |error| Error::unreadable_artifact(error, at, len);
        let end = range.end.min(len);
        let first = reader.read(range.start..end);
        let first = first.await.map_err(unreadable(range.start))?;
        let wanted = end.saturating_sub(range.start);
        if first.len() as u64 >= wanted {
            return Ok(first);
        }
        let mut all = BytesMut::from(&first[..]);
        while (all.len() as u64) < wanted {
            let at = range.start + all.len() as u64;
            let more = reader.read(at..end).await.map_err(unreadable(at))?;
            if more.is_empty() {
                let ended = io::Error::from(io::ErrorKind::UnexpectedEof);
                return Err(unreadable(at)(ended));
            }
            all.extend_from_slice(&more);
        }
        Ok(all.freeze())
    }

    /// Returns the first lines, up to 512 bytes in total. If the first line is longer, returns its beginning. Bytes that are not
    /// valid UTF-8 are shown as `\xNN`.
    ///
    /// # Errors
    /// Returns `E_ARTIFACT_UNREADABLE` if the bytes cannot be read.
    pub async fn opening(&self) -> Result<String, Error> {
        let first = self.bytes_of(0..OPENING).await?;
        let is_all = self.byte_length() <= OPENING;
        let last_line_end = first.iter().rposition(|byte| *byte == b'\n');
        let lines = match last_line_end {
            Some(end) if !is_all => first.get(..end).unwrap_or(&first),
            _ => first.strip_suffix(b"\n").unwrap_or(&first),
        };
        Ok(text::shown_lines(lines, OPENING as usize))
    }

    /// Returns the content as a prompt shows it. Bytes that are not valid UTF-8 are shown as `\xNN`.
    ///
    /// # Errors
    /// Returns `E_ARTIFACT_UNREADABLE` if the bytes cannot be read.
    #[doc(hidden)]
    pub async fn inline_text(&self) -> Result<String, Error> {
        let bytes = self.as_bytes().await?;
        Ok(match String::from_utf8(bytes.into()) {
            Ok(text) => text,
            Err(error) => text::shown_lines(error.as_bytes(), usize::MAX),
        })
    }

    /// Returns the names of the tools that read this artifact.
    pub fn tool_names(&self) -> impl Iterator<Item = &'static str> {
        let own = self.kind().queries();
        text::queries().iter().chain(own).map(|query| query.name())
    }
}

/// Converts a range of lines to its first line and its exclusive end, if it has one.
fn half_open(lines: &impl RangeBounds<u64>) -> (u64, Option<u64>) {
    let start = match lines.start_bound() {
        Bound::Included(start) => *start,
        Bound::Excluded(start) => start.saturating_add(1),
        Bound::Unbounded => 0,
    };
    let end = match lines.end_bound() {
        Bound::Included(end) => Some(end.saturating_add(1)),
        Bound::Excluded(end) => Some(*end),
        Bound::Unbounded => None,
    };
    (start, end)
}

debug_fields!(SpooledArtifact { kind_name(), byte_length() });

/// What a `#[tool]` function can return on success. Only for the error message.
#[diagnostic::on_unimplemented(
    message = "a tool cannot return `{Self}`",
    label = "the tool returns this",
    note = "derive `serde::Serialize` for a type of your own, or return text, a number, `bool`, `Option`, `Vec`, `()`, bytes, media or a `ToolOutput`"
)]
#[doc(hidden)]
pub trait ToolValue {}

impl<T: Serialize> ToolValue for T {}
impl ToolValue for ByteStream {}
impl ToolValue for SpooledArtifact {}
