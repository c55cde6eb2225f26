//! Secrets, replaced wherever they are found.

use std::collections::BTreeSet;

use memchr::memmem;
use serde_json::{Map, Value};
use turnwright_models::http::Request;

/// What stands where a secret stood.
pub(super) const MARK: &str = "[scrubbed]";

/// Headers whose values are secrets.
const HEADERS: [&str; 5] = [
    "authorization",
    "proxy-authorization",
    "api-key",
    "x-api-key",
    "x-goog-api-key",
];

/// Names in a query whose values are secrets.
const QUERY: [&str; 6] = [
    "key",
    "api-key",
    "api_key",
    "apikey",
    "token",
    "access_token",
];

/// Shorter values of headers are stand-ins.
const SHORTEST: usize = 8;

/// Replaces the secrets of one request.
#[derive(Default)]
pub(super) struct Scrubber {
    /// Longest first: one may hold another.
    needles: Vec<Vec<u8>>,
}

impl Scrubber {
    pub(super) fn new(named: &[String], request: &Request) -> Self {
        let mut secrets: Vec<String> = named.to_vec();
        let mut add = |value: &str| {
            if value.len() >= SHORTEST {
                secrets.push(value.to_owned());
            }
        };
        for (name, value) in &request.headers {
            if HEADERS.contains(&name.to_ascii_lowercase().as_str()) {
                add(value.trim());
                // The word before the key, as in `Bearer`.
                if let Some((_, key)) = value.trim().split_once(' ') {
                    add(key.trim());
                }
            }
        }
        for (name, value) in request.url.query_pairs() {
            if QUERY.contains(&name.to_ascii_lowercase().as_str()) {
                add(&value);
            }
        }
        add(request.url.password().unwrap_or_default());
        Scrubber::of(secrets)
    }

    pub(super) fn of(secrets: impl IntoIterator<Item = String>) -> Self {
        let mut needles = BTreeSet::new();
        for secret in secrets {
            // As it stands within JSON, where some escape the slash and others do not.
            let escaped = Value::String(secret.clone()).to_string();
            let escaped = escaped.strip_prefix('"').unwrap_or(&escaped);
            let escaped = escaped.strip_suffix('"').unwrap_or(escaped);
            needles.insert(escaped.replace('/', "\\/").into_bytes());
            needles.insert(escaped.as_bytes().to_vec());
            needles.insert(secret.into_bytes());
        }
        let mut needles: Vec<_> = needles.into_iter().filter(|it| !it.is_empty()).collect();
        needles.sort_by_key(|needle| std::cmp::Reverse(needle.len()));
        Scrubber { needles }
    }

    pub(super) fn bytes(&self, bytes: &[u8]) -> Vec<u8> {
        let mut scrubbed = bytes.to_vec();
        for needle in &self.needles {
            let (mut next, mut from) = (Vec::with_capacity(scrubbed.len()), 0);
            for at in memmem::find_iter(&scrubbed, needle) {
                next.extend_from_slice(scrubbed.get(from..at).unwrap_or_default());
                next.extend_from_slice(MARK.as_bytes());
                from = at + needle.len();
            }
            if from > 0 {
                next.extend_from_slice(scrubbed.get(from..).unwrap_or_default());
                scrubbed = next;
            }
        }
        // The mark and what is beside it may make up a secret again, a strange one: then nothing of it is kept.
        let safe = |text: &[u8]| {
            !self
                .needles
                .iter()
                .any(|it| memmem::find(text, it).is_some())
        };
        if safe(&scrubbed) {
            return scrubbed;
        }
        let mark = MARK.as_bytes().to_vec();
        if safe(&mark) { mark } else { Vec::new() }
    }

    pub(super) fn text(&self, text: &str) -> String {
        // Whole characters are replaced by whole characters.
        String::from_utf8_lossy(&self.bytes(text.as_bytes())).into_owned()
    }

    /// Every string and every name within. Only of what the parser read, which refuses what is deep.
    pub(super) fn value(&self, value: &mut Value) {
        if self.needles.is_empty() {
            return;
        }
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
