//! Problems with schema documents.

use std::fmt;

use serde::Serialize;

/// One reason why a document cannot be enforced.
///
/// ```
/// use turnwright_schema::SchemaProblem;
///
/// let problem = SchemaProblem::new("/properties/city", "has no description: add one");
/// assert_eq!(problem.to_string(), "/properties/city: has no description: add one");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct SchemaProblem {
    /// The JSON pointer of the location in the document.
    pub pointer: String,
    /// What is wrong and what to do.
    pub message: String,
}

impl SchemaProblem {
    /// Creates a problem at this location of the document.
    pub fn new(pointer: impl Into<String>, message: impl Into<String>) -> Self {
        SchemaProblem {
            pointer: pointer.into(),
            message: message.into(),
        }
    }
}

/// A document that cannot be enforced, with all its problems.
///
/// ```
/// use turnwright_schema::Schema;
/// use serde_json::json;
///
/// let error = Schema::from_document(json!({
///     "type": "object",
///     "properties": { "days": { "type": "intger" } },
/// }))
/// .unwrap_err();
/// assert_eq!(error.problems()[0].pointer, "/properties/days/type");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchemaError {
    problems: Vec<SchemaProblem>,
}

impl SchemaError {
    /// Creates an error from these problems.
    #[must_use]
    pub fn new(problems: Vec<SchemaProblem>) -> Self {
        SchemaError { problems }
    }

    /// Returns the problems, each with its JSON pointer.
    #[must_use]
    pub fn problems(&self) -> &[SchemaProblem] {
        &self.problems
    }

    /// Consumes the error and returns the problems.
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
