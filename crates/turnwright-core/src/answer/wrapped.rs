//! The wrapper object for answers whose type is not a plain object.
//!
//! Model servers accept only objects. The wrapped schema is the published and the enforced one.

use std::borrow::Cow;
use std::marker::PhantomData;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::Value;

/// The only property of the wrapper.
pub(super) const VALUE: &str = "value";

/// `{"value": T}`. Implemented by hand: a derived schema would make `value` optional if `T` is an `Option`, and `null` would then
/// count as absent.
pub(super) struct Wrapped<T>(PhantomData<T>);

impl<T: JsonSchema> JsonSchema for Wrapped<T> {
    fn schema_name() -> Cow<'static, str> {
        "Wrapped".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "object",
            "properties": { VALUE: generator.subschema_for::<T>() },
            "required": [VALUE],
        })
    }
}

/// Returns whether the schema of a type is an object without alternatives at its root, as model servers require.
pub(super) fn is_plain_object<T: JsonSchema>() -> bool {
    let schema = SchemaGenerator::default().into_root_schema_for::<T>();
    let Value::Object(root) = schema.to_value() else {
        return false;
    };
    let is_object = root.get("type").and_then(Value::as_str) == Some("object");
    let alternatives = ["anyOf", "oneOf", "allOf", "$ref"];
    is_object && !alternatives.iter().any(|name| root.contains_key(*name))
}

/// Converts a JSON pointer into the wrapper to one into the caller's value.
pub(super) fn user_pointer(pointer: &str) -> &str {
    match pointer.strip_prefix("/value") {
        Some(inner) if inner.is_empty() || inner.starts_with('/') => inner,
        _ => pointer,
    }
}
