//! What is wrong with arguments, in words that a model can act on.

use std::fmt::{self, Write as _};

use serde::Serialize;
use serde_json::Value;

/// One thing that is wrong with the arguments.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Fault {
    /// Where, as a JSON pointer; a missing or unexpected property's own.
    pub pointer: String,
    /// The rule that was broken: a keyword of JSON Schema, or one of ours (`json`, `unique_keys`, `max_bytes`,
    /// `max_depth`, `deserialize`, or the name of an external check).
    pub rule: String,
    /// What would have been right.
    pub expected: String,
    /// What came, shortened to 80 characters, control and direction characters escaped; empty where nothing came.
    pub got: String,
    /// The whole, as one sentence without the place.
    pub message: String,
}

impl Fault {
    /// A fault found by a check of your own: see [`Rejection`](crate::Rejection).
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

    /// The place as it stands in a text: the root has no name of its own.
    pub(crate) fn place(&self) -> String {
        if self.pointer.is_empty() {
            "the arguments".to_owned()
        } else {
            escape(&self.pointer, MOST_CHARS * 4)
        }
    }
}

/// Arguments with faults, the first of them listed and the rest counted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InvalidArguments {
    listed: Vec<Fault>,
    more: usize,
    /// What only operators may read: why an external check could not be made.
    notes: Vec<String>,
}

const MOST_LISTED: usize = 20;
const MOST_CHARS: usize = 80;

impl InvalidArguments {
    pub(crate) fn push(&mut self, fault: Fault) {
        if self.listed.len() < MOST_LISTED {
            self.listed.push(fault);
        } else {
            self.more += 1;
        }
    }

    pub(crate) fn is_full(&self) -> bool {
        self.listed.len() >= MOST_LISTED
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

    /// Returns what is wrong with the arguments: 20 faults at most.
    #[must_use]
    pub fn faults(&self) -> &[Fault] {
        &self.listed
    }

    /// Returns how many faults there were beyond those listed.
    #[must_use]
    pub fn more_faults(&self) -> usize {
        self.more
    }

    /// Returns the text for operators. `subject` names what the arguments were for, such as a tool.
    #[must_use]
    pub fn operator_text(&self, subject: Option<&str>) -> String {
        let mut text = match subject {
            Some(subject) => format!("{subject} refused the arguments: "),
            None => "the arguments are refused: ".to_owned(),
        };
        let faults = self.listed.iter().map(Fault::to_string);
        text.push_str(&faults.collect::<Vec<_>>().join("; "));
        self.say_more(&mut text, "; ");
        for note in &self.notes {
            let _ = write!(text, "; {}", escape(note, 500));
        }
        text
    }

    /// Returns the text for a model: what to fix, one fault per line.
    #[must_use]
    pub fn model_text(&self) -> String {
        self.model_text_for(None)
    }

    /// As [`InvalidArguments::model_text`]. `subject` names what the arguments were for, such as a tool.
    #[must_use]
    pub fn model_text_for(&self, subject: Option<&str>) -> String {
        let of_whom = subject
            .map(|subject| format!(" of {subject}"))
            .unwrap_or_default();
        let mut text = format!(
            "The arguments{of_whom} were refused; nothing was run. Mend these and call again:"
        );
        for fault in &self.listed {
            // Writing into a String cannot fail.
            let _ = write!(text, "\n- {}: {}", fault.place(), fault.message);
        }
        self.say_more(&mut text, "\n- ");
        text
    }

    fn say_more(&self, text: &mut String, separator: &str) {
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

/// A value as JSON, shortened, with nothing in it that could move the text around it.
pub fn quote(value: &Value) -> String {
    match value {
        // Only the front of a long string is looked at.
        Value::String(text) => match text.char_indices().nth(MOST_CHARS) {
            Some((cut, _)) => {
                let front = Value::from(text.get(..cut).unwrap_or_default());
                escape(&format!("{front}…"), MOST_CHARS)
            }
            None => escape(&value.to_string(), MOST_CHARS),
        },
        Value::Array(items) if items.len() > MOST_CHARS => {
            format!("an array of {} items", items.len())
        }
        Value::Object(map) if map.len() > MOST_CHARS => {
            format!("an object of {} properties", map.len())
        }
        _ => escape(&value.to_string(), MOST_CHARS),
    }
}

/// `text` in at most about `most` characters, with those that cannot be seen, or that move others, as `\u{…}`.
pub fn escape(text: &str, most: usize) -> String {
    let mut out = String::with_capacity(text.len().min(most.saturating_mul(2)));
    let mut written = 0;
    for c in text.chars() {
        if written >= most {
            out.push('…');
            break;
        }
        if c.is_control() || is_unseen(c) {
            let _ = write!(out, "\\u{{{:x}}}", u32::from(c));
            written += 8;
        } else {
            out.push(c);
            written += 1;
        }
    }
    out
}

/// Whether a character cannot be seen, or changes how the text around it reads: what a person who approves something must not
/// overlook. Control characters are not among them: see [`char::is_control`].
///
/// ```
/// use turnwright_schema::is_unseen;
///
/// assert!(is_unseen('\u{202e}') && is_unseen('\u{200b}') && is_unseen('\u{2800}'));
/// assert!(!is_unseen('e') && !is_unseen('é') && !is_unseen(' '));
/// ```
#[must_use]
pub fn is_unseen(c: char) -> bool {
    // Unicode 16.0, in this order: `Default_Ignorable_Code_Point` (DerivedCoreProperties.txt); what else has the general
    // category `Cf`, `Zl` or `Zp` (DerivedGeneralCategory.txt); noncharacters; and characters of other categories whose
    // glyph is blank: object replacement, the empty braille pattern, blanks of hieroglyphs, the Khitan filler, the musical
    // null notehead.
    matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}' | '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}'
        | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fff8}' | '\u{1bca0}'..='\u{1bca3}'
        | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
        || matches!(c,
        '\u{600}'..='\u{605}' | '\u{6dd}' | '\u{70f}' | '\u{890}'..='\u{891}' | '\u{8e2}' | '\u{2028}'..='\u{2029}'
        | '\u{fff9}'..='\u{fffb}' | '\u{110bd}' | '\u{110cd}' | '\u{13430}'..='\u{1343f}')
        || matches!(c, '\u{fdd0}'..='\u{fdef}')
        || (u32::from(c) & 0xfffe) == 0xfffe
        || matches!(
            c,
            '\u{2800}' | '\u{fffc}' | '\u{13441}'..='\u{13442}' | '\u{16fe4}' | '\u{1d159}'
        )
}
