//! Rewrites a valid value as models write it (numbers as strings, JSON in a string, `null` for absent), or breaks it
//! in one location.

use serde_json::{Map, Value, json};

use super::documents::NAMES;
use super::oracle::Oracle;
use super::plain;
use super::rng::Rng;
use super::values::random;
use super::walk::escape;

/// A value that was rewritten in some locations, with the valid original.
#[derive(Clone)]
pub(super) struct Rewritten {
    pub(super) valid: Value,
    pub(super) value: Value,
    /// The conditions under which the check undoes every change; `None` if it never does.
    pub(super) provided: Option<Vec<Plainly>>,
}

#[derive(Clone)]
pub(super) enum Plainly {
    /// The location has one of these types.
    IsOf {
        pointer: String,
        types: &'static [&'static str],
    },
    /// The property is optional and not nullable.
    IsOptional { object: String, name: String },
}

impl Rewritten {
    /// Returns `true` if the check has to accept the value: the original is valid, and every change is undone.
    pub(super) fn must_pass(&self, document: &Value, oracle: &Oracle) -> bool {
        let holds = |plainly: &Plainly| match plainly {
            Plainly::IsOf { pointer, types } => {
                plain::kind_at(document, pointer).is_some_and(|kind| types.contains(&kind))
            }
            Plainly::IsOptional { object, name } => plain::is_optional(document, object, name),
        };
        self.provided
            .as_ref()
            .is_some_and(|provided| provided.iter().all(holds))
            && oracle.accepts(&self.valid)
    }
}

/// Rewrites a value in one to four locations.
pub(super) fn as_models_write(document: &Value, valid: Value, rng: &mut Rng) -> Rewritten {
    let mut value = valid.clone();
    let mut provided = Some(Vec::new());
    for _ in 0..rng.between(1, 4) {
        let change = match rng.weighted(&[26, 24, 15, 18, 20, 14]) {
            0 => rewrite(&mut value, rng, Value::is_number, number_as_text),
            1 => rewrite(&mut value, rng, Value::is_boolean, boolean_as_text),
            2 => rewrite(
                &mut value,
                rng,
                |value| value.is_object() || value.is_array(),
                json_as_text,
            ),
            3 => rewrite(&mut value, rng, Value::is_i64, with_zero_fraction),
            4 => add_null(document, &mut value, rng),
            _ => drop_property(&mut value, rng),
        };
        match change {
            Change::None => {}
            Change::Undone(plainly) => provided
                .iter_mut()
                .for_each(|provided| provided.push(plainly.clone())),
            Change::Lasting => provided = None,
        }
    }
    if rng.chance(3) {
        value = json!(value.to_string());
    }
    Rewritten {
        valid,
        value,
        provided,
    }
}

enum Change {
    /// Nothing to change.
    None,
    /// The check undoes it, if the document satisfies the condition.
    Undone(Plainly),
    Lasting,
}

/// Changes a value in one location so that it is probably invalid there.
pub(super) fn broken(value: &Value, rng: &mut Rng) -> Value {
    let mut value = value.clone();
    let pointers = pointers(&value, |_| true);
    let pointer = rng.pick(&pointers).clone();
    let Some(place) = value.pointer_mut(&pointer) else {
        return value;
    };
    match (place, rng.below(3)) {
        (Value::Object(map), 0) => {
            map.insert("unknown".into(), random::value(rng, 3));
        }
        (Value::Object(map), 1) if !map.is_empty() => {
            let name = map
                .keys()
                .nth(rng.below(map.len()))
                .cloned()
                .unwrap_or_default();
            map.shift_remove(&name);
        }
        (Value::Array(items), 0 | 1) => items.push(random::value(rng, 3)),
        (Value::String(text), 0) => text.push('!'),
        (Value::String(text), 1) => text.clear(),
        (place @ Value::Number(_), 0) => *place = json!(place.as_f64().unwrap_or(0.0) + 1000.0),
        (place @ Value::Number(_), 1) => *place = json!(place.as_f64().unwrap_or(0.0) - 0.125),
        (place, _) if !pointer.is_empty() => *place = random::value(rng, 3),
        (place, _) => *place = random::object(rng, 0),
    }
    value
}

