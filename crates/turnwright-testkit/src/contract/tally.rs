//! Who was served: how many values each keyword of the document got.

use std::collections::{BTreeMap, HashMap, HashSet};

use serde_json::Value;

use super::breaking::Unbroken;
use super::document::{Document, Object};
use super::place;
use super::report::{KeywordCount, Skipped};
use super::tour::{Spot, Stop, spots};

#[derive(Debug, Default)]
struct Count {
    accepted: usize,
    broken: usize,
    failures: usize,
    why: Option<Unbroken>,
}

/// Counts for every keyword of every schema.
#[derive(Debug, Default)]
pub(crate) struct Tally<'d> {
    counts: HashMap<Spot<'d>, Count>,
}

impl<'d> Tally<'d> {
    pub(crate) fn accepted(&mut self, stops: &[Stop<'d>]) {
        let spots: HashSet<Spot<'d>> = stops.iter().map(Stop::spot).collect();
        for spot in spots {
            self.counts.entry(spot).or_default().accepted += 1;
        }
    }

    pub(crate) fn broken(&mut self, stop: &Stop<'d>) {
        let mut spots: HashSet<Spot<'d>> = stop.through.iter().copied().collect();
        spots.insert(stop.spot());
        for spot in spots {
            self.counts.entry(spot).or_default().broken += 1;
        }
    }

    pub(crate) fn unbroken(&mut self, stop: &Stop<'d>, why: Unbroken) {
        let count = self.counts.entry(stop.spot()).or_default();
        count.failures += 1;
        // Having met a refusal that another rule undid says more than having met none.
        if count.why != Some(Unbroken::Rescued) {
            count.why = Some(why);
        }
    }

    /// How much attention a stop's keyword had: the least comes next.
    pub(crate) fn attention(&self, stop: &Stop<'d>) -> usize {
        self.counts
            .get(&stop.spot())
            .map_or(0, |count| count.broken + count.failures)
    }

    /// The schemas with a keyword that no accepted value has reached, and the schemas that lead there.
    pub(crate) fn unreached(&self, doc: &Document<'d>) -> HashSet<*const Object> {
        let mut found = HashSet::new();
        let mut open: Vec<*const Object> = self
            .spots(doc)
            .filter(|spot| {
                self.counts
                    .get(spot)
                    .is_none_or(|count| count.accepted == 0)
            })
            .map(|(schema, _)| schema)
            .collect();
        while let Some(schema) = open.pop() {
            if found.insert(schema) {
                open.extend(doc.leading_to(schema));
            }
        }
        found
    }

    fn spots(&self, doc: &Document<'d>) -> impl Iterator<Item = Spot<'d>> {
        spots(doc)
            .into_iter()
            .map(|(schema, keyword)| (std::ptr::from_ref(schema), keyword))
    }

    pub(crate) fn per_keyword(&self, doc: &Document<'d>) -> BTreeMap<String, KeywordCount> {
        let mut all: BTreeMap<String, KeywordCount> = BTreeMap::new();
        for (schema, keyword) in spots(doc) {
            let entry = all.entry(keyword.to_owned()).or_default();
            entry.places += 1;
            if let Some(count) = self.counts.get(&(std::ptr::from_ref(schema), keyword)) {
                entry.accepted += count.accepted;
                entry.broken += count.broken;
            }
        }
        all
    }

    pub(crate) fn skipped(&self, doc: &Document<'d>) -> Vec<Skipped> {
        spots(doc)
            .into_iter()
            .filter_map(|(schema, keyword)| {
                let none = Count::default();
                let count = self
                    .counts
                    .get(&(std::ptr::from_ref(schema), keyword))
                    .unwrap_or(&none);
                if count.accepted > 0 && count.broken > 0 {
                    return None;
                }
                let pointer = place::join(doc.pointer(schema), keyword);
                Some(Skipped {
                    pointer,
                    accepted: count.accepted,
                    broken: count.broken,
                    reason: unreadable(doc, schema, keyword).unwrap_or_else(|| reason(count)),
                })
            })
            .collect()
    }
}

fn unreadable<'d>(doc: &Document<'d>, schema: &'d Object, keyword: &str) -> Option<String> {
    let rule = schema.get(keyword)?;
    match (keyword, rule) {
        ("pattern", Value::String(text)) => doc.pattern(text).err().map(str::to_owned),
        ("format", Value::String(name)) => doc
            .format(name)
            .is_none()
            .then(|| format!("no values are known for the format `{name}`")),
        ("patternProperties", Value::Object(patterns)) => patterns.keys().find_map(|text| {
            doc.pattern(text)
                .err()
                .map(|why| format!("`{text}`: {why}"))
        }),
        ("$ref", _) => doc
            .target(schema)
            .err()
            .map(|why| format!("the reference is not followed: {why}")),
        ("$dynamicRef", _) => Some("dynamic references are not followed".to_owned()),
        _ => None,
    }
}

fn reason(count: &Count) -> String {
    let reason = match (count.accepted, count.why) {
        (0, _) => "no accepted value was found that reaches it",
        (_, Some(Unbroken::Rescued)) => {
            "what it refuses may be accepted all the same: by another branch of a union, or after a repair \
             (a default, a coercion)"
        }
        (_, Some(Unbroken::NothingRefused)) => "no value was found that it refuses",
        (_, Some(Unbroken::Applies) | None) => "nothing inside it could be broken",
    };
    reason.to_owned()
}
