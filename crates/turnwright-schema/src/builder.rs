//! Schemas built by hand.

use serde_json::{Map, Value, json};

use super::admit::admit;
use super::fault::escape;
use super::options::SchemaOptions;
use super::problem::{SchemaError, SchemaProblem};
use super::schema::Schema;

impl Schema {
    /// Starts a closed object; add fields with [`Field::field`].
    pub fn object() -> Field {
        object()
    }
}

/// One place of a schema under construction: a field, an item, a branch, or the whole.
///
/// Made by [`string`], [`integer`], [`number`], [`boolean`], [`array()`], [`tuple()`], [`map`], [`object`], [`any_of`],
/// [`one_of`], [`all_of`], [`constant`], [`null`] and [`any`]. A keyword that can have no effect on the type (a `min`
/// on text) is refused by [`Field::build`], with its place.
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

/// Text.
pub fn string() -> Field {
    Field::of_type("string")
}

/// A whole number.
pub fn integer() -> Field {
    Field::of_type("integer")
}

/// A number.
pub fn number() -> Field {
    Field::of_type("number")
}

/// `true` or `false`.
pub fn boolean() -> Field {
    Field::of_type("boolean")
}

/// `null` and nothing else.
pub fn null() -> Field {
    Field::of_type("null")
}

/// A closed object.
pub fn object() -> Field {
    Field::of_type("object")
        .keyword("properties", json!({}))
        .keyword("additionalProperties", false)
}

/// An object of any keys whose values are all alike.
pub fn map(values: Field) -> Field {
    Field::of_type("object").nest("additionalProperties", values)
}

/// A list whose items are all alike.
pub fn array(items: Field) -> Field {
    Field::of_type("array").nest("items", items)
}

/// A list of exactly these items.
pub fn tuple(items: impl IntoIterator<Item = Field>) -> Field {
    let field = Field::of_type("array").nest_all("prefixItems", items);
    let items = field.keywords.get("prefixItems").and_then(Value::as_array);
    let count = items.map_or(0, Vec::len);
    field.keyword("minItems", count).keyword("maxItems", count)
}

/// Anything at all.
pub fn any() -> Field {
    Field {
        keywords: Map::new(),
        description: None,
        notes: Vec::new(),
        required: false,
        problems: Vec::new(),
    }
}

/// This value and no other.
pub fn constant(value: impl Into<Value>) -> Field {
    any().keyword("const", value)
}

/// At least one of the alternatives.
pub fn any_of(alternatives: impl IntoIterator<Item = Field>) -> Field {
    any().nest_all("anyOf", alternatives)
}

/// Exactly one of the alternatives.
pub fn one_of(alternatives: impl IntoIterator<Item = Field>) -> Field {
    any().nest_all("oneOf", alternatives)
}

/// All of these at once.
pub fn all_of(parts: impl IntoIterator<Item = Field>) -> Field {
    any().nest_all("allOf", parts)
}

impl Field {
    fn of_type(name: &str) -> Self {
        any().keyword("type", name)
    }

