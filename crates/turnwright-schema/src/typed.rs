//! Documents made from Rust types: no more than the type takes.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use super::keywords;
use super::pointer::join;
use super::{SchemaProblem, fault::escape};
use crate::problem::SchemaError;

/// The document of `T`, narrowed to what `T` takes.
pub(crate) fn document_of<T: JsonSchema>() -> Result<Value, SchemaError> {
    let mut settings = SchemaSettings::draft2020_12();
    // Ours is 2020-12 without saying so, and every byte is shown to a model.
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

/// Turns formats into bounds, and drops those that nobody enforces.
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
    let bounds: Option<(Value, Value)> = match format {
        "int8" => Some((i8::MIN.into(), i8::MAX.into())),
        "int16" => Some((i16::MIN.into(), i16::MAX.into())),
        "int32" => Some((i32::MIN.into(), i32::MAX.into())),
        "int64" | "int" => Some((i64::MIN.into(), i64::MAX.into())),
        "uint8" => Some((u8::MIN.into(), u8::MAX.into())),
        "uint16" => Some((u16::MIN.into(), u16::MAX.into())),
        "uint32" => Some((u32::MIN.into(), u32::MAX.into())),
        "uint64" | "uint" => Some((u64::MIN.into(), u64::MAX.into())),
        "float" => Some((f64::from(f32::MIN).into(), f64::from(f32::MAX).into())),
        "int128" | "uint128" => {
            let field = pointer.rsplit('/').next().unwrap_or_default();
            let message = format!(
                "`{}` is a 128-bit integer, which JSON cannot carry: use 64 bits or text",
                escape(field, 80)
            );
            problems.push(SchemaProblem::new(pointer, message));
            None
        }
        "ip" => {
            map.shift_remove("format");
            let both = json!([{ "format": "ipv4" }, { "format": "ipv6" }]);
            map.insert("anyOf".to_owned(), both);
            return;
        }
        name if keywords::is_enforced_format(referencing::Draft::Draft202012, name) => return,
        _ => None,
    };
    map.shift_remove("format");
    if let Some((least, most)) = bounds {
        tighten(map, "minimum", "exclusiveMinimum", least);
        tighten(map, "maximum", "exclusiveMaximum", most);
    }
}

/// The time types of the standard library are described wider than they are: nanoseconds stay below a second.
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
            tighten(field, "maximum", "exclusiveMaximum", most);
        }
    }
}

/// An `Option` is described as its type or `null`. Where the property need not be there, `null` counts as absent anyway, so
/// that the type alone says the same in fewer words, and faults stand at their own places instead of at a union's.
///
/// `null` stays where it says something of its own: in properties that are required, in items and maps, and beside a default,
/// which an absent property gets and a `null` does not.
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

/// Takes `null` out of what a subschema accepts, if something else is left: whether it was there.
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

/// Removes what is `unwanted` from the list under a keyword, unless nothing would be left: whether anything was.
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

/// Puts the only branch of a union in the place of the union, where nothing that stands beside it says otherwise. What the
/// author wrote of a field stands beside the union, and counts over what they wrote of its type.
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

/// A map with integer keys is described by a pattern that has no range.
fn reject_integer_keys(map: &Map<String, Value>, pointer: &str, problems: &mut Vec<SchemaProblem>) {
    let patterns = map.get("patternProperties");
    if ["^\\d+$", "^-?\\d+$"]
        .iter()
        .any(|keys| patterns.is_some_and(|all| all.get(keys).is_some()))
    {
        let field = escape(pointer.rsplit('/').next().unwrap_or_default(), 80);
        let message = format!(
            "`{field}` is a map with integer keys, whose range cannot be described: use text keys"
        );
        problems.push(SchemaProblem::new(pointer, message));
    }
}

/// Sets `keyword` to `bound` unless what is there is at least as tight.
fn tighten(map: &mut Map<String, Value>, keyword: &str, exclusive: &str, bound: Value) {
    let limit = bound.as_f64().unwrap_or_default();
    let as_tight = |own: f64| match keyword {
        "minimum" => own >= limit,
        _ => own <= limit,
    };
    let is_set = |name: &str| map.get(name).and_then(Value::as_f64).is_some_and(as_tight);
    if !is_set(keyword) && !is_set(exclusive) {
        map.insert(keyword.to_owned(), bound);
    }
}

/// What stands around a subschema.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Edge {
    /// It describes a value of its own.
    Own,
    /// It describes a part of an object that the schema around it describes too, and closes.
    Shared,
}

/// Closes every object that its author left open by saying nothing.
///
/// Where several subschemas describe one object (a flattened or tagged enum), none of them can know the others'
/// properties: there the outermost one closes, by `unevaluatedProperties`, and the definitions that it takes part in
/// are written out inside it, open.
fn close(schema: &mut Value, definitions: &Value, edge: Edge, depth: usize) {
    // Definitions are written out only into the object that they are a part of; no type is a part of itself.
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
        let edge = match parts.iter().any(|start| place.starts_with(start)) {
            true => parts_edge,
            false => Edge::Own,
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

/// Definitions that were written out everywhere are shown to no model.
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

/// Visits the subschemas written directly inside this one, with their pointers.
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
