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
    /// A problem at this place of the document.
    pub fn new(pointer: impl Into<String>, message: impl Into<String>) -> Self {
        SchemaProblem {
            pointer: pointer.into(),
            message: message.into(),
        }
    }
}

/// A document that cannot be enforced as it is written, with every problem that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchemaError {
    problems: Vec<SchemaProblem>,
}

impl SchemaError {
    /// An error with these problems.
    #[must_use]
    pub fn new(problems: Vec<SchemaProblem>) -> Self {
        SchemaError { problems }
    }

    /// Returns the problems, each at its JSON pointer.
    #[must_use]
    pub fn problems(&self) -> &[SchemaProblem] {
        &self.problems
    }

    /// Takes the problems out of the error.
    #[must_use]
    pub fn into_problems(self) -> Vec<SchemaProblem> {
        self.problems
    }
}

impl From<SchemaProblem> for SchemaError {
    fn from(problem: SchemaProblem) -> Self {
        SchemaError::new(vec![problem])
    }
}

impl fmt::Display for SchemaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.problems.iter().enumerate() {
            if index > 0 {
                f.write_str("; ")?;
            }
            problem.fmt(f)?;
        }
        Ok(())
    }
}

impl std::error::Error for SchemaError {}

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
