//! Reads objects whose fields have other types at other servers. They are read as JSON values; the many small deltas of Chat
//! Completions are read without copies (see [`lenient`](super::lenient)).

use serde_json::{Map, Value};
use turnwright_core::{Error, ErrorCode};

use super::server_error::unreadable;

/// The fields of an object that have not been read yet.
#[derive(Default)]
pub(crate) struct Fields(pub(crate) Map<String, Value>);

impl Fields {
    /// Parses a frame or a body. `what` names it in errors.
    ///
    /// # Errors
    /// `E_WIRE_ERROR` if it is not one JSON object.
    pub(crate) fn parse(what: &str, text: &str) -> Result<Self, Error> {
        if !text.starts_with('{') {
            return Err(unreadable(what, "it is not a JSON object", text));
        }
        let fields = serde_json::from_str(text);
        fields
            .map(Fields)
            .map_err(|error| unreadable(what, &error.to_string(), text))
    }

    /// Returns non-empty text. An integer is converted to its digits.
    pub(crate) fn text(&mut self, name: &str) -> Result<Option<String>, Error> {
        match self.value(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text).filter(|text| !text.is_empty())),
            Some(Value::Number(number)) if !number.is_f64() => Ok(Some(number.to_string())),
            Some(_) => Err(wrong_type(name, "text")),
        }
    }

    /// Returns text, or other JSON as text.
    pub(crate) fn any_text(&mut self, name: &str) -> String {
        match self.value(name) {
            None => String::new(),
            Some(Value::String(text)) => text,
            Some(value) => value.to_string(),
        }
    }

    /// Returns an index. A number or text that is not an index counts as absent.
    pub(crate) fn index(&mut self, name: &str) -> Result<Option<u64>, Error> {
        match self.value(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(text.parse().ok()),
            Some(Value::Number(number)) => Ok(as_index(&number)),
            Some(_) => Err(wrong_type(name, "an index")),
        }
    }

    /// Returns `true` if a value is not `null`, `false` or empty.
    pub(crate) fn presence(&self, name: &str) -> bool {
        match self.0.get(name) {
            None | Some(Value::Null | Value::Bool(false)) => false,
            Some(Value::String(text)) => !text.is_empty(),
            Some(Value::Array(items)) => !items.is_empty(),
            Some(Value::Object(fields)) => !fields.is_empty(),
            Some(_) => true,
        }
    }

    /// Returns a value that is not `null`.
    pub(crate) fn value(&mut self, name: &str) -> Option<Value> {
        self.0.remove(name).filter(|value| !value.is_null())
    }

    pub(crate) fn object(&mut self, name: &str) -> Result<Option<Fields>, Error> {
        match self.value(name) {
            None => Ok(None),
            Some(Value::Object(fields)) => Ok(Some(Fields(fields))),
            Some(_) => Err(wrong_type(name, "an object")),
        }
    }

    pub(crate) fn list(&mut self, name: &str) -> Result<Option<Vec<Value>>, Error> {
        match self.value(name) {
            None => Ok(None),
            Some(Value::Array(items)) => Ok(Some(items)),
            Some(_) => Err(wrong_type(name, "a list")),
        }
    }
}

/// Returns a number as an index. A fraction is rounded down.
pub(super) fn as_index(number: &serde_json::Number) -> Option<u64> {
    let float = || number.as_f64().filter(|float| *float >= 0.0);
    number.as_u64().or_else(|| Some(float()? as u64))
}

fn wrong_type(name: &str, expected: &str) -> Error {
    let message = format!("the response cannot be parsed: `{name}` is not {expected}");
    Error::new(ErrorCode::WIRE_ERROR, message)
}
