//! What must never be seen, wherever a server puts it.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use url::Url;

/// What is shorter is found in too many texts that hold no secret.
const SHORTEST: usize = 6;

const MARK: &str = "[secret]";

/// Texts that must never be seen, in every form in which they may come back.
#[derive(Default)]
pub(super) struct Secrets(Vec<String>);

impl Secrets {
    /// A value of a header, or a key. The word before a key, as in `Bearer`, is none.
    pub(super) fn add(&mut self, value: &str) {
        let value = value.trim();
        let key = value.split_once(' ').map(|(_, key)| key.trim());
        for secret in [Some(value), key].into_iter().flatten() {
            self.0.push(secret.to_owned());
            let escaped = Value::from(secret).to_string();
            self.0.push(escaped.trim_matches('"').to_owned());
        }
        self.0.retain(|secret| secret.len() >= SHORTEST);
        // One may hold another.
        self.0.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        self.0.dedup();
    }

    /// What an address holds: who asks, their password, and what stands in the query.
    pub(super) fn add_url(&mut self, url: &Url) {
        let decoded = |text: &str| {
            let pairs = url::form_urlencoded::parse(text.as_bytes());
            pairs.map(|(name, _)| name.into_owned()).next()
        };
        let (name, password) = (url.username(), url.password().unwrap_or_default());
        for part in [name, password] {
            self.add(part);
            self.add(&decoded(&part.replace('+', "%2B").replace('&', "%26")).unwrap_or_default());
        }
        if !name.is_empty() || !password.is_empty() {
            self.add(&STANDARD.encode(format!("{name}:{password}")));
        }
        for (_, value) in url.query_pairs() {
            self.add(&value);
        }
    }

    /// A text without them. Where it was cut within one, what stands there of it goes too.
    pub(super) fn taken_out_of(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for secret in &self.0 {
            if text.contains(secret.as_str()) {
                text = text.replace(secret.as_str(), MARK);
            }
        }
        for secret in &self.0 {
            let begin = secret.get(..SHORTEST).unwrap_or(secret);
            while let Some(at) = text.rfind(begin) {
                let shared = text[at..].bytes().zip(secret.bytes());
                let shared = shared.take_while(|(one, other)| one == other).count();
                let end = at + shared;
                let is_cut = text.get(end..).is_some_and(|rest| {
                    let rest = rest.trim_matches(['"', '\'', ' ', '.']);
                    rest.is_empty() || rest.starts_with('…') || rest.starts_with("; ")
                });
                if !is_cut {
                    break;
                }
                text.replace_range(at..end, MARK);
            }
        }
        text
    }
}

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} secrets", self.0.len())
    }
}
