//! The schema builder.

use serde_json::{Map, Value, json};

use super::options::SchemaOptions;
use super::problem::{SchemaError, SchemaProblem};
use super::schema::Schema;

impl Schema {
    /// Starts a closed object. Add fields with [`Field::field`].
    pub fn object() -> Field {
        object()
    }
}

/// A builder for one location of a schema: a field, an item, a branch or the root.
///
/// Created with [`string`], [`integer`], [`number`], [`boolean`], [`array()`], [`tuple()`], [`map`], [`object`],
/// [`any_of`], [`one_of`], [`all_of`], [`constant`], [`null`] and [`any`]. [`Field::build`] rejects a keyword that
/// has no effect on the type (such as `min` on a string) and reports its location.
///
/// ```
/// use turnwright_schema::{Schema, any_of, array, integer, map, number, string};
///
/// let schema = Schema::object()
///     .field("id", any_of([integer(), string().pattern("^[a-z]+$")]).required())
///     .field("tags", array(string().min_length(1)).max_items(3).note("Lower case."))
///     .field("labels", map(number()))
///     .build()?;
/// assert_eq!(schema.document()["properties"]["tags"]["description"], "Note: Lower case.");
///
/// let error = Schema::object().field("name", string().min(3)).build().unwrap_err();
/// assert_eq!(error.problems()[0].pointer, "/properties/name/minimum");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
#[must_use = "a field does nothing until it is built into a schema"]
pub struct Field {
    keywords: Map<String, Value>,
    description: Option<String>,
    notes: Vec<String>,
    required: bool,
    problems: Vec<String>,
}

/// Creates a string schema.
pub fn string() -> Field {
    Field::of_type("string")
}

/// Creates an integer schema.
pub fn integer() -> Field {
    Field::of_type("integer")
}

/// Creates a number schema.
pub fn number() -> Field {
    Field::of_type("number")
}

/// Creates a boolean schema.
pub fn boolean() -> Field {
    Field::of_type("boolean")
}

/// Creates a schema that accepts only `null`.
pub fn null() -> Field {
    Field::of_type("null")
}

/// Creates a closed object: properties that are not declared are rejected.
pub fn object() -> Field {
    Field::of_type("object")
        .keyword("properties", json!({}))
        .keyword("additionalProperties", false)
}

/// Creates an object schema with arbitrary keys whose values all match `values`.
pub fn map(values: Field) -> Field {
    Field::of_type("object").nest("additionalProperties", values)
}

/// Creates an array schema whose items all match `items`.
pub fn array(items: Field) -> Field {
    Field::of_type("array").nest("items", items)
}

/// Creates an array schema with exactly these items, in this order.
pub fn tuple(items: impl IntoIterator<Item = Field>) -> Field {
    let field = Field::of_type("array").nest_all("prefixItems", items);
    let items = field.keywords.get("prefixItems").and_then(Value::as_array);
    let count = items.map_or(0, Vec::len);
    field.keyword("minItems", count).keyword("maxItems", count)
}

/// Creates a schema that accepts any value.
pub fn any() -> Field {
    Field {
        keywords: Map::new(),
        description: None,
        notes: Vec::new(),
        required: false,
        problems: Vec::new(),
    }
}

/// Creates a schema that accepts only this value.
pub fn constant(value: impl Into<Value>) -> Field {
    any().keyword("const", value)
}

/// Creates a schema that requires at least one of the alternatives to match.
pub fn any_of(alternatives: impl IntoIterator<Item = Field>) -> Field {
    any().nest_all("anyOf", alternatives)
}

/// Creates a schema that requires exactly one of the alternatives to match.
pub fn one_of(alternatives: impl IntoIterator<Item = Field>) -> Field {
    any().nest_all("oneOf", alternatives)
}

/// Creates a schema that requires all of `parts` to match.
pub fn all_of(parts: impl IntoIterator<Item = Field>) -> Field {
    any().nest_all("allOf", parts)
}

impl Field {
    fn of_type(name: &str) -> Self {
        any().keyword("type", name)
    }

