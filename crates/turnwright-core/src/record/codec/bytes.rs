//! Bytes: as text where they are, so that people can read them in their database.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use serde_json::{Map, Value};

use super::fields::{Fields, put};
use crate::error::Error;
use crate::record::ProviderState;

pub(super) fn write(bytes: &[u8], map: &mut Map<String, Value>) {
    match std::str::from_utf8(bytes) {
        Ok(text) => put(map, "text", text),
        Err(_) => put(map, "base64", STANDARD.encode(bytes)),
    }
}

pub(super) fn read(fields: &Fields<'_>) -> Result<Bytes, Error> {
    match fields.text_if_any("base64")? {
        None => Ok(Bytes::copy_from_slice(fields.text("text")?.as_bytes())),
        Some(text) => match STANDARD.decode(text) {
            Ok(bytes) => Ok(bytes.into()),
            Err(_) => Err(fields.wrong("base64", "is no base64")),
        },
    }
}

pub(super) fn write_state(state: Option<&ProviderState>, map: &mut Map<String, Value>) {
    let Some(state) = state else { return };
    let mut written = Map::new();
    put(&mut written, "protocol", state.protocol());
    // A state is always its own protocol's.
    let bytes = state.for_protocol(state.protocol());
    write(bytes.map_or(&[][..], |bytes| bytes), &mut written);
    put(map, "providerState", written);
}

pub(super) fn read_state(fields: &Fields<'_>) -> Result<Option<ProviderState>, Error> {
    let Some(state) = fields.object_if_any("providerState")? else {
        return Ok(None);
    };
    let protocol = state.text("protocol")?;
    Ok(Some(ProviderState::new(protocol, read(&state)?)))
}
