//! Images, audio, video and documents: labelled when they are made, read only at the wire.
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
//! assert_eq!(scan.hazard(), ModalityHazard::ExtractableInstructions);
//! // What was derived from it is trusted no more than it is.
//! assert_eq!(scan.derived("transcript").unwrap().trust_tier, TrustTier::ThirdPartyPrivate);
//! # Ok::<(), turnwright_core::Error>(())
//! ```

mod base64_stream;
mod builder;
mod descriptor;
mod kind;
mod reader;
#[cfg(feature = "sniff")]
mod sniff;

#[cfg(test)]
mod tests;

use std::io;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use indexmap::IndexMap;

use base64_stream::Base64Stream;
pub use builder::MediaBuilder;
pub use descriptor::MediaDescriptor;
pub use kind::{MediaKind, ModalityHazard};
pub use reader::MediaReader;
#[cfg(feature = "sniff")]
pub use sniff::sniff;

use crate::spool::{Body, ByteStream, Spool, Spooled};
use crate::trust::TrustTier;

/// An image, a piece of audio or video, or a document. Lazy: its bytes are read when they are sent, as often as needed.
/// Immutable, cheap to clone. Serialising one gives what is known of it and never touches its bytes.
#[derive(Clone)]
pub struct Media {
    described: Arc<MediaDescriptor>,
    reader: Arc<dyn MediaReader>,
    /// Where a spool stores the bytes, if one does.
    spooled: Option<Spooled>,
}

/// Text that was derived from a media: a transcript, a caption.
#[derive(Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Derived {
    /// The text.
    pub text: String,
    /// How far it can be trusted: never further than the media.
    pub trust_tier: TrustTier,
}

impl Media {
    /// Its id.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.described.id
    }

    /// What it is.
    #[must_use]
    pub fn kind(&self) -> MediaKind {
        self.described.kind
    }

    /// Its MIME type.
    #[must_use]
    pub fn mime_type(&self) -> &str {
        &self.described.mime_type
    }

    /// Its file name, as it came: never a path to write to.
    #[must_use]
    pub fn filename(&self) -> &str {
        &self.described.filename
    }

    /// Where it is from, if that was said.
    #[must_use]
    pub fn source(&self) -> Option<&str> {
        self.described.source.as_deref()
    }

    /// How far it can be trusted.
    #[must_use]
    pub fn tier(&self) -> TrustTier {
        self.described.trust_tier
    }

    /// How it could carry instructions.
    #[must_use]
    pub fn hazard(&self) -> ModalityHazard {
        self.described.modality_hazard
    }

    /// Whether a prompt that shows it must say that it is not to be obeyed.
    #[must_use]
    pub fn is_untrusted(&self) -> bool {
        self.tier() < TrustTier::FirstParty && self.hazard() != ModalityHazard::Inert
    }

    /// What was derived from it under a name.
    #[must_use]
    pub fn derived(&self, name: &str) -> Option<&Derived> {
        self.described.stash.get(name)
    }

    /// All that was derived from it.
    #[must_use]
    pub fn stash(&self) -> &IndexMap<String, Derived> {
        &self.described.stash
    }

    /// The same media with one more text that was derived from it, trusted no further than the media itself.
    #[must_use]
    pub fn with_derived(
        &self,
        name: impl Into<String>,
        text: impl Into<String>,
        tier: TrustTier,
    ) -> Self {
        let mut described = (*self.described).clone();
        described.derive(name.into(), text.into(), tier);
        Media {
            described: Arc::new(described),
            reader: Arc::clone(&self.reader),
            spooled: self.spooled.clone(),
        }
    }

    /// The id under which a spool stores its bytes, if one does. A store writes the id and not the bytes.
    #[must_use]
    pub fn spool_id(&self) -> Option<&str> {
        self.spooled.as_ref().map(|spooled| &*spooled.id)
    }

    pub(crate) fn spooled(&self) -> Option<&Spooled> {
        self.spooled.as_ref()
    }

    /// The same media, whose reader reads what a spool stores.
    pub(crate) fn in_spool(mut self, spooled: Spooled) -> Self {
        self.spooled = Some(spooled);
        self
    }

    /// Whether its bytes are in no spool yet and can be put into one.
    pub(crate) fn is_to_be_spooled(&self) -> bool {
        self.spooled.is_none() && self.reader.byte_reader().is_some()
    }

    /// The same media with its bytes in a spool, unless they are in one or cannot be read by range.
    pub(crate) async fn keep(self, spool: &dyn Spool, spool_id: &str) -> io::Result<Self> {
        let reader = self.reader.byte_reader().filter(|_| self.spooled.is_none());
        let Some(reader) = reader else {
            return Ok(self);
        };
        let content = Body::Stream(ByteStream::of_reader(reader));
        let (spooled, reader) = Spooled::put(spool, spool_id, content).await?;
        Ok(Media {
            reader: Arc::new(reader),
            spooled: Some(spooled),
            ..self
        })
    }

    /// What is known of it without its bytes.
    #[must_use]
    pub fn descriptor(&self) -> &MediaDescriptor {
        &self.described
    }

    /// How many bytes it has, if that is known without reading them.
    #[must_use]
    pub fn byte_length(&self) -> Option<u64> {
        self.reader.len_hint()
    }

    /// Its bytes, piece by piece, from the beginning, each time.
    ///
    /// # Errors
    /// They cannot be read.
    pub async fn stream(&self) -> io::Result<ByteStream> {
        self.reader.open().await
    }

    /// All of its bytes. Needs as much memory, without a bound: use [`Media::stream`] where the size is not known.
    ///
    /// # Errors
    /// They cannot be read.
    pub async fn bytes(&self) -> io::Result<Bytes> {
        let mut stream = self.stream().await?;
        let mut all = BytesMut::new();
        while let Some(piece) = stream.next().await {
            all.extend_from_slice(&piece?);
        }
        Ok(all.freeze())
    }

    /// Returns all bytes as base64: the standard alphabet, with padding. Holds the whole text in memory.
    ///
    /// # Errors
    /// Its bytes cannot be read.
    pub async fn base64(&self) -> io::Result<String> {
        let mut stream = self.base64_stream().await?;
        let mut all = String::new();
        while let Some(piece) = stream.next().await {
            all.push_str(&piece?);
        }
        Ok(all)
    }

    /// The bytes as base64, piece by piece: the pieces joined are what [`Media::base64`] returns.
    pub(crate) async fn base64_stream(&self) -> io::Result<Base64Stream> {
        Ok(Base64Stream::new(self.stream().await?))
    }
}

impl serde::Serialize for Media {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.described.serialize(serializer)
    }
}

debug_fields!(Media { described });

debug_fields!(Derived { trust_tier });
