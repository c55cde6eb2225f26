//! Faults: what is wrong with arguments, phrased so that a model can act on it.

use std::fmt::{self, Write as _};

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::text::{MAX_CHARS, escape, quote};

/// One fault in the arguments.
///
/// ```
/// use turnwright_schema::Fault;
///
/// let fault = Fault::new("/city", "city_exists", "is not a known city");
/// assert_eq!(fault.to_string(), "/city is not a known city");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[non_exhaustive]
pub struct Fault {
    /// The JSON pointer of the location. For a missing or unexpected property, the pointer of that property.
    pub pointer: String,
    /// The violated rule: a JSON Schema keyword, one of ours (`json`, `unique_keys`, `max_bytes`, `max_depth`,
    /// `deserialize`), or the name of an external check.
    pub rule: String,
    /// What was expected.
    pub expected: String,
    /// The value that was received, shortened to 80 characters, with control and bidirectional characters escaped.
    /// Empty if nothing was received.
    pub got: String,
    /// The complete message, without the location.
    pub message: String,
}

impl Fault {
    /// Creates a fault for a check of your own: see [`Rejection`](crate::Rejection).
    pub fn new(
        pointer: impl Into<String>,
        rule: impl Into<String>,
        message: impl Into<String>,
    ) -> Self {
        Fault {
            pointer: pointer.into(),
            rule: rule.into(),
            expected: String::new(),
            got: String::new(),
            message: message.into(),
        }
    }

    pub(crate) fn at(
        pointer: impl Into<String>,
        rule: impl Into<String>,
        expected: impl Into<String>,
        got: Option<&Value>,
    ) -> Self {
        let expected = expected.into();
        let got = got.map(quote).unwrap_or_default();
        let message = match got.as_str() {
            "" => format!("must be {expected}"),
            got => format!("must be {expected} (got {got})"),
        };
        Fault {
            expected,
            got,
            ..Fault::new(pointer, rule, message)
        }
    }

    pub(crate) fn with_message(mut self, message: impl Into<String>) -> Self {
        self.message = message.into();
        self
    }

    /// Returns the location for use in a text. The root has no pointer, so it is called "the arguments".
    pub(crate) fn place(&self) -> String {
        if self.pointer.is_empty() {
            "the arguments".to_owned()
        } else {
            escape(&self.pointer, MAX_CHARS * 4)
        }
    }
}

/// Invalid arguments. The first faults are listed, the rest are counted.
///
/// ```
/// use turnwright_schema::{Schema, integer};
///
/// let schema = Schema::object().field("days", integer().max(14)).build()?;
/// let error = schema.check(r#"{"days": 99}"#).unwrap_err();
/// assert_eq!(error.faults()[0].pointer, "/days");
/// assert_eq!(error.to_string(), "invalid arguments: /days must be at most 14 (got 99)");
/// assert!(error.model_text(None).ends_with("\n- /days: must be at most 14 (got 99)"));
/// # Ok::<(), turnwright_schema::SchemaError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InvalidArguments {
    listed: Vec<Fault>,
    more: usize,
    /// For operators only: why an external check could not be completed.
    notes: Vec<String>,
}

const MAX_LISTED: usize = 20;
impl InvalidArguments {
    pub(crate) fn push(&mut self, fault: Fault) {
        if self.listed.len() < MAX_LISTED {
            self.listed.push(fault);
        } else {
            self.more += 1;
        }
    }

    pub(crate) fn is_full(&self) -> bool {
        self.listed.len() >= MAX_LISTED
    }

    pub(crate) fn count_more(&mut self, more: usize) {
        self.more += more;
    }

    #[doc(hidden)]
    pub fn note(&mut self, for_operators: String) {
        self.notes.push(for_operators);
    }

    #[doc(hidden)]
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.listed.is_empty()
    }

    /// Returns the faults: at most 20.
    #[must_use]
    pub fn faults(&self) -> &[Fault] {
        &self.listed
    }

    /// Returns the number of faults that are not listed.
    #[must_use]
    pub fn more_faults(&self) -> usize {
        self.more
    }

    /// Returns the text for operators. `subject` names what the arguments were for, such as a tool.
    #[must_use]
    pub fn operator_text(&self, subject: Option<&str>) -> String {
        let mut text = match subject {
            Some(subject) => format!("invalid arguments for {subject}: "),
            None => "invalid arguments: ".to_owned(),
        };
        let faults = self.listed.iter().map(Fault::to_string);
        text.push_str(&faults.collect::<Vec<_>>().join("; "));
        self.push_remaining(&mut text, "; ");
        for note in &self.notes {
            let _ = write!(text, "; {}", escape(note, 500));
        }
        text
    }

    /// Returns the text for a model: what to fix, one fault per line. `subject` names what the arguments were for, such as a tool.
    #[must_use]
    pub fn model_text(&self, subject: Option<&str>) -> String {
        let target = subject
            .map(|subject| format!(" for {subject}"))
            .unwrap_or_default();
        let mut text = format!(
            "Invalid arguments{target}. The tool was not run. Fix the following and call it again:"
        );
        for fault in &self.listed {
            // Writing into a String cannot fail.
            let _ = write!(text, "\n- {}: {}", fault.place(), fault.message);
        }
        self.push_remaining(&mut text, "\n- ");
        text
    }

    fn push_remaining(&self, text: &mut String, separator: &str) {
        if self.more > 0 {
            let _ = write!(text, "{separator}and {} more", self.more);
        }
    }
}

impl fmt::Display for InvalidArguments {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.operator_text(None))
    }
}

impl std::error::Error for InvalidArguments {}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.place(), self.message)
    }
}

impl From<Fault> for InvalidArguments {
    fn from(fault: Fault) -> Self {
        InvalidArguments {
            listed: vec![fault],
            ..InvalidArguments::default()
        }
    }
}
