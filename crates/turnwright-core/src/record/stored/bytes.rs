//! Stored bytes, artifacts, media and arguments.

use std::borrow::Cow;
use std::io;
use std::sync::Arc;

use bytes::Bytes;
use serde::de::Error as _;
use serde::ser::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use super::field::{Base64, Stored, part};
use super::invalid::OURS;
use crate::artifact::{Place, SpooledArtifact};
use crate::checksum::Hex;
use crate::media::{Media, MediaDescriptor};
use crate::record::byte_resolver::{MediaElsewhere, SpoolReader};
use crate::schema::{Raw, RawArgs};
use crate::spool::{ByteReader, MemoryReader, Spooled};

/// Maximum size of an artifact that is stored in its record.
const MAX_INLINE_BYTES: u64 = 1024 * 1024;

/// Bytes, as text if they are UTF-8, so that they are readable in the database.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum StoredBytes<'a> {
    Text(Cow<'a, str>),
    #[serde(with = "part")]
    Base64(Base64<'a>),
}

impl<'a> From<&'a [u8]> for StoredBytes<'a> {
    fn from(bytes: &'a [u8]) -> Self {
        match std::str::from_utf8(bytes) {
            Ok(text) => StoredBytes::Text(text.into()),
            Err(_) => StoredBytes::Base64(Base64(bytes.into())),
        }
    }
}

impl From<StoredBytes<'_>> for Bytes {
    fn from(stored: StoredBytes<'_>) -> Self {
        match stored {
            StoredBytes::Text(text) => text.into_owned().into(),
            StoredBytes::Base64(Base64(bytes)) => bytes.into_owned().into(),
        }
    }
}

impl Stored for Bytes {
    fn write<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        StoredBytes::from(&**self).serialize(to)
    }

    fn read<'de, D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        StoredBytes::deserialize(from).map(Bytes::from)
    }
}

/// The arguments of a call: text or a value.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
enum StoredArgs<'a> {
    Text(Cow<'a, str>),
    #[serde(with = "part")]
    Json(Value),
}

impl Stored for RawArgs {
    fn write<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let stored = match self.raw() {
            Raw::Text(text) => StoredArgs::Text((**text).into()),
            // For a value that is too deep to run, this is a description.
            Raw::Value(_) => StoredArgs::Json(self.to_value()),
        };
        stored.serialize(to)
    }

    fn read<'de, D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Ok(match StoredArgs::deserialize(from)? {
            StoredArgs::Text(text) => text.into_owned().into(),
            StoredArgs::Json(value) => value.into(),
        })
    }
}

/// The spool entry of an artifact, or its bytes.
#[derive(Serialize, Deserialize)]
struct StoredArtifact<'a> {
    kind: Cow<'a, str>,
    bytes: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    spool: Option<Cow<'a, str>>,
    #[serde(with = "part", default, skip_serializing_if = "Option::is_none")]
    sha256: Option<Hex>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    content: Option<StoredBytes<'a>>,
}

impl Stored for SpooledArtifact {
    fn write<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let failed = |why| S::Error::custom(format_args!("{OURS}{why}"));
        let read;
        let (spooled, content) = match self.place() {
            Place::Spool(spooled) => (Some(spooled), None),
            Place::Memory(bytes) => {
                check_length(self).map_err(failed)?;
                (None, Some(StoredBytes::from(&**bytes)))
            }
            Place::Reader => {
                read = read_now(self).map_err(failed)?;
                (None, Some(StoredBytes::from(&*read)))
            }
        };
        let stored = StoredArtifact {
            kind: self.kind_name().into(),
            bytes: self.byte_length(),
            spool: spooled.map(|spooled| (*spooled.id).into()),
            sha256: spooled.and_then(|spooled| spooled.digest),
            content,
        };
        stored.serialize(to)
    }

    fn read<'de, D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let stored = StoredArtifact::deserialize(from)?;
        Ok(
            match (spooled(stored.spool, stored.sha256), stored.content) {
                (Some(spooled), _) => {
                    let reader = Arc::new(SpoolReader::new(&spooled, stored.bytes));
                    SpooledArtifact::loaded(Place::Spool(spooled), reader, Err(&stored.kind))
                }
                (None, Some(content)) => {
                    let bytes = Bytes::from(content);
                    if bytes.len() as u64 != stored.bytes {
                        let why = "`bytes` does not match the number of stored bytes";
                        return Err(D::Error::custom(format_args!("{OURS}{why}")));
                    }
                    let reader = Arc::new(MemoryReader::new(bytes.clone()));
                    SpooledArtifact::loaded(Place::Memory(bytes), reader, Err(&stored.kind))
                }
                (None, None) => return Err(D::Error::missing_field("content")),
            },
        )
    }
}

