//! Defaults, generated from their own subschema and kept if the other implementation accepts them there.

use serde_json::Value;

use super::super::oracle::Oracle;
use super::super::rng::Rng;
use super::super::values::Maker;
use super::super::walk;

pub(super) fn fill(document: &mut Value, rng: &mut Rng) {
    let mut places = Vec::new();
    walk::subschemas(document, &mut |pointer, _| {
        let is_property = pointer
            .rsplit('/')
            .nth(1)
            .is_some_and(|keyword| keyword == "properties");
        if !pointer.is_empty() && rng.chance(if is_property { 22 } else { 4 }) {
            places.push(pointer.to_string());
        }
    });
    if places.is_empty() {
        return;
    }
    let Ok(oracle) = Oracle::at(document, &places) else {
        return;
    };
    let mut defaults = Vec::new();
    for (index, pointer) in places.iter().enumerate() {
        let Some(schema) = document.pointer(pointer) else {
            continue;
        };
        let endless = comes_back(document, pointer);
        let fits =
            |made: &Value| !(endless && holds_object(made)) && oracle.accepts_at(index, made);
        let made = (0..4)
            .map(|_| Maker::new(document).value(&[schema], rng))
            .find(fits);
        defaults.extend(made.map(|made| (pointer.clone(), made)));
    }
    for (pointer, default) in defaults {
        if let Some(Value::Object(schema)) = document.pointer_mut(&pointer) {
            schema.insert("default".into(), default);
        }
    }
}

/// Returns `true` if the subschema at `start` is reachable from itself. An object as its default would be filled with
/// itself without end, which a `Schema` rejects.
fn comes_back(document: &Value, start: &str) -> bool {
    let mut reached: Vec<String> = vec![start.to_string()];
    let mut next = 0;
    while let Some(from) = reached.get(next).cloned() {
        next += 1;
        let Some(schema) = document.pointer(&from) else {
            continue;
        };
        walk::subschemas(schema, &mut |_, schema| {
            let target = schema.get("$ref").and_then(Value::as_str).map(pointer_of);
            reached.extend(target.filter(|target| !reached.contains(target)));
        });
    }
    reached
        .iter()
        .skip(1)
        .any(|target| start.starts_with(target.as_str()))
}

fn pointer_of(reference: &str) -> String {
    let fragment = reference.trim_start_matches('#');
    match fragment.strip_prefix("anchor") {
        Some(index) => format!("/$defs/D{index}"),
        None => fragment.to_string(),
    }
}

fn holds_object(value: &Value) -> bool {
    match value {
        Value::Object(_) => true,
        Value::Array(items) => items.iter().any(holds_object),
        _ => false,
    }
}