    /// Sets any keyword of JSON Schema by name; [`Field::build`] refuses what is none.
    pub fn keyword(mut self, name: impl Into<String>, value: impl Into<Value>) -> Self {
        let name = name.into();
        match admit(value.into()) {
            Ok(value) => drop(self.keywords.insert(name, value)),
            Err(why) => self.problems.push(format!("`{}` {why}", escape(&name, 80))),
        }
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

    /// Adds a property to an object. Optional unless it is [`Field::required`].
    pub fn field(mut self, name: impl Into<String>, field: Field) -> Self {
        let name = name.into();
        if field.required {
            let required = self.keywords.entry("required").or_insert_with(|| json!([]));
            if let Value::Array(names) = required {
                names.push(name.clone().into());
            }
        }
        let value = match admit(field.finish(&mut self.problems)) {
            Ok(value) => value,
            Err(why) => {
                let name = escape(&name, 80);
                self.problems.push(format!("the field `{name}` {why}"));
                return self;
            }
        };
        let properties = self
            .keywords
            .entry("properties")
            .or_insert_with(|| json!({}));
        let problem = match properties {
            Value::Object(properties) => properties
                .insert(name.clone(), value)
                .map(|_| format!("the field `{name}` is given twice")),
            _ => Some("`properties` must be an object".to_owned()),
        };
        self.problems.extend(problem);
        self
    }

    /// What it is for, in words for the model.
    pub fn description(mut self, text: impl Into<String>) -> Self {
        self.description = Some(text.into());
        self
    }

    /// Something to mind; each becomes a line `Note: …` of the description.
    pub fn note(mut self, text: impl Into<String>) -> Self {
        self.notes.push(text.into());
        self
    }

    /// An example of a value; may be given again.
    pub fn example(mut self, value: impl Into<Value>) -> Self {
        if let Value::Array(examples) = self.keywords.entry("examples").or_insert_with(|| json!([]))
        {
            match admit(value.into()) {
                Ok(value) => examples.push(value),
                Err(why) => self.problems.push(format!("an example {why}")),
            }
        }
        self
    }

    /// What an absent one gets.
    pub fn default(self, value: impl Into<Value>) -> Self {
        self.keyword("default", value)
    }

    /// Must be there.
    pub fn required(mut self) -> Self {
        self.required = true;
        self
    }

    /// May also be `null`.
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

    /// At least this number.
    pub fn min(self, limit: impl Into<Value>) -> Self {
        self.keyword("minimum", limit)
    }

    /// At most this number.
    pub fn max(self, limit: impl Into<Value>) -> Self {
        self.keyword("maximum", limit)
    }

    /// More than this number.
    pub fn exclusive_min(self, limit: impl Into<Value>) -> Self {
        self.keyword("exclusiveMinimum", limit)
    }

    /// Less than this number.
    pub fn exclusive_max(self, limit: impl Into<Value>) -> Self {
        self.keyword("exclusiveMaximum", limit)
    }

    /// A multiple of this number.
    pub fn multiple_of(self, number: impl Into<Value>) -> Self {
        self.keyword("multipleOf", number)
    }

    /// At least so many characters.
    pub fn min_length(self, characters: u32) -> Self {
        self.keyword("minLength", characters)
    }

    /// At most so many characters.
    pub fn max_length(self, characters: u32) -> Self {
        self.keyword("maxLength", characters)
    }

    /// Text in which this pattern is found. Linear time: no look-around, no back-references.
    pub fn pattern(self, pattern: impl Into<String>) -> Self {
        self.keyword("pattern", pattern.into())
    }

    /// Text of this format, for example `date-time`, `email` or `uri`.
    pub fn format(self, name: impl Into<String>) -> Self {
        self.keyword("format", name.into())
    }

    /// One of these values.
    pub fn one_of_values<V: Into<Value>>(self, values: impl IntoIterator<Item = V>) -> Self {
        // Gathered in a value of their own, so that one which is not admitted is dropped safely.
        let values: Value = values.into_iter().map(Into::into).collect();
        self.keyword("enum", values)
    }

    /// At least so many items.
    pub fn min_items(self, items: u32) -> Self {
        self.keyword("minItems", items)
    }

    /// At most so many items.
    pub fn max_items(self, items: u32) -> Self {
        self.keyword("maxItems", items)
    }

    /// No two items alike.
    pub fn unique_items(self) -> Self {
        self.keyword("uniqueItems", true)
    }

    /// Takes properties that are not named.
    pub fn open(self) -> Self {
        self.keyword("additionalProperties", true)
    }

    /// A short name, shown beside the description.
    pub fn title(self, text: impl Into<String>) -> Self {
        self.keyword("title", text.into())
    }

    /// Makes the schema.
    ///
    /// # Errors
    /// `E_INVALID_SCHEMA` with every problem that was found, each at its JSON pointer.
    pub fn build(self) -> Result<Schema, SchemaError> {
        let mut problems = Vec::new();
        let required = self.required;
        let document = self.finish(&mut problems);
        if required {
            problems.push("the whole cannot be `required`: only fields can".to_owned());
        }
        if problems.is_empty() {
            return Schema::build(document, &SchemaOptions::strict());
        }
        let problems = problems
            .into_iter()
            .map(|message| SchemaProblem::new("", message));
        Err(SchemaError::new(problems.collect()))
    }

    /// The document of this place; what was wrong with its making goes to `problems`.
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

/// What can become a schema where one is asked for: a schema, a builder, a document, or the result of making one.
pub trait IntoSchema {
    /// Makes the schema, or says why not.
    ///
    /// # Errors
    /// `E_INVALID_SCHEMA`.
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
