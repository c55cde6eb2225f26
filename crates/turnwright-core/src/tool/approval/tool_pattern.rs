//! Selects tools by name or source.

use crate::tool::Tool;

/// A pattern for the name of a tool or for its source. `*` matches any characters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ToolPattern(String);

impl ToolPattern {
    pub(crate) fn new(pattern: impl Into<String>) -> Self {
        ToolPattern(pattern.into())
    }

    /// Returns whether the name or the source of the tool matches. Artifact tools have neither: they belong to the framework.
    pub(crate) fn matches(&self, tool: &Tool) -> bool {
        !tool.is_artifact_tool()
            && (matches(&self.0, tool.name())
                || tool.source().is_some_and(|source| matches(&self.0, source)))
    }
}

/// Matches greedily: after the first part, each part is looked for where the one before it ended.
fn matches(pattern: &str, text: &str) -> bool {
    let Some((first, rest)) = pattern.split_once('*') else {
        return pattern == text;
    };
    let Some(mut text) = text.strip_prefix(first) else {
        return false;
    };
    let (middle, last) = rest.rsplit_once('*').unwrap_or(("", rest));
    for part in middle.split('*').filter(|part| !part.is_empty()) {
        match text.split_once(part) {
            Some((_, after)) => text = after,
            None => return false,
        }
    }
    text.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn star_matches_any_characters() {
        for (pattern, text) in [
            ("files", "files"),
            ("files__*", "files__read"),
            ("*", ""),
            ("*read*", "files__read_all"),
            ("a*b*c", "a-b-b-c"),
            ("*_all", "read_all"),
        ] {
            assert!(matches(pattern, text), "{pattern} {text}");
        }
        for (pattern, text) in [
            ("files", "files2"),
            ("files__*", "mail__read"),
            ("a*b*c", "a-c-b"),
            ("a*a", "a"),
            ("", "x"),
            ("*_all", "read_all_2"),
        ] {
            assert!(!matches(pattern, text), "{pattern} {text}");
        }
    }
}
