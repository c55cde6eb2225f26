//! What is wrong with a schema.

use std::fmt;

use serde::Serialize;

/// One reason why a document cannot be a contract.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct SchemaProblem {
    /// Where in the document, as a JSON pointer.
    pub pointer: String,
    /// What is wrong and what to do.
    pub message: String,
}

impl SchemaProblem {
    pub(crate) fn new(pointer: impl Into<String>, message: impl Into<String>) -> Self {
        SchemaProblem {
            pointer: pointer.into(),
            message: message.into(),
        }
    }

    pub(crate) fn list(problems: &[SchemaProblem]) -> String {
        problems
            .iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>()
            .join("; ")
    }
}

impl fmt::Display for SchemaProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = if self.pointer.is_empty() {
            "(root)"
        } else {
            &self.pointer
        };
        write!(f, "{place}: {}", self.message)
    }
}
