//! Counts values per keyword of the document.

use std::collections::{BTreeMap, HashSet};

use serde_json::Value;

use super::document::{Address, Document, Object, children, constrained_type, is_covered_inside};
use super::report::{KeywordCount, Skipped};
use super::validator::Violations;
use crate::pointer;

/// A keyword of the document that applied to a location of a value.
#[derive(Debug, Clone)]
pub(crate) struct Site<'d> {
    pub(crate) schema: &'d Object,
    pub(crate) keyword: &'d str,
    /// The pointer of the keyword in the document.
    pub(crate) pointer: String,
    /// The pointer of the location in the value.
    pub(crate) at: String,
}

/// Why no broken value was generated for a keyword.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Unbroken {
    /// The keyword only applies subschemas. Their keywords are broken instead.
    OnlyApplies,
    /// No value was found that the keyword rejects.
    NothingBroken,
    /// The values that it rejects are accepted: by another branch of a union, or after a repair.
    Rescued,
}

#[derive(Debug)]
struct Count<'d> {
    schema: &'d Object,
    keyword: &'d str,
    accepted: usize,
    broken: usize,
    failures: usize,
    reason: Option<Unbroken>,
}

/// Counters for every keyword of every reachable schema, by its pointer in the document.
#[derive(Debug)]
pub(crate) struct Coverage<'a, 'd> {
    doc: &'a Document<'d>,
    counts: BTreeMap<String, Count<'d>>,
}

impl<'a, 'd> Coverage<'a, 'd> {
    pub(crate) fn new(doc: &'a Document<'d>) -> Self {
        let mut counts = BTreeMap::new();
        for schema in doc.reachable.iter().copied() {
            for keyword in keywords(doc, schema) {
                let count = Count {
                    schema,
                    keyword,
                    accepted: 0,
                    broken: 0,
                    failures: 0,
                    reason: None,
                };
                counts.insert(pointer::join(doc.pointer(schema), keyword), count);
            }
        }
        Self { doc, counts }
    }

