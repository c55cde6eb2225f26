//! Tool definitions as servers send them.

mod names;
mod text;

#[cfg(test)]
mod tests;

use serde_json::{Map, Value};
use turnwright_core::call::digest_of;
use turnwright_core::schema::escape;

use crate::limits::Limits;
use crate::protocol::LEFT_OUT;

pub(crate) use names::check_alias;
pub use names::exposed_name;
pub use text::{display_name, display_text};
pub(crate) use text::{harmless, harmless_schema};

/// A tool definition as the server sent it, and what was read from it. All of it is third-party text.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Definition {
    name: String,
    description: String,
    raw: Value,
    pin: String,
}

impl Definition {
    /// Reads a definition.
    ///
    /// # Errors
    /// Returns what is wrong with it.
    pub(crate) fn read(raw: Value, limits: &Limits) -> Result<Self, String> {
        let Value::Object(fields) = &raw else {
            return Err("is not an object".to_owned());
        };
        let text = raw.to_string();
        if text.contains(LEFT_OUT) {
            return Err("is nested too deeply".to_owned());
        }
        let (size, most) = (text.len(), limits.definition_bytes);
        if size > most {
            return Err(format!("has {size} bytes, more than {most}"));
        }
        let name = match fields.get("name") {
            Some(Value::String(name)) if !name.is_empty() => name.clone(),
            Some(Value::String(_)) => return Err("has an empty name".to_owned()),
            _ => return Err("has no name".to_owned()),
        };
        match fields.get("inputSchema") {
            Some(Value::Object(_)) => {}
            Some(_) => return Err("has an `inputSchema` that is not an object".to_owned()),
            None => return Err("has no `inputSchema`".to_owned()),
        }
        Ok(Definition {
            name,
            description: description_of(fields),
            pin: digest_of(&raw),
            raw,
        })
    }

    /// Returns the name that the server uses.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Returns the description, or the title if there is none.
    pub(crate) fn description(&self) -> &str {
        &self.description
    }

    /// Returns the schema of the arguments.
    pub(crate) fn input_schema(&self) -> &Value {
        self.raw.get("inputSchema").unwrap_or(&Value::Null)
    }

    /// Returns the schema of structured results, if the server gives one.
    pub(crate) fn output_schema(&self) -> Option<&Value> {
        let schema = self.raw.get("outputSchema");
        schema.filter(|schema| schema.is_object())
    }

    /// Returns whether the server says that the tool only reads.
    pub(crate) fn claims_read_only(&self) -> bool {
        let annotations = self.raw.get("annotations");
        let hint = annotations.and_then(|annotations| annotations.get("readOnlyHint"));
        hint == Some(&Value::Bool(true))
    }

    /// Returns the definition as the server sent it.
    pub(crate) fn raw(&self) -> &Value {
        &self.raw
    }

    /// Returns the pin: SHA-256 of the canonical JSON (RFC 8785) of the whole definition, in hex.
    pub(crate) fn pin(&self) -> &str {
        &self.pin
    }
}

fn description_of(fields: &Map<String, Value>) -> String {
    let text = |key: &str| {
        let text = fields.get(key).and_then(Value::as_str);
        text.filter(|text| !text.trim().is_empty())
    };
    let text = text("description").or_else(|| text("title"));
    text.unwrap_or_default().to_owned()
}

/// Returns a name of a tool for messages.
pub(crate) fn name_for_messages(raw: &Value, index: usize) -> String {
    match raw.get("name").and_then(Value::as_str) {
        Some(name) => escape(name, 80),
        None => format!("number {}", index + 1),
    }
}
