//! What is not enforced, in words, for the description of its location.

use serde_json::Value;

use crate::problem::UnenforcedKind;
use crate::text::escape;

/// The maximum number of characters of a quoted keyword.
const MAX_CHARS: usize = 300;
/// The maximum number of lines that are added to one description.
const MAX_LINES: usize = 8;

/// Returns a line for the description; `None` for what asserts nothing.
pub(super) fn line(kind: UnenforcedKind, keyword: &str, value: &Value) -> Option<String> {
    let text = || match value {
        Value::String(text) => escape(text, MAX_CHARS),
        other => escape(&other.to_string(), MAX_CHARS),
    };
    match kind {
        UnenforcedKind::Format if keyword == "contentEncoding" => {
            Some(format!("Encoding: `{}`.", text()))
        }
        UnenforcedKind::Format => Some(format!("Format: `{}`.", text())),
        UnenforcedKind::Pattern if keyword == "pattern" => Some(format!("Pattern: `{}`.", text())),
        UnenforcedKind::Nullable => Some("`null` is allowed.".to_owned()),
        UnenforcedKind::Discriminator => {
            let property = value.get("propertyName").and_then(Value::as_str)?;
            let property = escape(property, MAX_CHARS);
            Some(format!("`{property}` selects the alternative."))
        }
        UnenforcedKind::Dependent if keyword == "oneOf" => {
            Some("Exactly one of the alternatives applies.".to_owned())
        }
        UnenforcedKind::UnknownKeyword
        | UnenforcedKind::OtherDraft
        | UnenforcedKind::Pattern
        | UnenforcedKind::Malformed
        | UnenforcedKind::NextToRef
        | UnenforcedKind::Dependent => {
            let keyword = escape(keyword, 80);
            let value = escape(&value.to_string(), MAX_CHARS);
            Some(format!("May also apply: `{keyword}`: {value}"))
        }
        UnenforcedKind::Annotation | UnenforcedKind::Default | UnenforcedKind::NoEffect => None,
    }
}

/// Returns the description with these lines.
pub(super) fn describe(description: Option<&str>, mut lines: Vec<String>) -> String {
    if lines.len() > MAX_LINES {
        let more = lines.len() - MAX_LINES;
        lines.truncate(MAX_LINES);
        lines.push(format!("And {more} more."));
    }
    let own = description.filter(|text| !text.is_empty());
    let lines = own
        .into_iter()
        .chain(lines.iter().map(String::as_str))
        .collect::<Vec<_>>();
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{MAX_LINES, describe, line};
    use crate::problem::UnenforcedKind;

    #[test]
    fn quoted_text_is_short_and_on_one_line() {
        let text = format!("a\n\u{202e}{}", "b".repeat(10_000));
        let line = line(UnenforcedKind::Format, "format", &json!(text)).unwrap();
        assert!(line.starts_with("Format: `a\\u{a}\\u{202e}bbb"), "{line}");
        assert!(line.chars().count() < 400);
    }

    #[test]
    fn description_has_a_limited_number_of_lines() {
        assert_eq!(describe(None, vec!["a".into()]), "a");
        assert_eq!(describe(Some("Own."), vec!["a".into()]), "Own.\na");
        let many = vec!["x".to_owned(); 100];
        let text = describe(Some("Own."), many);
        assert_eq!(text.lines().count(), MAX_LINES + 2);
        assert!(text.ends_with("And 92 more."));
    }
}
