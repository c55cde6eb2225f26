//! Dot paths into JSON: `user.address.0.city`. A dot within a key is written `\.`.

use serde_json::{Map, Value};

/// Splits a path into keys. `None` for an empty path or an empty key.
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

/// Returns the value at `path`.
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

/// Returns the slot at a path and creates missing objects. Returns `None` and creates nothing if the path goes through a value
/// that is not a container: below a new object there is no such value.
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

/// Removes the value at a path.
pub(crate) fn remove(root: &mut Map<String, Value>, keys: &[String]) -> Option<Value> {
    let (last, above) = keys.split_last()?;
    let Some((first, rest)) = above.split_first() else {
        return root.shift_remove(last);
    };
    let mut keys = rest.iter();
    match keys.try_fold(root.get_mut(first)?, |value, key| child(value, key))? {
        Value::Object(map) => map.shift_remove(last),
        // Removing an item would shift the following ones.
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
