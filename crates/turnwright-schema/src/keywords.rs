//! The JSON Schema keywords that are enforced, and those that only describe.

use std::collections::HashSet;

use referencing::Draft;
use serde_json::Value;

use super::pointer::join;
use super::text::{escape, quote};

/// What the value of a keyword contains, as far as the walk needs to know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// Data: a bound, a name, a list of values.
    Data,
    /// One subschema.
    Schema,
    /// A list of subschemas.
    Schemas,
    /// Subschemas by name.
    Named,
    /// One subschema or a list of them (`items` of draft 7).
    SchemaOrSchemas,
    /// By name: a subschema or a list of property names (`dependencies` of draft 7).
    NamedOrLists,
}

/// The location of the value that a subschema applies to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Look {
    /// The same location as the enclosing schema.
    Here,
    /// A part of the value, or a property name.
    Below,
    /// Nothing by itself: it is only a target of references.
    Nowhere,
}

/// Properties of a keyword that the walk needs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Keyword {
    name: &'static str,
    pub(crate) shape: Shape,
    pub(crate) look: Look,
    /// The types that the keyword applies to; empty for all.
    pub(crate) types: &'static [&'static str],
    /// An annotation: has no effect on validity.
    pub(crate) annotation: bool,
    /// Has no effect unless this keyword is present too.
    pub(crate) needs: Option<&'static str>,
}

const ANY: &[&str] = &[];
const NUMBER: &[&str] = &["number", "integer"];
const STRING: &[&str] = &["string"];
const ARRAY: &[&str] = &["array"];
const OBJECT: &[&str] = &["object"];

const fn data(name: &'static str, types: &'static [&'static str]) -> Keyword {
    applies(name, Shape::Data, Look::Here, types)
}

const fn note(name: &'static str, types: &'static [&'static str]) -> Keyword {
    data(name, types).as_annotation()
}

const fn applies(
    name: &'static str,
    shape: Shape,
    look: Look,
    types: &'static [&'static str],
) -> Keyword {
    Keyword {
        name,
        shape,
        look,
        types,
        annotation: false,
        needs: None,
    }
}

impl Keyword {
    const fn as_annotation(mut self) -> Self {
        self.annotation = true;
        self
    }

    const fn only_with(mut self, other: &'static str) -> Self {
        self.needs = Some(other);
        self
    }
}

const EXTENSION: Keyword = note("x-", ANY);

/// The keywords of both drafts.
const COMMON: &[Keyword] = &[
    data("type", ANY),
    data("enum", ANY),
    data("const", ANY),
    data("$ref", ANY),
    data("multipleOf", NUMBER),
    data("maximum", NUMBER),
    data("exclusiveMaximum", NUMBER),
    data("minimum", NUMBER),
    data("exclusiveMinimum", NUMBER),
    data("maxLength", STRING),
    data("minLength", STRING),
    data("pattern", STRING),
    data("format", STRING),
    data("maxItems", ARRAY),
    data("minItems", ARRAY),
    data("uniqueItems", ARRAY),
    data("maxProperties", OBJECT),
    data("minProperties", OBJECT),
    data("required", OBJECT),
    note("title", ANY),
    note("description", ANY),
    note("examples", ANY),
    note("default", ANY),
    note("readOnly", ANY),
    note("writeOnly", ANY),
    note("contentEncoding", STRING),
    note("contentMediaType", STRING),
    note("contentSchema", ANY),
    note("deprecated", ANY),
    note("$comment", ANY),
    note("$schema", ANY),
    note("$id", ANY),
    applies("definitions", Shape::Named, Look::Nowhere, ANY).as_annotation(),
    applies("$defs", Shape::Named, Look::Nowhere, ANY).as_annotation(),
    applies("properties", Shape::Named, Look::Below, OBJECT),
    applies("patternProperties", Shape::Named, Look::Below, OBJECT),
    applies("additionalProperties", Shape::Schema, Look::Below, OBJECT),
    applies("propertyNames", Shape::Schema, Look::Below, OBJECT),
    applies("contains", Shape::Schema, Look::Below, ARRAY),
    applies("allOf", Shape::Schemas, Look::Here, ANY),
    applies("anyOf", Shape::Schemas, Look::Here, ANY),
    applies("oneOf", Shape::Schemas, Look::Here, ANY),
    applies("not", Shape::Schema, Look::Here, ANY),
    applies("if", Shape::Schema, Look::Here, ANY),
    applies("then", Shape::Schema, Look::Here, ANY).only_with("if"),
    applies("else", Shape::Schema, Look::Here, ANY).only_with("if"),
];

const DRAFT_2020_12: &[Keyword] = &[
    note("$anchor", ANY),
    data("dependentRequired", OBJECT),
    data("maxContains", ARRAY).only_with("contains"),
    data("minContains", ARRAY).only_with("contains"),
    applies("prefixItems", Shape::Schemas, Look::Below, ARRAY),
    applies("items", Shape::Schema, Look::Below, ARRAY),
    applies("unevaluatedItems", Shape::Schema, Look::Below, ARRAY),
    applies("unevaluatedProperties", Shape::Schema, Look::Below, OBJECT),
    applies("dependentSchemas", Shape::Named, Look::Here, OBJECT),
];

const DRAFT_7: &[Keyword] = &[
    applies("items", Shape::SchemaOrSchemas, Look::Below, ARRAY),
    applies("additionalItems", Shape::Schema, Look::Below, ARRAY).only_with("items"),
    applies("dependencies", Shape::NamedOrLists, Look::Here, OBJECT),
];

/// Returns the keyword with this name in this draft, or `None` if the draft would ignore it.
pub(crate) fn keyword(draft: Draft, name: &str) -> Option<&'static Keyword> {
    if name.starts_with("x-") {
        return Some(&EXTENSION);
    }
    let own = match draft {
        Draft::Draft7 => DRAFT_7,
        _ => DRAFT_2020_12,
    };
    let mut all = COMMON.iter().chain(own);
    all.find(|keyword| keyword.name == name)
}

