//! Arguments as received: text or a value.

use std::fmt;
use std::sync::Arc;

use serde_json::Value;

use super::decode::{self, is_reserved};
use super::limits::MAX_DEPTH;

/// The unmodified arguments of a call. Cheap to clone.
///
/// Models send text, which is decoded when it is checked. A [`Value`] is used without decoding.
///
/// ```
/// use turnwright_schema::RawArgs;
///
/// let from_a_model = RawArgs::from(r#"{"city": "Paris"}"#);
/// let from_a_program = RawArgs::from(serde_json::json!({ "city": "Paris" }));
/// assert_eq!(from_a_model.to_value(), from_a_program.to_value());
/// ```
#[derive(Clone)]
pub struct RawArgs(Raw);

/// The unmodified arguments.
#[derive(Clone, Debug)]
pub enum Raw {
    /// UTF-8 text, JSON or not.
    Text(Arc<str>),
    /// A value created by a program.
    Value(Arc<Surveyed>),
}

/// A value and its measurements. `Debug` shows no content: arguments may hold secrets.
pub struct Surveyed {
    /// The value.
    pub value: Value,
    pub(crate) survey: Survey,
}

/// Measurements of a value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Survey {
    /// Levels of arrays and objects.
    pub depth: usize,
    /// Bytes of JSON text, approximate: escapes count as one.
    pub(crate) bytes: usize,
    pub(crate) whole_floats: bool,
    /// Some string starts like JSON.
    pub(crate) holds_json: bool,
    /// Some object has a reserved key.
    pub(crate) reserved: bool,
}

impl Survey {
    /// Returns why the value, as JSON text, could not be read back with this maximum number of levels.
    #[must_use]
    pub fn problem(&self, most: usize) -> Option<String> {
        if self.depth > most {
            let levels = self.depth;
            Some(format!("has {levels} levels: at most {most} are allowed"))
        } else if self.reserved {
            Some("has a key that begins with `$serde_json::private::`".to_owned())
        } else {
            None
        }
    }
}

debug_fields!(Surveyed { survey });

impl RawArgs {
    #[doc(hidden)]
    pub fn raw(&self) -> &Raw {
        &self.0
    }

    /// Returns the arguments as a value: the parsed text, in which the last of repeated keys wins. Text that is not
    /// JSON, is too deep, or has a key that starts with `$serde_json::private::` is returned as a string. A value
    /// that is too deep or has such a key is returned as a string of its JSON text.
    #[must_use]
    pub fn to_value(&self) -> Value {
        match &self.0 {
            Raw::Text(text) => decode::decode(text, MAX_DEPTH)
                .map_or_else(|_| Value::from(&**text), |decoded| decoded.value),
            // As a value it could be stored but not read back.
            Raw::Value(surveyed) if surveyed.survey.problem(MAX_DEPTH).is_some() => {
                Value::String(surveyed.value.to_string())
            }
            Raw::Value(surveyed) => surveyed.value.clone(),
        }
    }

    /// Returns `true` if there are no arguments: no text, blank text, or `null`.
    #[doc(hidden)]
    pub fn is_nothing(&self) -> bool {
        match &self.0 {
            Raw::Text(text) => matches!(text.trim(), "" | "null"),
            Raw::Value(surveyed) => surveyed.value.is_null(),
        }
    }

    /// Returns the first bytes as text and the number of bytes, if the arguments have more than `limit` bytes of JSON text. For
    /// a value the number is approximate.
    #[doc(hidden)]
    pub fn prefix(&self, limit: usize, length: usize) -> Option<(String, usize)> {
        let first = |text: &str| {
            text.get(..text.floor_char_boundary(length))
                .map(str::to_owned)
        };
        let (text, bytes) = match &self.0 {
            Raw::Text(text) if text.len() > limit => (first(text)?, text.len()),
            Raw::Value(surveyed) if surveyed.survey.bytes > limit => {
                (first(&self.to_value().to_string())?, surveyed.survey.bytes)
            }
            _ => return None,
        };
        Some((text, bytes))
    }

    /// Returns the text, if the arguments are text.
    #[must_use]
    pub fn text(&self) -> Option<&str> {
        match &self.0 {
            Raw::Text(text) => Some(text),
            Raw::Value(_) => None,
        }
    }
}

impl fmt::Debug for RawArgs {
    /// Shows only kind and size: arguments may contain secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Raw::Text(text) => write!(f, "RawArgs(text of {} bytes)", text.len()),
            Raw::Value(surveyed) => {
                write!(f, "RawArgs(value of about {} bytes)", surveyed.survey.bytes)
            }
        }
    }
}

impl From<String> for RawArgs {
    fn from(text: String) -> Self {
        RawArgs(Raw::Text(text.into()))
    }
}

impl From<&str> for RawArgs {
    fn from(text: &str) -> Self {
        RawArgs(Raw::Text(text.into()))
    }
}

impl From<&String> for RawArgs {
    fn from(text: &String) -> Self {
        text.as_str().into()
    }
}

impl From<Value> for RawArgs {
    fn from(value: Value) -> Self {
        let survey = survey(&value);
        RawArgs(Raw::Value(Arc::new(Surveyed { value, survey })))
    }
}

/// Measures a value.
pub fn survey(value: &Value) -> Survey {
    let mut survey = Survey::default();
    let mut left = vec![(value, 0_usize)];
    while let Some((value, above)) = left.pop() {
        let depth = above + 1;
        match value {
            Value::Null => survey.bytes += 4,
            Value::Bool(_) => survey.bytes += 5,
            Value::Number(number) => {
                survey.bytes += number.to_string().len();
                survey.whole_floats |= !number.is_i64()
                    && !number.is_u64()
                    && number.as_f64().is_some_and(|n| n.fract() == 0.0);
            }
            Value::String(text) => {
                survey.bytes += text.len() + 2;
                survey.holds_json |= text.trim_start().starts_with(['{', '[']);
            }
            Value::Array(items) => {
                survey.depth = survey.depth.max(depth);
                survey.bytes += 2 + items.len();
                left.extend(items.iter().map(|item| (item, depth)));
            }
            Value::Object(map) => {
                survey.depth = survey.depth.max(depth);
                survey.bytes += 2;
                for (key, value) in map {
                    survey.bytes += key.len() + 4;
                    survey.reserved |= is_reserved(key);
                    left.push((value, depth));
                }
            }
        }
    }
    survey
}
