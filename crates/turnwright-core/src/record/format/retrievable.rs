//! Retrieved passages, documents and media.

use serde::{Deserialize, Serialize};

use super::artifact::StoredArtifact;
use super::coverage::StoredCoverage;
use super::field::{Encoded, Text, Time, VERSION};
use super::media::StoredMedia;
use super::{Invalid, Stored, stamp};
use crate::error::Error;
use crate::record::{ByteResolver, Record, RecordKind, Retrievable, Retrieved};
use crate::trust::TrustTier;

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
pub(super) struct StoredRetrievable<'a> {
    v: u64,
    kind: RecordKind,
    id: Text<'a>,
    created_at: Time,
    updated_at: Time,
    trust_tier: TrustTier,
    inline: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    private: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<Text<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<Text<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    artifact: Option<StoredArtifact<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    media: Option<StoredMedia<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    covers: Option<StoredCoverage<'a>>,
}

impl<'a> TryFrom<&'a Retrievable> for StoredRetrievable<'a> {
    type Error = Error;

    fn try_from(found: &'a Retrievable) -> Result<Self, Error> {
        let mut stored = StoredRetrievable {
            v: VERSION,
            kind: RecordKind::Retrievable,
            id: found.id().into(),
            created_at: Encoded(found.created_at()),
            updated_at: Encoded(found.updated_at()),
            trust_tier: found.tier(),
            inline: found.is_inline(),
            // The tier third-party-private implies it.
            private: (found.is_private() && found.tier() != TrustTier::ThirdPartyPrivate)
                .then_some(true),
            source: found.source().map(Text::from),
            text: None,
            artifact: None,
            media: None,
            covers: found.covers().map(StoredCoverage::from),
        };
        match found.content() {
            Retrieved::Text(text) => stored.text = Some(text.as_str().into()),
            Retrieved::Artifact(artifact) => {
                let artifact = StoredArtifact::new(RecordKind::Retrievable, artifact)?;
                stored.artifact = Some(artifact);
            }
            Retrieved::Media(media) => stored.media = Some(media.into()),
        }
        Ok(stored)
    }
}

impl Stored for StoredRetrievable<'_> {
    fn header(&self) -> (u64, RecordKind) {
        (self.v, self.kind)
    }

    fn read(self, resolver: &ByteResolver) -> Result<Record, Invalid> {
        let content = match (self.artifact, self.media, self.text) {
            (Some(artifact), _, _) => {
                let artifact = artifact.read(resolver);
                Retrieved::Artifact(artifact.map_err(|error| error.inside("artifact"))?)
            }
            (None, Some(media), _) => {
                let media = media
                    .read(resolver)
                    .map_err(|error| error.inside("media"))?;
                if media.tier() != self.trust_tier {
                    return Err(Invalid::new(
                        "trustTier",
                        "does not match that of the media",
                    ));
                }
                Retrieved::Media(media)
            }
            (None, None, Some(text)) => Retrieved::Text(text.into_owned()),
            (None, None, None) => return Err(Invalid::missing("text")),
        };
        let stamp = stamp(self.id, self.created_at, self.updated_at);
        let mut builder = Retrievable::stamped(content, self.trust_tier, self.inline, stamp)
            .private(self.private.unwrap_or_default());
        if let Some(source) = self.source {
            builder = builder.source(source.into_owned());
        }
        if let Some(covers) = self.covers {
            let covers = covers.read().map_err(|error| error.inside("covers"))?;
            builder = builder.covers(covers);
        }
        Ok(builder.build()?.into())
    }
}