/// Returns the subschemas in the value of a keyword, each with its name, if it has one, and its pointer. Leaves out what does not
/// have the form of the keyword.
pub(crate) fn subschemas<'v>(
    shape: Shape,
    value: &'v Value,
    place: &str,
) -> impl Iterator<Item = (Option<&'v str>, String, &'v Value)> {
    let found: Vec<_> = match (shape, value) {
        (Shape::Schemas | Shape::SchemaOrSchemas, Value::Array(schemas)) => schemas
            .iter()
            .enumerate()
            .map(|(index, schema)| (None, join(place, &index.to_string()), schema))
            .collect(),
        (Shape::Named | Shape::NamedOrLists, Value::Object(named)) => named
            .iter()
            .filter(|(_, schema)| shape == Shape::Named || !schema.is_array())
            .map(|(name, schema)| (Some(name.as_str()), join(place, name), schema))
            .collect(),
        (Shape::Schema | Shape::SchemaOrSchemas, _) => vec![(None, place.to_owned(), value)],
        (Shape::Data | Shape::Schemas | Shape::Named | Shape::NamedOrLists, _) => Vec::new(),
    };
    found.into_iter()
}

/// All keywords that some draft knows.
fn known() -> impl Iterator<Item = &'static str> {
    let all = COMMON.iter().chain(DRAFT_2020_12).chain(DRAFT_7);
    all.map(|keyword| keyword.name)
}

