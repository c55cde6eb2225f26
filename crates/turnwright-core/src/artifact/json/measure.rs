//! Shapes: `json_type`, `json_keys`, `json_length`.

use std::fmt;

use indexmap::IndexMap;
use serde_json::Value;

use super::SpooledJsonArtifact;
use super::answer::{JsonType, Listing, counted, length};
use super::content::{Content, described};
use super::path::{Flow, JsonPath, shorten};
use crate::error::Error;

/// Names that are told apart, and the bytes that they may have together.
const MOST_NAMES: usize = 100_000;
const MOST_BYTES: usize = 4 << 20;

/// The types of the nodes that a path leads to. `Display` is the answer for a model.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct JsonTypes {
    /// Each type that there is, in the order of its first node.
    pub types: Vec<JsonTypeCount>,
    /// How many nodes there are.
    pub total: u64,
    text: String,
}

/// A type, and how many nodes have it.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct JsonTypeCount {
    /// The type.
    pub json_type: JsonType,
    /// How many nodes have it.
    pub count: u64,
    /// The normalised path of the first.
    pub first: String,
}

/// The keys of the objects that a path leads to. `Display` is the answer for a model.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct JsonKeys {
    /// Those that fit into an answer, in the order in which they were met.
    pub keys: Vec<JsonKey>,
    /// How many different keys there are.
    pub total: u64,
    /// How many were skipped before the first.
    pub skipped: u64,
    /// How many objects there are.
    pub objects: u64,
    text: String,
}

/// A key of one object or of many.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct JsonKey {
    /// The name.
    pub name: String,
    /// How many of the objects have it.
    pub count: u64,
    /// The types of what stands there.
    pub types: Vec<JsonType>,
}

/// The lengths of the nodes that a path leads to. `Display` is the answer for a model.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct JsonLengths {
    /// Those that fit into an answer.
    pub lengths: Vec<JsonLength>,
    /// How many nodes there are.
    pub total: u64,
    /// How many were skipped before the first.
    pub skipped: u64,
    text: String,
}

/// The length of a node.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct JsonLength {
    /// Its normalised path.
    pub path: String,
    /// What it is.
    pub json_type: JsonType,
    /// How many elements, keys or characters it has; numbers, booleans and null have none.
    pub length: Option<u64>,
}

impl SpooledJsonArtifact {
    /// What the nodes are that a path leads to.
    ///
    /// # Errors
    /// As for [`SpooledJsonArtifact::json_get`].
    pub async fn json_type(&self, path: &JsonPath) -> Result<JsonTypes, Error> {
        let path = path.clone();
        self.ask(move |content, limits| {
            let mut seen: Vec<JsonTypeCount> = Vec::new();
            let mut total = 0;
            let mut size = None;
            let lines = content.all_records(&path).is_some();
            if lines {
                (total, seen) = (
                    1,
                    vec![JsonTypeCount::first(JsonType::Array, "$".to_owned())],
                );
            } else {
                content.select(&path, &mut |place, node| {
                    total += 1;
                    size = if total == 1 { length(node) } else { None };
                    let json_type = JsonType::of(node);
                    match seen.iter_mut().find(|it| it.json_type == json_type) {
                        Some(known) => known.count += 1,
                        None => seen.push(JsonTypeCount::first(json_type, place.path())),
                    }
                    Flow::Continue(())
                })?;
            }
            let mut listing = Listing::new(limits, 0);
            for it in seen {
                listing.total += 1;
                let JsonTypeCount {
                    json_type,
                    count,
                    first,
                } = &it;
                let line = match (total, size) {
                    (1, Some(size)) => format!("{json_type} ({})", json_type.measure(size)),
                    (1, None) => json_type.to_string(),
                    _ => format!(
                        "{json_type}: {}, the first at {}",
                        counted(*count, "node"),
                        listing.place(first)
                    ),
                };
                listing.show(it, &line);
            }
            if lines {
                listing.note("JSON lines: `$` is the array of the records, `$[0]` is the first");
            }
            if total == 0 {
                nothing(&mut listing, content, &path);
            } else if total > 1 {
                listing.note(&format!("{total} nodes"));
            }
            if let Some(note) = content.note() {
                listing.note(&note);
            }
            let (types, text) = listing.finish();
            Ok(JsonTypes { types, total, text })
        })
        .await
    }

    /// The keys of the objects that a path leads to, from the `skip`th on: of one object, or of all of them together.
    ///
    /// # Errors
    /// As for [`SpooledJsonArtifact::json_get`].
    pub async fn json_keys(&self, path: &JsonPath, skip: u64) -> Result<JsonKeys, Error> {
        let path = path.clone();
        self.ask(move |content, limits| {
            let mut names = Names::default();
            let mut other = None;
            if content.all_records(&path).is_some() {
                let what = "the array of the records: for the keys of all of them ask for `$[*]`";
                other = Some(what.to_owned());
            } else {
                content.select(&path, &mut |_, node| {
                    match node {
                        Value::Object(members) => {
                            names.add(members);
                        }
                        other_node => {
                            other.get_or_insert_with(|| without_keys(other_node, &path));
                        }
                    }
                    Flow::Continue(())
                })?;
            }
            let objects = names.objects;
            let mut listing = Listing::new(limits, skip);
            for (name, (count, types)) in names.seen {
                if listing.count() {
                    let key = JsonKey {
                        name,
                        count,
                        types: types.list(),
                    };
                    let line = key.line(objects, listing.longest());
                    listing.show(key, &line);
                }
            }
            if let Some(mut summary) = listing.summary("key") {
                if objects > 1 {
                    summary += &format!(" (in {objects} objects)");
                }
                if let Some(skip) = listing.next_skip() {
                    summary += &format!(": go on with skip={skip}");
                }
                listing.note(&summary);
            } else if objects > 0 {
                listing.note("no keys: the object is empty");
            } else if let Some(other) = other {
                listing.note(&format!(
                    "no keys: `{}` is {other}",
                    shorten(&path.to_string(), 80)
                ));
            } else {
                nothing(&mut listing, content, &path);
            }
            if names.more {
                listing.note(&format!(
                    "there are more keys: only {MOST_NAMES} are told apart"
                ));
            }
            if let Some(note) = content.note() {
                listing.note(&note);
            }
            let (total, skipped) = (listing.total, listing.skip);
            let (keys, text) = listing.finish();
            Ok(JsonKeys {
                keys,
                total,
                skipped,
                objects,
                text,
            })
        })
        .await
    }

