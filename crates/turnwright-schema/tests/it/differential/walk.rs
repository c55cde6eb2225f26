//! Every subschema of a document, distinguished from what only looks like one (`const`, `default`, a property named
//! `not`).

use serde_json::{Map, Value};

pub(crate) const ONE: &[&str] = &[
    "additionalItems",
    "additionalProperties",
    "contains",
    "contentSchema",
    "else",
    "if",
    "items",
    "not",
    "propertyNames",
    "then",
    "unevaluatedItems",
    "unevaluatedProperties",
];
pub(crate) const LIST: &[&str] = &["allOf", "anyOf", "items", "oneOf", "prefixItems"];
pub(crate) const NAMED: &[&str] = &[
    "$defs",
    "definitions",
    "dependencies",
    "dependentSchemas",
    "patternProperties",
    "properties",
];

/// Calls `visit` with the JSON pointer of every subschema that is an object, the root first.
pub(super) fn subschemas<'d>(
    root: &'d Value,
    visit: &mut impl FnMut(&str, &'d Map<String, Value>),
) {
    descend(root, &mut String::new(), visit);
}

fn descend<'d>(
    schema: &'d Value,
    pointer: &mut String,
    visit: &mut impl FnMut(&str, &'d Map<String, Value>),
) {
    let Value::Object(map) = schema else { return };
    visit(pointer, map);
    for (keyword, inner) in map {
        let keyword = keyword.as_str();
        match inner {
            Value::Object(_) if ONE.contains(&keyword) => step(inner, &[keyword], pointer, visit),
            Value::Array(list) if LIST.contains(&keyword) => {
                for (index, inner) in list.iter().enumerate() {
                    step(inner, &[keyword, &index.to_string()], pointer, visit);
                }
            }
            Value::Object(named) if NAMED.contains(&keyword) => {
                for (name, inner) in named {
                    step(inner, &[keyword, name], pointer, visit);
                }
            }
            _ => {}
        }
    }
}

fn step<'d>(
    schema: &'d Value,
    path: &[&str],
    pointer: &mut String,
    visit: &mut impl FnMut(&str, &'d Map<String, Value>),
) {
    let length = pointer.len();
    for token in path {
        pointer.push('/');
        pointer.push_str(&escape(token));
    }
    descend(schema, pointer, visit);
    pointer.truncate(length);
}

/// Escapes a name for use in a JSON pointer.
pub(crate) fn escape(token: &str) -> String {
    token.replace('~', "~0").replace('/', "~1")
}
