//! Opaque state: strings that a server issues and wants back unchanged.
//!
//! A string has the name of its server, the number of the request that it answers, and a digest of what it belongs to:
//! `sig-SERVER-NUMBER-DIGEST`. So a server recognises its own strings, and those that returned with something else,
//! without remembering anything.

use std::fmt::Write as _;

use serde_json::Value;

use crate::server::ReceivedRequest;

/// The text inside raw blocks that is replaced by opaque state.
pub(super) const PLACEHOLDER: &str = "$STATE";

/// Returns the name of the server that a request was sent to: the port of its `host`, or all of it.
pub(super) fn server_of(request: &ReceivedRequest) -> String {
    let host = request.header("host").unwrap_or("scripted");
    let port = host.rsplit_once(':').map_or(host, |(_, port)| port);
    plain(port)
}

/// Returns a name of which nothing can be mistaken for a separator.
pub(super) fn plain(name: &str) -> String {
    let kept = name.chars().filter(char::is_ascii_alphanumeric);
    kept.collect()
}

/// Returns the opaque string that belongs to these texts.
pub(super) fn issue(kind: &str, server: &str, number: usize, about: &[&str]) -> String {
    format!("{kind}-{server}-{number}-{:016x}", digest(about))
}

/// Checks an opaque string that came back: that this server issued it, and that it belongs to these texts.
///
/// # Errors
/// Returns what is wrong with it.
pub(super) fn check(kind: &str, server: &str, state: &str, about: &[&str]) -> Result<(), String> {
    let digest = own(kind, server, state)
        .ok_or_else(|| format!("`{state}` was not issued by this server ({server})"))?;
    if digest != format!("{:016x}", self::digest(about)) {
        return Err(format!(
            "`{state}` was returned with other content than it was issued for"
        ));
    }
    Ok(())
}

/// Returns the digest of a string of this server.
fn own<'a>(kind: &str, server: &str, state: &'a str) -> Option<&'a str> {
    let rest = state.strip_prefix(kind)?.strip_prefix('-')?;
    let rest = rest.strip_prefix(server)?.strip_prefix('-')?;
    let (number, digest) = rest.split_once('-')?;
    number.parse::<usize>().ok().map(|_| digest)
}

/// Returns `true` if this server issued the string as state of a raw block.
pub(super) fn is_block_state(server: &str, state: &str) -> bool {
    own("enc", server, state).is_some()
}

/// Replaces the placeholder in all texts of a raw block.
pub(super) fn fill(block: &Value, server: &str, number: usize, place: usize) -> Value {
    match block {
        Value::String(text) if text.contains(PLACEHOLDER) => {
            let state = issue("enc", server, number, &[&place.to_string()]);
            text.replace(PLACEHOLDER, &state).into()
        }
        Value::Array(items) => {
            let items = items.iter();
            items
                .map(|item| fill(item, server, number, place))
                .collect()
        }
        Value::Object(map) => {
            let fields = map.iter();
            let fields =
                fields.map(|(name, value)| (name.clone(), fill(value, server, number, place)));
            Value::Object(fields.collect())
        }
        other => other.clone(),
    }
}

/// FNV-1a with 64 bits: stable, and good enough for text that nothing attacks.
fn digest(texts: &[&str]) -> u64 {
    let bytes = texts.iter().flat_map(|text| text.bytes().chain([0xff]));
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// Returns the JSON text with sorted keys, so that equal values have equal texts.
pub(super) fn canonical(value: &Value) -> String {
    match value {
        Value::Object(map) => {
            let mut fields: Vec<_> = map.iter().collect();
            fields.sort_unstable_by_key(|(name, _)| name.as_str());
            let mut text = String::from("{");
            for (name, value) in fields {
                // Writing to a string cannot fail.
                let _ = write!(text, "{name:?}:{},", canonical(value));
            }
            text + "}"
        }
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(canonical).collect();
            format!("[{}]", items.join(","))
        }
        other => other.to_string(),
    }
}
