//! Shrinks a failing case: removes one part after another, as long as it fails by the same rule.

use serde_json::Value;
use turnwright_schema::Schema;

use super::judge::{Case, Failure, judge, judge_text};
use super::oracle::Oracle;

/// Both implementations are rebuilt for every candidate.
pub(super) fn run(document: &Value, case: &Case) -> Result<(), Failure> {
    let Ok(schema) = Schema::from_document(document.clone()) else {
        return Ok(());
    };
    let Ok(oracle) = Oracle::new(schema.document()) else {
        return Ok(());
    };
    judge(&schema, &oracle, case)?;
    judge_text(&schema, case.value())
}

pub(super) fn smallest(document: Value, case: Case, failure: Failure) -> (Value, Case, Failure) {
    let mut best = (document, case, failure);
    let mut budget = 3000;
    while let Some(smaller) = step(&best, &mut budget) {
        best = smaller;
    }
    best
}

fn step(best: &(Value, Case, Failure), budget: &mut usize) -> Option<(Value, Case, Failure)> {
    let (document, case, failure) = best;
    let documents = reductions(document)
        .into_iter()
        .map(|smaller| (smaller, case.clone()));
    let cases = smaller_cases(case)
        .into_iter()
        .map(|smaller| (document.clone(), smaller));
    for (document, case) in documents.chain(cases) {
        *budget = budget.checked_sub(1)?;
        if let Err(still) = run(&document, &case)
            && still.rule == failure.rule
        {
            return Some((document, case, still));
        }
    }
    None
}

/// For a rewritten value, only parts that were not rewritten may be removed, from the original too; or the value is
/// tried on its own.
fn smaller_cases(case: &Case) -> Vec<Case> {
    let plain = reductions(case.value()).into_iter().map(Case::Plain);
    let mut smaller: Vec<Case> = plain.collect();
    if let Case::Rewritten(rewritten) = case
        && let (Value::Object(valid), Value::Object(value)) = (&rewritten.valid, &rewritten.value)
    {
        for name in valid
            .keys()
            .filter(|name| valid.get(*name) == value.get(*name))
        {
            let mut less = rewritten.clone();
            less.valid.as_object_mut().unwrap().shift_remove(name);
            less.value.as_object_mut().unwrap().shift_remove(name);
            smaller.push(Case::Rewritten(less));
        }
    }
    smaller
}

/// Returns the value with one part removed, larger parts first.
fn reductions(value: &Value) -> Vec<Value> {
    let mut smaller = Vec::new();
    match value {
        Value::Object(map) => {
            for name in map.keys() {
                let mut less = map.clone();
                less.shift_remove(name);
                smaller.push(Value::Object(less));
            }
            for (name, inner) in map {
                for inner in reductions(inner) {
                    let mut less = map.clone();
                    less.insert(name.clone(), inner);
                    smaller.push(Value::Object(less));
                }
            }
        }
        Value::Array(items) => {
            for index in 0..items.len() {
                let mut less = items.clone();
                less.remove(index);
                smaller.push(Value::Array(less));
            }
            for (index, inner) in items.iter().enumerate() {
                for inner in reductions(inner) {
                    let mut less = items.clone();
                    less[index] = inner;
                    smaller.push(Value::Array(less));
                }
            }
        }
        _ => {}
    }
    smaller
}

/// Shrinks a document and a value as long as they fail.
pub(super) fn smallest_pair(
    mut document: Value,
    mut value: Value,
    fails: &dyn Fn(&Value, &Value) -> bool,
) -> (Value, Value) {
    for _ in 0..300 {
        let smaller = reductions(&document);
        if let Some(smaller) = smaller.into_iter().find(|smaller| fails(smaller, &value)) {
            document = smaller;
            continue;
        }
        let smaller = reductions(&value);
        match smaller
            .into_iter()
            .find(|smaller| fails(&document, smaller))
        {
            Some(smaller) => value = smaller,
            None => break,
        }
    }
    (document, value)
}
