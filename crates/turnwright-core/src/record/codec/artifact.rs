//! Artifacts: where their bytes are kept, or the bytes themselves where nobody keeps them.

use serde_json::{Map, Value};

use super::bytes;
use super::fields::{Fields, put, unstorable};
use super::reopen::{FromSpool, Reopen};
use crate::artifact::{ArtifactLimits, Place, SpooledArtifact};
use crate::error::Error;
use crate::record::RecordKind;
use crate::spool::Spooled;

/// The most bytes of an artifact that stand in its record.
const MOST_WITHIN: u64 = 1024 * 1024;

pub(super) fn write(
    kind: RecordKind,
    artifact: &SpooledArtifact,
) -> Result<Map<String, Value>, Error> {
    let mut map = describe(artifact);
    let unstorable = |why: String| unstorable(kind, &why);
    match artifact.place() {
        Place::Spool(_) => {}
        Place::Memory(within) => {
            check_length(artifact).map_err(unstorable)?;
            bytes::write(within, &mut map);
        }
        Place::Reader => {
            let within = near_bytes(artifact).map_err(unstorable)?;
            bytes::write(&within, &mut map);
        }
    }
    let limits = artifact.limits();
    if limits != ArtifactLimits::default() {
        let mut written = Map::new();
        put(&mut written, "answer", limits.answer);
        put(&mut written, "parse", limits.parse);
        put(&mut map, "limits", written);
    }
    Ok(map)
}

/// The kind and the length of an artifact, and where a spool stores its bytes, if one does.
pub(super) fn describe(artifact: &SpooledArtifact) -> Map<String, Value> {
    let mut map = Map::new();
    put(&mut map, "kind", artifact.kind().as_str());
    put(&mut map, "bytes", artifact.byte_length());
    if let Place::Spool(spooled) = artifact.place() {
        write_spooled(spooled, &mut map);
    }
    map
}

/// Where a spool stores bytes.
pub(super) fn write_spooled(spooled: &Spooled, map: &mut Map<String, Value>) {
    put(map, "spool", &*spooled.id);
    if let Some(digest) = &spooled.digest {
        put(map, "sha256", digest.as_str());
    }
}

/// What [`write_spooled`] wrote, if it did.
pub(super) fn read_spooled(fields: &Fields<'_>) -> Result<Option<Spooled>, Error> {
    let Some(id) = fields.text_if_any("spool")? else {
        return Ok(None);
    };
    let digest = match fields.get("sha256") {
        Some(_) => Some(fields.sha256("sha256")?),
        None => None,
    };
    let id = id.into();
    Ok(Some(Spooled { id, digest }))
}

const ADVICE: &str =
    "put it into one with `SpooledArtifact::keep`, or give the runner one with `spool`";

/// How long an artifact that is in no spool may be.
fn check_length(artifact: &SpooledArtifact) -> Result<u64, String> {
    match artifact.byte_length() {
        length if length > MOST_WITHIN => Err(format!(
            "an artifact of {length} bytes is in no spool, and a record holds {MOST_WITHIN} at most: {ADVICE}"
        )),
        length => Ok(length),
    }
}

/// The bytes of an artifact that is in no spool, if they are few and at hand.
fn near_bytes(artifact: &SpooledArtifact) -> Result<Vec<u8>, String> {
    let length = check_length(artifact)?;
    // At most what a record holds.
    let mut all = vec![0; usize::try_from(length).unwrap_or_default()];
    let mut filled = 0;
    while let Some(rest) = all.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        match artifact.reader().read_now(filled as u64, rest) {
            None => {
                return Err(format!(
                    "an artifact is in no spool, and its bytes cannot be read at once: {ADVICE}"
                ));
            }
            Some(Ok(0)) => return Err("an artifact has fewer bytes than it says".to_owned()),
            Some(Ok(came)) => filled += came,
            Some(Err(error)) => return Err(format!("an artifact cannot be read: {error}")),
        }
    }
    Ok(all)
}

pub(super) fn read(fields: &Fields<'_>, reopen: &Reopen) -> Result<SpooledArtifact, Error> {
    let name = fields.text("kind")?;
    let kind = reopen.kind_named(name).ok_or_else(|| {
        let name = crate::schema::quote(&name.into());
        let why = format!(
            "there is no artifact kind {name} here: name it with `Reopen::kind`, \
             or read what is of no known kind as text with `Reopen::unknown_kinds_as_text`"
        );
        fields.wrong("kind", &why)
    })?;
    let length = fields.number("bytes")?;
    let artifact = match read_spooled(fields)? {
        Some(spooled) => {
            let reader = FromSpool::reader(reopen, &spooled, length);
            SpooledArtifact::placed(Place::Spool(spooled), reader, kind)
        }
        None => {
            let within = bytes::read(fields)?;
            if within.len() as u64 != length {
                return Err(
                    fields.wrong("bytes", "is not the number of the bytes that stand there")
                );
            }
            SpooledArtifact::in_memory(within, kind)
        }
    };
    let Some(limits) = fields.object_if_any("limits")? else {
        return Ok(artifact);
    };
    let answer = usize::try_from(limits.number("answer")?).unwrap_or(usize::MAX);
    let limits = ArtifactLimits::default()
        .answer(answer)
        .parse(limits.number("parse")?);
    Ok(artifact.with_limits(limits))
}
