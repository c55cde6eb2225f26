//! Changes to objects.

use serde_json::{Value, json};

use super::{Change, one_of_each};
use crate::contract::document::Object;
use crate::contract::generate::Generator;
use crate::contract::judge::scalar::size;
use crate::contract::place;
use crate::contract::tour::Stop;

pub(super) fn changes<'d>(
    generator: &mut Generator<'_, 'd>,
    stop: &Stop<'d>,
    rule: &'d Value,
    object: &Object,
) -> Option<Vec<Change>> {
    let at = stop.at.as_str();
    Some(match (stop.keyword, rule) {
        ("required", Value::Array(names)) => names
            .iter()
            .filter_map(Value::as_str)
            .map(|name| Change {
                part: without(object, name),
                faults: vec![place::join(at, name)],
            })
            .collect(),
        ("dependentRequired" | "dependencies", Value::Object(rules)) => rules
            .iter()
            .filter(|(name, _)| object.contains_key(*name))
            .flat_map(|(_, names)| {
                names
                    .as_array()
                    .into_iter()
                    .flatten()
                    .filter_map(Value::as_str)
            })
            .map(|name| Change::at_child(without(object, name), at, name))
            .collect(),
        ("properties", Value::Object(properties)) => {
            let refused = properties
                .iter()
                .filter(|(_, schema)| *schema == &Value::Bool(false));
            some(
                refused
                    .map(|(name, _)| with(object, name, json!(1), at))
                    .collect(),
            )?
        }
        ("patternProperties", Value::Object(patterns)) => {
            let refused = patterns
                .iter()
                .filter(|(_, schema)| *schema == &Value::Bool(false));
            let names = refused.filter_map(|(pattern, _)| {
                generator
                    .doc
                    .pattern(pattern)
                    .ok()?
                    .sample(generator.rng, 2)
            });
            some(
                names
                    .map(|name| with(object, &name, json!(1), at))
                    .collect(),
            )?
        }
        ("additionalProperties", Value::Bool(false)) => strangers(object)
            .map(|name| with(object, name, json!("¿?"), at))
            .collect(),
        ("additionalProperties" | "unevaluatedProperties", _) => strangers(object)
            .flat_map(|name| one_of_each().into_iter().map(move |value| (name, value)))
            .map(|(name, value)| with(object, name, value, at))
            .collect(),
        ("propertyNames", _) => misnomers()
            .map(|name| {
                let mut change = with(object, &name, json!(1), at);
                change.faults.push(at.to_owned());
                change
            })
            .collect(),
        ("minProperties", _) => fewer(stop, object, size(rule)?).into_iter().collect(),
        ("maxProperties", _) => more(generator, stop, object, size(rule)?)
            .into_iter()
            .collect(),
        _ => return None,
    })
}

/// Nothing of its own to break: then the keyword only applies others.
fn some(changes: Vec<Change>) -> Option<Vec<Change>> {
    (!changes.is_empty()).then_some(changes)
}

fn without(object: &Object, name: &str) -> Value {
    let mut less = object.clone();
    less.shift_remove(name);
    Value::Object(less)
}

fn with(object: &Object, name: &str, value: Value, at: &str) -> Change {
    let mut more = object.clone();
    more.insert(name.to_owned(), value);
    Change {
        part: Value::Object(more),
        faults: vec![place::join(at, name)],
    }
}

/// Names that hardly any document knows; a slash and a tilde among them, which a pointer escapes.
fn strangers(object: &Object) -> impl Iterator<Item = &'static str> {
    ["¿unexpected?", "un/expected~", "unexpected"]
        .into_iter()
        .filter(|name| !object.contains_key(*name))
}

fn misnomers() -> impl Iterator<Item = String> {
    [
        "",
        "¿",
        "a",
        "A",
        "0",
        "!",
        "two words",
        "UPPER",
        "lower",
        "\n",
    ]
    .into_iter()
    .map(str::to_owned)
    .chain(
        [2, 5, 9, 17, 33, 65, 129, 257]
            .into_iter()
            .map(|length| "x".repeat(length)),
    )
}

/// One property less than asked for; those that nobody requires go first.
fn fewer(stop: &Stop<'_>, object: &Object, least: usize) -> Option<Change> {
    let target = least.checked_sub(1)?;
    let required = stop.schema.get("required").and_then(Value::as_array);
    let is_required =
        |name: &str| required.is_some_and(|names| names.iter().any(|required| required == name));
    let mut names: Vec<&String> = object.keys().collect();
    names.sort_by_key(|name| is_required(name));
    let mut less = object.clone();
    for name in names {
        if less.len() > target {
            less.shift_remove(name);
        }
    }
    Some(Change::here(Value::Object(less), &stop.at))
}

fn more<'d>(
    generator: &mut Generator<'_, 'd>,
    stop: &Stop<'d>,
    object: &Object,
    most: usize,
) -> Option<Change> {
    if most > 200 {
        return None;
    }
    let mut more = object.clone();
    let known = stop.schema.get("properties").and_then(Value::as_object);
    let mut unused: Vec<String> = known.into_iter().flat_map(Object::keys).cloned().collect();
    while more.len() <= most {
        let taken: Vec<String> = more.keys().cloned().collect();
        let name = match unused.pop() {
            Some(name) if taken.contains(&name) => continue,
            Some(name) => name,
            None => generator.free_name(&[stop.schema], &taken)?,
        };
        let rules = generator.rules_for(&[stop.schema], &name);
        more.insert(name, generator.part(&rules)?);
    }
    Some(Change::here(Value::Object(more), &stop.at))
}
