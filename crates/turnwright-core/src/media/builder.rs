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

/// One table makes the factories, so that each says its tier in one place.
macro_rules! factories {
    ($($(#[$doc:meta])* $name:ident => $tier:ident;)+) => {$(
        $(#[$doc])*
        pub fn $name(
            kind: MediaKind,
            mime_type: impl Into<String>,
            filename: impl Into<String>,
            reader: impl MediaReader + 'static,
        ) -> MediaBuilder {
            Media::labelled(kind, TrustTier::$tier, kind.hazard(), mime_type, filename, reader)
        }
    )+};
}

impl Media {
    factories! {
        /// What a user attached: third-party-private, since a user passes on what others wrote.
        user_attachment => ThirdPartyPrivate;
        /// What a tool of yours made: first-party.
        tool_generated => FirstParty;
        /// What was found where anybody may write: third-party-public.
        retrieved_public => ThirdPartyPublic;
        /// What was found where only known people write: third-party-private.
        retrieved_private => ThirdPartyPrivate;
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
