//! Values that must not be shown.

use std::borrow::Cow;
use std::fmt;

/// The fewest characters of a secret. Shorter values are parts of ordinary words.
const MIN_CHARS: usize = 6;

/// What is shown instead of a secret.
const REDACTED: &str = "[redacted]";

/// Values that must not be shown, such as tokens. Values with less than 6 characters are ignored. `Debug` shows none of them.
///
/// ```
/// use turnwright_mcp::process::Secrets;
///
/// let mut secrets = Secrets::default();
/// secrets.add("t0p-secret");
/// assert_eq!(secrets.redact("the key t0p-secret has expired"), "the key [redacted] has expired");
/// ```
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Secrets(Vec<String>);

impl Secrets {
    /// Adds a value. Each of its lines is a secret: a program may print a key line by line.
    pub fn add(&mut self, value: &str) {
        let lines = value.lines().map(str::trim);
        let lines = lines.filter(|line| line.chars().count() >= MIN_CHARS);
        self.0.extend(lines.map(str::to_owned));
        // The longest one first, because a value may contain another one.
        self.0
            .sort_unstable_by(|one, other| (other.len(), one).cmp(&(one.len(), other)));
        self.0.dedup();
    }

    /// Adds all values of others.
    pub fn extend(&mut self, others: &Secrets) {
        for value in &others.0 {
            self.add(value);
        }
    }

    /// Replaces the values in a text by `[redacted]`.
    #[must_use]
    pub fn redact<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let mut text = Cow::Borrowed(text);
        for value in &self.0 {
            if text.contains(value.as_str()) {
                text = text.replace(value.as_str(), REDACTED).into();
            }
        }
        text
    }
}

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Secrets({} values)", self.0.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_replaced_the_longest_first_and_each_line_alone() {
        let mut secrets = Secrets::default();
        for value in [
            "abcdef",
            "abcdef-123456",
            "short",
            "first line\n  second line\n",
        ] {
            secrets.add(value);
        }
        for (text, expected) in [
            ("abcdef-123456 abcdef short", "[redacted] [redacted] short"),
            ("second line only", "[redacted] only"),
            ("nothing", "nothing"),
        ] {
            assert_eq!(secrets.redact(text), expected);
        }
        assert_eq!(format!("{secrets:?}"), "Secrets(4 values)");
    }
}
