//! What was looked up.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::fields::{Fields, put};
use super::reopen::Reopen;
use super::words::write_stamp;
use super::{artifact, media};
use crate::error::Error;
use crate::record::{RecordKind, Retrievable, Retrieved};

pub(super) fn write(found: &Retrievable, map: &mut Map<String, Value>) -> Result<(), Error> {
    write_stamp!(found, map);
    put(map, "trustTier", found.tier().as_str());
    put(map, "inline", found.is_inline());
    if let Some(source) = found.source() {
        put(map, "source", source);
    }
    match found.content() {
        Retrieved::Text(text) => put(map, "text", text.as_str()),
        Retrieved::Artifact(artifact) => {
            let written = artifact::write(RecordKind::Retrievable, artifact)?;
            put(map, "artifact", written);
        }
        Retrieved::Media(media) => put(map, "media", media::write(media)?),
    }
    Ok(())
}

pub(super) fn read(fields: &Fields<'_>, reopen: &Reopen) -> Result<Arc<Retrievable>, Error> {
    let tier = fields.word("trustTier")?;
    let content = if let Some(artifact) = fields.object_if_any("artifact")? {
        Retrieved::Artifact(artifact::read(&artifact, reopen)?)
    } else if let Some(media) = fields.object_if_any("media")? {
        let media = media::read(&media, reopen)?;
        if media.tier() != tier {
            return Err(fields.wrong("trustTier", "is not that of the media"));
        }
        Retrieved::Media(media)
    } else {
        Retrieved::Text(fields.text("text")?.to_owned())
    };
    let (inline, stamp) = (fields.flag("inline")?, fields.stamp()?);
    let mut builder = Retrievable::stamped(content, tier, inline, stamp);
    if let Some(source) = fields.text_if_any("source")? {
        builder = builder.source(source);
    }
    builder.build().map_err(|error| fields.refused(error))
}
