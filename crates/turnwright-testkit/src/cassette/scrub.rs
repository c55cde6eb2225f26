//! Secrets, replaced wherever they are found.

use serde_json::{Map, Value};
use turnwright_models::http::Request;
use turnwright_models::redact::{Redactor, credentials};

/// What stands where a secret stood.
pub(super) const MARK: &str = "[scrubbed]";

/// Shorter values of headers are stand-ins.
const SHORTEST: usize = 8;

/// Replaces the secrets of one request.
pub(super) struct Scrubber(Redactor);

impl Scrubber {
    pub(super) fn new(named: &[String], request: &Request) -> Self {
        let headers = request
            .headers
            .iter()
            .map(|(name, value)| (&**name, &**value));
        let found = credentials(headers, &request.url).into_iter();
        let found = found.filter(|secret| secret.len() >= SHORTEST);
        Scrubber::of(named.iter().cloned().chain(found))
    }

    pub(super) fn of(secrets: impl IntoIterator<Item = String>) -> Self {
        let mut redactor = Redactor::new(MARK);
        for secret in secrets {
            redactor.add(&secret);
        }
        Scrubber(redactor)
    }

    pub(super) fn bytes(&self, bytes: &[u8]) -> Vec<u8> {
        self.0.bytes(bytes)
    }

    pub(super) fn text(&self, text: &str) -> String {
        self.0.text(text)
    }

    /// Every string and every name within. Only of what the parser read, which refuses what is deep.
    pub(super) fn value(&self, value: &mut Value) {
        match value {
            Value::String(text) => *text = self.text(text),
            Value::Array(items) => items.iter_mut().for_each(|item| self.value(item)),
            Value::Object(map) => {
                let entries = std::mem::take(map).into_iter();
                let scrubbed = entries.map(|(name, mut value)| {
                    self.value(&mut value);
                    (self.text(&name), value)
                });
                *map = scrubbed.collect::<Map<_, _>>();
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
}
