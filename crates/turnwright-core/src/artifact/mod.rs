//! Results too large for a prompt, kept whole and asked for what is needed.
//!
//! A [`SpooledArtifact`] is a lazy, read-only view over a reader. The model never sees all of it: it asks, with tools that
//! are forged for the moment, and every answer is bounded.

mod error;
mod handle;
mod inline;
#[cfg(feature = "artifact-json")]
pub mod json;
mod kind;
mod limits;
#[cfg(feature = "artifact-markdown")]
pub mod markdown;
mod page;
mod query;
mod read;
pub mod text;

use std::ops::{Bound, Range, RangeBounds};
use std::sync::Arc;
use std::{fmt, io};

use bytes::{Bytes, BytesMut};

pub use inline::Inline;
pub use kind::ArtifactKind;
pub use limits::ArtifactLimits;
pub use page::Page;
pub use query::Query;
pub use read::ArtifactRead;

use crate::error::{Error, ErrorCode};
use crate::spool::{ByteReader, MemoryReader, Spool, Spooled};

/// A lazy, read-only view over bytes that are kept somewhere. Cheap to clone: clones share what was found out about it.
#[derive(Clone)]
pub struct SpooledArtifact {
    shared: Arc<Shared>,
    limits: ArtifactLimits,
}

struct Shared {
    reader: Arc<dyn ByteReader>,
    kind: ArtifactKind,
    lines: text::LineIndex,
    place: Place,
}

/// Where the bytes are.
#[derive(Clone)]
pub(crate) enum Place {
    Spool(Spooled),
    Memory(Bytes),
    /// Wherever the reader finds them.
    Reader,
}

impl SpooledArtifact {
    /// A view over a reader. A record that holds it can be stored if its bytes are few and near: see
    /// [`SpooledArtifact::keep`] for the others.
    #[must_use]
    pub fn new(reader: Arc<dyn ByteReader>, kind: ArtifactKind) -> Self {
        SpooledArtifact::placed(Place::Reader, reader, kind)
    }

    /// A view over what a spool keeps under this id. A store writes the id and not the bytes.
    #[cfg(test)]
    pub(crate) fn spooled(
        spool_id: impl Into<String>,
        reader: Arc<dyn ByteReader>,
        kind: ArtifactKind,
    ) -> Self {
        let spooled = Spooled {
            id: spool_id.into().into(),
            digest: None,
        };
        SpooledArtifact::placed(Place::Spool(spooled), reader, kind)
    }

    /// Puts content into a spool under an id, and gives the view over it.
    ///
    /// ```
    /// use turnwright_core::artifact::{ArtifactKind, SpooledArtifact};
    /// use turnwright_core::spool::MemorySpool;
    /// use turnwright_core::spool::Body;
    ///
    /// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
    /// let spool = MemorySpool::default();
    /// let log = Body::Text("one\ntwo\n".to_owned());
    /// let log = SpooledArtifact::keep(&spool, "log-1", log, ArtifactKind::TEXT).await?;
    /// assert_eq!(log.spool_id(), Some("log-1"));
    /// # Ok::<(), turnwright_core::Error>(()) }).unwrap();
    /// ```
    ///
    /// # Errors
    /// `E_SPOOL_ERROR`: the spool could not keep it.
    pub async fn keep(
        spool: &dyn Spool,
        spool_id: impl Into<String>,
        content: crate::spool::Body,
        kind: ArtifactKind,
    ) -> Result<Self, Error> {
        let put = Spooled::put(spool, &spool_id.into(), content).await;
        let (spooled, reader) = put.map_err(|error| {
            Error::new(ErrorCode::SPOOL_ERROR, "the content could not be kept").with_source(error)
        })?;
        Ok(SpooledArtifact::placed(Place::Spool(spooled), reader, kind))
    }

    pub(crate) fn placed(place: Place, reader: Arc<dyn ByteReader>, kind: ArtifactKind) -> Self {
        SpooledArtifact {
            shared: Arc::new(Shared {
                reader,
                kind,
                lines: text::LineIndex::default(),
                place,
            }),
            limits: ArtifactLimits::default(),
        }
    }

    /// A view over bytes in memory.
    pub fn in_memory(bytes: impl Into<Bytes>, kind: ArtifactKind) -> Self {
        let bytes = bytes.into();
        let reader = Arc::new(MemoryReader::new(bytes.clone()));
        SpooledArtifact::placed(Place::Memory(bytes), reader, kind)
    }

    /// The same bytes as another kind of artifact.
    #[must_use]
    pub fn of_kind(&self, kind: ArtifactKind) -> Self {
        if kind == self.kind() {
            return self.clone();
        }
        let reader = Arc::clone(self.reader());
        SpooledArtifact::placed(self.shared.place.clone(), reader, kind).with_limits(self.limits)
    }

    /// The same artifact under other limits.
    #[must_use]
    pub fn with_limits(mut self, limits: ArtifactLimits) -> Self {
        self.limits = limits;
        self
    }

    /// What its bytes are.
    #[must_use]
    pub fn kind(&self) -> ArtifactKind {
        self.shared.kind
    }

    /// Its bytes.
    #[must_use]
    pub fn reader(&self) -> &Arc<dyn ByteReader> {
        &self.shared.reader
    }

    /// The id under which a spool keeps its bytes, if one does.
    #[must_use]
    pub fn spool_id(&self) -> Option<&str> {
        match &self.shared.place {
            Place::Spool(spooled) => Some(&spooled.id),
            Place::Memory(_) | Place::Reader => None,
        }
    }

    /// Whether its bytes are in memory: a record that holds it can then be encoded without blocking.
    #[must_use]
    pub fn is_in_memory(&self) -> bool {
        matches!(self.shared.place, Place::Memory(_))
    }

    pub(crate) fn place(&self) -> &Place {
        &self.shared.place
    }

    /// How large answers may be, and what is parsed whole.
    #[must_use]
    pub fn limits(&self) -> ArtifactLimits {
        self.limits
    }

    /// How many bytes it has.
    #[must_use]
    pub fn byte_length(&self) -> u64 {
        self.shared.reader.len()
    }

    /// A page for an answer, as large as answers about this artifact may be.
    #[must_use]
    pub fn page(&self) -> Page {
        Page::new(self.limits.answer)
    }

    /// All of its bytes, as they are. Needs as much memory: meant for programs, not for answers.
    ///
    /// # Errors
    /// `E_ARTIFACT_UNREADABLE`.
    pub async fn as_bytes(&self) -> Result<Bytes, Error> {
        self.bytes_of(0..self.byte_length()).await
    }

    /// The bytes of a range, clamped: all of them, from readers too that give less at once than was asked for.
    pub(crate) async fn bytes_of(&self, range: Range<u64>) -> Result<Bytes, Error> {
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
}

/// Formats a count with its noun, such as `3 nodes`.
fn counted(count: u64, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

/// The first line of a range, and the line before which it ends, if it does.
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

impl fmt::Debug for SpooledArtifact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SpooledArtifact")
            .field("kind", &self.shared.kind)
            .field("bytes", &self.byte_length())
            .finish_non_exhaustive()
    }
}
