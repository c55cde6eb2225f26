//! The format of a typed answer.
//!
//! Model servers accept only objects at the root of a response schema. A type whose schema is anything else (a list, an enum, a
//! scalar, an `Option`) is therefore wrapped: the model answers `{"value": …}`, and the caller gets the inner value. The wrapped
//! schema is both the one that the model sees and the one that is enforced.

mod partial;
mod wrapped;

use serde_json::Value;

pub(crate) use self::partial::PartialJson;
use self::partial::unwrap_partial;
use self::wrapped::{VALUE, Wrapped, is_plain_object, user_pointer};
use crate::error::{Error, ErrorCode};
use crate::schema::{InvalidArguments, Schema, Typed};

/// The format of a turn's answer. The schema is sent to providers that support it, and the answer is always validated.
///
/// ```
/// use turnwright_core::runner::AnswerFormat;
///
/// let format = AnswerFormat::of::<Vec<String>>()?.retries(5);
/// assert_eq!(format.schema().document()["properties"]["value"]["type"], "array");
/// # Ok::<(), turnwright_core::Error>(())
/// ```
#[derive(Clone)]
pub struct AnswerFormat {
    name: String,
    schema: Schema,
    retries: u32,
    wrapped: bool,
}

impl AnswerFormat {
    /// Creates a format from a schema whose root is an object.
    pub fn new(name: impl Into<String>, schema: Schema) -> Self {
        AnswerFormat {
            name: name.into(),
            schema,
            retries: 2,
            wrapped: false,
        }
    }

    /// Creates a format from a Rust type. The schema is wrapped if the type is not a plain object.
    ///
    /// # Errors
    /// Returns `E_INVALID_SCHEMA` if the type contains something that cannot be described or enforced.
    pub fn of<T: Typed>() -> Result<Self, Error> {
        let wrapped = !is_plain_object::<T>();
        let schema = if wrapped {
            Schema::of::<Wrapped<T>>()?
        } else {
            Schema::of::<T>()?
        };
        let mut format = AnswerFormat::new(T::schema_name(), schema);
        format.wrapped = wrapped;
        Ok(format)
    }

    /// Sets how often the model may retry after an invalid answer.
    ///
    /// Default: 2.
    #[must_use]
    pub fn retries(mut self, times: u32) -> Self {
        self.retries = times;
        self
    }

    /// Returns the name of the schema. Some providers require one.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the schema that is published and enforced. For a wrapped type, this is the schema of `{"value": …}`.
    #[must_use]
    pub fn schema(&self) -> &Schema {
        &self.schema
    }

    pub(crate) fn max_retries(&self) -> u32 {
        self.retries
    }

    /// Validates an answer like tool arguments, and returns the caller's value.
    pub(crate) async fn check(&self, text: &str) -> Result<Value, Error> {
        let error = match self.schema.check_all(unfenced(text)).await {
            Ok(checked) => return Ok(self.unwrap(checked.into_value())),
            Err(error) => error,
        };
        // A repair, like those of arguments: the wrapped value must still match the schema.
        if let Some(bare) = self.bare_value(text)
            && let Ok(checked) = self
                .schema
                .check_all(Value::from_iter([(VALUE, bare)]))
                .await
        {
            return Ok(self.unwrap(checked.into_value()));
        }
        Err(self.mismatch(error))
    }

    /// Creates a parser for answers of this format as they arrive.
    pub(crate) fn partial(&self) -> PartialJson {
        PartialJson::new(self.schema.limits().bytes())
    }

    /// Returns the caller's value from a partial answer, if there is any yet.
    pub(crate) fn unwrap_partial(&self, value: Value) -> Option<Value> {
        if self.wrapped {
            unwrap_partial(value)
        } else {
            Some(value)
        }
    }

    /// Extracts the caller's value from the answer of the model.
    fn unwrap(&self, mut value: Value) -> Value {
        match value.get_mut(VALUE).filter(|_| self.wrapped) {
            Some(inner) => inner.take(),
            None => value,
        }
    }

    /// Returns the value of an answer that should have been wrapped and is not.
    fn bare_value(&self, text: &str) -> Option<Value> {
        if !self.wrapped || text.len() > self.schema.limits().bytes() {
            return None;
        }
        let read = |text: &str| serde_json::from_str::<Value>(text).ok();
        let value = read(text).or_else(|| read(unfenced(text)))?;
        let is_wrapper = value
            .as_object()
            .is_some_and(|map| map.len() == 1 && map.contains_key(VALUE));
        (!is_wrapper).then_some(value)
    }

    /// Creates the error for an invalid answer. Positions refer to the type for the caller, and to the JSON for the model.
    fn mismatch(&self, error: InvalidArguments) -> Error {
        let (mut operator, mut model) = (Vec::new(), String::new());
        for fault in error.faults() {
            let message = &fault.message;
            let pointer = if self.wrapped {
                user_pointer(&fault.pointer)
            } else {
                &fault.pointer
            };
            operator.push(format!("{} {message}", place(pointer)));
            model.push_str(&format!("\n- {}: {message}", place(&fault.pointer)));
        }
        if error.more_faults() > 0 {
            model.push_str(&format!("\n- and {} more", error.more_faults()));
        }
        let message = format!(
            "the answer does not match its schema: {}",
            operator.join("; ")
        );
        let for_model = format!("Your answer does not match the schema:{model}");
        Error::new(ErrorCode::INVALID_ANSWER, message)
            .with_model_text(for_model)
            .with_source(error)
    }
}

fn place(pointer: &str) -> &str {
    match pointer {
        "" => "the answer",
        pointer => pointer,
    }
}

/// Models often put JSON into a code block with text around it. If there is exactly one block, it is the answer.
fn unfenced(text: &str) -> &str {
    let text = text.trim();
    if text.starts_with('{') {
        return text;
    }
    let mut parts = text.split("```");
    match (parts.next(), parts.next(), parts.next(), parts.next()) {
        (Some(_), Some(block), Some(_), None) => {
            let (language, inside) = block.split_once('\n').unwrap_or(("", block));
            if language.trim().chars().all(char::is_alphanumeric) {
                inside.trim()
            } else {
                block.trim()
            }
        }
        _ => text,
    }
}

debug_fields!(AnswerFormat { name, wrapped });

#[cfg(test)]
mod tests;
