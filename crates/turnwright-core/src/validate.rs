//! Validation that reports all errors at once.

use std::borrow::Cow;

use crate::error::{Error, ErrorCode};
use crate::schema::is_invisible;
use crate::trust::neutralise;

const MAX_ID_LEN: usize = 256;

/// Collects validation errors, so that one error lists all invalid fields.
#[derive(Debug, Default)]
pub struct Violations(Vec<String>);

impl Violations {
    /// Adds `why` for the field unless `right` is true.
    pub(crate) fn check(&mut self, field: &str, right: bool, why: &str) {
        if !right {
            self.0.push(format!("{field}: {why}"));
        }
    }

    /// Checks the length and the characters of a text.
    pub(crate) fn check_text(
        &mut self,
        field: &str,
        text: &str,
        most: usize,
        is_allowed: fn(char) -> bool,
    ) {
        let length = text.chars().count();
        if length > most {
            self.0.push(format!(
                "{field}: has {length} characters: at most {most} are allowed"
            ));
        }
        self.check(
            field,
            text.chars().all(is_allowed),
            "must not contain control or invisible characters",
        );
    }

    /// Checks an id. The model reads and repeats it, so it must be short and printable.
    pub(crate) fn check_id(&mut self, id: &str) {
        self.check_named_id("id", id);
    }

    /// Checks an id in another field.
    pub(crate) fn check_named_id(&mut self, field: &str, id: &str) {
        // Fast path: in printable ASCII, bytes are characters.
        let graphic = id.bytes().all(|byte| byte.is_ascii_graphic());
        let length = if graphic {
            id.len()
        } else {
            id.chars().count()
        };
        self.check(field, length > 0, "must not be empty");
        self.check(
            field,
            length <= MAX_ID_LEN,
            "must have at most 256 characters",
        );
        let visible = graphic || !id.chars().any(|c| c.is_control() || is_invisible(c));
        self.check(
            field,
            visible,
            "must not contain control or invisible characters",
        );
        let plain = matches!(neutralise(id), Cow::Borrowed(_));
        self.check(field, plain, "must not look like a tag of the framework");
    }

    /// Returns the error with this code if there are violations.
    pub(crate) fn finish(self, code: ErrorCode, what: &str) -> Result<(), Error> {
        if self.0.is_empty() {
            return Ok(());
        }
        let wrong = self.0.join("; ");
        Err(Error::new(code, format!("invalid {what}: {wrong}")))
    }
}
