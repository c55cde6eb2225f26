//! Paths into JSON by dots: `user.address.0.city`. A dot that belongs to a key is written `\.`.

use serde_json::{Map, Value};

/// The keys of a path; `None` for an empty path or an empty key.
pub(crate) fn keys(path: &str) -> Option<Vec<String>> {
    let mut keys = vec![String::new()];
    let mut chars = path.chars();
    while let Some(c) = chars.next() {
        match c {
            '.' => keys.push(String::new()),
            '\\' => match chars.next() {
                Some(escaped @ ('.' | '\\')) => keys.last_mut()?.push(escaped),
                Some(other) => keys.last_mut()?.extend(['\\', other]),
                None => keys.last_mut()?.push('\\'),
            },
            _ => keys.last_mut()?.push(c),
        }
    }
    keys.iter().all(|key| !key.is_empty()).then_some(keys)
}

/// What stands at `path`.
pub(crate) fn get<'v>(root: &'v Map<String, Value>, path: &str) -> Option<&'v Value> {
    if root.is_empty() {
        return None;
    }
    let keys = keys(path)?;
    let (first, rest) = keys.split_first()?;
    rest.iter()
        .try_fold(root.get(first)?, |value, key| match value {
            Value::Object(map) => map.get(key),
            Value::Array(items) => items.get(key.parse::<usize>().ok()?),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
        })
}

/// Where `path` leads, with objects made on the way; `None` where something else stands in the way, and then nothing was
/// made: below what is made, nothing can stand in the way.
pub(crate) fn slot<'v>(root: &'v mut Map<String, Value>, keys: &[String]) -> Option<&'v mut Value> {
    let (first, rest) = keys.split_first()?;
    let mut slot = root.entry(first.as_str()).or_insert(Value::Null);
    for key in rest {
        if slot.is_null() {
            *slot = Value::Object(Map::new());
        }
        slot = match slot {
            Value::Object(map) => map.entry(key.as_str()).or_insert(Value::Null),
            other => child(other, key)?,
        };
    }
    Some(slot)
}

/// Takes away what stands at `path`.
pub(crate) fn remove(root: &mut Map<String, Value>, keys: &[String]) -> Option<Value> {
    let (last, above) = keys.split_last()?;
    let Some((first, rest)) = above.split_first() else {
        return root.shift_remove(last);
    };
    let mut keys = rest.iter();
    match keys.try_fold(root.get_mut(first)?, |value, key| child(value, key))? {
        Value::Object(map) => map.shift_remove(last),
        // Taking an item out would rename those behind it.
        other => child(other, last).map(Value::take),
    }
}

fn child<'v>(value: &'v mut Value, key: &str) -> Option<&'v mut Value> {
    match value {
        Value::Object(map) => map.get_mut(key),
        Value::Array(items) => items.get_mut(key.parse::<usize>().ok()?),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    }
}
