//! Changes to arrays.

use serde_json::{Value, json};

use super::{Change, one_of_each};
use crate::contract::generate::Generator;
use crate::contract::judge::Judge;
use crate::contract::judge::array::item_schema;
use crate::contract::judge::scalar::size;
use crate::contract::place;
use crate::contract::tour::Stop;
use crate::contract::verdict::Verdict;

/// More items would only be slow.
const MOST: usize = 2_000;

pub(super) fn changes<'d>(
    generator: &mut Generator<'_, 'd>,
    stop: &Stop<'d>,
    rule: &'d Value,
    items: &[Value],
) -> Option<Vec<Change>> {
    let at = stop.at.as_str();
    let here = |parts: Vec<Vec<Value>>| {
        parts
            .into_iter()
            .map(|items| Change::here(Value::Array(items), at))
            .collect()
    };
    Some(match (stop.keyword, rule) {
        ("minItems", _) => {
            let fewer = size(rule)?.checked_sub(1);
            here(
                fewer
                    .map(|fewer| items.iter().take(fewer).cloned().collect())
                    .into_iter()
                    .collect(),
            )
        }
        ("maxItems", _) => here(
            longer(generator, stop, items, size(rule)?)
                .into_iter()
                .collect(),
        ),
        ("uniqueItems", _) => doubled(items, at),
        ("contains" | "minContains", _) => here(without_matches(generator, stop, items)),
        ("maxContains", _) => here(with_matches(generator, stop, items, size(rule)?)),
        ("items" | "additionalItems", Value::Bool(false)) => {
            let mut more = items.to_vec();
            more.push(json!("¿one too many?"));
            vec![Change::at_child(
                Value::Array(more),
                at,
                &items.len().to_string(),
            )]
        }
        ("unevaluatedItems", _) => one_of_each()
            .into_iter()
            .map(|item| {
                let mut more = items.to_vec();
                more.push(item);
                Change::at_child(Value::Array(more), at, &items.len().to_string())
            })
            .collect(),
        _ => return None,
    })
}

/// One item more than allowed, each of them fine.
fn longer<'d>(
    generator: &mut Generator<'_, 'd>,
    stop: &Stop<'d>,
    items: &[Value],
    most: usize,
) -> Option<Vec<Value>> {
    if most >= MOST {
        return None;
    }
    let mut more = items.to_vec();
    while more.len() <= most {
        let rule: Vec<&'d Value> = item_schema(generator.doc, stop.schema, more.len())
            .map(|(_, child)| child)
            .into_iter()
            .collect();
        let made = generator.part(&rule).filter(|item| !more.contains(item));
        more.push(
            made.or_else(|| items.last().cloned())
                .unwrap_or(Value::Null),
        );
    }
    Some(more)
}

/// An item a second time: behind the others, and in the place of another. The fault may name the copy.
fn doubled(items: &[Value], at: &str) -> Vec<Change> {
    let Some(first) = items.first() else {
        return vec![Change::here(json!([1, 1]), at)];
    };
    let mut appended = items.to_vec();
    appended.push(first.clone());
    let mut exchanged = items.to_vec();
    if items.len() > 1
        && let Some(last) = exchanged.last_mut()
    {
        *last = first.clone();
    }
    [appended, exchanged]
        .into_iter()
        .map(|items| {
            let mut faults = vec![at.to_owned()];
            faults.extend((0..items.len()).map(|index| place::join(at, &index.to_string())));
            Change {
                part: Value::Array(items),
                faults,
            }
        })
        .collect()
}

/// The items that count for `contains` taken out, or exchanged for others that do not.
fn without_matches<'d>(
    generator: &mut Generator<'_, 'd>,
    stop: &Stop<'d>,
    items: &[Value],
) -> Vec<Vec<Value>> {
    let Some(wanted) = stop.schema.get("contains") else {
        return Vec::new();
    };
    let judge = Judge::strict(generator.doc);
    let is_wanted = |item: &Value| judge.valid(wanted, item) != Verdict::Invalid;
    let left: Vec<Value> = items
        .iter()
        .filter(|item| !is_wanted(item))
        .cloned()
        .collect();
    let mut exchanged = items.to_vec();
    for (index, item) in exchanged.iter_mut().enumerate() {
        if !is_wanted(item) {
            continue;
        }
        let rule: Vec<&'d Value> = item_schema(generator.doc, stop.schema, index)
            .map(|(_, child)| child)
            .into_iter()
            .collect();
        let other = (0..10)
            .filter_map(|_| generator.part(&rule))
            .chain(one_of_each())
            .find(|other| !is_wanted(other));
        if let Some(other) = other {
            *item = other;
        }
    }
    vec![left, exchanged, Vec::new()]
}

fn with_matches<'d>(
    generator: &mut Generator<'_, 'd>,
    stop: &Stop<'d>,
    items: &[Value],
    most: usize,
) -> Vec<Vec<Value>> {
    let Some(wanted) = stop.schema.get("contains").filter(|_| most < MOST) else {
        return Vec::new();
    };
    let mut more = items.to_vec();
    for _ in 0..=most {
        let mut rules = vec![wanted];
        rules.extend(item_schema(generator.doc, stop.schema, more.len()).map(|(_, child)| child));
        more.extend(generator.part(&rules));
    }
    vec![more]
}
