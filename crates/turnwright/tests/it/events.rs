//! The page about events as JSON: its tables and the types for TypeScript are those of the code.
//!
//! `TURNWRIGHT_UPDATE=1` regenerates them.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test may end loudly"
)]

use std::fs;

use schemars::generate::SchemaSettings;
use serde_json::{Map, Value};
use turnwright::event::Event;
use turnwright::record::Record;
use turnwright::store::Waiting;

use crate::links::root;

const SOURCE: &str = include_str!("../../../turnwright-core/src/event/kind.rs");

/// The definitions of all types, by name. Events are split: those of the stream of a turn, and the others.
fn types() -> Map<String, Value> {
    let settings = SchemaSettings::draft2020_12().for_serialize();
    let mut generator = settings.into_generator();
    generator.subschema_for::<Event>();
    generator.subschema_for::<Record>();
    generator.subschema_for::<Waiting>();
    let mut types = generator.take_definitions(true);
    let event = types.remove("Event").unwrap();
    let (start, end) = ("fn is_public(&self)", "\n    }\n");
    let (_, hidden) = SOURCE.split_once(start).unwrap();
    let (hidden, _) = hidden.split_once(end).unwrap();
    for (name, about, public) in [
        ("TurnEvent", "An event on the stream of a turn.", true),
        ("RunnerEvent", "An event for operators.", false),
    ] {
        let mut part = event.clone();
        part["description"] = about.into();
        let kinds = part["oneOf"].as_array_mut().unwrap();
        kinds.retain(|kind| {
            let tag = kind["properties"]["event"]["const"].as_str().unwrap();
            let variants = variants();
            let (_, variant) = variants.iter().find(|(name, _)| *name == tag).unwrap();
            let mut hidden = hidden.split(|c: char| !c.is_alphanumeric());
            public != hidden.any(|word| word == *variant)
        });
        types.insert(name.to_owned(), part);
    }
    types.sort_keys();
    types
}

/// The name of the type that a schema refers to.
fn referred(schema: &Value) -> Option<&str> {
    schema["$ref"].as_str()?.strip_prefix("#/$defs/")
}

/// The first sentence of a description, without links.
fn sentence(schema: &Value) -> String {
    let text = schema["description"].as_str().unwrap_or_default();
    let text = text
        .split("\n\n")
        .next()
        .unwrap_or_default()
        .replace('\n', " ");
    let text = text.split_inclusive(". ").next().unwrap_or_default().trim();
    let mut plain = String::new();
    let mut rest = text;
    while let Some((before, link)) = rest.split_once('[') {
        let (words, after) = link.split_once(']').unwrap();
        let after = match after.strip_prefix('(') {
            Some(target) => {
                let (path, after) = target.split_once(')').unwrap();
                let is_function = path.ends_with('(');
                if is_function { &after[1..] } else { after }
            }
            None => after,
        };
        plain.push_str(before);
        plain.push_str(words);
        rest = after;
    }
    plain + rest
}

fn union(schemas: &Value, indent: &str) -> String {
    let all = schemas.as_array().unwrap().iter();
    let all: Vec<String> = all.map(|one| typescript(one, indent)).collect();
    all.join(" | ")
}

/// The type of a schema.
fn typescript(schema: &Value, indent: &str) -> String {
    let mut parts = Vec::new();
    if let Some(name) = referred(schema) {
        parts.push(name.to_owned());
    }
    if schema["properties"].is_object() {
        parts.push(object(schema, indent));
    }
    for word in ["oneOf", "anyOf"] {
        if schema[word].is_array() {
            let all = union(&schema[word], indent);
            let alone = parts.is_empty();
            parts.push(if alone { all } else { format!("({all})") });
        }
    }
    if !parts.is_empty() {
        return parts.join(" & ");
    }
    if let Some(value) = schema.get("const") {
        return value.to_string();
    }
    if let Some(values) = schema["enum"].as_array() {
        let values: Vec<String> = values.iter().map(Value::to_string).collect();
        return values.join(" | ");
    }
    match &schema["type"] {
        Value::String(word) if word == "array" => {
            let item = typescript(&schema["items"], indent);
            format!("Array<{item}>")
        }
        Value::String(word) if word == "object" => {
            let value = typescript(&schema["additionalProperties"], indent);
            format!("{{ [key: string]: {value} }}")
        }
        Value::String(word) if word == "integer" => "number".to_owned(),
        Value::String(word) => word.clone(),
        Value::Array(words) => {
            let alone = |word: &Value| {
                let mut schema = schema.clone();
                schema["type"] = word.clone();
                typescript(&schema, indent)
            };
            words.iter().map(alone).collect::<Vec<_>>().join(" | ")
        }
        _ => "unknown".to_owned(),
    }
}

fn is_required(schema: &Value, field: &str) -> bool {
    let required = schema["required"].as_array();
    required.is_some_and(|all| all.iter().any(|name| name == field))
}

