//! Media: what is known of them, and where a spool stores their bytes.

use serde::Deserialize as _;
use serde_json::{Map, Value};

use super::artifact::{read_spooled, write_spooled};
use super::fields::{Fields, put, unstorable};
use super::reopen::{FromSpool, MediaElsewhere, Reopen};
use crate::error::Error;
use crate::media::{Media, MediaDescriptor};
use crate::record::RecordKind;

pub(super) fn write(media: &Media) -> Result<Map<String, Value>, Error> {
    // What is known of a media is text and words: it always becomes an object.
    let Ok(Value::Object(mut map)) = serde_json::to_value(media.descriptor()) else {
        return Err(unstorable(RecordKind::Message, "a media is no JSON object"));
    };
    if let Some(bytes) = media.byte_length() {
        put(&mut map, "bytes", bytes);
    }
    if let Some(spooled) = media.spooled() {
        write_spooled(spooled, &mut map);
    }
    Ok(map)
}

pub(super) fn write_all(media: &[Media]) -> Result<Value, Error> {
    let all: Result<Vec<_>, _> = media
        .iter()
        .map(|it| write(it).map(Value::Object))
        .collect();
    all.map(Value::Array)
}

pub(super) fn read(fields: &Fields<'_>, reopen: &Reopen) -> Result<Media, Error> {
    // Its own words would show what stands there.
    let described = MediaDescriptor::deserialize(&fields.whole()).map_err(|_| {
        let why = "is no description of a media: id, kind, mimeType, filename, trustTier, \
                   modalityHazard, and perhaps source and stash";
        fields.wrong_whole(why)
    })?;
    let media = match read_spooled(fields)? {
        Some(spooled) => {
            let reader = FromSpool::reader(reopen, &spooled, fields.number("bytes")?);
            described
                .attach(reader)
                .map(|media| media.in_spool(spooled))
        }
        None => {
            let length = fields.number_if_any("bytes")?;
            let reader = MediaElsewhere::new(described.clone(), length, reopen);
            described.attach(reader)
        }
    };
    media.map_err(|error| fields.refused(error))
}

pub(super) fn read_all(
    fields: &Fields<'_>,
    name: &'static str,
    reopen: &Reopen,
) -> Result<Vec<Media>, Error> {
    let all = fields.objects(name)?;
    all.iter().map(|media| read(media, reopen)).collect()
}