/// Returns the pointers of all locations whose value passes `wanted`, including the root.
fn pointers(value: &Value, wanted: fn(&Value) -> bool) -> Vec<String> {
    fn descend(value: &Value, at: String, wanted: fn(&Value) -> bool, found: &mut Vec<String>) {
        match value {
            Value::Object(map) => {
                for (name, inner) in map {
                    descend(inner, format!("{at}/{}", escape(name)), wanted, found);
                }
            }
            Value::Array(items) => {
                for (index, inner) in items.iter().enumerate() {
                    descend(inner, format!("{at}/{index}"), wanted, found);
                }
            }
            _ => {}
        }
        if wanted(value) {
            found.push(at);
        }
    }
    let mut found = Vec::new();
    descend(value, String::new(), wanted, &mut found);
    found
}

type Rewriting = fn(&Value, &mut Rng) -> Value;

/// Rewrites one location.
fn rewrite(value: &mut Value, rng: &mut Rng, wanted: fn(&Value) -> bool, how: Rewriting) -> Change {
    let places: Vec<_> = pointers(value, wanted)
        .into_iter()
        .filter(|pointer| !pointer.is_empty())
        .collect();
    if places.is_empty() {
        return Change::None;
    }
    let pointer = rng.pick(&places).clone();
    let Some(place) = value.pointer_mut(&pointer) else {
        return Change::None;
    };
    let types: &[&str] = match place {
        Value::Object(_) => &["object"],
        Value::Array(_) => &["array"],
        Value::Bool(_) => &["boolean"],
        _ => &["integer", "number"],
    };
    *place = how(place, rng);
    Change::Undone(Plainly::IsOf { pointer, types })
}

fn number_as_text(value: &Value, rng: &mut Rng) -> Value {
    let plain = value.to_string();
    let written = match rng.below(8) {
        0 => format!(" {plain} "),
        1 => format!("{plain}e0"),
        2 if !plain.starts_with('-') => format!("+{plain}"),
        3 if value.is_i64() => format!("{plain}.0"),
        4 if value.is_i64() => format!("{plain}."),
        5 if plain.starts_with("0.") => plain[1..].to_string(),
        6 => format!("{plain}0E-1")
            .replace(".250E-1", ".25")
            .replace(".50E-1", ".5")
            .replace(".750E-1", ".75")
            .replace(".00E-1", ".0"),
        _ => plain,
    };
    json!(written)
}

fn boolean_as_text(value: &Value, rng: &mut Rng) -> Value {
    let plain = value.to_string();
    json!(match rng.below(4) {
        0 => plain.to_uppercase(),
        1 => format!("  {plain}\n"),
        2 => format!("{}{}", plain[..1].to_uppercase(), &plain[1..]),
        _ => plain,
    })
}

fn json_as_text(value: &Value, rng: &mut Rng) -> Value {
    let written = if rng.chance(30) {
        format!(" {value:#}\n")
    } else {
        value.to_string()
    };
    json!(written)
}

fn with_zero_fraction(value: &Value, _rng: &mut Rng) -> Value {
    json!(value.as_f64())
}

/// Adds a `null` for an absent property, or replaces a present one with `null`.
fn add_null(document: &Value, value: &mut Value, rng: &mut Rng) -> Change {
    let objects = pointers(value, Value::is_object);
    if objects.is_empty() {
        return Change::None;
    }
    let object = rng.pick(&objects).clone();
    let declared = plain::properties_at(document, &object)
        .map(Map::keys)
        .into_iter()
        .flatten();
    let declared: Vec<&str> = declared.map(String::as_str).collect();
    let names = if declared.is_empty() || rng.chance(20) {
        NAMES
    } else {
        &declared
    };
    let name = (*rng.pick(names)).to_string();
    let Some(Value::Object(map)) = value.pointer_mut(&object) else {
        return Change::None;
    };
    match map.insert(name.clone(), Value::Null) {
        None => Change::Undone(Plainly::IsOptional { object, name }),
        Some(_) => Change::Lasting,
    }
}

fn drop_property(value: &mut Value, rng: &mut Rng) -> Change {
    let objects = pointers(value, |value| {
        value.as_object().is_some_and(|object| !object.is_empty())
    });
    if objects.is_empty() {
        return Change::None;
    }
    let Some(Value::Object(object)) = value.pointer_mut(rng.pick(&objects).as_str()) else {
        return Change::None;
    };
    let name = object
        .keys()
        .nth(rng.below(object.len()))
        .cloned()
        .unwrap_or_default();
    object.shift_remove(&name);
    Change::Lasting
}
