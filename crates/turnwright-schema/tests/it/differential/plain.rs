//! What a document says about a location of the value without unions, conditions or anything else that applies to it
//! in a second way.

use serde_json::{Map, Value};

/// Keywords that keep a location plain. Those that compare complete values (`enum`, `contains`, `uniqueItems`) are
/// not among them. Nor is `default`, which can put another value there.
const PLAIN: &[&str] = &[
    "$comment",
    "$defs",
    "$id",
    "$schema",
    "additionalProperties",
    "definitions",
    "deprecated",
    "description",
    "examples",
    "exclusiveMaximum",
    "exclusiveMinimum",
    "format",
    "items",
    "maxItems",
    "maxLength",
    "maximum",
    "minItems",
    "minLength",
    "minimum",
    "multipleOf",
    "pattern",
    "prefixItems",
    "properties",
    "readOnly",
    "required",
    "title",
    "type",
    "writeOnly",
    "x-origin",
    "$anchor",
];

/// Returns the one type that the document declares for this location of the value.
pub(super) fn kind_at<'d>(document: &'d Value, pointer: &str) -> Option<&'d str> {
    schema_at(document, pointer)?.get("type")?.as_str()
}

pub(super) fn properties_at<'d>(
    document: &'d Value,
    pointer: &str,
) -> Option<&'d Map<String, Value>> {
    schema_at(document, pointer)?.get("properties")?.as_object()
}

/// Returns `true` for a declared, optional property of one type other than `null`.
pub(super) fn is_optional(document: &Value, object: &str, name: &str) -> bool {
    let pointer = format!("{object}/{}", super::walk::escape(name));
    let kind = kind_at(document, &pointer);
    !is_required(document, &pointer) && kind.is_some_and(|kind| kind != "null")
}

/// Returns `true` if the object that contains this property requires it.
pub(super) fn is_required(document: &Value, pointer: &str) -> bool {
    let Some((object, name)) = pointer.rsplit_once('/') else {
        return false;
    };
    let name = unescape(name);
    let required = schema_at(document, object).and_then(|schema| schema.get("required"));
    required
        .and_then(Value::as_array)
        .is_some_and(|names| names.iter().any(|known| *known == name))
}

fn unescape(token: &str) -> String {
    token.replace("~1", "/").replace("~0", "~")
}

fn schema_at<'d>(document: &'d Value, pointer: &str) -> Option<&'d Map<String, Value>> {
    let mut schema = plain(document, document)?;
    for token in pointer.split('/').skip(1) {
        let token = unescape(token);
        let next = match schema.get("type")?.as_str()? {
            "object" => schema.get("properties")?.get(&token)?,
            "array" => item(schema, token.parse().ok()?)?,
            _ => return None,
        };
        schema = plain(document, next)?;
    }
    Some(schema)
}

fn item(schema: &Map<String, Value>, index: usize) -> Option<&Value> {
    let tuple = schema
        .get("prefixItems")
        .or_else(|| schema.get("items").filter(|items| items.is_array()));
    tuple
        .and_then(|tuple| tuple.get(index))
        .or_else(|| schema.get("items").filter(|items| items.is_object()))
}

fn plain<'d>(document: &'d Value, schema: &'d Value) -> Option<&'d Map<String, Value>> {
    let map = schema.as_object()?;
    if let Some(target) = map.get("$ref").and_then(Value::as_str) {
        let target = document.pointer(
            target
                .strip_prefix('#')
                .filter(|pointer| pointer.starts_with('/'))?,
        )?;
        return if map.len() == 1 {
            plain(document, target)
        } else {
            None
        };
    }
    map.keys()
        .all(|keyword| PLAIN.contains(&keyword.as_str()))
        .then_some(map)
}
