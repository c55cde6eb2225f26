//! A smaller value that shows the same.

use serde_json::Value;

use super::place;

/// Takes out what can go while `shows` stays true. Greedy and bounded: good enough to read, not the smallest there is.
pub(crate) fn shrunk(value: &Value, shows: impl Fn(&Value) -> bool) -> Value {
    let mut smallest = value.clone();
    let mut budget = 400_usize;
    loop {
        let smaller = parts(&smallest, "")
            .into_iter()
            .find_map(|(parent, token)| {
                budget = budget.checked_sub(1)?;
                let candidate = without(&smallest, &parent, &token)?;
                shows(&candidate).then_some(candidate)
            });
        match smaller {
            Some(smaller) => smallest = smaller,
            None => return smallest,
        }
    }
}

/// Every property and item, as its parent's pointer and its own token; the outer ones first.
fn parts(value: &Value, at: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let children: Vec<(String, &Value)> = match value {
        Value::Object(object) => object
            .iter()
            .map(|(key, child)| (key.clone(), child))
            .collect(),
        Value::Array(items) => items
            .iter()
            .enumerate()
            .map(|(index, child)| (index.to_string(), child))
            .collect(),
        _ => Vec::new(),
    };
    found.extend(
        children
            .iter()
            .map(|(token, _)| (at.to_owned(), token.clone())),
    );
    for (token, child) in children {
        found.extend(parts(child, &place::join(at, &token)));
    }
    found
}

fn without(value: &Value, parent: &str, token: &str) -> Option<Value> {
    let mut copy = value.clone();
    match copy.pointer_mut(parent)? {
        Value::Object(object) => {
            object.shift_remove(token)?;
        }
        Value::Array(items) => {
            let index = token.parse().ok().filter(|index| *index < items.len())?;
            items.remove(index);
        }
        _ => return None,
    }
    Some(copy)
}