    /// Sets any JSON Schema keyword by name. [`Field::build`] rejects unknown keywords.
    pub fn keyword(mut self, name: impl Into<String>, value: impl Into<Value>) -> Self {
        self.keywords.insert(name.into(), value.into());
        self
    }

    fn nest(mut self, name: &str, field: Field) -> Self {
        let value = field.finish(&mut self.problems);
        self.keyword(name, value)
    }

    fn nest_all(mut self, name: &str, fields: impl IntoIterator<Item = Field>) -> Self {
        let fields = fields.into_iter();
        let values = fields
            .map(|field| field.finish(&mut self.problems))
            .collect::<Vec<_>>();
        self.keyword(name, values)
    }

    /// Adds a property to an object. The property is optional unless `field` is marked with [`Field::required`].
    pub fn field(mut self, name: impl Into<String>, field: Field) -> Self {
        let name = name.into();
        if field.required {
            let required = self.keywords.entry("required").or_insert_with(|| json!([]));
            if let Value::Array(names) = required {
                names.push(name.clone().into());
            }
        }
        let value = field.finish(&mut self.problems);
        let properties = self
            .keywords
            .entry("properties")
            .or_insert_with(|| json!({}));
        let problem = match properties {
            Value::Object(properties) => properties
                .insert(name.clone(), value)
                .map(|_| format!("the field `{name}` is defined twice")),
            _ => Some("`properties` must be an object".to_owned()),
        };
        self.problems.extend(problem);
        self
    }

    /// Sets the description that the model sees.
    pub fn description(mut self, text: impl Into<String>) -> Self {
        self.description = Some(text.into());
        self
    }

    /// Adds a note for the model. Each note becomes a line `Note: …` of the description.
    pub fn note(mut self, text: impl Into<String>) -> Self {
        self.notes.push(text.into());
        self
    }

    /// Adds an example value. Can be called several times.
    pub fn example(mut self, value: impl Into<Value>) -> Self {
        if let Value::Array(examples) = self.keywords.entry("examples").or_insert_with(|| json!([]))
        {
            examples.push(value.into());
        }
        self
    }

    /// Sets the value that is filled in when the property is absent.
    pub fn default(self, value: impl Into<Value>) -> Self {
        self.keyword("default", value)
    }

    /// Marks the property as required.
    pub fn required(mut self) -> Self {
        self.required = true;
        self
    }

    /// Also allows `null`.
    pub fn nullable(mut self) -> Self {
        if let Some(Value::Array(values)) = self.keywords.get_mut("enum") {
            values.push(Value::Null);
        }
        match self.keywords.get_mut("type") {
            Some(Value::String(name)) => {
                let types = json!([name, "null"]);
                self.keyword("type", types)
            }
            Some(Value::Array(names)) => {
                names.push("null".into());
                self
            }
            _ => {
                let message = "`nullable` needs a type: add `null()` to the alternatives instead";
                self.problems.push(message.to_owned());
                self
            }
        }
    }

    /// Sets the minimum (inclusive).
    pub fn min(self, limit: impl Into<Value>) -> Self {
        self.keyword("minimum", limit)
    }

    /// Sets the maximum (inclusive).
    pub fn max(self, limit: impl Into<Value>) -> Self {
        self.keyword("maximum", limit)
    }

    /// Sets the exclusive minimum.
    pub fn exclusive_min(self, limit: impl Into<Value>) -> Self {
        self.keyword("exclusiveMinimum", limit)
    }

    /// Sets the exclusive maximum.
    pub fn exclusive_max(self, limit: impl Into<Value>) -> Self {
        self.keyword("exclusiveMaximum", limit)
    }

    /// Requires a multiple of this number.
    pub fn multiple_of(self, number: impl Into<Value>) -> Self {
        self.keyword("multipleOf", number)
    }

    /// Sets the minimum number of characters.
    pub fn min_length(self, characters: u32) -> Self {
        self.keyword("minLength", characters)
    }

    /// Sets the maximum number of characters.
    pub fn max_length(self, characters: u32) -> Self {
        self.keyword("maxLength", characters)
    }

