//! Checks the definition of a tool.

use std::time::Duration;

use crate::error::{Error, ErrorCode};
use crate::schema::escape;
use crate::tool::{Facts, MAX_NAME_LEN};

impl Facts {
    /// Returns what is invalid, field by field.
    pub(super) fn wrong(&self) -> Vec<String> {
        let mut wrong = Vec::new();
        if let Err(why) = check_name(&self.name) {
            wrong.push(format!("name: {why}"));
        }
        if self.description.trim().is_empty() {
            wrong.push(
                "description: must not be empty: describe what the tool does and when to use it"
                    .into(),
            );
        }
        if self.timeout == Some(Duration::ZERO) {
            let why = "must not be zero: use `None` for no timeout";
            wrong.push(format!("timeout: {why}"));
        }
        if self.max_result_bytes == Some(0) {
            wrong.push("max_result_bytes: must not be zero".into());
        }
        if self
            .source
            .as_deref()
            .is_some_and(|source| source.trim().is_empty())
        {
            wrong.push("source: must not be empty".into());
        }
        wrong
    }
}

pub(super) fn ill_defined(name: &str, wrong: &[String]) -> Error {
    let (name, wrong) = (escape(name, MAX_NAME_LEN), wrong.join("; "));
    let message = format!("invalid tool `{name}`: {wrong}");
    Error::new(ErrorCode::INVALID_INITIAL_TOOL_VALUE, message)
}

fn check_name(name: &str) -> Result<(), String> {
    let length = name.chars().count();
    let other = |c: &char| !c.is_ascii_alphanumeric() && !matches!(c, '_' | '-');
    match (length, name.chars().find(other)) {
        (0, _) => Err("must not be empty: use 1 to 64 characters of [A-Za-z0-9_-]".to_owned()),
        _ if length > MAX_NAME_LEN => Err(format!(
            "must have at most 64 characters, the limit that all providers support (got {length})"
        )),
        (_, Some(other)) => Err(format!(
            "must not contain {other:?}: use only [A-Za-z0-9_-], which all providers support"
        )),
        (_, None) => Ok(()),
    }
}
