//! Checks that a schema fits the strict mode of OpenAI, which supports a part of JSON Schema.

use std::fmt;

use serde_json::{Map, Value};

/// Why a schema does not fit strict mode.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StrictError {
    /// The JSON pointer of the keyword, or of the schema that lacks it.
    pub(crate) pointer: String,
    pub(crate) keyword: String,
    pub(crate) advice: &'static str,
}

impl fmt::Display for StrictError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let StrictError {
            pointer,
            keyword,
            advice,
        } = self;
        write!(f, "`{keyword}` at \"{pointer}\": {advice}")
    }
}

/// Keywords with any value.
const SUPPORTED: &[&str] = &[
    "$schema",
    "$id",
    "$ref",
    "$comment",
    "title",
    "description",
    "type",
    "enum",
    "const",
    "required",
    "pattern",
    "multipleOf",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "minItems",
    "maxItems",
];

/// The values of `format`.
const FORMATS: &[&str] = &[
    "date-time",
    "time",
    "date",
    "duration",
    "email",
    "hostname",
    "ipv4",
    "ipv6",
    "uuid",
];

const MAX_PROPERTIES: usize = 5_000;
const MAX_ENUM_VALUES: usize = 1_000;
const MAX_LEVELS: usize = 10;

const UNSUPPORTED: &str =
    "strict mode does not support this keyword: remove it, or turn strict mode off";

/// Checks a schema for strict mode: a closed object at the root, all properties required, supported keywords only.
///
/// # Errors
/// The first keyword that does not fit, with advice.
pub(crate) fn check(schema: &Value) -> Result<(), StrictError> {
    if schema.get("type").and_then(Value::as_str) != Some("object") {
        return Err(error(
            "",
            "type",
            "the root must have `\"type\": \"object\"`",
        ));
    }
    if schema.get("anyOf").is_some() {
        let advice = "the root cannot have alternatives: put them into a property";
        return Err(error("/anyOf", "anyOf", advice));
    }
    Checker::default().schema(schema, "", 0)
}

fn error(pointer: &str, keyword: &str, advice: &'static str) -> StrictError {
    StrictError {
        pointer: pointer.to_owned(),
        keyword: keyword.to_owned(),
        advice,
    }
}

#[derive(Default)]
struct Checker {
    properties: usize,
    enum_values: usize,
}

impl Checker {
    fn schema(&mut self, schema: &Value, at: &str, level: usize) -> Result<(), StrictError> {
        let Value::Object(fields) = schema else {
            let advice = "strict mode needs a schema that is an object, with a type";
            return Err(error(at, "", advice));
        };
        for (keyword, value) in fields {
            let place = format!("{at}/{}", escaped(keyword));
            match keyword.as_str() {
                // The object is checked as a whole, below.
                "properties" | "additionalProperties" => {}
                "items" => self.schema(value, &place, level + 1)?,
                "anyOf" => self.list(value, &place, level)?,
                "$defs" | "definitions" => self.named(value, &place, level)?,
                "format" if value.as_str().is_some_and(|name| FORMATS.contains(&name)) => {}
                "format" => {
                    let advice = "strict mode does not support this format: remove it, or turn strict mode off";
                    return Err(error(&place, keyword, advice));
                }
                "enum" => {
                    self.enum_values += value.as_array().map_or(0, Vec::len);
                    if self.enum_values > MAX_ENUM_VALUES {
                        let advice = "strict mode allows 1,000 enum values in all";
                        return Err(error(&place, keyword, advice));
                    }
                }
                _ if SUPPORTED.contains(&keyword.as_str()) => {}
                _ => return Err(error(&place, keyword, UNSUPPORTED)),
            }
        }
        self.object(fields, at, level)
    }

    fn object(
        &mut self,
        fields: &Map<String, Value>,
        at: &str,
        level: usize,
    ) -> Result<(), StrictError> {
        let is_object = match fields.get("type") {
            Some(Value::String(name)) => name == "object",
            Some(Value::Array(names)) => names.iter().any(|name| name == "object"),
            _ => false,
        };
        if !is_object && !fields.contains_key("properties") {
            return Ok(());
        }
        if level >= MAX_LEVELS {
            let advice = "strict mode allows 10 levels of nesting: make the schema flatter";
            return Err(error(at, "properties", advice));
        }
        if fields.get("additionalProperties") != Some(&Value::Bool(false)) {
            let advice = "strict mode requires closed objects: add `\"additionalProperties\": false` (for a Rust type, `#[serde(deny_unknown_fields)]`)";
            let place = format!("{at}/additionalProperties");
            return Err(error(&place, "additionalProperties", advice));
        }
        let required = fields.get("required").and_then(Value::as_array);
        let properties = fields.get("properties").and_then(Value::as_object);
        for (name, schema) in properties.into_iter().flatten() {
            let place = format!("{at}/properties/{}", escaped(name));
            let is_required = required.is_some_and(|names| names.iter().any(|known| known == name));
            if !is_required {
                let advice = "strict mode requires every property: add it to `required`, and allow `null` if it is optional";
                return Err(error(&place, "required", advice));
            }
            self.properties += 1;
            if self.properties > MAX_PROPERTIES {
                let advice = "strict mode allows 5,000 properties in all";
                return Err(error(&place, "properties", advice));
            }
            self.schema(schema, &place, level + 1)?;
        }
        Ok(())
    }

