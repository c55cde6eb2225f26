//! Strings: of the right length in characters, from a pattern, of a format.

use serde_json::Value;

use super::Generator;
use crate::contract::document::Object;
use crate::contract::judge::Judge;
use crate::contract::judge::scalar::size;
use crate::contract::verdict::Verdict;

/// Longer strings say nothing that shorter ones do not.
const LONGEST: usize = 20_000;

const LETTERS: [char; 12] = ['a', 'b', 'c', 'x', 'Z', '0', '7', ' ', '-', 'é', '漢', '😀'];

impl<'d> Generator<'_, 'd> {
    pub(crate) fn string(&mut self, schemas: &[&'d Object]) -> Option<String> {
        let least = schemas
            .iter()
            .filter_map(|schema| size(schema.get("minLength")?))
            .max()
            .unwrap_or(0);
        let most = schemas
            .iter()
            .filter_map(|schema| size(schema.get("maxLength")?))
            .min();
        if least > LONGEST || most.is_some_and(|most| most < least) {
            return None;
        }
        let texts = |keyword: &'static str| {
            schemas
                .iter()
                .filter_map(move |schema| schema.get(keyword)?.as_str())
        };
        let patterns: Vec<_> = texts("pattern")
            .filter_map(|text| self.doc.pattern(text).ok())
            .collect();
        let formats: Vec<_> = texts("format")
            .filter_map(|name| self.doc.format(name))
            .collect();
        for _ in 0..30 {
            let length = self.length(least, most);
            let made = if let Some(pattern) = self.rng.pick(&patterns) {
                let reach = *self.rng.pick(&[0, 1, 3, 8, length]).unwrap_or(&1);
                let text = pattern.sample(self.rng, reach)?;
                if pattern.is_anchored() {
                    text
                } else {
                    self.padded(text, length)
                }
            } else if let Some(format) = self.rng.pick(&formats) {
                let reach = *self.rng.pick(&[0, 2, 8, length]).unwrap_or(&2);
                format.sure.sample(self.rng, reach)?
            } else if let Some(content) = self.content(schemas) {
                content.to_owned()
            } else {
                self.plain(length)
            };
            if self.keeps_string_rules(schemas, &made) {
                return Some(made);
            }
        }
        None
    }

    fn keeps_string_rules(&self, schemas: &[&'d Object], text: &str) -> bool {
        let judge = Judge::strict(self.doc);
        let value = Value::String(text.to_owned());
        schemas.iter().all(|schema| {
            ["minLength", "maxLength", "pattern", "format"]
                .iter()
                .all(|keyword| judge.keyword_alone(schema, keyword, &value) != Verdict::Invalid)
        })
    }

    /// Draft 7 may be read so that encoded content must be what it says: a text that suits every reader.
    fn content(&mut self, schemas: &[&'d Object]) -> Option<&'static str> {
        let has = |keyword: &str| schemas.iter().any(|schema| schema.contains_key(keyword));
        let texts: &[&'static str] = match (has("contentEncoding"), has("contentMediaType")) {
            (true, true) => &["e30=", "W10=", "WzFd"],
            (true, false) => &["AAAA", "eA==", "e30="],
            (false, true) => &["{}", "[]", "[1]"],
            (false, false) => return None,
        };
        self.rng.pick(texts).copied()
    }

    /// A length within the bounds; often one of the bounds, as long as that stays a length one can read.
    fn length(&mut self, least: usize, most: Option<usize>) -> usize {
        let usual = most.map_or(least + 12, |most| most.min(least + 12));
        let edge = most.filter(|&most| most <= 300 || most <= LONGEST && self.rng.one_in(40));
        match (self.rng.below(5), edge) {
            (0, _) => least,
            (1, Some(most)) => most,
            (2, Some(most)) => most.saturating_sub(1).max(least),
            _ => self.rng.between(least, usual),
        }
    }

    pub(crate) fn plain(&mut self, length: usize) -> String {
        (0..length)
            .filter_map(|_| self.rng.pick(&LETTERS).copied())
            .collect()
    }

    /// An unanchored pattern may match anywhere: text around it must not matter.
    fn padded(&mut self, text: String, length: usize) -> String {
        let missing = length.saturating_sub(text.chars().count());
        if missing == 0 || self.rng.one_in(3) && !text.is_empty() {
            return text;
        }
        let padding = "xyz".repeat(missing.div_ceil(3));
        let (before, after) = padding.split_at(self.rng.between(0, missing).min(padding.len()));
        let after: String = after
            .chars()
            .take(missing - before.len().min(missing))
            .collect();
        format!("{before}{text}{after}")
    }
}
