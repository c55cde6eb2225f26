//! Making a media: the factories say what is true of where it comes from.

use indexmap::IndexMap;

use super::descriptor::MediaDescriptor;
use super::reader::MediaReader;
use super::{Media, MediaKind, ModalityHazard};
use crate::error::Error;
use crate::ids::new_id;
use crate::trust::TrustTier;

/// Makes a [`Media`]: see [`Media::user_attachment`] and its siblings.
#[must_use = "a builder does nothing until `build` is called"]
pub struct MediaBuilder {
    described: MediaDescriptor,
    reader: Box<dyn FnOnce(MediaDescriptor) -> Result<Media, Error> + Send>,
}

impl Media {
    /// Starts a media that a user attached: third-party-private, since users pass on what others wrote.
    pub fn user_attachment(
        kind: MediaKind,
        mime_type: impl Into<String>,
        filename: impl Into<String>,
        reader: impl MediaReader + 'static,
    ) -> MediaBuilder {
        let (tier, hazard) = (TrustTier::ThirdPartyPrivate, kind.hazard());
        Media::labelled(kind, tier, hazard, mime_type, filename, reader)
    }

    /// Starts a media that a tool of yours made: first-party.
    pub fn tool_generated(
        kind: MediaKind,
        mime_type: impl Into<String>,
        filename: impl Into<String>,
        reader: impl MediaReader + 'static,
    ) -> MediaBuilder {
        let (tier, hazard) = (TrustTier::FirstParty, kind.hazard());
        Media::labelled(kind, tier, hazard, mime_type, filename, reader)
    }

    /// Starts a media from a place where anybody may write: third-party-public.
    pub fn retrieved_public(
        kind: MediaKind,
        mime_type: impl Into<String>,
        filename: impl Into<String>,
        reader: impl MediaReader + 'static,
    ) -> MediaBuilder {
        let (tier, hazard) = (TrustTier::ThirdPartyPublic, kind.hazard());
        Media::labelled(kind, tier, hazard, mime_type, filename, reader)
    }

    /// Starts a media from a place where only known people write: third-party-private.
    pub fn retrieved_private(
        kind: MediaKind,
        mime_type: impl Into<String>,
        filename: impl Into<String>,
        reader: impl MediaReader + 'static,
    ) -> MediaBuilder {
        let (tier, hazard) = (TrustTier::ThirdPartyPrivate, kind.hazard());
        Media::labelled(kind, tier, hazard, mime_type, filename, reader)
    }

    /// A media whose tier and hazard you know better than the factories do.
    pub fn labelled(
        kind: MediaKind,
        tier: TrustTier,
        hazard: ModalityHazard,
        mime_type: impl Into<String>,
        filename: impl Into<String>,
        reader: impl MediaReader + 'static,
    ) -> MediaBuilder {
        MediaBuilder {
            described: MediaDescriptor {
                id: new_id(),
                kind,
                mime_type: mime_type.into(),
                filename: filename.into(),
                source: None,
                trust_tier: tier,
                modality_hazard: hazard,
                stash: IndexMap::new(),
            },
            reader: Box::new(move |described| described.attach(reader)),
        }
    }
}

impl MediaBuilder {
    /// Its id. A new one unless told.
    pub fn id(mut self, id: impl Into<String>) -> Self {
        self.described.id = id.into();
        self
    }

    /// Where it is from: a URL, a path, a name.
    pub fn source(mut self, source: impl Into<String>) -> Self {
        self.described.source = Some(source.into());
        self
    }

    /// Text that was derived from it: a transcript, a caption. Trusted no further than the media itself.
    pub fn derived(
        mut self,
        name: impl Into<String>,
        text: impl Into<String>,
        tier: TrustTier,
    ) -> Self {
        self.described.derive(name.into(), text.into(), tier);
        self
    }

    /// Makes the media.
    ///
    /// # Errors
    /// `E_INVALID_INITIAL_MEDIA_VALUE`, which names every wrong field.
    pub fn build(self) -> Result<Media, Error> {
        (self.reader)(self.described)
    }
}

debug_fields!(MediaBuilder { described });