    /// How many elements, keys or characters the nodes have that a path leads to, from the `skip`th node on.
    ///
    /// # Errors
    /// As for [`SpooledJsonArtifact::json_get`].
    pub async fn json_length(&self, path: &JsonPath, skip: u64) -> Result<JsonLengths, Error> {
        let path = path.clone();
        self.ask(move |content, limits| {
            let mut listing = Listing::new(limits, skip);
            let mut offer = |path: &dyn Fn() -> String,
                             json_type: JsonType,
                             length: Option<u64>| {
                if !listing.count() {
                    return;
                }
                let path = path();
                let place = listing.place(&path);
                let line = match length {
                    Some(length) => format!("{place}: {} ({json_type})", json_type.measure(length)),
                    None => format!("{place}: no length ({json_type})"),
                };
                let node = JsonLength {
                    path,
                    json_type,
                    length,
                };
                listing.show(node, &line);
            };
            if let Some(records) = content.all_records(&path) {
                offer(&|| "$".to_owned(), JsonType::Array, Some(records.count()?));
            } else {
                content.select(&path, &mut |place, node| {
                    offer(&|| place.path(), JsonType::of(node), length(node));
                    Flow::Continue(())
                })?;
            }
            match listing.summary("node") {
                Some(_) if listing.total == 1 && skip == 0 => {}
                Some(mut summary) => {
                    if let Some(skip) = listing.next_skip() {
                        summary += &format!(": go on with skip={skip}");
                    }
                    listing.note(&summary);
                }
                None => nothing(&mut listing, content, &path),
            }
            if let Some(note) = content.note() {
                listing.note(&note);
            }
            let (total, skipped) = (listing.total, listing.skip);
            let (lengths, text) = listing.finish();
            Ok(JsonLengths {
                lengths,
                total,
                skipped,
                text,
            })
        })
        .await
    }
}

fn nothing<T>(listing: &mut Listing<T>, content: &Content<'_>, path: &JsonPath) {
    let why = content
        .astray(path)
        .map_or_else(String::new, |why| format!("; {why}"));
    listing.note(&format!(
        "`{}` leads to nothing{why}",
        shorten(&path.to_string(), 100)
    ));
}

fn without_keys(node: &Value, path: &JsonPath) -> String {
    let described = described(node);
    match node {
        Value::Array(items) if !items.is_empty() => {
            let path = shorten(&path.to_string(), 80);
            format!("{described}: for the keys of all of them ask for `{path}[*]`")
        }
        _ => described,
    }
}

/// The names in objects.
#[derive(Default)]
struct Names {
    seen: IndexMap<String, (u64, TypeSet)>,
    bytes: usize,
    objects: u64,
    more: bool,
}

impl Names {
    fn add(&mut self, members: &serde_json::Map<String, Value>) {
        self.objects += 1;
        for (name, value) in members {
            if let Some((count, types)) = self.seen.get_mut(name) {
                *count += 1;
                types.add(JsonType::of(value));
            } else if self.seen.len() < MOST_NAMES && self.bytes + name.len() <= MOST_BYTES {
                let mut types = TypeSet::default();
                types.add(JsonType::of(value));
                self.bytes += name.len();
                self.seen.insert(name.clone(), (1, types));
            } else {
                self.more = true;
            }
        }
    }
}

/// Which of the six types were seen.
#[derive(Clone, Copy, Default)]
struct TypeSet(u8);

impl TypeSet {
    fn add(&mut self, json_type: JsonType) {
        self.0 |= 1 << json_type as u8;
    }

    fn list(self) -> Vec<JsonType> {
        let seen = |json_type: &JsonType| self.0 & 1 << *json_type as u8 != 0;
        JsonType::ALL.into_iter().filter(seen).collect()
    }
}

impl JsonKey {
    fn line(&self, objects: u64, longest: usize) -> String {
        let name = Value::from(self.name.as_str()).to_string();
        let name = shorten(&name, longest / 2);
        let types: Vec<&str> = self.types.iter().map(|it| it.as_str()).collect();
        let types = types.join(" or ");
        if objects > 1 {
            format!("{name}: {types}, in {} of {objects} objects", self.count)
        } else {
            format!("{name}: {types}")
        }
    }
}

impl JsonTypeCount {
    fn first(json_type: JsonType, first: String) -> Self {
        JsonTypeCount {
            json_type,
            count: 1,
            first,
        }
    }
}

macro_rules! says_its_text {
    ($($answer:ident),+) => {
        $(impl fmt::Display for $answer {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.text)
            }
        })+
    };
}

says_its_text!(JsonTypes, JsonKeys, JsonLengths);

/// What was found may be secret, names and paths too: only what it is is shown.
macro_rules! unseen {
    ($($type:ident),+) => {$(
        impl fmt::Debug for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(stringify!($type))
            }
        }
    )+};
}

unseen!(
    JsonTypes,
    JsonTypeCount,
    JsonKeys,
    JsonKey,
    JsonLengths,
    JsonLength
);
