//! Images, audio, video and documents. Media carry a trust label, and their bytes are read only when they are sent.
//!
//! ```
//! use turnwright_core::media::{Media, MediaKind, ModalityHazard};
//! use turnwright_core::spool::MemoryReader;
//! use turnwright_core::trust::TrustTier;
//!
//! let scan = Media::user_attachment(MediaKind::Document, "application/pdf", "lease.pdf", MemoryReader::new("%PDF…"))
//!     .derived("transcript", "The tenant shall …", TrustTier::FirstParty)
//!     .build()?;
//! assert_eq!(scan.tier(), TrustTier::ThirdPartyPrivate);
//! assert_eq!(scan.descriptor().modality_hazard, ModalityHazard::ExtractableInstructions);
//! // A derived text is trusted no more than the media.
//! assert_eq!(scan.derived("transcript").unwrap().trust_tier, TrustTier::ThirdPartyPrivate);
//! # Ok::<(), turnwright_core::Error>(())
//! ```

mod descriptor;
mod kind;
mod reader;

#[cfg(test)]
mod tests;

use std::io::{self, Write as _};
use std::sync::Arc;

use base64::engine::general_purpose::STANDARD;
use base64::write::EncoderStringWriter;
use bytes::{Bytes, BytesMut};

#[doc(no_inline)]
pub use crate::spool::MemoryReader;
pub use descriptor::{MediaBuilder, MediaDescriptor};
pub use kind::{MediaKind, ModalityHazard, sniff};
pub use reader::MediaReader;

use crate::spool::{ByteReader, ByteStream, Spooled};
use crate::trust::TrustTier;

/// An image, audio, video or document. Immutable and cheap to clone. The bytes are read lazily, each time they are sent.
/// Serialisation writes only the metadata and does not read the bytes.
///
/// ```
/// use turnwright_core::media::MediaKind;
/// use turnwright_core::spool::MemoryReader;
/// use turnwright_core::{Media, TurnInput};
///
/// let photo = MemoryReader::new("…");
/// let photo = Media::user_attachment(MediaKind::Image, "image/png", "cat.png", photo).build()?;
/// assert_eq!(photo.filename(), "cat.png");
/// assert!(photo.is_untrusted());
/// let input = TurnInput::new("What is in this picture?").media(photo);
/// # Ok::<(), turnwright_core::Error>(())
/// ```
#[derive(Clone)]
pub struct Media {
    described: Arc<MediaDescriptor>,
    reader: Arc<dyn MediaReader>,
    /// Where a spool stores the bytes, if one does.
    spooled: Option<Spooled>,
    /// Whether the bytes are never copied into a spool.
    in_place: bool,
}

/// Text derived from media: a transcript or a caption.
#[derive(Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Derived {
    /// The text.
    pub text: String,
    /// How far the text is trusted: never more than the media.
    pub trust_tier: TrustTier,
}

impl Media {
    /// Returns the id.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.described.id
    }

    /// Returns the kind.
    #[must_use]
    pub fn kind(&self) -> MediaKind {
        self.described.kind
    }

    /// Returns the MIME type.
    #[must_use]
    pub fn mime_type(&self) -> &str {
        &self.described.mime_type
    }

    /// Returns the file name as received. Never use it as a path.
    #[must_use]
    pub fn filename(&self) -> &str {
        &self.described.filename
    }

    /// Returns how far the content is trusted.
    #[must_use]
    pub fn tier(&self) -> TrustTier {
        self.described.trust_tier
    }

    /// Returns whether a prompt that shows the media must warn the model not to follow instructions in it.
    #[must_use]
    pub fn is_untrusted(&self) -> bool {
        self.tier() < TrustTier::FirstParty
            && self.described.modality_hazard != ModalityHazard::Inert
    }

    /// Returns the derived text with this name.
    #[must_use]
    pub fn derived(&self, name: &str) -> Option<&Derived> {
        self.described.stash.get(name)
    }

    /// Adds a derived text. Its trust tier is at most that of the media.
    #[must_use]
    pub fn with_derived(
        &self,
        name: impl Into<String>,
        text: impl Into<String>,
        tier: TrustTier,
    ) -> Self {
        let mut media = self.clone();
        Arc::make_mut(&mut media.described).derive(name.into(), text.into(), tier);
        media
    }

    /// Returns the id of the spool entry, if a spool has the bytes. A store saves the id, not the bytes.
    #[must_use]
    pub fn spool_id(&self) -> Option<&str> {
        self.spooled.as_ref().map(|spooled| &*spooled.id)
    }

    pub(crate) fn spooled(&self) -> Option<&Spooled> {
        self.spooled.as_ref()
    }

    /// Sets the spool entry from which the reader reads.
    pub(crate) fn in_spool(mut self, spooled: Spooled) -> Self {
        self.spooled = Some(spooled);
        self
    }

    /// Leaves the bytes where they are: see [`MediaBuilder::in_place`].
    pub(crate) fn in_place(mut self) -> Self {
        self.in_place = true;
        self
    }

    /// Returns the reader of bytes that are to be copied into a spool.
    pub(crate) fn unspooled(&self) -> Option<Arc<dyn ByteReader>> {
        match (&self.spooled, self.in_place) {
            (None, false) => self.reader.byte_reader(),
            _ => None,
        }
    }

    /// Replaces the reader with one of a spool entry.
    pub(crate) fn moved(self, spooled: Spooled, reader: Arc<dyn ByteReader>) -> Self {
        self.with_reader(Arc::new(reader)).in_spool(spooled)
    }

    pub(crate) fn with_reader(mut self, reader: Arc<dyn MediaReader>) -> Self {
        self.reader = reader;
        self
    }

    /// Returns the metadata.
    #[must_use]
    pub fn descriptor(&self) -> &MediaDescriptor {
        &self.described
    }

    /// Returns the size in bytes, if known without reading.
    #[must_use]
    pub fn byte_length(&self) -> Option<u64> {
        self.reader.len_hint()
    }

    /// Opens a stream of the bytes. Each call starts from the beginning.
    ///
    /// # Errors
    /// Returns an error if the bytes cannot be read.
    pub async fn stream(&self) -> io::Result<ByteStream> {
        self.reader.open().await
    }

    /// Reads all bytes into memory, without a size limit. Use [`Media::stream`] if the size is unknown.
    ///
    /// # Errors
    /// Returns an error if the bytes cannot be read.
    pub async fn bytes(&self) -> io::Result<Bytes> {
        let mut stream = self.stream().await?;
        let mut all = BytesMut::new();
        while let Some(piece) = stream.next().await {
            all.extend_from_slice(&piece?);
        }
        Ok(all.freeze())
    }

    /// Reads everything as base64 (standard alphabet, with padding) into memory, without a size limit.
    ///
    /// # Errors
    /// Returns an error if the bytes cannot be read.
    pub async fn base64(&self) -> io::Result<String> {
        let mut stream = self.stream().await?;
        let mut all = EncoderStringWriter::new(&STANDARD);
        while let Some(piece) = stream.next().await {
            all.write_all(&piece?)?;
        }
        Ok(all.into_inner())
    }
}

impl serde::Serialize for Media {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.described.serialize(serializer)
    }
}

debug_fields!(Media { described });

debug_fields!(Derived { trust_tier });