    fn list(&mut self, schemas: &Value, at: &str, level: usize) -> Result<(), StrictError> {
        let schemas = schemas.as_array().into_iter().flatten();
        for (index, schema) in schemas.enumerate() {
            self.schema(schema, &format!("{at}/{index}"), level)?;
        }
        Ok(())
    }

    fn named(&mut self, schemas: &Value, at: &str, level: usize) -> Result<(), StrictError> {
        let schemas = schemas.as_object().into_iter().flatten();
        for (name, schema) in schemas {
            self.schema(schema, &format!("{at}/{}", escaped(name)), level)?;
        }
        Ok(())
    }
}

/// Returns a step of a JSON pointer.
fn escaped(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::check;

    fn closed(properties: Value) -> Value {
        let required: Vec<&String> = properties.as_object().unwrap().keys().collect();
        let mut schema =
            json!({ "type": "object", "required": required, "additionalProperties": false });
        schema["properties"] = properties;
        schema
    }

    #[test]
    fn schemas_that_fit_strict_mode_are_accepted() {
        let mut tree = closed(json!({
            "name": { "type": "string", "description": "A name", "pattern": "^a" },
            "when": { "type": ["string", "null"], "format": "date-time" },
            "count": { "type": "integer", "minimum": 0, "maximum": 9 },
            "children": { "type": "array", "items": { "$ref": "#/$defs/node" }, "maxItems": 3 },
            "either": { "anyOf": [{ "type": "string" }, closed(json!({ "x": { "const": 1 } }))] },
            "level": { "enum": ["low", "high"] },
        }));
        tree["$defs"] = json!({ "node": closed(json!({})) });
        assert_eq!(check(&tree), Ok(()));
        assert_eq!(check(&closed(json!({}))), Ok(()));
    }

    #[test]
    fn schemas_that_do_not_fit_are_refused_with_pointer_and_keyword() {
        let field = |schema: Value| closed(json!({ "a/b": schema }));
        let deep = (0..10).fold(json!({ "type": "string" }), |inner, _| {
            closed(json!({ "x": inner }))
        });
        let mut optional = closed(json!({ "x": { "type": "string" } }));
        optional["required"] = json!([]);
        let many: Vec<usize> = (0..1_001).collect();
        let cases = [
            (json!({ "type": "string" }), "", "type"),
            (json!(true), "", "type"),
            (json!({ "type": "object", "anyOf": [] }), "/anyOf", "anyOf"),
            (
                json!({ "type": "object" }),
                "/additionalProperties",
                "additionalProperties",
            ),
            (
                json!({ "type": "object", "additionalProperties": true }),
                "/additionalProperties",
                "additionalProperties",
            ),
            (optional, "/properties/x", "required"),
            (
                field(json!({ "oneOf": [] })),
                "/properties/a~1b/oneOf",
                "oneOf",
            ),
            (
                field(json!({ "allOf": [] })),
                "/properties/a~1b/allOf",
                "allOf",
            ),
            (
                field(json!({ "type": "string", "default": "x" })),
                "/properties/a~1b/default",
                "default",
            ),
            (
                field(json!({ "type": "string", "format": "uri" })),
                "/properties/a~1b/format",
                "format",
            ),
            (
                field(json!({ "type": "array", "items": { "not": {} } })),
                "/properties/a~1b/items/not",
                "not",
            ),
            (
                field(json!({ "anyOf": [{ "type": "object" }] })),
                "/properties/a~1b/anyOf/0/additionalProperties",
                "additionalProperties",
            ),
            (
                field(json!({ "enum": many })),
                "/properties/a~1b/enum",
                "enum",
            ),
            (field(json!(true)), "/properties/a~1b", ""),
        ];
        for (schema, pointer, keyword) in cases {
            let error = check(&schema).unwrap_err();
            assert_eq!(
                (error.pointer.as_str(), error.keyword.as_str()),
                (pointer, keyword)
            );
            assert!(error.to_string().contains(pointer));
        }
        let error = check(&closed(json!({ "x": deep }))).unwrap_err();
        assert!(error.advice.contains("10 levels"), "{error}");
    }
}
