//! Media: their metadata, and the spool entry with their bytes.

use std::borrow::Cow;

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

use super::Invalid;
use super::artifact::spooled;
use super::field::{Digest, Encoded, Text};
use crate::media::{Derived, Media, MediaDescriptor, MediaKind, ModalityHazard};
use crate::record::ByteResolver;
use crate::record::byte_resolver::{MediaElsewhere, SpoolReader};
use crate::trust::TrustTier;

/// The fields of [`MediaDescriptor`], and the location of the bytes. Not flattened: that would buffer all unknown fields, however
/// deep.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
pub(super) struct StoredMedia<'a> {
    id: Text<'a>,
    kind: MediaKind,
    mime_type: Text<'a>,
    filename: Text<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<Text<'a>>,
    trust_tier: TrustTier,
    modality_hazard: ModalityHazard,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    stash: Option<Cow<'a, IndexMap<String, Derived>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    spool: Option<Text<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sha256: Option<Digest>,
}

impl<'a> From<&'a Media> for StoredMedia<'a> {
    fn from(media: &'a Media) -> Self {
        let known = media.descriptor();
        let spooled = media.spooled();
        StoredMedia {
            id: known.id.as_str().into(),
            kind: known.kind,
            mime_type: known.mime_type.as_str().into(),
            filename: known.filename.as_str().into(),
            source: known.source.as_deref().map(Text::from),
            trust_tier: known.trust_tier,
            modality_hazard: known.modality_hazard,
            stash: (!known.stash.is_empty()).then_some(Cow::Borrowed(&known.stash)),
            bytes: media.byte_length(),
            spool: spooled.map(|spooled| (*spooled.id).into()),
            sha256: spooled.and_then(|spooled| spooled.digest).map(Encoded),
        }
    }
}

impl StoredMedia<'_> {
    pub(super) fn read(self, resolver: &ByteResolver) -> Result<Media, Invalid> {
        let known = MediaDescriptor {
            id: self.id.into_owned(),
            kind: self.kind,
            mime_type: self.mime_type.into_owned(),
            filename: self.filename.into_owned(),
            source: self.source.map(Text::into_owned),
            trust_tier: self.trust_tier,
            modality_hazard: self.modality_hazard,
            stash: self.stash.map(Cow::into_owned).unwrap_or_default(),
        };
        let Some(spooled) = spooled(self.spool, self.sha256) else {
            let reader = MediaElsewhere {
                descriptor: known.clone(),
                bytes: self.bytes,
                find: resolver.media.clone(),
            };
            return Ok(known.attach(reader)?);
        };
        let length = self.bytes.ok_or_else(|| Invalid::missing("bytes"))?;
        let reader = SpoolReader::open_later(resolver, &spooled, length);
        Ok(known.attach(reader)?.in_spool(spooled))
    }
}
