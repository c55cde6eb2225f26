//! A place in the body of a request.

use std::fmt::Display;

use serde_json::Value;

use super::{Checked, Problem};

/// A value in the body of a request, with its path for messages.
#[derive(Clone)]
pub(super) struct Place<'a> {
    pub(super) value: &'a Value,
    path: String,
}

impl<'a> Place<'a> {
    pub(super) fn root(value: &'a Value) -> Self {
        let path = String::new();
        Place { value, path }
    }

    fn below(&self, name: impl Display, value: &'a Value) -> Self {
        let path = match self.path.as_str() {
            "" => name.to_string(),
            path => format!("{path}.{name}"),
        };
        Place { value, path }
    }

    /// Returns a field: `null` if it is absent.
    pub(super) fn at(&self, name: &str) -> Self {
        self.below(name, self.value.get(name).unwrap_or(&Value::Null))
    }

    /// Returns a field that is not `null`.
    pub(super) fn get(&self, name: &str) -> Option<Self> {
        Some(self.at(name)).filter(|place| !place.value.is_null())
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    /// Returns a field if it is a string.
    pub(super) fn str(&self, name: &str) -> Option<&'a str> {
        self.value.get(name)?.as_str()
    }

    /// Returns the field `type`.
    pub(super) fn kind(&self) -> &'a str {
        self.text("type")
    }

    /// Returns a field that is a string.
    pub(super) fn text(&self, name: &str) -> &'a str {
        self.str(name).unwrap_or_default()
    }

    /// Returns the items of a list; nothing of another value.
    pub(super) fn items(&self) -> impl Iterator<Item = Place<'a>> {
        let items = self.value.as_array().into_iter().flatten().enumerate();
        items.map(|(index, item)| self.below(index, item))
    }

    /// Rejects the request with this message about the place unless the condition holds.
    pub(super) fn must(&self, holds: bool, message: impl Display) -> Checked {
        if holds {
            Ok(())
        } else {
            Err(self.problem(message))
        }
    }

    /// Returns what is wrong with the place.
    pub(super) fn problem(&self, message: impl Display) -> Problem {
        let path = match self.path.as_str() {
            "" => "body",
            path => path,
        };
        (400, format!("{path}: {message}"))
    }
}
