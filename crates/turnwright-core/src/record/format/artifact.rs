//! Artifacts: the spool entry with their bytes, or the bytes themselves.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::field::{Base64, Digest, Encoded, Text};
use super::invalid::unstorable;
use super::{Invalid, bytes};
use crate::artifact::{ArtifactLimits, Place, SpooledArtifact};
use crate::error::Error;
use crate::record::byte_resolver::SpoolReader;
use crate::record::{ByteResolver, RecordKind};
use crate::spool::{ByteReader, MemoryReader, Spooled};

/// Maximum size of an artifact that is stored in its record.
const MAX_INLINE_BYTES: u64 = 1024 * 1024;

#[derive(Serialize, Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
pub(super) struct StoredArtifact<'a> {
    kind: Text<'a>,
    bytes: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    spool: Option<Text<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sha256: Option<Digest>,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<Text<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    base64: Option<Base64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    limits: Option<StoredLimits>,
}

#[derive(Serialize, Deserialize)]
struct StoredLimits {
    answer: u64,
    parse: u64,
}

impl<'a> StoredArtifact<'a> {
    pub(super) fn new(kind: RecordKind, artifact: &'a SpooledArtifact) -> Result<Self, Error> {
        let mut stored = StoredArtifact::described(artifact);
        let unstorable = |reason: String| unstorable(kind, &reason);
        match artifact.place() {
            Place::Spool(_) => {}
            Place::Memory(bytes) => {
                check_length(artifact).map_err(unstorable)?;
                (stored.text, stored.base64) = bytes::write(bytes);
            }
            Place::Reader => {
                let bytes = read_now(artifact).map_err(unstorable)?;
                match String::from_utf8(bytes) {
                    Ok(text) => stored.text = Some(text.into()),
                    Err(error) => stored.base64 = Some(Encoded(error.into_bytes())),
                }
            }
        }
        let limits = artifact.limits();
        stored.limits = (limits != ArtifactLimits::default()).then_some(StoredLimits {
            answer: limits.page as u64,
            parse: limits.parse,
        });
        Ok(stored)
    }

    /// Describes an artifact: its kind, its length and its spool entry, if any.
    pub(super) fn described(artifact: &'a SpooledArtifact) -> Self {
        let spooled = match artifact.place() {
            Place::Spool(spooled) => Some(spooled),
            Place::Memory(_) | Place::Reader => None,
        };
        StoredArtifact {
            kind: artifact.kind_name().into(),
            bytes: artifact.byte_length(),
            spool: spooled.map(|spooled| (*spooled.id).into()),
            sha256: spooled.and_then(|spooled| spooled.digest).map(Encoded),
            text: None,
            base64: None,
            limits: None,
        }
    }

    pub(super) fn read(self, resolver: &ByteResolver) -> Result<SpooledArtifact, Invalid> {
        let (place, reader) = match spooled(self.spool, self.sha256) {
            Some(spooled) => {
                let reader = SpoolReader::open_later(resolver, &spooled, self.bytes);
                (Place::Spool(spooled), reader)
            }
            None => {
                let bytes = bytes::read(self.text, self.base64)?;
                if bytes.len() as u64 != self.bytes {
                    return Err(Invalid::new(
                        "bytes",
                        "does not match the number of stored bytes",
                    ));
                }
                let reader = Arc::new(MemoryReader::new(bytes.clone())) as Arc<dyn ByteReader>;
                (Place::Memory(bytes), reader)
            }
        };
        let kind = resolver.kind_named(&self.kind).ok_or(&*self.kind);
        let artifact = SpooledArtifact::loaded(place, reader, kind);
        let Some(StoredLimits { answer, parse }) = self.limits else {
            return Ok(artifact);
        };
        let answer = usize::try_from(answer).unwrap_or(usize::MAX);
        Ok(artifact.with_limits(ArtifactLimits::default().page(answer).parse(parse)))
    }
}

/// Returns the spool entry, if there is one.
pub(super) fn spooled(id: Option<Text<'_>>, digest: Option<Digest>) -> Option<Spooled> {
    id.map(|id| Spooled {
        id: (*id).into(),
        digest: digest.map(|digest| digest.0),
    })
}

const ADVICE: &str =
    "write it to one with `SpooledArtifact::write`, or configure a spool for the runner";

/// Returns the length of an artifact that is not in a spool, if it is not too long.
fn check_length(artifact: &SpooledArtifact) -> Result<u64, String> {
    match artifact.byte_length() {
        length if length > MAX_INLINE_BYTES => Err(format!(
            "an artifact of {length} bytes is not in a spool, and a record can hold at most {MAX_INLINE_BYTES}: {ADVICE}"
        )),
        length => Ok(length),
    }
}

/// Reads the bytes of an artifact that is not in a spool, if they are few and can be read synchronously.
fn read_now(artifact: &SpooledArtifact) -> Result<Vec<u8>, String> {
    let length = check_length(artifact)?;
    let mut all = vec![0; usize::try_from(length).unwrap_or_default()];
    let mut filled = 0;
    while let Some(rest) = all.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        match artifact.reader().read_now(filled as u64, rest) {
            None => {
                return Err(format!(
                    "an artifact is not in a spool, and its bytes cannot be read synchronously: {ADVICE}"
                ));
            }
            Some(Ok(0)) => {
                return Err("an artifact has fewer bytes than its reported length".to_owned());
            }
            Some(Ok(count)) => filled += count,
            Some(Err(error)) => return Err(format!("an artifact cannot be read: {error}")),
        }
    }
    Ok(all)
}