/// Returns the message for a keyword that the draft does not know.
pub(crate) fn unknown(draft: Draft, name: &str) -> String {
    let shown = escape(name, 80);
    if matches!(
        name,
        "$dynamicRef" | "$dynamicAnchor" | "$recursiveRef" | "$recursiveAnchor" | "$vocabulary"
    ) {
        return format!("`{shown}` is not supported: use `$ref` and `$defs`");
    }
    if name == "nullable" {
        return "`nullable` is not JSON Schema: add \"null\" to `type`".to_owned();
    }
    if is_known(name) {
        let draft = match draft {
            Draft::Draft7 => "draft 7",
            _ => "draft 2020-12",
        };
        return format!(
            "`{shown}` is ignored by {draft}: set `$schema` if you mean another draft, or remove it"
        );
    }
    match nearest(name, known().filter(|name| !name.starts_with('$'))) {
        Some(near) => format!("`{shown}` is not a keyword: did you mean `{near}`?"),
        None => format!(
            "`{shown}` is not a keyword and would be ignored: remove it, rename it to `x-{shown}`, or allow it with `SchemaOptions::annotation`"
        ),
    }
}

const TYPES: [&str; 7] = [
    "string", "integer", "number", "boolean", "array", "object", "null",
];

/// Returns what is wrong with the value of `type`, if anything is.
pub(crate) fn wrong_type(value: &Value) -> Option<String> {
    let names = match value {
        Value::Array(names) => names.as_slice(),
        name => std::slice::from_ref(name),
    };
    let known = |name: &Value| name.as_str().is_some_and(|name| TYPES.contains(&name));
    if let Some(wrong) = names.iter().find(|name| !known(name)) {
        let advice = match wrong.as_str().and_then(meant_type) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!(
                "use one of {}",
                TYPES.map(|name| format!("`{name}`")).join(", ")
            ),
        };
        return Some(format!("{} is not a type: {advice}", quote(wrong)));
    }
    let different: HashSet<&Value> = names.iter().collect();
    let fits = !names.is_empty() && different.len() == names.len();
    (!fits).then(|| "must name at least one type, and each only once".to_owned())
}

/// Returns the type that was probably meant, by a similar or a shorter name such as `str`.
fn meant_type(word: &str) -> Option<&'static str> {
    let lower = word.to_lowercase();
    let begins = |name: &&str| lower.len() > 2 && name.starts_with(&lower);
    nearest(word, TYPES).or_else(|| TYPES.into_iter().find(begins))
}

/// Returns `true` if some draft has a keyword of this name.
pub(crate) fn is_known(name: &str) -> bool {
    known().any(|known| known == name)
}

/// Returns `true` for formats that are enforced, in every draft. The tests have an invalid value for each.
pub(crate) fn is_enforced_format(name: &str) -> bool {
    matches!(
        name,
        "date"
            | "date-time"
            | "time"
            | "email"
            | "hostname"
            | "ipv4"
            | "ipv6"
            | "uri"
            | "uri-reference"
            | "uri-template"
            | "iri"
            | "iri-reference"
            | "json-pointer"
            | "relative-json-pointer"
            | "regex"
            | "duration"
            | "uuid"
    )
}

/// Returns the word in `known` that was probably meant, if one is close enough.
pub(crate) fn nearest<'k>(word: &str, known: impl IntoIterator<Item = &'k str>) -> Option<&'k str> {
    near(word, known).first().copied()
}

/// Returns the words in `known` that were probably meant, closest first.
pub fn near<'k>(word: &str, known: impl IntoIterator<Item = &'k str>) -> Vec<&'k str> {
    if word.chars().count() > 64 {
        return Vec::new();
    }
    let word = word.to_lowercase();
    let length = word.chars().count();
    let measured = |candidate: &'k str| {
        let most = (candidate.chars().count() / 3).min(3);
        let lower = candidate.to_lowercase();
        // The distance is at least the difference in length. Most candidates need no more than that.
        let is_possible = lower.chars().count().abs_diff(length) <= most;
        let distance = is_possible.then(|| strsim::osa_distance(&word, &lower))?;
        (distance <= most).then_some((distance, candidate))
    };
    let mut near: Vec<(usize, &str)> = known.into_iter().filter_map(measured).collect();
    near.sort_by_key(|(distance, _)| *distance);
    near.into_iter().map(|(_, candidate)| candidate).collect()
}