fn object(schema: &Value, indent: &str) -> String {
    let inner = format!("{indent}  ");
    let mut text = "{\n".to_owned();
    for (name, field) in schema["properties"].as_object().unwrap() {
        let about = sentence(field);
        if !about.is_empty() {
            text.push_str(&format!("{inner}/** {about} */\n"));
        }
        let mark = if is_required(schema, name) { "" } else { "?" };
        let mut field = typescript(field, &inner);
        if let Some(known) = field.strip_suffix(" | null").filter(|_| !mark.is_empty()) {
            // It is left out instead.
            field = known.to_owned();
        }
        text.push_str(&format!("{inner}{name}{mark}: {field};\n"));
    }
    text + indent + "}"
}

/// The file with the types for TypeScript.
fn declarations() -> String {
    let mut text =
        "// The JSON of events and records. Generated from the code of Turnwright: do not edit.\n"
            .to_owned();
    for (name, schema) in types() {
        let (about, shape) = (sentence(&schema), typescript(&schema, ""));
        text.push_str(&format!(
            "\n/** {about} */\nexport type {name} = {shape};\n"
        ));
    }
    text
}

/// The fields of an object and of the types that it refers to, except its tag.
fn fields(types: &Map<String, Value>, schema: &Value, tag: &str) -> Vec<String> {
    let mut all = Vec::new();
    for name in schema["properties"]
        .as_object()
        .into_iter()
        .flat_map(Map::keys)
    {
        let mark = if is_required(schema, name) { "" } else { "?" };
        if name != tag {
            all.push(format!("`{name}`{mark}"));
        }
    }
    if let Some(name) = referred(schema) {
        all.extend(fields(types, &types[name], tag));
    }
    all
}

/// The variants of `EventKind` and their serialised names, from the method `name` in its source.
fn variants() -> Vec<(&'static str, &'static str)> {
    let arm = |line: &'static str| {
        let (variant, name) = line
            .trim()
            .strip_prefix("EventKind::")?
            .split_once(" => \"")?;
        let variant = variant.split([' ', '(']).next()?;
        Some((name.split('"').next()?, variant))
    };
    SOURCE.lines().filter_map(arm).collect()
}

/// The table of the events of a type.
fn event_table(name: &str) -> String {
    let types = types();
    let variants = variants();
    let mut text =
        "| `event` | `EventKind` | fields | meaning |\n| --- | --- | --- | --- |\n".to_owned();
    for event in types[name]["oneOf"].as_array().unwrap() {
        let tag = event["properties"]["event"]["const"].as_str().unwrap();
        let (_, variant) = variants.iter().find(|(name, _)| *name == tag).unwrap();
        let fields = fields(&types, event, "event").join(", ");
        let about = sentence(event);
        text.push_str(&format!("| `{tag}` | `{variant}` | {fields} | {about} |\n"));
    }
    text
}

fn record_table() -> String {
    let types = types();
    let mut text = "| `kind` | fields | meaning |\n| --- | --- | --- |\n".to_owned();
    for record in types["AnyRecord"]["anyOf"].as_array().unwrap() {
        let record = &types[referred(record).unwrap()];
        let kind = &record["properties"]["kind"];
        let kinds = kind["enum"].as_array().cloned();
        let kinds = kinds.unwrap_or_else(|| vec![kind["const"].clone()]);
        let kinds: Vec<String> = kinds
            .iter()
            .map(|kind| format!("`{}`", kind.as_str().unwrap()))
            .collect();
        let fields = fields(&types, record, "kind").join(", ");
        text.push_str(&format!(
            "| {} | {fields} | {} |\n",
            kinds.join(", "),
            sentence(record)
        ));
    }
    text
}

/// Replaces what is between the comments of a generated part.
fn replace(page: &str, part: &str, text: &str) -> String {
    let (start, end) = (
        format!("<!-- {part} -->\n"),
        format!("<!-- end of {part} -->"),
    );
    let (before, rest) = page
        .split_once(&start)
        .unwrap_or_else(|| panic!("no {start}"));
    let (_, after) = rest.split_once(&end).unwrap_or_else(|| panic!("no {end}"));
    format!("{before}{start}\n{text}\n{end}{after}")
}

fn check(file: &str, expected: &str) {
    let path = root().join("docs/src").join(file);
    if std::env::var_os("TURNWRIGHT_UPDATE").is_some_and(|value| value == "1") {
        fs::write(&path, expected).unwrap();
    }
    let found = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        found == expected,
        "docs/src/{file} differs from the code: `TURNWRIGHT_UPDATE=1` regenerates it"
    );
}

#[test]
fn tables_of_events_and_records_match_the_code() {
    let page = fs::read_to_string(root().join("docs/src/events.md")).unwrap();
    let page = replace(&page, "events of a turn", &event_table("TurnEvent"));
    let page = replace(&page, "events for operators", &event_table("RunnerEvent"));
    let page = replace(&page, "records", &record_table());
    check("events.md", &page);
}

#[test]
fn types_for_typescript_match_the_code() {
    check("events.ts", &declarations());
}
