//! Replaces secrets.

use serde_json::Value;
use turnwright_models::http::Request;
use turnwright_models::redact::{Redactor, credentials};

/// The replacement for a secret.
pub(super) const MARK: &str = "[scrubbed]";

/// Shorter header values are placeholders.
const SHORTEST: usize = 8;

/// Returns a redactor for the secrets of one request, and those that were added.
pub(super) fn redactor(named: &[String], request: &Request) -> Redactor {
    let headers = request.headers.iter();
    let headers = headers.map(|(name, value)| (&**name, &**value));
    let found = credentials(headers, &request.url).into_iter();
    let found = found.filter(|secret| secret.len() >= SHORTEST);
    redactor_of(named.iter().cloned().chain(found))
}

pub(super) fn redactor_of(secrets: impl IntoIterator<Item = String>) -> Redactor {
    let mut redactor = Redactor::new(MARK);
    for secret in secrets {
        redactor.add(&secret);
    }
    redactor
}

/// Replaces secrets in every string and key. Only for parsed values, whose depth is limited.
pub(super) fn scrub(redactor: &Redactor, value: &mut Value) {
    match value {
        Value::String(text) => *text = redactor.text(text),
        Value::Array(items) => items.iter_mut().for_each(|item| scrub(redactor, item)),
        Value::Object(map) => {
            let entries = std::mem::take(map).into_iter();
            let scrubbed = entries.map(|(name, mut value)| {
                scrub(redactor, &mut value);
                (redactor.text(&name), value)
            });
            *map = scrubbed.collect();
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
