//! The queries `json_type`, `json_keys` and `json_length`.

use indexmap::IndexMap;
use serde_json::{Map, Value};

use super::SpooledJsonArtifact;
use super::content::described;
use super::page::{Listing, TYPES, length_of, type_of};
use super::path::JsonPath;
use crate::error::Error;
use crate::schema::{clip, counted};

/// Maximum number of distinct names, and their maximum total size in bytes.
const MAX_NAMES: usize = 100_000;
const MAX_BYTES: usize = 4 << 20;

impl SpooledJsonArtifact {
    /// Returns the types of the nodes that a path matches.
    ///
    /// # Errors
    /// See [`SpooledJsonArtifact::json_get`].
    pub async fn json_type(&self, path: &JsonPath) -> Result<String, Error> {
        let path = path.clone();
        self.ask(move |content, limits| {
            // For each type, the number of nodes and the path of the first one.
            let mut types: IndexMap<&str, (u64, String)> = IndexMap::new();
            let mut length = None;
            let mut listing = Listing::new(limits, 0);
            let lines = content.all_records(&path).is_some();
            if lines {
                listing.total = 1;
                types.insert("array", (1, "$".to_owned()));
            } else {
                content.select(&path, &mut |place, node| {
                    listing.total += 1;
                    length = length_of(node);
                    let known = types.entry(type_of(node));
                    known.or_insert_with(|| (0, place.path())).0 += 1;
                })?;
            }
            let total = listing.total;
            for (json_type, (count, first)) in types {
                listing.show(&match &length {
                    _ if total > 1 => {
                        let (nodes, first) = (counted(count, "node"), listing.place(&first));
                        format!("{json_type}: {nodes}, first at {first}")
                    }
                    Some(length) => format!("{json_type} ({length})"),
                    None => json_type.to_owned(),
                });
            }
            let summary = match total {
                0 => None,
                1 if lines => Some(
                    "JSON Lines: `$` is the array of records and `$[0]` is the first record"
                        .to_owned(),
                ),
                1 => Some(String::new()),
                _ => Some(counted(total, "node")),
            };
            listing.notes(summary, content, &path);
            Ok(listing.page.finish())
        })
        .await
    }

    /// Returns the keys of the objects that a path matches, starting with key `skip`. For several objects, returns the union of
    /// their keys.
    ///
    /// # Errors
    /// See [`SpooledJsonArtifact::json_get`].
    pub async fn json_keys(&self, path: &JsonPath, skip: u64) -> Result<String, Error> {
        let path = path.clone();
        self.ask(move |content, limits| {
            let mut names = Names::default();
            let mut other = None;
            if content.all_records(&path).is_some() {
                let records = "the array of records: use `$[*]` for the keys of all records";
                other = Some(records.to_owned());
            } else {
                content.select(&path, &mut |_, node| match node {
                    Value::Object(members) => names.add(members),
                    node => _ = other.get_or_insert_with(|| without_keys(node, &path)),
                })?;
            }
            let objects = names.objects;
            let mut listing = Listing::new(limits, skip);
            for (name, (count, types)) in names.seen {
                if listing.count() {
                    let name = Value::from(name).to_string();
                    let name = clip(&name, listing.longest / 2);
                    let types = TYPES.into_iter().filter(|name| types.contains(name));
                    let types = types.collect::<Vec<_>>().join(" or ");
                    listing.show(&match objects {
                        1 => format!("{name}: {types}"),
                        _ => format!("{name}: {types}, in {count} of {objects} objects"),
                    });
                }
            }
            let context = match objects {
                0 | 1 => String::new(),
                _ => format!(" (in {objects} objects)"),
            };
            let summary = listing.summary("key", &context, listing.next_skip());
            let summary = summary.or_else(|| match other {
                _ if objects > 0 => Some("no keys: the object is empty".to_owned()),
                None => None,
                Some(other) => {
                    let path = clip(&path.to_string(), 80);
                    Some(format!("no keys: `{path}` is {other}"))
                }
            });
            listing.notes(summary, content, &path);
            if names.more {
                listing.page.note(&format!(
                    "there are more keys: at most {MAX_NAMES} are listed"
                ));
            }
            Ok(listing.page.finish())
        })
        .await
    }

    /// Returns the number of elements, keys or characters of the nodes that a path matches, starting with node `skip`.
    ///
    /// # Errors
    /// See [`SpooledJsonArtifact::json_get`].
    pub async fn json_length(&self, path: &JsonPath, skip: u64) -> Result<String, Error> {
        let path = path.clone();
        self.ask(move |content, limits| {
            let mut listing = Listing::new(limits, skip);
            let mut offer = |path: &dyn Fn() -> String, json_type: &str, length: Option<String>| {
                if listing.count() {
                    let place = listing.place(&path());
                    let length = length.as_deref().unwrap_or("no length");
                    listing.show(&format!("{place}: {length} ({json_type})"));
                }
            };
            if let Some(records) = content.all_records(&path) {
                let length = counted(records.count()?, "element");
                offer(&|| "$".to_owned(), "array", Some(length));
            } else {
                content.select(&path, &mut |place, node| {
                    offer(&|| place.path(), type_of(node), length_of(node));
                })?;
            }
            let summary = match listing.total {
                1 if skip == 0 => Some(String::new()),
                _ => listing.summary("node", "", listing.next_skip()),
            };
            listing.notes(summary, content, &path);
            Ok(listing.page.finish())
        })
        .await
    }
}

fn without_keys(node: &Value, path: &JsonPath) -> String {
    let described = described(node);
    match node {
        Value::Array(items) if !items.is_empty() => {
            let path = clip(&path.to_string(), 80);
            format!("{described}: use `{path}[*]` for the keys of all elements")
        }
        _ => described,
    }
}

/// The keys of objects. For each, the number of objects that have it and the types of its values.
#[derive(Default)]
struct Names {
    seen: IndexMap<String, (u64, Vec<&'static str>)>,
    bytes: usize,
    objects: u64,
    more: bool,
}

impl Names {
    fn add(&mut self, members: &Map<String, Value>) {
        self.objects += 1;
        for (name, value) in members {
            let room = self.seen.len() < MAX_NAMES && self.bytes + name.len() <= MAX_BYTES;
            if !room && !self.seen.contains_key(name) {
                self.more = true;
                continue;
            }
            let (count, types) = self.seen.entry(name.clone()).or_insert_with(|| {
                self.bytes += name.len();
                (0, Vec::new())
            });
            *count += 1;
            if !types.contains(&type_of(value)) {
                types.push(type_of(value));
            }
        }
    }
}
