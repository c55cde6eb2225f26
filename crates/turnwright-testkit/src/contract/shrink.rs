//! Shrinks a value that demonstrates a finding.

use serde_json::Value;

/// Removes parts while `shows` stays true. Greedy and bounded: the result is readable, not minimal.
pub(crate) fn shrunk(value: &Value, shows: impl Fn(&Value) -> bool) -> Value {
    let mut smallest = value.clone();
    let mut budget = 400_usize;
    loop {
        let smaller = smaller(&smallest)
            .take(budget)
            .inspect(|_| budget = budget.saturating_sub(1))
            .find(|candidate| shows(candidate));
        match smaller {
            Some(smaller) => smallest = smaller,
            None => return smallest,
        }
    }
}

/// Returns the value without one of its properties or items, outer ones first.
fn smaller(value: &Value) -> Box<dyn Iterator<Item = Value> + '_> {
    match value {
        Value::Object(object) => {
            let without = object.keys().map(|name| {
                let mut less = object.clone();
                less.shift_remove(name);
                Value::Object(less)
            });
            let inside = object.iter().flat_map(|(name, child)| {
                smaller(child).map(|child| {
                    let mut copy = object.clone();
                    copy.insert(name.clone(), child);
                    Value::Object(copy)
                })
            });
            Box::new(without.chain(inside))
        }
        Value::Array(items) => {
            let with = |index: usize, item: Option<Value>| {
                let (before, rest) = items.split_at(index);
                Value::Array([before, item.as_slice(), rest.get(1..).unwrap_or_default()].concat())
            };
            let without = (0..items.len()).map(move |index| with(index, None));
            let inside = items.iter().enumerate().flat_map(move |(index, child)| {
                smaller(child).map(move |child| with(index, Some(child)))
            });
            Box::new(without.chain(inside))
        }
        _ => Box::new(std::iter::empty()),
    }
}
