//! Documents generated from Rust types, narrowed to the values that the type accepts.
//!
//! An `Option` field is not published as a union but as its plain type, because `null` counts as absent. `null` stays
//! in the schema where it carries meaning: required fields, items, maps, and fields with a default. Maps with integer
//! keys are rejected, because the range of the keys cannot be described.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use super::keywords;
use super::numeric;
use super::pointer::join;
use super::{SchemaProblem, text::escape};
use crate::problem::SchemaError;

/// A type for arguments and typed answers. It has a JSON Schema, and JSON can be deserialised to it.
///
/// Implemented for every type that derives `serde::Deserialize` and `schemars::JsonSchema`.
///
/// ```
/// use turnwright_schema::{Schema, Typed};
///
/// #[derive(serde::Deserialize, schemars::JsonSchema)]
/// struct Order {
///     pieces: u8,
/// }
///
/// fn read<T: Typed>(text: &str) -> Result<T, Box<dyn std::error::Error>> {
///     Ok(T::deserialize(Schema::of::<T>()?.check(text)?.value())?)
/// }
/// assert_eq!(read::<Order>(r#"{"pieces": "3"}"#)?.pieces, 3);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no JSON Schema or cannot be deserialised",
    label = "derive `Deserialize` and `JsonSchema` for this type",
    note = "add `#[derive(serde::Deserialize, schemars::JsonSchema)]` to each type of your own",
    note = "in a package without these dependencies, derive `turnwright::serde::Deserialize` and `turnwright::schemars::JsonSchema`, and add `#[serde(crate = \"turnwright::serde\")]` and `#[schemars(crate = \"turnwright::schemars\")]`"
)]
pub trait Typed: JsonSchema + DeserializeOwned {}

#[diagnostic::do_not_recommend]
impl<T: JsonSchema + DeserializeOwned> Typed for T {}

/// Returns the document of `T`, narrowed to what `T` accepts.
pub(crate) fn document_of<T: JsonSchema>() -> Result<Value, SchemaError> {
    let mut settings = SchemaSettings::draft2020_12();
    // Draft 2020-12 is implied, and every byte of the document is sent to the model.
    settings.meta_schema = None;
    let mut document = settings
        .into_generator()
        .into_root_schema_for::<T>()
        .to_value();
    if let Value::Object(map) = &mut document
        && map.get("title").and_then(Value::as_str) == Some(&*T::schema_name())
    {
        map.shift_remove("title");
    }
    let mut problems = Vec::new();
    narrow(&mut document, "", &mut problems);
    if !problems.is_empty() {
        return Err(SchemaError::new(problems));
    }
    let definitions = document.get("$defs").cloned().unwrap_or_default();
    close(&mut document, &definitions, Edge::Own, 0);
    drop_unused_definitions(&mut document);
    Ok(document)
}

/// Turns formats into bounds and drops formats that are not enforced.
fn narrow(schema: &mut Value, pointer: &str, problems: &mut Vec<SchemaProblem>) {
    if let Value::Object(map) = schema {
        narrow_one(map, pointer, problems);
        narrow_time(map);
        reject_integer_keys(map, pointer, problems);
        drop_null_of_optional(map);
    }
    each_subschema(schema, pointer, &mut |child, place| {
        narrow(child, place, problems);
    });
}

fn narrow_one(map: &mut Map<String, Value>, pointer: &str, problems: &mut Vec<SchemaProblem>) {
    let Some(format) = map.get("format").and_then(Value::as_str) else {
        return;
    };
    let bounds = numeric::bounds(format).unwrap_or_default();
    match format {
        "int128" | "uint128" => {
            let field = pointer.rsplit('/').next().unwrap_or_default();
            let message = format!(
                "`{}` is a 128-bit integer, which JSON cannot represent: use a 64-bit integer or a string",
                escape(field, 80)
            );
            problems.push(SchemaProblem::new(pointer, message));
        }
        "ip" => {
            map.shift_remove("format");
            let both = json!([{ "format": "ipv4" }, { "format": "ipv6" }]);
            map.insert("anyOf".to_owned(), both);
            return;
        }
        name if keywords::is_enforced_format(name) => return,
        _ => {}
    }
    map.shift_remove("format");
    for (keyword, bound) in bounds {
        numeric::tighten(map, keyword, bound);
    }
}

