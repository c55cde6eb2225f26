//! Strings: by length in characters, by pattern, by format.

use serde_json::Value;

use super::{Generator, bounds};
use crate::contract::document::Object;
use crate::contract::format;

/// Longer strings would not reveal more.
const MAX_LEN: usize = 20_000;

const LETTERS: [char; 12] = ['a', 'b', 'c', 'x', 'Z', '0', '7', ' ', '-', 'é', '漢', '😀'];

impl<'d> Generator<'_, 'd> {
    pub(super) fn string(&mut self, schemas: &[&'d Object]) -> Option<String> {
        let (least, most) = bounds(schemas, "minLength", "maxLength");
        if least > MAX_LEN || most.is_some_and(|most| most < least) {
            return None;
        }
        let doc = self.doc;
        let texts = |keyword| {
            let rules = schemas.iter().filter_map(move |schema| schema.get(keyword));
            rules.filter_map(Value::as_str)
        };
        let formats = texts("format").filter_map(|name| Some(&format::named(name)?.valid));
        let patterns: Vec<_> = texts("pattern")
            .filter_map(|text| doc.pattern(text).ok())
            .chain(formats)
            .collect();
        (0..30).find_map(|_| {
            let length = self.length(least, most);
            let made = if let Some(pattern) = self.rng.choice(&patterns) {
                let reach = *self.rng.choice(&[0, 1, 3, 8, length]).unwrap_or(&1);
                let text = pattern.sample(self.rng, reach)?;
                if pattern.anchored {
                    text
                } else {
                    self.padded(text, length)
                }
            } else if let Some(content) = self.content(schemas) {
                content.to_owned()
            } else {
                let letters = (0..length).filter_map(|_| self.rng.choice(&LETTERS));
                letters.collect()
            };
            let fits = self.fits(schemas, &Value::from(made.as_str()));
            fits.then_some(made)
        })
    }

    /// Returns a text that satisfies `contentEncoding` and `contentMediaType`, which some draft 7 validators assert.
    fn content(&mut self, schemas: &[&'d Object]) -> Option<&'static str> {
        let has = |keyword: &str| schemas.iter().any(|schema| schema.contains_key(keyword));
        let texts: &[&'static str] = match (has("contentEncoding"), has("contentMediaType")) {
            (true, true) => &["e30=", "W10=", "WzFd"],
            (true, false) => &["AAAA", "eA==", "e30="],
            (false, true) => &["{}", "[]", "[1]"],
            (false, false) => return None,
        };
        self.rng.choice(texts).copied()
    }

    /// Returns a length within the bounds, often one of the bounds if that is readable.
    fn length(&mut self, least: usize, most: Option<usize>) -> usize {
        let usual = most.map_or(least + 12, |most| most.min(least + 12));
        let edge = most.filter(|&most| most <= 300 || most <= MAX_LEN && self.rng.usize(..40) == 0);
        match (self.rng.usize(..5), edge) {
            (0, _) => least,
            (1, Some(most)) => most,
            (2, Some(most)) => most.saturating_sub(1).max(least),
            _ => self.rng.usize(least..=usual),
        }
    }

    /// Adds text around a match of a pattern that is not anchored, which must not matter.
    fn padded(&mut self, text: String, length: usize) -> String {
        let missing = length.saturating_sub(text.chars().count());
        if self.rng.usize(..3) == 0 && !text.is_empty() {
            return text;
        }
        let before = self.rng.usize(0..=missing);
        let (front, back) = ("x".repeat(before), "z".repeat(missing - before));
        format!("{front}{text}{back}")
    }
}
