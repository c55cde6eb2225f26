//! References and identifiers, resolved as the validator resolves them, and never outside of the document.

use std::collections::HashMap;

use referencing::{Draft, Registry, Retrieve, Uri};
use serde_json::Value;

use super::graph;
use super::pointer::join;
use super::problem::SchemaProblem;

/// How many subschemas may nest at one place of the value, judged from outside: no more than refer to others.
pub(crate) fn nesting_of(document: &Value) -> usize {
    (1 + references_in(document)).min(graph::MOST_NESTED)
}

fn references_in(value: &Value) -> usize {
    match value {
        Value::Object(map) => {
            usize::from(map.contains_key("$ref")) + map.values().map(references_in).sum::<usize>()
        }
        Value::Array(items) => items.iter().map(references_in).sum(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 0,
    }
}

/// A registry of the document alone, where it has references at all.
pub(crate) fn prepare_references(
    document: &Value,
    draft: Draft,
) -> Result<Option<(Registry<'_>, Uri<String>)>, SchemaProblem> {
    if references_in(document) == 0 {
        return Ok(None);
    }
    let wrong = |error: &dyn std::fmt::Display| {
        let message = format!("its identifiers or references cannot be resolved: {error}");
        SchemaProblem::new("", message)
    };
    let resource = draft.create_resource_ref(document);
    let base = resource
        .id()
        .unwrap_or("json-schema:///")
        .trim_end_matches('#');
    let base = referencing::uri::from_str(base).map_err(|error| wrong(&error))?;
    let registry = Registry::new()
        .draft(draft)
        .retriever(Nothing)
        .add(base.as_str(), resource)
        .and_then(|builder| builder.prepare())
        .map_err(|error| wrong(&error))?;
    Ok(Some((registry, base)))
}

/// Answers for every address outside the document, so that the walk can refuse the reference where it stands
/// instead of failing as a whole. Nothing is ever fetched.
struct Nothing;

impl Retrieve for Nothing {
    fn retrieve(&self, _: &Uri<String>) -> Result<Value, Box<dyn std::error::Error + Send + Sync>> {
        Ok(Value::Bool(true))
    }
}

/// A value of the document is known by where it lies in memory.
pub(crate) fn address(value: &Value) -> usize {
    std::ptr::from_ref(value) as usize
}

/// Notes the pointer of every value.
pub(crate) fn note_places(value: &Value, pointer: String, places: &mut HashMap<usize, String>) {
    match value {
        Value::Object(map) => {
            for (key, value) in map {
                note_places(value, join(&pointer, key), places);
            }
        }
        Value::Array(items) => {
            for (index, value) in items.iter().enumerate() {
                note_places(value, join(&pointer, &index.to_string()), places);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
    places.insert(address(value), pointer);
}