/// Narrows the time types of the standard library, which are described too wide: nanoseconds must be below one
/// second.
fn narrow_time(map: &mut Map<String, Value>) {
    let Some(Value::Object(properties)) = map.get_mut("properties") else {
        return;
    };
    let names: Vec<&str> = properties.keys().map(String::as_str).collect();
    let bounds: [(&str, Value); 2] = match names.as_slice() {
        ["secs", "nanos"] => [("secs", u64::MAX.into()), ("nanos", 999_999_999.into())],
        ["secs_since_epoch", "nanos_since_epoch"] => [
            ("secs_since_epoch", (i64::MAX - 1).into()),
            ("nanos_since_epoch", 999_999_999.into()),
        ],
        _ => return,
    };
    for (name, most) in bounds {
        if let Some(Value::Object(field)) = properties.get_mut(name) {
            numeric::tighten(field, "maximum", most);
        }
    }
}

/// Simplifies optional properties. An `Option` is described as its type or `null`. For an optional property `null`
/// counts as absent anyway, so the type alone means the same with fewer words, and faults are reported at their own
/// locations instead of at a union's.
///
/// `null` stays where it has a meaning of its own: in required properties, in items and maps, and next to a default,
/// which is filled for an absent property and not for `null`.
fn drop_null_of_optional(map: &mut Map<String, Value>) {
    let required = map.get("required").cloned().unwrap_or_default();
    let is_required = |name: &str| {
        required
            .as_array()
            .is_some_and(|names| names.contains(&name.into()))
    };
    let Some(Value::Object(properties)) = map.get_mut("properties") else {
        return;
    };
    for (name, property) in properties.iter_mut() {
        if let Value::Object(property) = property
            && !is_required(name)
            && property.get("default").is_none_or(Value::is_null)
            && drop_null(property)
        {
            property.shift_remove("default");
        }
    }
}

/// Removes `null` from what a subschema accepts, if something else remains. Returns whether it was removed.
fn drop_null(schema: &mut Map<String, Value>) -> bool {
    let is_null_type = |branch: &Value| *branch == json!({ "type": "null" });
    let from_union = take_out(schema, "anyOf", is_null_type);
    if from_union {
        unwrap_single(schema);
    }
    let from_types = take_out(schema, "type", |name| name == "null");
    if from_types {
        if let Some([single]) = list_of(schema, "type") {
            let single = single.clone();
            schema.insert("type".to_owned(), single);
        }
        take_out(schema, "enum", Value::is_null);
    }
    from_union || from_types
}

/// Removes `unwanted` entries from the list under a keyword, unless nothing would remain. Returns whether anything
/// was removed.
fn take_out(
    schema: &mut Map<String, Value>,
    keyword: &str,
    unwanted: impl Fn(&Value) -> bool,
) -> bool {
    let Some(Value::Array(list)) = schema.get_mut(keyword) else {
        return false;
    };
    let before = list.len();
    if list.iter().all(&unwanted) {
        return false;
    }
    list.retain(|item| !unwanted(item));
    list.len() < before
}

fn list_of<'s>(schema: &'s Map<String, Value>, keyword: &str) -> Option<&'s [Value]> {
    schema.get(keyword)?.as_array().map(Vec::as_slice)
}

/// Replaces a union with its only branch, unless a keyword next to it conflicts. The annotations of a field are next
/// to the union and take precedence over those of its type.
fn unwrap_single(schema: &mut Map<String, Value>) {
    let annotation = |name: &str| matches!(name, "description" | "title" | "examples");
    let single = match list_of(schema, "anyOf") {
        Some([Value::Object(single)]) => single.clone(),
        _ => return,
    };
    let differs = |(name, _): (&String, &Value)| schema.contains_key(name) && !annotation(name);
    if single.iter().any(differs) {
        return;
    }
    schema.shift_remove("anyOf");
    for (name, value) in single {
        schema.entry(name).or_insert(value);
    }
}