    /// Returns the keywords that applied to an accepted value, given the schemas that did.
    pub(crate) fn sites(&self, applied: &[(&'d Object, String)], value: &Value) -> Vec<Site<'d>> {
        let addresses = applied
            .iter()
            .map(|(schema, _)| std::ptr::from_ref(*schema));
        let addresses: HashSet<Address> = addresses.collect();
        let mut sites = Vec::new();
        for (schema, at) in applied {
            let Some(part) = value.pointer(at) else {
                continue;
            };
            for keyword in keywords(self.doc, schema) {
                let pointer = pointer::join(self.doc.pointer(schema), keyword);
                if applies(schema, keyword, part, &addresses) && self.counts.contains_key(&pointer)
                {
                    sites.push(Site {
                        schema,
                        keyword,
                        pointer,
                        at: at.clone(),
                    });
                }
            }
        }
        sites
    }

    pub(crate) fn count_accepted(&mut self, sites: &[Site<'d>]) {
        let reached: HashSet<&str> = sites.iter().map(|site| site.pointer.as_str()).collect();
        for pointer in reached {
            if let Some(count) = self.counts.get_mut(pointer) {
                count.accepted += 1;
            }
        }
    }

    /// Counts the keywords that reject a value, and those that apply them.
    pub(crate) fn count_broken(&mut self, violations: &Violations) {
        let mut refusing: HashSet<&str> = HashSet::new();
        for pointer in &violations.keywords {
            let ends = pointer.match_indices('/').map(|(index, _)| index).skip(1);
            let ends = ends.chain([pointer.len()]);
            refusing.extend(ends.filter_map(|end| pointer.get(..end)));
        }
        // A value that a conditional subschema rejects is rejected by the condition too.
        let conditional = |pointer: &&str| {
            let branch = pointer.strip_suffix("/then");
            let schema = branch.or(pointer.strip_suffix("/else"))?;
            Some(pointer::join(schema, "if"))
        };
        let conditions: HashSet<String> = refusing.iter().filter_map(conditional).collect();
        refusing.extend(conditions.iter().map(String::as_str));
        for pointer in refusing {
            if let Some(count) = self.counts.get_mut(pointer) {
                count.broken += 1;
            }
        }
    }

    pub(crate) fn count_failure(&mut self, site: &Site<'d>, reason: Unbroken) {
        if let Some(count) = self.counts.get_mut(&site.pointer) {
            count.failures += 1;
            count.reason = count.reason.max(Some(reason));
        }
    }

    /// Returns how often breaking a keyword was attempted. The one with the fewest attempts is next.
    pub(crate) fn attempts(&self, site: &Site<'d>) -> usize {
        let count = self.counts.get(&site.pointer);
        count.map_or(0, |count| count.broken + count.failures)
    }

    /// Returns the schemas with a keyword that no accepted value has reached, and the schemas that lead to them.
    pub(crate) fn unreached(&self) -> HashSet<Address> {
        let mut found = HashSet::new();
        let missing = self.counts.values().filter(|count| count.accepted == 0);
        let missing = missing.map(|count| std::ptr::from_ref(count.schema));
        let mut open: Vec<Address> = missing.collect();
        while let Some(schema) = open.pop() {
            if found.insert(schema) {
                open.extend(self.doc.users(schema));
            }
        }
        found
    }

    pub(crate) fn per_keyword(&self) -> BTreeMap<String, KeywordCount> {
        let mut all: BTreeMap<String, KeywordCount> = BTreeMap::new();
        for count in self.counts.values() {
            let entry = all.entry(count.keyword.to_owned()).or_default();
            entry.places += 1;
            entry.accepted += count.accepted;
            entry.broken += count.broken;
        }
        all
    }

    pub(crate) fn skipped(&self) -> Vec<Skipped> {
        let counts = self.counts.iter();
        let lacking = counts.filter(|(_, count)| count.accepted == 0 || count.broken == 0);
        let skipped = lacking.map(|(pointer, count)| {
            let unreadable = self.doc.unreadable(count.schema, count.keyword);
            Skipped {
                pointer: pointer.clone(),
                accepted: count.accepted,
                broken: count.broken,
                reason: unreadable.unwrap_or_else(|| reason(count).to_owned()),
            }
        });
        skipped.collect()
    }
}

/// Returns the keywords of a schema that constrain values.
fn keywords<'d>(doc: &Document<'_>, schema: &'d Object) -> impl Iterator<Item = &'d str> {
    let only_reference = doc.draft7 && schema.contains_key("$ref");
    schema.keys().map(String::as_str).filter(move |keyword| {
        constrained_type(keyword).is_some() && (!only_reference || *keyword == "$ref")
    })
}

/// Returns `true` if a keyword applied to a value: the value has the keyword's type, and one of its subschemas was
/// applied.
fn applies(schema: &Object, keyword: &str, value: &Value, applied: &HashSet<Address>) -> bool {
    let of_its_type = match constrained_type(keyword) {
        Some("number") => value.is_number(),
        Some("string") => value.is_string(),
        Some("array") => value.is_array(),
        Some("object") => value.is_object(),
        kind => kind.is_some(),
    };
    if keyword.starts_with("depend") {
        let triggers = schema.get(keyword).and_then(Value::as_object);
        let mut triggers = triggers.into_iter().flat_map(Object::keys);
        return triggers.any(|name| value.get(name).is_some());
    }
    let own = children(schema).filter(|(by, _)| *by == keyword && is_covered_inside(by));
    let mut objects = own.filter_map(|(_, child)| child.as_object()).peekable();
    of_its_type
        && (objects.peek().is_none()
            || objects.any(|child| applied.contains(&std::ptr::from_ref(child))))
}

fn reason(count: &Count<'_>) -> &'static str {
    match (count.accepted, count.reason) {
        (0, _) => "no accepted value was found that reaches it",
        (_, Some(Unbroken::Rescued)) => {
            "the values it rejects are accepted anyway: by another branch of a union, or after a repair (a default, a \
             coercion)"
        }
        (_, Some(Unbroken::NothingBroken)) => "no value was found that it rejects",
        (_, Some(Unbroken::OnlyApplies) | None) => "nothing inside it could be broken",
    }
}