/// The metadata of media, and the spool entry of its bytes. Not flattened: that would buffer all unknown fields, however deep.
#[derive(Serialize, Deserialize)]
struct StoredMedia<'a> {
    descriptor: Cow<'a, MediaDescriptor>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    bytes: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    spool: Option<Cow<'a, str>>,
    #[serde(with = "part", default, skip_serializing_if = "Option::is_none")]
    sha256: Option<Hex>,
}

impl Stored for Media {
    fn write<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let spooled = self.spooled();
        let stored = StoredMedia {
            descriptor: Cow::Borrowed(self.descriptor()),
            bytes: self.byte_length(),
            spool: spooled.map(|spooled| (*spooled.id).into()),
            sha256: spooled.and_then(|spooled| spooled.digest),
        };
        stored.serialize(to)
    }

    fn read<'de, D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let stored = StoredMedia::deserialize(from)?;
        let descriptor = stored.descriptor.into_owned();
        let media = match (spooled(stored.spool, stored.sha256), stored.bytes) {
            (Some(_), None) => return Err(D::Error::missing_field("bytes")),
            (Some(spooled), Some(length)) => {
                let reader: Arc<dyn ByteReader> = Arc::new(SpoolReader::new(&spooled, length));
                descriptor
                    .attach(reader)
                    .map(|media| media.in_spool(spooled))
            }
            (None, bytes) => descriptor.clone().attach(MediaElsewhere {
                descriptor,
                bytes,
                find: None,
            }),
        };
        media.map_err(|error| D::Error::custom(format_args!("{OURS}{}", error.message())))
    }
}

/// Returns the spool entry, if there is one.
fn spooled(id: Option<Cow<'_, str>>, digest: Option<Hex>) -> Option<Spooled> {
    id.map(|id| Spooled {
        id: id.into(),
        digest,
    })
}

const ADVICE: &str =
    "write it to one with `SpooledArtifact::write`, or configure a spool for the runner";

/// Returns the length of an artifact that is not in a spool, if it is not too long.
fn check_length(artifact: &SpooledArtifact) -> Result<(), String> {
    match artifact.byte_length() {
        length if length > MAX_INLINE_BYTES => Err(format!(
            "an artifact of {length} bytes is not in a spool, and a record can hold at most {MAX_INLINE_BYTES}: {ADVICE}"
        )),
        _ => Ok(()),
    }
}

/// Reads the bytes of an artifact that is not in a spool, if they are few and can be read synchronously.
fn read_now(artifact: &SpooledArtifact) -> Result<Vec<u8>, String> {
    check_length(artifact)?;
    match artifact.bytes_now() {
        None => Err(format!(
            "an artifact is not in a spool, and its bytes cannot be read synchronously: {ADVICE}"
        )),
        Some(Err(error)) if error.kind() == io::ErrorKind::UnexpectedEof => {
            Err("an artifact has fewer bytes than its reported length".to_owned())
        }
        Some(read) => read.map_err(|error| format!("an artifact cannot be read: {error}")),
    }
}