/// Rejects maps with integer keys: their pattern does not express the range of the keys.
fn reject_integer_keys(map: &Map<String, Value>, pointer: &str, problems: &mut Vec<SchemaProblem>) {
    let patterns = map.get("patternProperties");
    if ["^\\d+$", "^-?\\d+$"]
        .iter()
        .any(|keys| patterns.is_some_and(|all| all.get(keys).is_some()))
    {
        let field = escape(pointer.rsplit('/').next().unwrap_or_default(), 80);
        let message = format!(
            "`{field}` is a map with integer keys, whose range cannot be described: use string keys"
        );
        problems.push(SchemaProblem::new(pointer, message));
    }
}

/// How a subschema relates to the enclosing schema.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Edge {
    /// It describes a separate value.
    Own,
    /// It describes part of an object that the enclosing schema describes and closes.
    Shared,
}

/// Closes every object for which the author did not set `additionalProperties`.
///
/// Where several subschemas describe one object (a flattened or tagged enum), none of them knows the properties of
/// the others. There the outermost schema is closed with `unevaluatedProperties`, and the definitions that are part
/// of it are inlined into it, open.
fn close(schema: &mut Value, definitions: &Value, edge: Edge, depth: usize) {
    // Definitions are inlined only into the object that they are part of. No type is part of itself.
    if depth > super::limits::MAX_DEPTH {
        return;
    }
    let Value::Object(map) = schema else { return };
    let own_properties = map.contains_key("properties");
    let is_object = own_properties || map.get("type").and_then(Value::as_str) == Some("object");
    let has_parts = ["allOf", "anyOf", "oneOf", "$ref"]
        .iter()
        .any(|keyword| map.contains_key(*keyword));
    let parts_edge = if edge == Edge::Shared || (own_properties && has_parts) {
        Edge::Shared
    } else {
        Edge::Own
    };
    if parts_edge == Edge::Shared
        && let Some(target) = referred(map, definitions)
    {
        map.shift_remove("$ref");
        let parts = map.entry("allOf").or_insert_with(|| json!([]));
        if let Value::Array(parts) = parts {
            parts.push(target);
        }
    }
    let decided =
        map.contains_key("additionalProperties") || map.contains_key("unevaluatedProperties");
    if is_object && edge == Edge::Own && !decided {
        let keyword = if parts_edge == Edge::Shared {
            "unevaluatedProperties"
        } else {
            "additionalProperties"
        };
        map.insert(keyword.to_owned(), false.into());
    }
    each_subschema(schema, "", &mut |child, place| {
        let parts = ["/allOf/", "/anyOf/", "/oneOf/"];
        let edge = if parts.iter().any(|start| place.starts_with(start)) {
            parts_edge
        } else {
            Edge::Own
        };
        close(child, definitions, edge, depth + 1);
    });
}

fn referred(map: &Map<String, Value>, definitions: &Value) -> Option<Value> {
    let name = map.get("$ref")?.as_str()?.strip_prefix("#/$defs/")?;
    definitions
        .get(name.replace("~1", "/").replace("~0", "~"))
        .cloned()
}

/// Removes definitions that were inlined everywhere.
fn drop_unused_definitions(document: &mut Value) {
    loop {
        let text = document.to_string();
        let Some(Value::Object(definitions)) = document.get_mut("$defs") else {
            return;
        };
        let before = definitions.len();
        definitions.retain(|name, _| text.contains(&json!(join("#/$defs", name)).to_string()));
        if definitions.is_empty() {
            if let Value::Object(map) = document {
                map.shift_remove("$defs");
            }
            return;
        }
        if definitions.len() == before {
            return;
        }
    }
}

/// Visits the direct subschemas of this schema, with their pointers.
fn each_subschema(schema: &mut Value, pointer: &str, visit: &mut dyn FnMut(&mut Value, &str)) {
    use super::keywords::Shape;
    let Value::Object(map) = schema else { return };
    for (name, value) in map.iter_mut() {
        let Some(keyword) = keywords::keyword(referencing::Draft::Draft202012, name) else {
            continue;
        };
        let place = join(pointer, name);
        match (keyword.shape, value) {
            (Shape::Schema, value) => visit(value, &place),
            (Shape::Schemas, Value::Array(children)) => {
                for (index, child) in children.iter_mut().enumerate() {
                    visit(child, &join(&place, &index.to_string()));
                }
            }
            (Shape::Named, Value::Object(children)) => {
                for (key, child) in children.iter_mut() {
                    visit(child, &join(&place, key));
                }
            }
            _ => {}
        }
    }
}
