//! A violation of the contract: the value, the location, what happened, what to change.

use std::fmt;

use serde::Serialize;
use serde_json::Value;

/// A violation of the contract.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Finding {
    /// The kind of violation.
    pub kind: FindingKind,
    /// The arguments that demonstrate it, shrunk.
    pub value: Value,
    /// The location in the arguments, as a JSON pointer.
    pub pointer: String,
    /// For a broken value: the JSON pointer of the broken keyword in the document.
    pub keyword: Option<String>,
    /// What the tool returned.
    pub answer: String,
    /// How many values demonstrate the same violation.
    pub times: usize,
}

/// The ways in which a document and a tool can disagree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[non_exhaustive]
pub enum FindingKind {
    /// The schema accepts a value that the type rejects: the model is promised more than the handler accepts.
    TypeDisagrees,
    /// The check rejects a value that the document allows.
    ValidValueInvalid,
    /// The check and the type accept a value that the document forbids.
    BrokenAccepted,
    /// The check accepts a value that the document forbids; only the type rejected it.
    BrokenPassedCheck,
    /// An accepted value is changed by more than defaults.
    Changed,
    /// A broken value is rejected, but no fault is at the broken location.
    FaultElsewhere,
    /// A value is rejected with another code than `E_INVALID_TOOL_ARGS`.
    OtherError,
}

impl FindingKind {
    fn title(self) -> &'static str {
        match self {
            Self::TypeDisagrees => "the schema accepts a value that the type rejects",
            Self::ValidValueInvalid => "the check rejects a value that the document allows",
            Self::BrokenAccepted => "a value that the document forbids is accepted",
            Self::BrokenPassedCheck => {
                "a value that the document forbids passes the check; only the type rejected it"
            }
            Self::Changed => "an accepted value is changed by more than defaults",
            Self::FaultElsewhere => {
                "a broken value is rejected, but no fault is at the broken location"
            }
            Self::OtherError => "a value is rejected with an error that is not E_INVALID_TOOL_ARGS",
        }
    }

    fn advice(self) -> &'static str {
        match self {
            Self::TypeDisagrees => {
                "narrow the schema to what the type accepts (a bound, a pattern, an enum: `#[schemars(…)]` on the field), \
                 or let the type's `Deserialize` take every value that the schema promises"
            }
            Self::ValidValueInvalid => {
                "the document and the check disagree; if the document is your own, look for rules that only hold \
                 after defaults are filled in"
            }
            Self::BrokenAccepted | Self::BrokenPassedCheck => {
                "the check enforces less than the document: please report this bug of the check with the document \
                 and the value"
            }
            Self::Changed => {
                "the handler would receive other arguments than the model sent: please report this bug of the check with \
                 the document and the value"
            }
            Self::FaultElsewhere => {
                "a model cannot find its mistake from this message: please report this bug of the check with the \
                 document and the value"
            }
            Self::OtherError => {
                "the arguments were within the limits, so the check should have validated them"
            }
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.kind.title())?;
        writeln!(f, "   value:  {}", shortened(&self.value.to_string()))?;
        let place = match self.pointer.as_str() {
            "" => "the complete value",
            pointer => pointer,
        };
        writeln!(f, "   place:  {place}")?;
        if let Some(keyword) = &self.keyword {
            writeln!(f, "   broken: {keyword}")?;
        }
        writeln!(f, "   answer: {}", shortened(&self.answer))?;
        write!(f, "   change: {}", self.kind.advice())?;
        if self.times > 1 {
            write!(f, "\n   ({} values showed the same)", self.times)?;
        }
        Ok(())
    }
}

fn shortened(text: &str) -> String {
    const MAX_CHARS: usize = 600;
    if text.chars().count() <= MAX_CHARS {
        return text.to_owned();
    }
    let cut: String = text.chars().take(MAX_CHARS).collect();
    format!("{cut} …")
}
