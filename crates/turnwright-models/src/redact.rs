//! Removes secrets from external text: some model servers repeat the keys that they reject.
//!
//! A [`Redactor`] replaces every run of 8 or more bytes that a text shares with a secret. This covers the complete
//! secret, a secret truncated at either end, and the visible rest of a masked secret. It also covers the secret in
//! base64 (both alphabets, at every alignment) and in hexadecimal, and all of these inside percent-encoding, JSON
//! escapes and HTML entities, nested up to two levels. Matching ignores case.
//!
//! ```
//! use turnwright_models::redact::Redactor;
//!
//! let mut redactor = Redactor::new("[secret]");
//! redactor.add("sk-abcdefghijklmnop");
//! assert_eq!(redactor.text("Incorrect API key: sk-abcdefghij***."), "Incorrect API key: [secret]***.");
//! assert_eq!(redactor.text("Nothing of it."), "Nothing of it.");
//! ```

mod credentials;
mod view;

#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt;
use std::ops::Range;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};

pub use credentials::credentials;
use view::View;

/// The length of the shortest part of a secret that is removed. A shorter secret is removed only as a whole.
const RUN: usize = 8;

/// The replacement if the mark itself shares a run with a secret.
const OTHER_MARK: &str = "***";

/// Removes secrets from text.
///
/// ```
/// use turnwright_models::redact::Redactor;
///
/// let mut redactor = Redactor::new("[secret]");
/// redactor.add("sk-abcdefghijklmnop");
/// assert_eq!(redactor.text("the key sk-abcdefghijklmnop is not valid"), "the key [secret] is not valid");
/// ```
#[derive(Clone)]
pub struct Redactor {
    mark: Cow<'static, str>,
    /// Every run of [`RUN`] bytes of every form of every secret, in lower case.
    runs: HashSet<Vec<u8>>,
    /// Secrets that are shorter than a run, in lower case.
    short: HashSet<Vec<u8>>,
}

impl Redactor {
    /// Creates a redactor without secrets. It replaces each secret with `mark`.
    pub fn new(mark: impl Into<Cow<'static, str>>) -> Self {
        Redactor {
            mark: mark.into(),
            runs: HashSet::new(),
            short: HashSet::new(),
        }
    }

    /// Adds a secret.
    pub fn add(&mut self, secret: &str) {
        if secret.is_empty() {
            return;
        }
        let plain = secret.as_bytes();
        // Form encoding writes a blank as a plus sign.
        let form = secret.replace(' ', "+").into_bytes();
        for text in [plain, &form] {
            if text.len() < RUN {
                self.short.insert(text.to_ascii_lowercase());
            }
            self.add_runs(text);
        }
        for lead in 0..3 {
            for engine in [STANDARD_NO_PAD, URL_SAFE_NO_PAD] {
                let bytes: Vec<u8> = std::iter::repeat_n(0, lead)
                    .chain(plain.iter().copied())
                    .collect();
                let text = engine.encode(&bytes);
                // The characters that no neighbouring byte contributes to.
                let (from, to) = ((lead * 8).div_ceil(6), bytes.len() * 8 / 6);
                self.add_runs(text.as_bytes().get(from..to).unwrap_or_default());
            }
        }
        let hex: String = plain.iter().map(|byte| format!("{byte:02x}")).collect();
        self.add_runs(hex.as_bytes());
        if self.is_found_in(&self.mark) {
            self.mark = if self.is_found_in(OTHER_MARK) {
                "".into()
            } else {
                OTHER_MARK.into()
            };
        }
    }

    fn add_runs(&mut self, form: &[u8]) {
        let runs = form.windows(RUN).map(<[u8]>::to_ascii_lowercase);
        self.runs.extend(runs);
    }

    /// Returns the text without the secrets.
    #[must_use]
    pub fn text(&self, text: &str) -> String {
        // Complete characters are replaced.
        String::from_utf8_lossy(&self.bytes(text.as_bytes())).into_owned()
    }

    /// Returns the bytes without the secrets. Valid UTF-8 stays valid.
    #[must_use]
    pub fn bytes(&self, bytes: &[u8]) -> Vec<u8> {
        let found = self.find(bytes);
        if found.is_empty() {
            return bytes.to_vec();
        }
        let (mut out, mut from) = (Vec::with_capacity(bytes.len()), 0);
        for range in found {
            out.extend_from_slice(bytes.get(from..range.start).unwrap_or_default());
            out.extend_from_slice(self.mark.as_bytes());
            from = range.end;
        }
        out.extend_from_slice(bytes.get(from..).unwrap_or_default());
        // In rare cases the mark and its surroundings form a secret again. Then nothing of the text is kept.
        if self.find(&out).is_empty() {
            out
        } else {
            self.mark.as_bytes().to_vec()
        }
    }

    fn is_found_in(&self, text: &str) -> bool {
        !self.find(text.as_bytes()).is_empty()
    }

    /// Returns the ranges of secrets, sorted and disjoint.
    fn find(&self, bytes: &[u8]) -> Vec<Range<usize>> {
        let mut found: Vec<Range<usize>> = Vec::new();
        if self.runs.is_empty() && self.short.is_empty() {
            return found;
        }
        let raw = View::of(bytes);
        self.find_in(&raw, &mut found);
        for once in raw.unescaped() {
            self.find_in(&once, &mut found);
            for twice in once.unescaped() {
                self.find_in(&twice, &mut found);
            }
        }
        found.sort_unstable_by_key(|range| (range.start, range.end));
        let mut merged: Vec<Range<usize>> = Vec::new();
        for range in found {
            match merged.last_mut() {
                Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
                _ => merged.push(range),
            }
        }
        merged
    }

    fn find_in(&self, view: &View, found: &mut Vec<Range<usize>>) {
        let text = view.bytes().to_ascii_lowercase();
        for (at, run) in text.windows(RUN).enumerate() {
            if self.runs.contains(run) {
                found.extend(view.source(at..at + RUN));
            }
        }
        for short in &self.short {
            for (at, part) in text.windows(short.len()).enumerate() {
                if part == short.as_slice() {
                    found.extend(view.source(at..at + short.len()));
                }
            }
        }
    }
}

impl fmt::Debug for Redactor {
    /// Shows nothing of the secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Redactor").finish_non_exhaustive()
    }
}
