//! The file of a cassette.

use std::fs;
use std::io;
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use turnwright_core::files::{create_private_file, replace_file};
use turnwright_core::{Error, ErrorCode};

use super::exchange::Exchange;

/// One exchange.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct Entry {
    pub(super) request: Asked,
    pub(super) response: Answered,
}

#[derive(Clone, Serialize, Deserialize)]
pub(super) struct Asked {
    pub(super) method: String,
    pub(super) path: String,
    #[serde(default)]
    pub(super) body: Value,
}

#[derive(Clone, Serialize, Deserialize)]
pub(super) struct Answered {
    pub(super) status: u16,
    #[serde(default)]
    pub(super) headers: Map<String, Value>,
    #[serde(default)]
    pub(super) body: Value,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) truncated: bool,
}

pub(super) fn load(path: &Path) -> Result<Vec<Exchange>, Error> {
    let name = path.display();
    let bytes = fs::read(path).map_err(|error| {
        let message = format!(
            "the recording {name} cannot be read; create it with `TURNWRIGHT_RECORD=1` if you use `Cassette::auto`"
        );
        Error::new(ErrorCode::INVALID_MODEL_CONFIG, message).with_source(error)
    })?;
    parse(&name.to_string(), &bytes)
}

pub(super) fn parse(name: &str, bytes: &[u8]) -> Result<Vec<Exchange>, Error> {
    serde_json::from_slice(bytes).map_err(|error| {
        let message = format!("{name} is not a list of recordings");
        Error::new(ErrorCode::INVALID_MODEL_CONFIG, message).with_source(error)
    })
}

/// Checks that a recording can be written there: nothing exists yet, or a regular file. A rename would replace a link
/// or a device with a file.
pub(super) fn check_target(path: &Path) -> io::Result<()> {
    match fs::symlink_metadata(path) {
        Ok(found) if found.is_file() => Ok(()),
        Ok(found) if found.is_symlink() => Err(io::Error::other(
            "it is a link: use the path of the file itself",
        )),
        Ok(_) => Err(io::Error::other("it is not a regular file")),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

/// Replaces the file atomically, or leaves it unchanged.
pub(super) fn save(path: &Path, entries: &[&Entry]) -> io::Result<()> {
    let mut text = serde_json::to_vec_pretty(entries)?;
    text.push(b'\n');
    check_target(path)?;
    // A recording is a conversation.
    replace_file(path, &text, create_private_file)
}

/// Returns bytes in the form used in the file.
pub(super) fn content(bytes: Vec<u8>) -> Value {
    match String::from_utf8(bytes) {
        Ok(text) => Value::String(text),
        Err(error) => json!({ "base64": STANDARD.encode(error.as_bytes()) }),
    }
}

/// Returns the bytes for content of the file.
pub(super) fn bytes(content: &Value) -> Result<Vec<u8>, base64::DecodeError> {
    match content {
        Value::Null => Ok(Vec::new()),
        Value::String(text) => Ok(text.as_bytes().to_vec()),
        Value::Object(map) if map.len() == 1 => match map.get("base64") {
            Some(Value::String(text)) => STANDARD.decode(text),
            _ => Ok(content.to_string().into_bytes()),
        },
        other => Ok(other.to_string().into_bytes()),
    }
}