    /// Requires a string in which this pattern matches somewhere. Patterns run in linear time: look-around and
    /// back-references are not supported.
    pub fn pattern(self, pattern: impl Into<String>) -> Self {
        self.keyword("pattern", pattern.into())
    }

    /// Requires a string of this format, for example `date-time`, `email` or `uri`.
    pub fn format(self, name: impl Into<String>) -> Self {
        self.keyword("format", name.into())
    }

    /// Restricts the value to this list (`enum`).
    pub fn one_of_values<V: Into<Value>>(self, values: impl IntoIterator<Item = V>) -> Self {
        // Collected into one value first, so that a value that is not admitted is dropped without recursion.
        let values: Value = values.into_iter().map(Into::into).collect();
        self.keyword("enum", values)
    }

    /// Sets the minimum number of items.
    pub fn min_items(self, items: u32) -> Self {
        self.keyword("minItems", items)
    }

    /// Sets the maximum number of items.
    pub fn max_items(self, items: u32) -> Self {
        self.keyword("maxItems", items)
    }

    /// Requires all items to be different.
    pub fn unique_items(self) -> Self {
        self.keyword("uniqueItems", true)
    }

    /// Accepts properties that are not declared.
    pub fn open(self) -> Self {
        self.keyword("additionalProperties", true)
    }

    /// Sets the title: a short name shown next to the description.
    pub fn title(self, text: impl Into<String>) -> Self {
        self.keyword("title", text.into())
    }

    /// Builds the schema.
    ///
    /// # Errors
    /// `E_INVALID_SCHEMA` with all problems, each with its JSON pointer.
    pub fn build(self) -> Result<Schema, SchemaError> {
        let mut problems = Vec::new();
        let required = self.required;
        let document = self.finish(&mut problems);
        if required {
            problems.push("the root schema cannot be `required`: only fields can".to_owned());
        }
        if problems.is_empty() {
            return Schema::build(document, &SchemaOptions::strict());
        }
        let problems = problems
            .into_iter()
            .map(|message| SchemaProblem::new("", message));
        Err(SchemaError::new(problems.collect()))
    }

    /// Returns the document of this location and appends its problems to `problems`.
    fn finish(mut self, problems: &mut Vec<String>) -> Value {
        problems.append(&mut self.problems);
        let lines = self
            .description
            .into_iter()
            .chain(self.notes.into_iter().map(|note| format!("Note: {note}")));
        let description = lines.collect::<Vec<_>>().join("\n");
        if !description.is_empty() {
            self.keywords
                .insert("description".to_owned(), description.into());
        }
        Value::Object(self.keywords)
    }
}

/// Conversion into a [`Schema`]. Implemented for schemas, builders, JSON documents, and the `Result` of creating a
/// schema.
///
/// Functions that expect a schema accept all of these:
///
/// ```
/// use turnwright_schema::{IntoSchema, Schema, integer, object};
/// use serde_json::{Value, json};
///
/// fn properties(schema: impl IntoSchema) -> Value {
///     schema.into_schema().unwrap().document()["properties"].clone()
/// }
///
/// let days = json!({ "days": { "type": "integer" } });
/// assert_eq!(properties(json!({ "type": "object", "properties": days })), days);
/// assert_eq!(properties(object().field("days", integer())), days);
/// assert_eq!(properties(Schema::object().field("days", integer()).build()), days);
/// ```
pub trait IntoSchema {
    /// Converts `self` into a schema.
    ///
    /// # Errors
    /// `E_INVALID_SCHEMA` if the document cannot be enforced.
    fn into_schema(self) -> Result<Schema, SchemaError>;
}

impl IntoSchema for Schema {
    fn into_schema(self) -> Result<Schema, SchemaError> {
        Ok(self)
    }
}

impl IntoSchema for Field {
    fn into_schema(self) -> Result<Schema, SchemaError> {
        self.build()
    }
}

impl IntoSchema for Value {
    fn into_schema(self) -> Result<Schema, SchemaError> {
        Schema::from_document(self)
    }
}

impl<S: IntoSchema> IntoSchema for Result<S, SchemaError> {
    fn into_schema(self) -> Result<Schema, SchemaError> {
        self.and_then(IntoSchema::into_schema)
    }
}
